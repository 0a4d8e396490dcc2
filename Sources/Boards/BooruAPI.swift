import HTTP
package import Rankings
import Sourcing

/// Requests to an engine's API, and the interpretation of every refusal.
extension BooruSource {
    /// The headers of every request: the services accept any program that requests JSON, without a cookie or `Referer`.
    private static let headers = ["Accept: application/json"]

    private var title: String { engine.description.title }

    /// Returns the JSON of an answer that is no error.
    ///
    /// - Parameter path: Path and query.
    /// - Returns: The answer, and its time by the service's clock, in Unix seconds; nil if the service does not state it.
    /// - Throws: `Failure`; after a limit no request is sent for a while.
    func answer(_ path: String) async throws(Failure) -> (json: JSON, moment: Int64?) {
        let (response, _) = try await api.ask(base + path, headers: Self.headers) { verdict(on: $0.head) }
        let status = response.head.status
        let json: JSON
        do {
            json = try JSONReader.read(response.body)
        } catch {
            if status != 200 { throw refusal(response, nil) }
            throw .unreadable(
                JSONReader.looksLikeObject(response.body) || response.body.first == UInt8(ascii: "[")
                    ? "\(title)'s answer is \(error.cause)."
                    : "\(title) answered with something else than JSON; asking again may help.")
        }
        guard status == 200, json["success"].flag != false else { throw refusal(response, json) }
        return (json, response.head.sent)
    }

    private func verdict(on answer: HTTPAnswer) -> AnswerVerdict {
        switch answer.status {
        case let status where engine.description.access.tooOften.contains(status): api.limit(answer)
        // Maintenance, with or without a time.
        case 500...: answer.requestsPause ? api.limit(answer) : .unknown
        // A refused request says nothing about the load of the service.
        case 403: .unknown
        default: .fine
        }
    }

    private func refusal(_ response: HTTPResponse, _ json: JSON?) -> Failure {
        let message = json.flatMap { $0["message"].words ?? $0["reason"].words } ?? ""
        let refusal = BooruRefusal(
            status: response.head.status, kind: json?["error"].words ?? "",
            message: message.isEmpty ? "" : ForeignText.quoted(message),
            isOwn: json.map { json in ["success", "error", "reason"].contains { !json[$0].isNull } } ?? false)
        // A page in place of an answer: the service takes the program for a browser, or does not recognize it.
        if refusal.status == 403, !refusal.isOwn {
            return .unreadable(
                "\(title) refused to talk to this program (status 403); check the option user_agent, which should name "
                    + "the program and nobody's browser.")
        }
        return engine.refusal(refusal)
    }
}

extension BooruRefusal {
    /// The error for answers that both engines give; the service's name begins the sentence.
    package func usual(of service: String) -> Failure {
        switch status {
        case 404 where isOwn: .notFound
        case 500...: .troubled("\(service) is in trouble (status \(status))\(reason); try again later.")
        default: .unreadable("\(service) refused the request with status \(status)\(reason).")
        }
    }
}
