/// The reason why a request fails, from the transfer through sources and caches to the reply.
///
/// A text is a clause or a sentence with cause and remedy, without credentials and raw bytes from outside. RankFS gives each reason
/// its errno and its line in the log. Cases of two values are indirect, so that a failure is 17 bytes where it is thrown.
package enum Failure: Error, Hashable, Sendable {
    // MARK: The subject of the request

    /// There is no such name or listing.
    case absent
    /// The day is not published yet, or lies outside the range that the service keeps.
    case notPublished
    /// The page lies after the last one.
    case pastTheEnd
    /// The service reports that the thing does not exist.
    case notFound
    /// The image host reports that the picture is gone (404, 410).
    case gone
    /// Only signed-in users have access.
    case needsSignIn
    /// The service knows the work but withholds it; the value is its reason, one short word or its own words.
    case withheld(String)
    /// The image host declares no length of the picture; only a download finds it.
    case sizeNotTold

    // MARK: The request

    /// A host denies access (401, 403), or sends a placeholder in the picture's place.
    case refused(String)
    /// The request or the value is not accepted; the text has the reason, or the accepted values.
    case notTaken(String)
    /// The tree declines a request of the kernel with this errno; the text is nil where that is no trouble.
    indirect case declined(Int32, String?)
    /// The request is invalid and was not sent: a URL that does not parse, or a host that is not allowed.
    case unsendable(String)
    /// Requests are switched off.
    case offline
    case cancelled

    // MARK: The host

    /// A rate limit, and its wait in seconds if the host declares one.
    case limited(retryAfter: Int64?)
    /// The limit of requests that rankfs keeps to was reached, and the seconds until there is a turn for another one.
    case crowded(seconds: Int64)
    /// A browser check turns programs away; the text is a sentence.
    case turnedAway(String)
    /// The service reports trouble on its side; the text is a sentence.
    case troubled(String)
    /// The host answers with a status of trouble, which says nothing about the subject.
    case answered(status: Int)
    /// The object store has no room.
    case full

    // MARK: The connection

    /// No name, no route, refused, reset before an answer.
    case unreachable(String)
    /// The deadline passed, or the transfer was too slow.
    case timedOut
    /// The answer was cut short or contradicts itself; it says nothing about the subject.
    case broken(String)
    /// The answer is not the host's: a portal's page, an invalid certificate, or a failed TLS handshake.
    case untrusted(String)
    /// A redirect loop, or a redirect to a host, scheme or address that is not allowed.
    case redirectRefused(String)

    // MARK: The answer

    /// The answer contradicts itself: two lengths, an invalid status line, an encoding that was not requested.
    case invalidAnswer(String)
    /// The body is larger than the limit.
    case tooLarge
    /// The content cannot be decoded.
    case unreadable(String)
    /// The bytes are not those of the picture: no trailer, another format, or another version than the one begun.
    case damaged(String)
    /// The source declares another length than the one shown, or sends a whole picture of another length.
    indirect case lengthContradicts(told: Int64?, shown: Int64)

    // MARK: This machine

    /// Too many files are open; the text is a sentence.
    case exhausted(String)
    /// The database of listings cannot be used.
    case database(String)
    /// Another rankfs process uses this cache directory.
    case busy(directory: String)
    /// A file, a folder or a program of this machine cannot be used; the text has the cause and the remedy.
    case unusable(String)
}

extension Result {
    /// The result of work in a closure that passes no typed errors through.
    package init(_ work: () async throws(Failure) -> Success) async {
        do throws(Failure) { self = .success(try await work()) } catch { self = .failure(error) }
    }
}

extension Failure {
    /// The cause as a clause about the host, which is `it`; the text, where the reason has one.
    package var cause: String {
        switch self {
        case .withheld(let text), .refused(let text), .notTaken(let text), .unsendable(let text), .turnedAway(let text),
            .troubled(let text), .unreachable(let text), .broken(let text), .untrusted(let text),
            .redirectRefused(let text), .invalidAnswer(let text), .unreadable(let text), .damaged(let text),
            .exhausted(let text), .database(let text), .unusable(let text):
            text
        case .declined(_, let text): text ?? ""
        case .absent, .notPublished, .pastTheEnd, .notFound, .gone: "there is none"
        case .needsSignIn: "it wants an account"
        case .sizeNotTold: "it does not tell the length"
        case .offline: "requests are switched off"
        case .cancelled: "the request was cancelled"
        case .limited: "it answered 429"
        case .crowded: "requests to it wait for each other, because the option rate limits them"
        case .answered(let status): "it answered \(status)"
        case .full: "it has no room"
        case .timedOut: "it did not answer in time"
        case .tooLarge: "an object is larger than it may be"
        case .lengthContradicts(let told?, let shown): "the picture has \(told) bytes where \(shown) were promised"
        case .lengthContradicts(nil, let shown):
            "the picture does not end after the \(shown) bytes that were promised"
        case .busy(let directory):
            "another rankfs uses the cache directory \(directory); stop it or name another cache_dir"
        }
    }
}
