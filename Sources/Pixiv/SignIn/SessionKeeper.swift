import Posix
package import Rankings
package import Sourcing
import Synchronization

/// Holds the session of the user, as the files have it at this moment, and what the service thinks of it.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards all. Each question looks at the files' metadata (a few microseconds), and reads a file
/// only when it has changed.
package final class SessionKeeper: Sendable {
    private struct State {
        var stamp: SessionFile.Stamp?
        var cookie: SessionCookie?
        var isExpired = false
        /// When the service was last asked with a session that it had refused, in Unix seconds.
        var askedAgain: Int64 = 0
        /// Whether it was said that the account does not show everything.
        var saidWithheld = false
        /// What was wrong with the files the last time.
        var problem: String?
    }

    /// Seconds between two requests with a session that the service refused; it may have been a mistake of the service's.
    private static let recheckInterval: Int64 = 3600

    private let places: [SessionPlace]
    private let host: String
    private let now: @Sendable () -> Int64
    private let report: @Sendable (String) -> Void
    private let expired: @Sendable () -> Void
    private let guarded: Mutex<State>

    /// Follows files.
    ///
    /// - Parameters:
    ///   - places: The first one that exists counts.
    ///   - host: The API's host.
    ///   - now: Unix seconds.
    ///   - report: Told, as a sentence, what the user should know; the same thing once.
    ///   - expired: Told that the service takes the session no longer, once until it takes one again; must not wait.
    package init(
        places: [SessionPlace], host: String, now: @escaping @Sendable () -> Int64,
        report: @escaping @Sendable (String) -> Void, expired: @escaping @Sendable () -> Void = {}
    ) {
        self.places = places
        self.host = host
        self.now = now
        self.report = report
        self.expired = expired
        guarded = Mutex(State())
    }

    /// Follows the files that a mount names; none if it names none.
    convenience init(following means: SessionMeans?) {
        guard let means else {
            self.init(nil)
            return
        }
        self.init(
            places: means.places, host: means.host, now: means.now, report: means.report, expired: means.expired)
    }

    /// Holds one session without a file; nil for none.
    package init(_ cookie: SessionCookie?) {
        places = []
        host = ""
        now = { 0 }
        report = { _ in }
        expired = {}
        guarded = Mutex(State(cookie: cookie))
    }

    /// Whether there is a session, and whether the service takes it.
    package var signIn: SignIn {
        withFiles { state in
            state.cookie.map { state.isExpired ? .expired($0.user) : .signedIn($0.user) } ?? .signedOut
        }
    }

    /// The session for requests that work without one too; nil if there is none that the service takes.
    var cookie: SessionCookie? {
        withFiles { $0.isExpired ? nil : $0.cookie }
    }

    /// The session for requests that need one: also one that was refused, once an hour.
    func cookieForAccount() -> SessionCookie? {
        let now = now()
        return withFiles { state in
            guard state.isExpired else { return state.cookie }
            // A clock set back must not put the next look off for longer.
            guard now >= state.askedAgain + Self.recheckInterval || now < state.askedAgain else { return nil }
            state.askedAgain = now
            return state.cookie
        }
    }

    /// Whether the service has refused this session, or it is no longer the present one.
    func isGone(_ cookie: SessionCookie) -> Bool {
        withFiles { $0.cookie != cookie || $0.isExpired }
    }

    /// The service took the session where it takes nothing else.
    func confirm(_ cookie: SessionCookie) {
        guarded.withLock { state in
            if state.cookie == cookie { state.isExpired = false }
        }
    }

    /// The service refused the session.
    func expire(_ cookie: SessionCookie) {
        let now = now()
        let isNews = guarded.withLock { state in
            guard state.cookie == cookie, !state.isExpired else { return false }
            state.isExpired = true
            state.askedAgain = now
            return true
        }
        guard isNews else { return }
        report(
            "pixiv no longer takes \(cookie): sign in again with `rankfs login`; what is stored and what needs no account "
                + "works on")
        expired()
    }

    /// The session is good, and still the service does not show what it should.
    func withhold(_ what: String, from cookie: SessionCookie) {
        let isNews = guarded.withLock { state in
            guard state.cookie == cookie, !state.saidWithheld else { return false }
            state.saidWithheld = true
            return true
        }
        guard isNews else { return }
        report("pixiv refuses \(what) although it takes \(cookie): switch R-18 on in the settings of the account")
    }

    // MARK: Files

    private func withFiles<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, problem) = guarded.withLock { state in
            let problem = places.isEmpty ? nil : look(&state)
            return (body(&state), problem)
        }
        if let problem { report(problem) }
        return value
    }

    /// Takes in what the files are now; returns what is wrong with them, if that is new.
    private func look(_ state: inout State) -> String? {
        var problem: String?
        var found: (place: SessionPlace, stamp: SessionFile.Stamp)?
        for place in places where found == nil {
            switch SessionFile.stamp(of: place.path) {
            case .success(let stamp): found = (place, stamp)
            case .failure(let error) where place.isExpected:
                problem = "the session file \(place.path) cannot be read: \(error.text)"
            case .failure: break
            }
        }
        if found?.stamp != state.stamp {
            state = State(stamp: found?.stamp, problem: state.problem)
            if let found {
                do {
                    state.cookie = try SessionCookie.read(found.place, host: host, now: now())
                } catch {
                    problem = "the session file \(found.place.path) is not used: it \(error.reason)"
                }
            }
        } else if problem == nil, found != nil, state.cookie == nil {
            // Still the same file with the same mistake.
            problem = state.problem
        }
        defer { state.problem = problem }
        return problem == state.problem ? nil : problem
    }
}
