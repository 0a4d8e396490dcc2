import HTTP
import Rankings
import Sourcing

/// Asks pixiv's web API: every request is paced, every refusal gets its meaning.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may ask at any time.
struct WebAPI: Sendable {
    /// Sends one request, with the retries of `HTTPClient`.
    let send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    /// Scheme and host, without a trailing slash.
    let base: String
    let session: SessionKeeper
    /// Unix seconds, for answers that name a date.
    let wallClock: @Sendable () -> Int64
    /// Its place among those who wait for their turn.
    var priority = TransferPriority.reader

    /// What the image host and the API expect of a browser on the service's own pages.
    static let referer = "Referer: https://www.pixiv.net/"

    /// An answer as JSON with its status.
    struct Answer {
        let status: Int
        /// Null for what is no JSON.
        let json: JSON
        /// Whether the service knew the session that went along: it names the user in every answer then (PixivUtil2 10f8f5f).
        let isSignedIn: Bool

        init(_ response: HTTPResponse, _ json: JSON = .null) {
            status = response.head.status
            self.json = json
            isSignedIn = response.head["x-userid"].map { !$0.isEmpty } ?? false
        }
    }

    /// The body of an answer of `/ajax/…`.
    func body(_ path: String, deadline: ContinuousClock.Instant) async throws(SourceError) -> JSON {
        let answer = try await ask(path, deadline: deadline)
        switch answer.status {
        case 200: return try Envelope.body(of: answer.json)
        case 404: throw .notFound
        case 401: throw .needsSignIn
        default:
            let message = Envelope.error(in: answer.json) ?? ""
            let refusal = Envelope.refusal(message)
            if refusal == .notFound { throw refusal }
            throw .unreadable("pixiv refused the request with status \(answer.status): \(ForeignText.quoted(message)).")
        }
    }

    /// Asks by the rules for who may see the answer (`WebAPI+Session.swift`).
    ///
    /// - Parameters:
    ///   - path: From the slash on.
    ///   - forMembers: Whether only accounts that chose to see such things get what is asked for.
    ///   - deadline: When to give up.
    /// - Returns: The answer, of status 200 or an error of the 400s with JSON or without any body in it.
    /// - Throws: `SourceError`; after a limit the service is left alone.
    func ask(
        _ path: String, forMembers: Bool = false, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> Answer {
        switch SessionAudience(of: path, forMembers: forMembers) {
        case .everybody: try await askForEverybody(path, deadline)
        case .account: try await askForAccount(path, deadline)
        case .members: try await askForMembers(path, deadline)
        }
    }

    /// Sends a request, and once more if the answer is not JSON: now and then the service answers with a page instead.
    ///
    /// - Parameters:
    ///   - path: From the slash on.
    ///   - cookie: The session that goes with it, if any.
    ///   - forMembers: Whether strangers are refused what is asked for; a 403 is then no sign of a limit.
    ///   - deadline: When to give up.
    /// - Returns: The answer, whatever it says.
    /// - Throws: `SourceError`; after a limit the service is left alone.
    func askTwice(
        _ path: String, _ cookie: SessionCookie?, forMembers: Bool = false, _ deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> Answer {
        if case .answer(let answer) = try await askOnce(path, cookie, forMembers, deadline) { return answer }
        switch try await askOnce(path, cookie, forMembers, deadline) {
        case .answer(let answer): return answer
        // For members a page in place of JSON is a refusal.
        case .garbled(let answer, _) where forMembers && answer.status == 200: return answer
        case .garbled(_, let reason): throw .unreadable(reason)
        }
    }

    private enum Outcome {
        case answer(Answer)
        /// No JSON, and why, as a sentence.
        case garbled(Answer, String)
    }

    private func askOnce(
        _ path: String, _ cookie: SessionCookie?, _ forMembers: Bool, _ deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> Outcome {
        let response = try await sendPaced(path, cookie, deadline, forMembers: forMembers)
        if forMembers, response.head.status == 403, !JSONReader.looksLikeObject(response.body) {
            return .answer(Answer(response))
        }
        guard JSONReader.looksLikeObject(response.body) else {
            // Only the service's own word makes a thing not exist: a page of a proxy or portal does not.
            if response.head.status == 404, response.body.isEmpty { return .answer(Answer(response)) }
            return .garbled(
                Answer(response),
                "pixiv answered with something else than JSON (status \(response.head.status)); asking again may help.")
        }
        do {
            return .answer(Answer(response, try JSONReader.read(response.body)))
        } catch {
            return .garbled(Answer(response), "pixiv's answer is broken at byte \(error.offset): \(error.reason).")
        }
    }

    /// Sends a request when it has its turn; a server in trouble is an error.
    private func sendPaced(
        _ path: String, _ cookie: SessionCookie?, _ deadline: ContinuousClock.Instant, forMembers: Bool
    ) async throws(SourceError) -> HTTPResponse {
        // As on the service's own pages: without it accounts that are set to English get 400 (PixivUtil2 #1513).
        let language = cookie == nil || !path.hasPrefix("/ajax/") ? "" : "\(path.contains("?") ? "&" : "?")lang=en"
        // To the API only: pictures are asked for elsewhere, and a redirect to another host drops it (RequestRule).
        let headers = [Self.referer] + (cookie.map { [$0.header] } ?? [])
        var api = PacedAPI(send: send, service: "pixiv", wallClock: wallClock)
        api.priority = priority
        let (response, verdict) = try await api.ask(base + path + language, headers: headers, deadline: deadline) {
            self.verdict(on: $0, forMembers: forMembers)
        }
        if verdict == .unknown, response.head.status >= 500 {
            throw .troubled("pixiv is in trouble (status \(response.head.status)); try again later.")
        }
        return response
    }

    /// Too many requests, a server in trouble, and a 403 that is a page of the front server, which is the same as 429.
    private func verdict(on response: HTTPResponse, forMembers: Bool) -> AnswerVerdict {
        switch response.head.status {
        case 429: break
        // A stranger's 403 may look like that too: neither a limit nor a welcome.
        case 403 where !JSONReader.looksLikeObject(response.body):
            if forMembers { return .unknown }
        case 500...:
            if response.head.retryAfter.value == nil { return .unknown }
        default: return .fine
        }
        return .limited(by: response.head, usual: PacedAPI.usualPause, now: wallClock())
    }
}
