package import Rankings
import Sourcing

/// What most answers are wrapped in: `{"error":bool,"message":string,"body":…}`; rankings have `error` as a string instead.
package enum Envelope {
    /// The body of an answer that is no error.
    ///
    /// - Parameter root: The whole answer.
    /// - Returns: Its `body`; an object that is empty arrives as `[]`.
    /// - Throws: `.notFound` if the service says that there is no such thing, `.unreadable` for every other error it tells.
    package static func body(of root: JSON) throws(SourceError) -> JSON {
        if let message = error(in: root) { throw refusal(message) }
        let body = root["body"]
        guard !body.isNull else {
            throw .unreadable("pixiv's answer has no body; pixiv may have changed it.")
        }
        return body
    }

    /// The message of an answer that is an error, which may be empty; nil for one that is none.
    package static func error(in root: JSON) -> String? {
        switch root["error"] {
        case .string(let message): message.isEmpty || message == "false" ? nil : message
        case let other: other.flag == true || !other.members.isEmpty ? root["message"].text ?? "" : nil
        }
    }

    /// What an error's message means.
    static func refusal(_ message: String) -> SourceError {
        if message.contains("has left pixiv") || message.contains("does not exist") { return .notFound }
        return .unreadable(
            message.isEmpty
                ? "pixiv answered with an error that it does not explain; asking again later may help."
                : "pixiv answered with an error: \(ForeignText.quoted(message)).")
    }
}
