package import HTTP
package import Rankings

/// A source as its module brings it; the registry has one value of each.
///
/// The program reads a description, and gets a source that it asks; what it may not know of one (hosts, headers, sessions, times
/// of the day) stands in the description or stays in the module.
package protocol SourcePlugIn: Sendable {
    /// What is true of the source whoever asks it; the same object each time.
    var description: SourceDescription { get }

    /// Makes the source that a mount asks.
    func source(_ means: SourceMeans) -> any RankingSource

    /// Where users sign in; nil for a source without accounts.
    var accounts: (any AccountService)? { get }

    /// A request for something that everybody may see, by which one finds out whether the API answers: path and query.
    var plainRequest: String { get }

    /// The header lines with which both hosts are asked; never credentials.
    var headers: [String] { get }

    /// Words of the service's addresses, which say nothing of a picture or person: recorded answers keep them.
    var vocabulary: Set<String> { get }
}

extension SourcePlugIn {
    package var accounts: (any AccountService)? { nil }
    package var headers: [String] { [] }
    package var vocabulary: Set<String> { [] }
}

/// What a mount gives a source to work with.
package struct SourceMeans: Sendable {
    /// Sends one request, at the rate that the service allows; in a mount with the retries of `HTTPClient`.
    package var send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    /// Replaces the API's scheme and host; no trailing slash.
    package var apiURL: String?
    /// Replaces the image hosts' scheme and host; no trailing slash.
    package var imageURL: String?
    /// Where the user's session may be; nil for a source that is asked without one.
    package var sessions: SessionMeans?
    /// Values of the source's own options by name; one that is missing has its first word.
    package var choices: [String: String]
    /// Unix seconds.
    package var wallClock: @Sendable () -> Int64
    /// The clock of deadlines.
    package var time = TimeSource.system

    package init(
        send: @escaping @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse, apiURL: String?,
        imageURL: String?, sessions: SessionMeans? = nil, choices: [String: String] = [:],
        wallClock: @escaping @Sendable () -> Int64
    ) {
        self.send = send
        self.apiURL = apiURL
        self.imageURL = imageURL
        self.sessions = sessions
        self.choices = choices
        self.wallClock = wallClock
    }
}

// MARK: - Accounts

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

// MARK: - Examinations

/// Something that this program takes for granted of a service, and whether it is so.
package struct Assumption: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable, Codable {
        case kept
        case changed
        /// It could not be found out.
        case unknown
    }

    /// A few words: `fields of an entry`.
    package var name: String
    package var verdict: Verdict
    /// What was seen, with nothing in it that is somebody's own: no title, no person, no path of this machine.
    package var text: String

    package init(_ name: String, _ verdict: Verdict, _ text: String) {
        self.name = name
        self.verdict = verdict
        self.text = text
    }

    /// Kept or changed, by whether something is so.
    package init(_ name: String, holds: Bool, _ text: String) {
        self.init(name, holds ? .kept : .changed, text)
    }
}

/// What examinations of services have in common: how a refusal is told, and what an image host's answer tells of lengths.
extension Assumption {
    /// Something that could not be asked for, or whose answer was none.
    ///
    /// - Parameters:
    ///   - name: Of the assumption.
    ///   - result: What came of the request; nil if there was none.
    /// - Returns: Changed where the answer itself is wrong, unknown where the host could not be asked.
    package static func failed(_ name: String, _ result: Result<HTTPResponse, HTTPError>?) -> Assumption {
        switch result {
        case .failure(let error)?:
            switch error {
            case .tooLarge, .invalidAnswer, .redirectRefused: Assumption(name, .changed, error.briefly)
            default: Assumption(name, .unknown, error.briefly)
            }
        default: Assumption(name, .unknown, "not asked for")
        }
    }

    /// A service that did not say what it was asked for.
    package static func failed(_ name: String, _ error: SourceError) -> Assumption {
        Assumption(name, error.isAnswer ? .changed : .unknown, error.briefly)
    }

    /// Whether a picture names its version (RFC 9110, section 8.8).
    package static func validator(_ name: String, _ head: HTTPAnswer) -> Assumption {
        let validators = [("ETag", head.etag), ("Last-Modified", head.lastModified)].filter { $1 != nil }
            .map(\.0)
        return Assumption(
            name, holds: !validators.isEmpty, validators.isEmpty ? "none" : validators.joined(separator: " and "))
    }
}

extension HTTPError {
    /// Why a host could not be asked, without naming it.
    package var briefly: String {
        switch self {
        case .unreachable: "it cannot be reached"
        case .timedOut: "it did not answer in time"
        case .broken: "the answer broke off"
        case .invalidAnswer: "the answer contradicts itself"
        case .tooLarge: "more came than was asked for"
        case .redirectRefused: "it redirects to where no request may go"
        case .untrusted: "its certificate is not in order"
        case .refused: "the request was not sent"
        case .limited: "it asks to be left alone"
        case .turnedAway: "what stands in front of it turns programs away"
        case .exhausted: "too many files are open here"
        case .offline: "no request may leave"
        case .cancelled: "the request was ended"
        }
    }
}

extension SourceError {
    /// Why the service could not be asked, without the words of a stranger.
    package var briefly: String {
        switch self {
        case .notPublished, .pastTheEnd, .notFound: "it says that there is none"
        case .needsSignIn: "it wants an account"
        case .withheld: "it withholds what was asked for"
        case .limited: "it asks to be left alone"
        case .turnedAway: "what stands in front of it turns programs away"
        case .exhausted: "too many files are open here"
        case .troubled: "it is in trouble"
        case .unreachable: "it cannot be reached"
        case .timedOut: "it did not answer in time"
        case .offline: "no request may leave"
        case .unreadable: "the answer makes no sense"
        case .refused: "it does not take what was asked"
        case .cancelled: "the request was ended"
        }
    }

    /// Whether the service itself spoke, so that something has changed.
    package var isAnswer: Bool {
        switch self {
        case .notPublished, .pastTheEnd, .notFound, .needsSignIn, .withheld, .unreadable, .refused: true
        case .limited, .turnedAway, .troubled, .unreachable, .timedOut, .exhausted, .offline, .cancelled: false
        }
    }
}

/// How the program calls itself where a service wants to know who asks.
///
/// Operators of open image boards let in programs that name themselves and somebody to write to, and turn away those that call
/// themselves browsers.
package enum OwnAgent {
    /// Name, version and contact, as a `User-Agent` (RFC 9110, section 10.1.5); the version is the program's.
    package static let text = "rankfs/0.1.0 (+mailto:rankfs@localhost.localdomain)"
    /// The same in a word or two.
    package static let description = "its own name"
}
