package import Rankings
package import Sourcing

/// The differences between the engines of image boards: the requests for lists, and the decoding of answers.
///
/// ## Concurrency
///
/// A value of immutable parts, or an object that any task may call at any time.
package protocol BooruEngine: SourcePlugIn {
    var scale: RatingScale { get }

    /// Posts on a full page.
    var postsPerPage: Int { get }

    /// The address for requests for posts up to a rating, by its place on the scale: scheme and host, without a trailing slash.
    func apiURL(upTo rating: Int) -> String

    /// The term that limits a search to days of the service, the last day as a whole.
    ///
    /// - Parameter days: At least one day.
    /// - Returns: A term for `list`.
    func term(for days: Range<Day>) -> String

    /// The terms that find a user's favourites, the last one first.
    ///
    /// - Parameter user: The user's name, percent-encoded.
    /// - Returns: Terms for `list`.
    func favorites(of user: String) -> [String]

    /// Path and query of pools; nil for a pool whose posts are found by its number alone.
    func pools(_ query: PoolQuery) -> String?

    /// Whether the search reads a word, in lower case, as syntax instead of a tag: a metatag, or a part of its grammar.
    func isSyntax(_ word: String) -> Bool

    /// Joins the words of a search so that a further term limits all of them.
    ///
    /// - Parameter terms: The words, percent-encoded.
    /// - Returns: The same, in parentheses if needed.
    func joined(_ terms: [String]) -> [String]

    /// Path and query of a page, from 1, of the posts with all the terms, which are percent-encoded where necessary.
    func list(_ terms: [String], page: Int) -> String

    /// Path and query of one post.
    func record(of work: WorkID) -> String

    /// The entries of a list.
    ///
    /// - Throws: `.unreadable` for an answer without a list.
    func entries(in answer: JSON, hosts: PictureHosts) throws(Failure) -> [PostEntry]

    /// Compares the objects of a list's answer with the known fields of each kind.
    ///
    /// Posts without an address are left out, since their records lack further fields.
    func fields(of answer: JSON) -> [Assumption]

    /// The post in the answer to a request for one post.
    ///
    /// - Returns: The entry, and the fields that only its record has, under the service's names in order (`WorkDetails.more`).
    /// - Throws: `.notFound` if the service has no such post.
    func record(
        in answer: JSON, hosts: PictureHosts
    ) throws(Failure) -> (entry: PostEntry, fields: [JSON.Member])

    /// Statuses of a server in trouble that mean a refusal here.
    var finalStatuses: Set<Int> { get }

    /// The error for an answer of another status than 200.
    func refusal(_ refusal: BooruRefusal) -> Failure
}

/// The pools to request.
package enum PoolQuery: Hashable, Sendable {
    case number(Int64)
    /// Pools with these words in their names.
    case name(String)
    /// Pools that contain a post.
    case post(WorkID)
    /// A user's group of favourites.
    case group(Int64)
}

/// A pool: posts of a board in an order of their own, as a book has.
package struct BooruPool: Hashable, Sendable {
    package var id: Int64
    /// The name with blanks as the services have them, as underscores.
    package var name = ""
    /// The posts in the pool's order, an entry that is no number as 0; nil where the record has no list.
    package var posts: [WorkID]?
    /// The number of posts that the record states.
    package var count: Int?

    package init(id: Int64) { self.id = id }

    /// Decodes the record of a pool; nil for a record without a number.
    package init?(_ record: JSON) {
        guard let id = record["id"].number, id > 0 else { return nil }
        self.id = id
        name = record["name"].text ?? ""
        count = record["post_count"].count
        guard record["post_ids"].isArray else { return }
        posts = record["post_ids"].elements.map { WorkID(rawValue: $0.number ?? 0) }
    }

    /// Decodes a list of pools, or an object with such a list.
    ///
    /// - Throws: `.unreadable` for an answer without a list, or with entries of which none is a pool.
    package static func all(in answer: JSON) throws(Failure) -> [BooruPool] {
        let list = [answer["pools"], answer].first { $0.isArray }
        let pools = list?.elements.compactMap { BooruPool($0) } ?? []
        guard let list, !pools.isEmpty || list.elements.isEmpty else {
            throw .unreadable("the answer has no list of pools; the service may have changed.")
        }
        return pools
    }

    /// The pool that a name means: the one with that name, whatever its case, or else the only one that was found.
    package static func named(_ name: String, among pools: [BooruPool]) -> BooruPool? {
        func plain(_ name: String) -> [Substring] {
            name.lowercased().split { $0 == "_" || $0.isWhitespace }
        }
        return pools.first { plain($0.name) == plain(name) } ?? (pools.count == 1 ? pools.first : nil)
    }
}

/// An answer that is an error, as far as it can be decoded.
package struct BooruRefusal: Sendable {
    package let status: Int
    /// The kind of error, where the service names one; empty for none.
    package let kind: String
    /// The service's message, quoted; empty for none.
    package let message: String
    /// Whether the answer is JSON in the form of the service's errors, and so comes from the service itself.
    package let isOwn: Bool

    /// The message after a colon, `: “the words”`, or nothing.
    package var reason: String { message.isEmpty ? "" : ": \(message)" }
}
