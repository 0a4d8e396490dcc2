import HTTP
import Rankings
import Sourcing
import System

/// Sends requests to pixiv's web API: every request is paced, every refusal is interpreted.
///
/// ## Concurrency
///
/// A value of immutable parts; any task may call at any time.
struct WebAPI: Sendable {
    var api: PacedAPI
    /// Scheme and host, without a trailing slash.
    let base: String
    let session: SessionKeeper

    /// The header that the image host and the API expect from a browser on the service's own pages.
    static let referer = "Referer: https://www.pixiv.net/"

    /// An answer as JSON with its status.
    struct Answer {
        let status: Int
        /// The JSON; null if the answer is not JSON.
        let json: JSON
        /// The reason as a sentence why an answer that should be JSON is none.
        let fault: String?
        /// The time of the answer by the service's clock, in Unix seconds; nil if the service does not state it.
        let sent: Int64?
        /// Whether the service knew the session of the request: it then names the user in every answer (PixivUtil2 10f8f5f).
        let isSignedIn: Bool

        init(_ response: HTTPResponse, _ json: JSON = .null, fault: String? = nil) {
            status = response.head.status
            self.json = json
            self.fault = fault
            sent = response.head.sent
            isSignedIn = response.head["x-userid"].map { !$0.isEmpty } ?? false
        }
    }

    /// Returns the body of an answer of `/ajax/…`; the parameters are those of `ask`.
    func body(_ path: String, forMembers: Bool = false) async throws(Failure) -> JSON {
        let answer = try await ask(path, forMembers: forMembers)
        switch answer.status {
        case 200: return try Envelope.body(of: answer.json)
        case 404: throw .notFound
        case 401: throw .needsSignIn
        default:
            let message = Envelope.error(in: answer.json) ?? ""
            let refusal = Envelope.refusal(message)
            if refusal == .notFound { throw refusal }
            if answer.status == 403 {
                throw .withheld(message.isEmpty ? Withheld.unnamed : ForeignText.quoted(message))
            }
            throw .unreadable("pixiv refused the request with status \(answer.status): \(ForeignText.quoted(message)).")
        }
    }

    /// Sends a request by the rules of its audience.
    ///
    /// - Parameters:
    ///   - path: Path and query, from the slash on.
    ///   - forMembers: Whether the answer needs an account with R-18 switched on.
    /// - Returns: The answer, of status 200 or an error of the 400s with JSON or without any body in it.
    /// - Throws: `Failure`; after a limit the service is left alone.
    func ask(_ path: String, forMembers: Bool = false) async throws(Failure) -> Answer {
        if forMembers { return try await askForMembers(path) }
        if Self.needsAccount(path) { return try await askForAccount(path) }
        return try await askForEverybody(path)
    }

    /// Whether a request needs an account: without one the service answers 400, not 401 or 403.
    static func needsAccount(_ path: String) -> Bool {
        let route = path.prefix { $0 != "?" }
        return route.hasPrefix("/ajax/follow_latest/")
            || route.hasPrefix("/ajax/user/") && ofAccount.contains { route.hasSuffix($0) }
    }

    /// The endings of a user's routes that need an account.
    private static let ofAccount = [
        "/illusts/bookmarks", "/illusts/bookmark/tags", "/bookmark/periods", "/following", "/followers",
    ]

    /// Sends a request, and once more if the answer is not JSON: now and then the service answers with a page instead.
    ///
    /// - Parameters:
    ///   - path: Path and query, from the slash on.
    ///   - cookie: The session of the request, if any.
    ///   - forMembers: Whether the answer is refused without an account; a 403 is then no sign of a limit.
    /// - Returns: The answer, also if it reports an error.
    /// - Throws: `Failure`; after a limit no request is sent for a while.
    func askTwice(_ path: String, _ cookie: SessionCookie?, forMembers: Bool = false) async throws(Failure) -> Answer {
        var answer = try await askOnce(path, cookie, forMembers)
        if answer.fault != nil { answer = try await askOnce(path, cookie, forMembers) }
        // For members a page in place of JSON is a refusal.
        if let fault = answer.fault, !forMembers || answer.status != 200 { throw .unreadable(fault) }
        return answer
    }

    private func askOnce(_ path: String, _ cookie: SessionCookie?, _ forMembers: Bool) async throws(Failure) -> Answer {
        let response = try await sendPaced(path, cookie, forMembers: forMembers)
        if forMembers, response.head.status == 403, !JSONReader.looksLikeObject(response.body) {
            return Answer(response)
        }
        guard JSONReader.looksLikeObject(response.body) else {
            // Only the service itself can report a thing as missing: a page of a proxy or portal cannot.
            if response.head.status == 404, response.body.isEmpty { return Answer(response) }
            let status = "(status \(response.head.status))"
            let fault = "pixiv answered with something else than JSON \(status); asking again may help."
            return Answer(response, fault: fault)
        }
        do {
            let answer = Answer(response, try JSONReader.read(response.body))
            // All of the service's own have the member; something in front of it may answer 404 to everything.
            guard answer.status == 404, answer.json["error"].isNull else { return answer }
            return Answer(response, fault: "pixiv answered 404 with JSON of another form; asking again may help.")
        } catch {
            return Answer(response, fault: "pixiv's answer is \(error.cause).")
        }
    }

