package import Rankings

/// Why bytes cannot be had.
package enum ImageCacheError: Error, Hashable, Sendable {
    /// No answer from the network.
    case unreachable(String)
    case timedOut
    /// Requests are switched off.
    case offline
    /// The service says the picture is gone (404, 410).
    case gone
    /// The service refuses it (403 with a Referer, a placeholder in place of the picture).
    case refused(String)
    /// The bytes are not those of the picture: no trailer, another format, another version than the one begun.
    case damaged(String)
    /// The source tells another length than the one that was shown, or sends a whole picture of another one.
    case lengthContradicts(told: Int64?, shown: Int64)
    /// The answer was cut, or contradicts itself; it tells nothing of the picture.
    case broken(String)
    /// Somebody else answered: a portal's page, a refused redirect, a certificate that is not the host's.
    case untrusted(String)
    /// The host answers with an error of its own (5xx), which tells nothing of the picture.
    case troubled(status: Int)
    /// The service asks to slow down.
    case limited(retryAfter: Int64?)
    /// What stands in front of the host turns programs away: why it is not asked and what helps, as a sentence.
    case turnedAway(String)
    /// There are too many open files: why and what helps, as a sentence.
    case exhausted(String)
    case cancelled
    /// Another rankfs uses this cache directory.
    case busy(directory: String)
    /// The directory cannot be used: text with cause and remedy.
    case unusable(String)
}

/// Something worth a log line that no request reports.
package enum ImageCacheEvent: Sendable {
    case preloadFailed(PictureID, ImageCacheError)
    /// A stored file was broken and has been removed; it will be downloaded again.
    case removedBroken(PictureID, reason: String)
    /// The disk is full or fails: pictures are served without being stored.
    case notStoring(reason: String)
    case storingAgain
    /// Somebody removed the cache directory in mid-work: it is there again, without the pictures that were in it.
    case directoryRemade(String)
    case evicted(count: Int, bytes: Int64)
    /// A mark that keeps backups away could not be set.
    case unmarked(mark: String, reason: String)
}

extension ImageCacheError {
    /// Whether bytes that were given before may be wrong.
    var isOfTheBytes: Bool {
        switch self {
        case .damaged, .lengthContradicts: true
        default: false
        }
    }

    /// One sentence for people.
    package var text: String {
        switch self {
        case .unreachable(let reason): "the image host cannot be reached (\(reason))"
        case .timedOut: "the image host does not answer"
        case .offline: "the picture is not stored, and no request may leave"
        case .gone: "the service has removed the picture"
        case .refused(let reason), .damaged(let reason), .broken(let reason), .untrusted(let reason),
            .turnedAway(let reason), .exhausted(let reason), .unusable(let reason):
            reason
        case .lengthContradicts(let told?, let shown): "the picture has \(told) bytes where \(shown) were promised"
        case .lengthContradicts(nil, let shown): "the picture does not end after the \(shown) bytes that were promised"
        case .troubled(let status): "the image host answered \(status)"
        case .limited: "the image host asks to slow down"
        case .cancelled: "the read was given up"
        case .busy(let directory):
            "another rankfs uses the cache directory \(directory); stop it or name another cache_dir"
        }
    }
}
