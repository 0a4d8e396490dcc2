package import Rankings
import Sourcing
import System

/// The envelope of most answers: `{"error":bool,"message":string,"body":…}`; rankings have `error` as a string instead.
package enum Envelope {
    /// Returns the body of an answer that is no error.
    ///
    /// - Parameter root: The whole answer.
    /// - Returns: The `body`; an empty object arrives as `[]`.
    /// - Throws: `.notFound` if the service reports that the thing does not exist, `.unreadable` for every other reported error.
    package static func body(of root: JSON) throws(Failure) -> JSON {
        if let message = error(in: root) { throw refusal(message) }
        let body = root["body"]
        guard !body.isNull else {
            throw .unreadable("pixiv's answer has no body; pixiv may have changed it.")
        }
        return body
    }

    /// The message of an error answer, which may be empty; nil for an answer that is no error.
    package static func error(in root: JSON) -> String? {
        switch root["error"] {
        case .string(let message): message.isEmpty || message == "false" ? nil : message
        case let other: other.flag == true || !other.members.isEmpty ? root["message"].text ?? "" : nil
        }
    }

    /// The error that a message of the service stands for.
    static func refusal(_ message: String) -> Failure {
        if message.contains("has left pixiv") || message.contains("does not exist") { return .notFound }
        return .unreadable(
            message.isEmpty
                ? "pixiv answered with an error that it does not explain; asking again later may help."
                : "pixiv answered with an error: \(ForeignText.quoted(message)).")
    }
}
