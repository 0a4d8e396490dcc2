import Rankings
import Sourcing

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
