package import HTTP
package import Rankings

/// A source as its module provides it; the registry has one value of each.
///
/// The program reads the description and gets a source that answers its requests. Everything else about a source (hosts, headers,
/// sessions, times of the day) is in the description or stays in the module.
package protocol SourcePlugIn: Sendable {
    /// The properties of the source that do not depend on the user; the same object each time.
    var description: SourceDescription { get }

    /// Makes the source for a mount.
    func source(_ means: SourceMeans) -> any RankingSource

    /// The accounts of the service; nil for a source without accounts.
    var accounts: (any AccountService)? { get }

    /// A request for public content by which the availability of the API is checked: path and query.
    var plainRequest: String { get }

    /// The header lines of requests to both hosts; never credentials.
    var headers: [String] { get }

    /// Words of the service's addresses that identify no picture or person; recorded answers keep them.
    var vocabulary: Set<String> { get }
}

extension SourcePlugIn {
    package var accounts: (any AccountService)? { nil }
    package var headers: [String] { [] }
    package var vocabulary: Set<String> { [] }
}

/// The means that a mount gives a source.
package struct SourceMeans: Sendable {
    /// Sends one request, at the rate that the service allows; in a mount with the retries of `HTTPClient`.
    package var send: @Sendable (HTTPRequest) async throws(Failure) -> HTTPResponse
    /// Replaces the API's scheme and host; no trailing slash.
    package var apiURL: String?
    /// The replacement of the image hosts' scheme and host; no trailing slash.
    package var imageURL: String?
    /// The possible places of the user's session; nil for a source that is used without one.
    package var sessions: SessionMeans?
    /// The values of the source's own options by name; a missing option has its first word as its value.
    package var choices: [String: String]
    /// The wall clock in Unix seconds.
    package var wallClock: @Sendable () -> Int64
    /// The clock of deadlines.
    package var time = TimeSource.system

    package init(
        send: @escaping @Sendable (HTTPRequest) async throws(Failure) -> HTTPResponse, apiURL: String?,
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

/// The sign-in of a service's users: with a secret from a browser, stored in a file that mounts follow.
package protocol AccountService: Sendable {
    /// The host of the accepted secrets, unless the API is at another host.
    var host: String { get }

    /// The prompt on the terminal for the secret.
    var question: String { get }

    /// The help on signing in: its use and the name of the secret.
    var help: AccountHelp { get }

    /// Returns whether a word may be a secret rather than the name of a file.
    func looksLikeSecret(_ word: String) -> Bool

    /// Reads the session in a file's text, which may also be the secret alone.
    ///
    /// - Parameters:
    ///   - bytes: The whole text.
    ///   - host: The API's host; secrets of other hosts are not taken.
    ///   - now: The time in Unix seconds, for expired secrets.
    /// - Returns: The first valid session.
    /// - Throws: The reason that there is none.
    func session(in bytes: [UInt8], host: String, now: Int64) throws(Failure) -> any SourceSession

    /// Makes a session of a secret as the user types it.
    func session(typed text: String) throws(Failure) -> any SourceSession

    /// Examines a file by the rules of a mount, without keeping its secret.
    func examine(_ place: SessionPlace, host: String, now: Int64) -> SessionExamination

    /// Returns whether the service accepts a session.
    func check(
        _ session: any SourceSession, _ means: SourceMeans, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> Bool
}

/// The words of the help on signing in.
///
/// `use` names the features that need a session, as a clause that goes before "need that": `bookmarks and followed authors`;
/// `secret` is the name of the secret, with an article.
package typealias AccountHelp = (use: String, secret: String)

/// The session of a signed-in user; no description of the value contains its secret.
package protocol SourceSession: Sendable {
    var user: UserID { get }

    /// The line of the session file; for no other use.
    var line: String { get }
}

/// The files that may hold the session of a mount's user, and the receivers of its reports.
package struct SessionMeans: Sendable {
    /// The possible files; the first one that exists counts.
    package var places: [SessionPlace]
    /// The API's host.
    package var host: String
    /// The wall clock in Unix seconds.
    package var now: @Sendable () -> Int64
    /// Receives a notice for the user as a sentence; the same notice once.
    package var report: @Sendable (String) -> Void
    /// Called when the service no longer accepts the session, once until it accepts one again; must not wait.
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
    /// Whether a bare value is accepted: only if the file belongs to this API's host by its name.
    package let takesBare: Bool
    /// Whether a file that other users may read is refused; systemd protects its credentials by its own means.
    package let mustBePrivate: Bool
    /// Whether a missing file is worth a warning.
    package let isExpected: Bool

    package init(_ path: String, takesBare: Bool, mustBePrivate: Bool = true, isExpected: Bool = false) {
        self.path = path
        self.takesBare = takesBare
        self.mustBePrivate = mustBePrivate
        self.isExpected = isExpected
    }
}

/// The state of a file that may hold a session.
package enum SessionExamination: Hashable, Sendable {
    case missing
    /// Other users may read the file, so that it is not used.
    case exposed
    /// The file is not used for this reason: `is no cookie file; …`.
    case unusable(String)
    case usable(UserID)
}

// MARK: - Examinations

/// An assumption of this program about a service, and whether it holds.
package struct Assumption: Hashable, Sendable {
    package enum Verdict: String, Hashable, Sendable {
        case kept
        case changed
        /// The check had no result.
        case unknown
    }

    /// The name in a few words: `fields of an entry`.
    package var name: String
    package var verdict: Verdict
    /// The observation, without anything personal: no title, no person, no path of this machine.
    package var text: String

    package init(_ name: String, _ verdict: Verdict, _ text: String) {
        self.name = name
        self.verdict = verdict
        self.text = text
    }

    /// Makes an assumption that is kept or changed, by whether it holds.
    package init(_ name: String, holds: Bool, _ text: String) {
        self.init(name, holds ? .kept : .changed, text)
    }
}

/// Common parts of the examinations of services: the report of a refusal, and the validators of an image host's answer.
extension Assumption {
    /// Makes the assumption for a request that failed or was not sent.
    ///
    /// - Parameters:
    ///   - name: The name of the assumption.
    ///   - result: The result of the request; nil if none was sent.
    /// - Returns: `changed` if the answer itself is wrong, `unknown` if the host could not be reached.
    package static func failed(_ name: String, _ result: Result<HTTPResponse, Failure>?) -> Assumption {
        if case .failure(let error)? = result { return failed(name, error) }
        return Assumption(name, .unknown, "not asked for")
    }

    /// Makes the assumption for a service that did not return the requested content.
    package static func failed(_ name: String, _ error: Failure) -> Assumption {
        Assumption(name, error.isAnswer ? .changed : .unknown, error.briefly)
    }

    /// Makes the assumption that a picture has a validator (RFC 9110, section 8.8).
    package static func validator(_ name: String, _ head: HTTPAnswer) -> Assumption {
        let validators = [("ETag", head.etag), ("Last-Modified", head.lastModified)].filter { $1 != nil }
            .map(\.0)
        return Assumption(
            name, holds: !validators.isEmpty, validators.isEmpty ? "none" : validators.joined(separator: " and "))
    }
}

extension Failure {
    /// The reason that a request failed, without the name of the host and without any words of the service.
    package var briefly: String {
        switch self {
        case .notPublished, .pastTheEnd, .notFound: "it says that there is none"
        case .needsSignIn: "it wants an account"
        case .withheld: "it withholds what was asked for"
        case .notTaken: "it does not take what was asked"
        case .unsendable: "the request was not sent"
        case .limited: "it asks to be left alone"
        case .crowded: "other requests to it are waiting"
        case .turnedAway: "what stands in front of it turns programs away"
        case .troubled: "it is in trouble"
        case .unreachable: "it cannot be reached"
        case .timedOut: "it did not answer in time"
        case .broken: "the answer broke off"
        case .invalidAnswer: "the answer contradicts itself"
        case .tooLarge: "more came than was asked for"
        case .redirectRefused: "it redirects to where no request may go"
        case .untrusted: "its certificate is not in order"
        case .unreadable: "the answer makes no sense"
        case .exhausted: "too many files are open here"
        case .offline: "no request may leave"
        case .cancelled: "the request was ended"
        default: "the answer is of no use"
        }
    }

    /// Whether the error is an answer of the service itself, so that an assumption has changed.
    package var isAnswer: Bool {
        switch self {
        case .notPublished, .pastTheEnd, .notFound, .needsSignIn, .withheld, .unreadable, .notTaken, .tooLarge,
            .invalidAnswer, .redirectRefused:
            true
        default: false
        }
    }
}

/// The program's version, which packages, manual pages and the `User-Agent` take from here.
package enum Version {
    package static let text = "1.0.0"
    /// An address such as `mailto:packager@example.org` of the maintainer of a package; nil for none.
    private static let contact: String? = nil
    /// Name, version and contact, as a `User-Agent` (RFC 9110, section 10.1.5).
    ///
    /// Operators of open image boards let in programs that give their name, and turn away programs that claim to be browsers; other
    /// services accept programs under their own names too. Fronts detect a browser's name with the handshake of another program.
    package static let userAgent = "rankfs/\(text)" + (contact.map { " (+\($0))" } ?? "")
}
