package import Rankings
package import Sourcing
import System

/// The engine of a Moebooru site's API.
package struct MoebooruEngine: BooruEngine {
    private let site: MoebooruSite

    package init(_ site: MoebooruSite) {
        self.site = site
    }

    package var description: SourceDescription { site.description }

    package var plainRequest: String { "/post.json?tags=rating:s&limit=1" }

    package var scale: RatingScale { MoebooruSite.scale }

    package var postsPerPage: Int { MoebooruSite.postsPerPage }

    private var title: String { site.description.title }

    package func apiURL(upTo rating: Int) -> String { site.description.access.apiURL }

    /// Times are compared as dates (`sql_methods.rb`), so a range includes both its days.
    package func term(for days: Range<Day>) -> String {
        let last = days.upperBound.advanced(by: -1)
        return days.lowerBound == last ? "date:\(last)" : "date:\(days.lowerBound)..\(last)"
    }

    /// A favourite is a vote of three (`post/sql_methods.rb`).
    package func favorites(of user: String) -> [String] { ["vote:3:\(user)", "order:vote"] }

    /// A search for a pool's posts returns them in the pool's order (`post/sql_methods.rb`); a search for pools, in pages of
    /// twenty without a limit, takes blanks between the words of a name (`pool_controller.rb`).
    package func pools(_ query: PoolQuery) -> String? {
        switch query {
        case .number, .group: nil
        case .name(let name):
            "/pool.json?query=\(PercentCoding.encode(String(name.map { $0 == "_" ? " " : $0 })))%20limit:100"
        case .post(let post): "/post.json?api_version=2&include_pools=1&tags=id:\(post.rawValue)"
        }
    }

    /// Whether a word is syntax; a letter alone is a rating.
    package func isSyntax(_ word: String) -> Bool {
        ["q", "s", "e"].contains(word) || Self.metatags.contains(word.prefix { $0 != ":" }) && word.contains(":")
    }

    /// The part of a metatag before its colon (`parse_methods.rb`); any other word with a colon is a tag.
    private static let metatags: Set<Substring> = [
        "ratio", "unlocked", "deleted", "ext", "user", "sub", "vote", "fav", "md5", "rating", "width", "height",
        "mpixels", "score", "source", "id", "date", "pool", "parent", "order", "change", "holds", "pending", "shown",
        "limit",
    ]

    /// Returns the terms unchanged: each term limits the search.
    package func joined(_ terms: [String]) -> [String] { terms }

    /// Path and query of a list with the types of its tags, without which artists could not be recognized.
    package func list(_ terms: [String], page: Int) -> String {
        "/post.json?api_version=2&include_tags=1&tags=\(terms.joined(separator: "+"))&limit=\(postsPerPage)&page=\(page)"
    }

    /// Path and query of a search for one post, as the page of a post has no JSON.
    package func record(of work: WorkID) -> String {
        "/post.json?api_version=2&include_tags=1&tags=id:\(work.rawValue)"
    }

    package func entries(in answer: JSON, hosts: PictureHosts) throws(Failure) -> [PostEntry] {
        let reader = MoebooruPost(tagKinds: kinds(answer), hosts: hosts)
        return try posts(answer).map { reader.entry($0) }
    }

    package func fields(of answer: JSON) -> [Assumption] {
        let told = (try? posts(answer)) ?? []
        return [
            FieldList.moebooruAnswer.compare("fields of an answer", with: [answer]),
            FieldList.moebooruPost.compare(
                "fields of a post", with: told.filter { $0["file_url"].words != nil }),
        ]
    }

    package func record(
        in answer: JSON, hosts: PictureHosts
    ) throws(Failure) -> (entry: PostEntry, fields: [JSON.Member]) {
        guard let record = try posts(answer).first else { throw .notFound }
        let reader = MoebooruPost(tagKinds: kinds(answer), hosts: hosts)
        return (reader.entry(record), reader.fields(record))
    }

    /// The posts of an answer of the second version, or of the first, which is the bare list.
    private func posts(_ answer: JSON) throws(Failure) -> [JSON] {
        for list in [answer["posts"], answer] {
            if case .array(let posts) = list { return posts }
        }
        throw .unreadable("\(title)'s answer has no list of posts; it may have changed.")
    }

    /// The kinds of an answer's tags, which are numbers or words.
    private func kinds(_ answer: JSON) -> [String: TagKind] {
        let told = answer["tags"].members.prefix(Self.mostTags).map { member -> (String, TagKind) in
            let type = member.value
            let numbered = type.number.map { Self.usual[$0] ?? site.tagKinds[$0] ?? .general }
            return (member.name, numbered ?? type.text.flatMap { TagKind(rawValue: $0) } ?? .general)
        }
        return Dictionary(told) { first, _ in first }
    }

    /// The most tags of one answer with types that are read: a hundred posts have about thirty each.
    private static let mostTags = 20_000

    /// The numbers with the same meaning on every site (`config/init_config.rb`).
    private static let usual: [Int64: TagKind] = [0: .general, 1: .artist, 3: .copyright, 4: .character]

    /// The status of the answer "accessing too quickly".
    package var finalStatuses: Set<Int> { [503] }

    package func refusal(_ refusal: BooruRefusal) -> Failure {
        // The engine gives this refusal several statuses: "You can only search up to six tags at once".
        let message = refusal.message.lowercased()
        if refusal.isOwn, message.contains("search up to") || message.contains("tags at once") {
            return .notTaken("\(title) takes six tags at most\(refusal.reason)")
        }
        return refusal.usual(of: title)
    }
}
