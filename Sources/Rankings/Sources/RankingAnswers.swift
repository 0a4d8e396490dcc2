/// A part of a listing that one request answers.
package enum ListingPart: Hashable, Sendable {
    /// A page, from 1; of an indexed kind (`ListingFacts.isIndexed`), the first answer.
    case number(Int)
    /// The same of a listing whose name in another one is not what the service calls it: with the reference of its entry there.
    case named(Int, String)
    /// The records of works that the first answer named, in this order; at most `SourceDescription.entries(of:)` at once.
    case works([WorkID])
}

/// One part of a listing, as the source returned it.
package struct ListingPage: Hashable, Sendable {
    /// In the order of the listing, gaps left out; authors in the place of works where the listing has authors.
    package var entries: [ListedWork]
    /// Works of an indexed listing without a record among the entries; nil for other kinds.
    package var further: [WorkID]?
    /// The day of a ranking that the service really served.
    package var day: Day?
    /// The number of entries of the whole listing; nil if the service does not report it.
    package var total: Int?
    /// Whether a further page exists.
    package var hasNext: Bool
    /// The number of the last page; nil if the service does not report it.
    package var lastPage: Int?
    /// The number of entries that could not be decoded and were left out.
    package var unreadable: Int

    package init(
        entries: [ListedWork], further: [WorkID]? = nil, day: Day? = nil, total: Int? = nil, hasNext: Bool = false,
        lastPage: Int? = nil, unreadable: Int = 0
    ) {
        self.entries = entries
        self.further = further
        self.day = day
        self.total = total
        self.hasNext = hasNext
        self.lastPage = lastPage
        self.unreadable = unreadable
    }

    /// A page of works without ranks.
    package init(
        works: [Work], further: [WorkID]? = nil, total: Int? = nil, hasNext: Bool = false, lastPage: Int? = nil,
        unreadable: Int = 0
    ) {
        self.init(
            entries: works.map { ListedWork(rank: nil, previousRank: nil, work: $0) }, further: further, total: total,
            hasNext: hasNext, lastPage: lastPage, unreadable: unreadable)
    }

    /// A page of authors.
    package init(authors: [NamedAuthor], total: Int?, hasNext: Bool) {
        self.init(works: authors.map { Work($0) }, total: total, hasNext: hasNext)
    }

    package var works: [Work] { entries.map(\.work) }

    /// The authors of a page of authors.
    package var authors: [NamedAuthor] { entries.map { NamedAuthor(id: $0.work.author, name: $0.work.authorName) } }
}

// MARK: - Locations

/// The address of a picture and the header lines of its request.
package struct PictureLocation: Hashable, Sendable {
    package var url: String
    /// Header lines that this request needs (`Referer: …`); never credentials.
    package var headers: [String]
    /// The extension that the bytes must match: `jpg`, `png`, `gif` or `zip`.
    package var fileExtension: String
    /// The page that the request names as its referrer (RFC 9110, section 10.1.3); nil if it names none.
    package var referrer: String? {
        let prefix = "referer: "
        return headers.first { $0.lowercased().hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    /// The size in bytes where the listing reports it, which saves a request; nil elsewhere.
    package var size: Int64?
    /// The MD5 digest of the bytes as 32 lower-case hexadecimal digits, where the listing reports it.
    ///
    /// No byte of such a picture is given out before all of its bytes have been verified against the digest.
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
    /// The permitted stems; no other name is looked up.
    package static let stems: Set<String> = ["original", "sample"]

    /// The name without its extension: one of `stems`.
    package var stem: String
    package var rendition: Rendition
    /// The reference to pass to `RankingSource.location`.
    package var reference: String

    package init(_ stem: String, rendition: Rendition, reference: String) {
        self.stem = stem
        self.rendition = rendition
        self.reference = reference
    }
}
