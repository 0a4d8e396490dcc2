package import Rankings

/// How users of a service sign in: with a secret that a browser has, stored in a file that mounts follow.
package protocol AccountService: Sendable {
    /// The host whose secrets are taken, unless the API is elsewhere.
    var host: String { get }

    /// What the terminal shows before the secret is typed.
    var question: String { get }

    /// The help on signing in: what it is good for, what the secret is called, where it goes.
    var help: AccountHelp { get }

    /// Whether a word may be a secret rather than the name of a file.
    func looksLikeSecret(_ word: String) -> Bool

    /// The session in a file's text, which may also be the secret alone.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - host: The API's host: secrets of others are not taken.
    ///   - now: Unix seconds, for secrets that have run out.
    /// - Returns: The first that is valid.
    /// - Throws: why there is none.
    func session(in bytes: [UInt8], host: String, now: Int64) throws(SessionProblem) -> any SourceSession

    /// The session of a secret as a person types it.
    func session(typed text: String) throws(SessionProblem) -> any SourceSession

    /// Looks at a file as a mount would, without keeping its secret.
    func examine(_ place: SessionPlace, host: String, now: Int64) -> SessionExamination

    /// Asks the service whether it takes a session.
    func check(
        _ session: any SourceSession, _ means: SourceMeans, deadline: ContinuousClock.Instant
    ) async throws(SourceError) -> SessionCheck
}

/// The words with which help tells of signing in.
package struct AccountHelp: Hashable, Sendable {
    /// What needs it, as a clause that goes before "need that": `bookmarks and followed authors`.
    package let use: String
    /// What the secret is called, with an article.
    package let secret: String

    package init(use: String, secret: String) {
        self.use = use
        self.secret = secret
    }
}

/// The session of a signed-in user; its secret is in no description of it.
package protocol SourceSession: Sendable {
    var user: UserID { get }

    /// What its file holds of it; for nothing else.
    var line: String { get }
}

/// Which files may hold the session of a mount's user, and who is told of it.
package struct SessionMeans: Sendable {
    /// The first one that exists counts.
    package var places: [SessionPlace]
    /// The API's host.
    package var host: String
    /// Unix seconds.
    package var now: @Sendable () -> Int64
    /// Told, as a sentence, what the user should know; the same thing once.
    package var report: @Sendable (String) -> Void
    /// Told that the service takes the session no longer, once until it takes one again; must not wait.
    package var expired: @Sendable () -> Void

    package init(
        places: [SessionPlace], host: String, now: @escaping @Sendable () -> Int64,
        report: @escaping @Sendable (String) -> Void, expired: @escaping @Sendable () -> Void
    ) {
        self.places = places
        self.host = host
        self.now = now
        self.report = report
        self.expired = expired
    }
}

/// A file that may hold a session.
package struct SessionPlace: Hashable, Sendable {
    package let path: String
    /// Whether a value alone is enough: only where the file is of this API's host by its name.
    package let takesBare: Bool
    /// Whether a file that others may read is refused; systemd guards its credentials in its own ways.
    package let mustBePrivate: Bool
    /// Whether it is worth a warning that the file is not there.
    package let isExpected: Bool

    package init(_ path: String, takesBare: Bool, mustBePrivate: Bool = true, isExpected: Bool = false) {
        self.path = path
        self.takesBare = takesBare
        self.mustBePrivate = mustBePrivate
        self.isExpected = isExpected
    }
}

/// Why something that should hold a session does not; a clause with cause and remedy, which never repeats what was found.
package struct SessionProblem: Error, Hashable, Sendable {
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }
}

/// What a file that may hold a session turns out to be.
package enum SessionExamination: Hashable, Sendable {
    case missing
    /// Others may read it, so that it is not used.
    case exposed
    /// Why it is not used: `is no cookie file; …`.
    case unusable(String)
    case usable(UserID)
}

/// What the check of a session found.
package enum SessionCheck: Hashable, Sendable {
    case valid(UserID)
    case refused
}