    /// Sends a request; an answer of a server in trouble is an error.
    private func sendPaced(
        _ path: String, _ cookie: SessionCookie?, forMembers: Bool
    ) async throws(Failure) -> HTTPResponse {
        // As on the service's own pages: without it accounts that are set to English get 400 (PixivUtil2 #1513).
        let language = cookie == nil || !path.hasPrefix("/ajax/") ? "" : "\(path.contains("?") ? "&" : "?")lang=en"
        // The cookie goes to the API only: pictures come from another host, and a redirect to another host drops it (HTTPRequest).
        let headers = [Self.referer] + (cookie.map { [$0.header] } ?? [])
        let (response, verdict) = try await api.ask(base + path + language, headers: headers) {
            self.verdict(on: $0, forMembers: forMembers)
        }
        if verdict == .unknown, response.head.status >= 500 {
            throw .troubled("pixiv is in trouble (status \(response.head.status)); try again later.")
        }
        return response
    }

    /// The verdict on an answer: 429, a server in trouble, and a 403 with a page of the front server, which equals 429.
    private func verdict(on response: HTTPResponse, forMembers: Bool) -> AnswerVerdict {
        switch response.head.status {
        case 429: break
        // A 403 for a missing session may have this form too: it is neither a limit nor a success.
        case 403 where !JSONReader.looksLikeObject(response.body):
            if forMembers { return .unknown }
        case 500...:
            if response.head.pause(now: 0) == nil { return .unknown }
        default: return .fine
        }
        return .limited(by: response.head, usual: PacedAPI.usualPause, now: api.wallClock())
    }
}

/// The rules by which a session is sent, and the conclusions from answers about it.
extension WebAPI {
    /// The service's message for a session that it does not accept.
    private static let unknownError = "An unknown error occurred"

    /// Sends a request that works without an account: a session that has run out must not prevent the answer.
    ///
    /// - Throws: `.needsSignIn` once where the session turns out to have ended, so that a stranger's answer is not kept as the account's.
    func askForEverybody(_ path: String) async throws(Failure) -> Answer {
        let cookie = session.cookie
        let answer = try await askTwice(path, cookie)
        // A check that fails says nothing, and the answer is there.
        if let cookie, answer.status == 200, session.isDoubtful(cookie, isNamed: answer.isSignedIn),
            (try? await check(cookie)) == false
        {
            session.expire(cookie)
            throw .needsSignIn
        }
        guard let cookie, answer.status != 200, Self.complains(answer), !answer.isSignedIn else { return answer }
        let again = try await askTwice(path, nil)
        // The same message without a session says nothing about the session.
        if !Self.complains(again) { session.expire(cookie) }
        return again
    }

    /// Sends a request that needs an account; throws `.needsSignIn` without a request if there is no session.
    func askForAccount(_ path: String) async throws(Failure) -> Answer {
        guard let cookie = session.cookieForAccount() else { throw .needsSignIn }
        let answer = try await askTwice(path, cookie)
        if Self.isRefusal(answer) {
            try doubt(cookie, after: answer)
        } else if answer.status == 200, Envelope.error(in: answer.json) == nil {
            session.confirm(cookie)
        }
        return answer
    }

    /// Sends a request that needs an account with R-18 switched on; throws `.needsSignIn` also if only the switch is missing.
    func askForMembers(_ path: String) async throws(Failure) -> Answer {
        guard let cookie = session.cookieForAccount() else { throw .needsSignIn }
        // The other route for members is that of new works of followed authors.
        let isRanking = !path.hasPrefix("/ajax/")
        var answer: Answer?
        do {
            // Below `/ajax` a refusal is JSON, and a page is none.
            answer = try await askTwice(path, cookie, forMembers: isRanking)
        } catch {
            // The error may come from a redirect to the sign-in page; without an answer another request checks the session.
            guard case .unreadable = error, try await !check(cookie) else { throw error }
        }
        if let answer, !Self.isRefusal(answer), !Self.isForStrangers(answer) {
            if !answer.json["contents"].elements.isEmpty { session.confirm(cookie) }
            return answer
        }
        // A page in place of JSON may be of anything on the way; only then another request checks the session.
        var isRefused = true
        if let answer, answer.json.isNull, !answer.isSignedIn {
            isRefused = try await !check(cookie)
        }
        if isRefused { try doubt(cookie, after: answer) }
        session.withhold(isRanking ? "R-18 rankings" : "R-18 works of followed authors", from: cookie)
        throw .needsSignIn
    }

    /// Returns whether the service accepts a session, by a request that only the session's own user gets answered.
    func check(_ cookie: SessionCookie) async throws(Failure) -> Bool {
        let path = "/ajax/user/\(cookie.user.rawValue)/illusts/bookmarks?tag=&offset=0&limit=1&rest=show"
        let answer = try await askTwice(path, cookie)
        if answer.isSignedIn { return true }
        if Self.isRefusal(answer) { return false }
        guard answer.status == 200, Envelope.error(in: answer.json) == nil else {
            let message = Envelope.error(in: answer.json) ?? ""
            throw .unreadable(
                "pixiv did not tell whether the session is valid: status \(answer.status), \(ForeignText.quoted(message))."
            )
        }
        return true
    }

    /// Expires a session that the service did not know when it refused; returns if it knew the session.
    private func doubt(_ cookie: SessionCookie, after answer: Answer?) throws(Failure) {
        if session.isGone(cookie) { throw .needsSignIn }
        guard answer?.isSignedIn != true else { return }
        session.expire(cookie)
        throw .needsSignIn
    }

    /// Whether the answer is something other than a ranking for members.
    private static func isForStrangers(_ answer: Answer) -> Bool {
        answer.status == 200 && answer.json.isNull
            || answer.json["mode"].text.map { !$0.contains("r18") } ?? false
    }

    private static func isRefusal(_ answer: Answer) -> Bool {
        [400, 401, 403].contains(answer.status) || complains(answer)
    }

    /// Whether the answer is the one for a session that has run out.
    private static func complains(_ answer: Answer) -> Bool {
        guard [200, 400, 401, 403].contains(answer.status) else { return false }
        return Envelope.error(in: answer.json)?.contains(unknownError) == true
    }
}
