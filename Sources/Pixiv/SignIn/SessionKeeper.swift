import System
package import Rankings
package import Sourcing
import Synchronization

/// Holds the user's session, as the files have it at this moment, and whether the service accepts it.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards the state. Each call reads the files' metadata (a few microseconds), and reads a file
/// only when it has changed.
package final class SessionKeeper: Sendable {
    private struct State {
        var stamp: SessionFile.Stamp?
        var cookie: SessionCookie?
        var isExpired = false
        /// The time of the last request with a session that the service had refused, in Unix seconds.
        var askedAgain: Int64 = 0
        /// Whether the last answer named the session's user, and the time at which one that did not was looked into, in Unix seconds.
        var wasNamed = false
        var lookedInto: Int64 = 0
        /// What the account was reported not to show.
        var saidWithheld: Set<String> = []
        /// The last problem with the files.
        var problem: String?
    }

    /// Seconds between two requests with a refused session; the refusal may have been an error of the service.
    private static let recheckInterval: Int64 = 3600
    /// Seconds between two checks of a session of which some answers name the user and others do not.
    private static let doubtInterval: Int64 = 60

    private let means: SessionMeans?
    private let guarded: Mutex<State>

    /// Follows the files that a mount names, if any.
    package init(following means: SessionMeans?) {
        self.means = means
        guarded = Mutex(State())
    }

    /// Holds one session without a file; nil for no session.
    package init(_ cookie: SessionCookie?) {
        means = nil
        guarded = Mutex(State(cookie: cookie))
    }

    /// Whether there is a session, and whether the service accepts it.
    package var signIn: SignIn {
        withFiles { state in
            state.cookie.map { state.isExpired ? .expired($0.user) : .signedIn($0.user) } ?? .signedOut
        }
    }

    /// The session for requests that also work without a session; nil if there is none that the service accepts.
    var cookie: SessionCookie? {
        withFiles { $0.isExpired ? nil : $0.cookie }
    }

    /// The session for requests that need one; a refused session is returned once an hour.
    func cookieForAccount() -> SessionCookie? {
        let now = means?.now() ?? 0
        return withFiles { state in
            guard state.isExpired else { return state.cookie }
            // A clock set back must not delay the next check for longer.
            guard now >= state.askedAgain + Self.recheckInterval || now < state.askedAgain else { return nil }
            state.askedAgain = now
            return state.cookie
        }
    }

    /// Whether the service has refused this session, or another session has replaced it.
    func isGone(_ cookie: SessionCookie) -> Bool {
        withFiles { $0.cookie != cookie || $0.isExpired }
    }

    /// Records that the service accepted the session for a request that needs an account.
    func confirm(_ cookie: SessionCookie) {
        guarded.withLock { state in
            if state.cookie == cookie { state.isExpired = false }
        }
    }

    /// Records whether an answer to a request that needs no account named the session's user; returns whether the session is to be checked.
    ///
    /// An answer without a user is for strangers, or of a kind that has none.
    func isDoubtful(_ cookie: SessionCookie, isNamed: Bool) -> Bool {
        let now = means?.now() ?? 0
        return guarded.withLock { state in
            let pause = state.wasNamed ? Self.doubtInterval : Self.recheckInterval
            guard state.cookie == cookie, !state.isExpired else { return false }
            guard !isNamed else {
                state.wasNamed = true
                return false
            }
            guard now >= state.lookedInto + pause || now < state.lookedInto else { return false }
            (state.lookedInto, state.wasNamed) = (now, false)
            return true
        }
    }

    /// Records that the service refused the session.
    func expire(_ cookie: SessionCookie) {
        let now = means?.now() ?? 0
        let isNews = guarded.withLock { state in
            guard state.cookie == cookie, !state.isExpired else { return false }
            state.isExpired = true
            state.askedAgain = now
            return true
        }
        guard isNews else { return }
        means?.report(
            "pixiv no longer takes \(cookie): sign in again with `rankfs login`; what is stored and what needs no account "
                + "works on")
        means?.expired()
    }

    /// Reports that the service accepts the session and still withholds something.
    func withhold(_ what: String, from cookie: SessionCookie) {
        let isNews = guarded.withLock { state in
            state.cookie == cookie && state.saidWithheld.insert(what).inserted
        }
        guard isNews else { return }
        means?.report(
            "pixiv refuses \(what) although it takes \(cookie): switch R-18 on in the settings of the account")
    }

    // MARK: Files

    private func withFiles<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        let (value, problem) = guarded.withLock { state in
            let problem = means.flatMap { look(&state, $0) }
            return (body(&state), problem)
        }
        if let problem { means?.report(problem) }
        return value
    }

    /// Reads the state of the files; returns their problem, if it is new.
    private func look(_ state: inout State, _ means: SessionMeans) -> String? {
        var problem: String?
        var found: (place: SessionPlace, stamp: SessionFile.Stamp)?
        for place in means.places where found == nil {
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
                    state.cookie = try SessionCookie.read(found.place, host: means.host, now: means.now())
                } catch {
                    problem = "the session file \(found.place.path) is not used: it \(error.cause)"
                }
            }
        } else if problem == nil, found != nil, state.cookie == nil {
            // The same file still has the same problem.
            problem = state.problem
        }
        defer { state.problem = problem }
        return problem == state.problem ? nil : problem
    }
}
