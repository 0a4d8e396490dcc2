package import Rankings
package import Sourcing

/// What differs between the engines of image boards: how lists are asked for, and how answers read.
///
/// ## Concurrency
///
/// A value of immutable parts, or an object that any task may ask at any time.
package protocol BooruEngine: Sendable {
    /// What is true of the source; the same object each time.
    var description: SourceDescription { get }

    var scale: RatingScale { get }

    /// Posts on a full page.
    var postsPerPage: Int { get }

    /// Where to ask when posts up to a rating are wanted: scheme and host, without a trailing slash.
    func apiURL(upTo step: RatingScale.Step?) -> String

    /// What limits a search to days of the service: the last one is as whole as the others.
    ///
    /// - Parameter days: At least one.
    /// - Returns: A term for `list`.
    func term(for days: Range<Day>) -> String

    /// Whether the search takes a word, in lower case, for something else than a tag: a metatag, or a part of its grammar.
    func isSyntax(_ word: String) -> Bool

    /// Words of a search so that a further term limits all of them.
    ///
    /// - Parameter terms: Percent-encoded.
    /// - Returns: The same, put into parentheses if need be.
    func joined(_ terms: [String]) -> [String]

    /// Path and query of a page, counted from 1, of what has all the terms, which are percent-encoded where they need it.
    func list(_ terms: [String], page: Int) -> String

    /// Path and query of one post.
    func record(of work: WorkID) -> String

    /// The entries of a list.
    ///
    /// - Throws: `.unreadable` for an answer that has no list.
    func entries(in answer: JSON, hosts: PictureHosts) throws(SourceError) -> [PostEntry]

    /// The objects of a list's answer by kind, with what is known of their fields: `fields of a post`.
    ///
    /// Posts without an address are left out, since their records lack more than that.
    func fields(of answer: JSON) -> [KnownFields]

    /// The post in the answer to a question for one.
    ///
    /// - Returns: The entry, when it was made, and whatever else is worth showing of its record (`WorkDetails.more`).
    /// - Throws: `.notFound` if the service has no such post.
    func record(
        in answer: JSON, hosts: PictureHosts
    ) throws(SourceError) -> (entry: PostEntry, fields: PostFields)

    /// Statuses of a server in trouble that mean a refusal here.
    var finalStatuses: Set<Int> { get }

    /// What an answer of another status than 200 means.
    func refusal(_ refusal: BooruRefusal) -> SourceError

    /// The web page of a post, for people.
    func webPage(of work: WorkID) -> String
}

/// Objects of one kind in an answer, and what is known of their fields.
package struct KnownFields: Sendable {
    /// Of the assumption that they are as known: `fields of a post`.
    package let name: String
    package let list: FieldList
    package let objects: [JSON]

    package init(_ name: String, _ list: FieldList, _ objects: [JSON]) {
        self.name = name
        self.list = list
        self.objects = objects
    }
}

/// What only a post's own record shows.
package struct PostFields: Hashable, Sendable {
    package var comments: Int?
    /// Under names of their own, in order.
    package var more: [JSON.Member]

    package init(comments: Int? = nil, more: [JSON.Member]) {
        self.comments = comments
        self.more = more
    }
}

/// An answer that is an error, as far as it can be understood.
package struct BooruRefusal: Sendable {
    package let status: Int
    /// The kind of error, where the service names one; empty for none.
    package let kind: String
    /// The service's own words, quoted; empty for none.
    package let message: String
    /// Whether it is JSON, so that the service itself spoke.
    package let isOwn: Bool

    package init(status: Int, kind: String, message: String, isOwn: Bool) {
        self.status = status
        self.kind = kind
        self.message = message
        self.isOwn = isOwn
    }

    /// `: “the words”`, or nothing.
    package var reason: String { message.isEmpty ? "" : ": \(message)" }
}
