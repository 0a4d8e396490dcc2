/// One page of a ranking as the source tells it.
package struct RankingPage: Sendable {
    package var mode: RankingMode
    /// The day that was really served.
    package var day: Day
    package var page: Int
    /// In rank order, gaps left out.
    package var entries: [ListedWork]
    /// How many entries the whole ranking has, if told.
    package var total: Int?
    /// Whether a further page exists.
    package var hasNext: Bool
    /// Entries that could not be understood and were left out.
    package var unreadable: Int

    package init(
        mode: RankingMode, day: Day, page: Int, entries: [ListedWork], total: Int?, hasNext: Bool, unreadable: Int
    ) {
        self.mode = mode
        self.day = day
        self.page = page
        self.entries = entries
        self.total = total
        self.hasNext = hasNext
        self.unreadable = unreadable
    }
}

/// Where to ask for a picture, and how.
package struct PictureLocation: Hashable, Sendable {
    package var url: String
    /// Header lines that this request needs (`Referer: …`); never credentials.
    package var headers: [String]
    /// `jpg`, `png`, `gif`, `zip`: what the bytes must be.
    package var fileExtension: String
    /// The page that the request names as the one that it comes from (RFC 9110, section 10.1.3); nil if it names none.
    package var referrer: String? {
        let prefix = "referer: "
        return headers.first { $0.lowercased().hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    /// Bytes, where the listing tells them, so that nobody need ask.
    package var size: Int64?
    /// The MD5 digest of the bytes as 32 lower-case hexadecimal digits, where the listing tells it.
    ///
    /// No byte of such a picture is given out before all of them have been found to have it.
    package var digest: String?

    package init(
        url: String, headers: [String], fileExtension: String, size: Int64? = nil, digest: String? = nil
    ) {
        self.url = url
        self.headers = headers
        self.fileExtension = fileExtension
        self.size = size
        self.digest = digest
    }
}

/// A file in the directory of a work.
package struct WorkPicture: Hashable, Sendable {
    /// What such files are called; no other name is looked for.
    package static let stems: Set<String> = ["original", "sample"]

    /// The name without its extension: one of `stems`.
    package var stem: String
    package var rendition: Rendition
    /// For `RankingSource.location`.
    package var reference: String

    package init(_ stem: String, rendition: Rendition, reference: String) {
        self.stem = stem
        self.rendition = rendition
        self.reference = reference
    }
}

/// Why a source could not answer.
package enum SourceError: Error, Hashable, Sendable {
    /// The day is not published yet, or lies outside what the service keeps.
    case notPublished
    /// The page lies behind the last one.
    case pastTheEnd
    /// Only signed-in users see this.
    case needsSignIn
    /// The service knows the work and does not give it: its reason, one short word.
    case withheld(String)
    /// The service asks to slow down; seconds to wait if it told them.
    case limited(retryAfter: Int64?)
    /// What stands in front of the service turns programs away: why it is not asked and what helps, as a sentence.
    case turnedAway(String)
    /// The service answered that it is in trouble: as a sentence.
    case troubled(String)
    /// The service says that there is no such thing.
    case notFound
    /// No answer: no route, refused, no name, broken connection.
    case unreachable(String)
    /// No answer in time.
    case timedOut
    /// An answer that makes no sense.
    case unreadable(String)
    /// The service does not take what was asked: why, and what it takes, as a sentence.
    case refused(String)
    /// There are too many open files to ask: why and what helps, as a sentence.
    case exhausted(String)
    /// Requests are switched off.
    case offline
    /// The asking task was cancelled.
    case cancelled
}
