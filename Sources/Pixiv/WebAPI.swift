import HTTP
import Rankings
import Sourcing

/// Asks pixiv's web API: every request passes the gate, every refusal gets its meaning.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may ask at any time.
struct WebAPI: Sendable {
    /// Sends one request, with the retries of `HTTPClient`.
    let send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    let gate: any RequestGate
    /// Scheme and host, without a trailing slash.
    let base: String
    let session: SessionKeeper
    /// The clock of deadlines.
    let time: TimeSource
    /// Unix seconds, for answers that name a date.
    let wallClock: @Sendable () -> Int64
    /// Its place among those who wait for the gate.
    var priority = GatePriority.opening

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
    /// - Throws: `SourceError`; a limit has closed the gate before.
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
    /// - Throws: `SourceError`; a limit has closed the gate before.
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

    /// Sends a request when the gate lets it; a server in trouble is an error.
    private func sendPaced(
        _ path: String, _ cookie: SessionCookie?, _ deadline: ContinuousClock.Instant, forMembers: Bool
    ) async throws(SourceError) -> HTTPResponse {
        // As on the service's own pages: without it accounts that are set to English get 400 (PixivUtil2 #1513).
        let language = cookie == nil || !path.hasPrefix("/ajax/") ? "" : "\(path.contains("?") ? "&" : "?")lang=en"
        // To the API only: pictures are asked for elsewhere, and a redirect to another host drops it (RequestRule).
        let headers = [Self.referer] + (cookie.map { [$0.header] } ?? [])
        var api = PacedAPI(send: send, gate: gate, service: "pixiv", time: time, wallClock: wallClock)
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
    private func verdict(on response: HTTPResponse, forMembers: Bool) -> GateVerdict {
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

// MARK: - Session

/// Who gets an answer to a request.
enum SessionAudience: Equatable {
    case everybody
    /// Signed-in users: everybody else is told that the request is wrong (400, not 401 or 403).
    case account
    /// Signed-in users whose account shows such things.
    case members

    /// - Parameters:
    ///   - path: Of the API, from the slash on.
    ///   - forMembers: Whether the caller knows that it is for members.
    init(of path: String, forMembers: Bool) {
        let route = path.prefix { $0 != "?" }
        let isPrivate =
            route.hasPrefix("/ajax/follow_latest/")
            || route.hasPrefix("/ajax/user/") && Self.ofAccount.contains { route.hasSuffix($0) }
        self = forMembers ? .members : isPrivate ? .account : .everybody
    }

    /// How the routes of a user end that only accounts get; without one the service answers 400.
    private static let ofAccount = ["/illusts/bookmarks", "/following", "/followers"]
}

/// When the session goes with a request, and what answers tell of it.
extension WebAPI {
    /// The service's words for a session that it does not take.
    private static let unknownError = "An unknown error occurred"

    /// Works without an account: a session that has run out must not stand in the way.
    func askForEverybody(_ path: String, _ deadline: ContinuousClock.Instant) async throws(SourceError) -> Answer {
        let cookie = session.cookie
        let answer = try await askTwice(path, cookie, deadline)
        guard let cookie, answer.status != 200, Self.complains(answer), !answer.isSignedIn else { return answer }
        let again = try await askTwice(path, nil, deadline)
        // The same complaint to a stranger is none about the session.
        if !Self.complains(again) { session.expire(cookie) }
        return again
    }

    /// Needs an account; throws `.needsSignIn` without asking where there is none.
    func askForAccount(_ path: String, _ deadline: ContinuousClock.Instant) async throws(SourceError) -> Answer {
        guard let cookie = session.cookieForAccount() else { throw .needsSignIn }
        let answer = try await askTwice(path, cookie, deadline)
        if Self.isRefusal(answer) {
            try doubt(cookie, after: answer)
        } else if answer.status == 200, Envelope.error(in: answer.json) == nil {
            session.confirm(cookie)
        }
        return answer
    }

    /// Needs an account with R-18 switched on; throws `.needsSignIn` also if only the switch is missing.
    func askForMembers(_ path: String, _ deadline: ContinuousClock.Instant) async throws(SourceError) -> Answer {
        guard let cookie = session.cookieForAccount() else { throw .needsSignIn }
        var answer: Answer?
        do {
            answer = try await askTwice(path, cookie, forMembers: true, deadline)
        } catch {
            // It may have been a redirect to the sign-in page; where no answer tells, one is asked for.
            guard case .unreadable = error, try await check(cookie, deadline: deadline) == .refused else { throw error }
        }
        if let answer, !Self.isRefusal(answer), !Self.isForStrangers(answer) {
            if !answer.json["contents"].elements.isEmpty { session.confirm(cookie) }
            return answer
        }
        try doubt(cookie, after: answer)
        session.withhold("R-18 rankings", from: cookie)
        throw .needsSignIn
    }

    /// Asks for something that only the session's own user gets.
    func check(_ cookie: SessionCookie, deadline: ContinuousClock.Instant) async throws(SourceError) -> SessionCheck {
        let path = "/ajax/user/\(cookie.user.rawValue)/illusts/bookmarks?tag=&offset=0&limit=1&rest=show"
        let answer = try await askTwice(path, cookie, deadline)
        if answer.isSignedIn { return .valid(cookie.user) }
        if Self.isRefusal(answer) { return .refused }
        guard answer.status == 200, Envelope.error(in: answer.json) == nil else {
            let message = Envelope.error(in: answer.json) ?? ""
            throw .unreadable(
                "pixiv did not tell whether the session is valid: status \(answer.status), \(ForeignText.quoted(message))."
            )
        }
        return .valid(cookie.user)
    }

    /// Ends a session that the service did not know when it refused; returns if it did.
    private func doubt(_ cookie: SessionCookie, after answer: Answer?) throws(SourceError) {
        if session.isGone(cookie) { throw .needsSignIn }
        guard answer?.isSignedIn != true else { return }
        session.expire(cookie)
        throw .needsSignIn
    }

    /// Whether something else came than a ranking for members.
    private static func isForStrangers(_ answer: Answer) -> Bool {
        answer.status == 200 && answer.json.isNull
            || answer.json["mode"].text.map { !$0.contains("r18") } ?? false
    }

    private static func isRefusal(_ answer: Answer) -> Bool {
        [400, 401, 403].contains(answer.status) || complains(answer)
    }

    /// Whether the answer is the one that a session gets which has run out.
    private static func complains(_ answer: Answer) -> Bool {
        guard [200, 400, 401, 403].contains(answer.status) else { return false }
        return Envelope.error(in: answer.json)?.contains(unknownError) == true
    }
}
