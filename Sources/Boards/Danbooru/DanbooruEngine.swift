package import Rankings
package import Sourcing

/// The engine of Danbooru's API.
package struct DanbooruEngine: BooruEngine {
    package init() {}

    package var description: SourceDescription { Self.description }

    package var plainRequest: String { "/posts.json?tags=rating:g&limit=1" }

    package var scale: RatingScale { Self.scale }

    package var postsPerPage: Int { Self.postsPerPage }

    package func apiURL(upTo rating: Int) -> String { rating == 0 ? Self.safeURL : Self.wholeURL }

    /// Two dates mean their midnights (`range_parser.rb`): two dots would exclude the last day; three exclude the end.
    package func term(for days: Range<Day>) -> String {
        let next = days.lowerBound.advanced(by: 1)
        return days.upperBound == next
            ? "date:\(days.lowerBound)" : "date:\(days.lowerBound)...\(days.upperBound)"
    }

    /// An empty answer may mean that the user hides the list (`post_query_builder.rb`).
    package func favorites(of user: String) -> [String] { ["ordfav:\(user)"] }

    /// Lists of pools contain deleted ones unless others are requested (`pools_controller.rb`).
    package func pools(_ query: PoolQuery) -> String? {
        switch query {
        case .number(let number): "/pools/\(number).json"
        case .name(let name): list(ofPools: "name_contains", PercentCoding.encode(name))
        case .group(let number): "/favorite_groups/\(number).json"
        case .post(let post): list(ofPools: "post_ids_include_any", "\(post.rawValue)")
        }
    }

    private func list(ofPools field: String, _ value: String) -> String {
        "/pools.json?search%5B\(field)%5D=\(value)&search%5Bis_deleted%5D=false&search%5Border%5D=post_count&limit=1000"
    }

    package func isSyntax(_ word: String) -> Bool {
        ["and", "or"].contains(word) || Self.metatags.contains(word.prefix { $0 != ":" }) && word.contains(":")
    }

    /// The part after an `or` belongs to its last term alone (`post_query/parser.rb`).
    package func joined(_ terms: [String]) -> [String] {
        guard terms.contains(where: { $0.lowercased() == "or" }) else { return terms }
        return [PercentCoding.encode("(")] + terms + [PercentCoding.encode(")")]
    }

    /// Path and query of a list; `popular.json` has the same days, but accepts one request a minute.
    package func list(_ terms: [String], page: Int) -> String {
        "/posts.json?tags=\(terms.joined(separator: "+"))&limit=\(postsPerPage)&page=\(page)"
    }

    package func record(of work: WorkID) -> String { "/posts/\(work.rawValue).json" }

    package func entries(in answer: JSON, hosts: PictureHosts) throws(Failure) -> [PostEntry] {
        guard case .array(let posts) = answer else {
            throw .unreadable("Danbooru's list is no list; Danbooru may have changed it.")
        }
        return posts.map { Self.entry($0, hosts: hosts) }
    }

    package func fields(of answer: JSON) -> [Assumption] {
        let posts = answer.elements.filter { $0["file_url"].words != nil }
        let assets = posts.map { $0["media_asset"] }
        return [
            FieldList.danbooruPost.compare("fields of a post", with: posts),
            FieldList.danbooruAsset.compare("fields of a file", with: assets),
            FieldList.danbooruVariant.compare(
                "fields of a rendition", with: assets.flatMap { $0["variants"].elements }),
        ]
    }

    package func record(
        in answer: JSON, hosts: PictureHosts
    ) throws(Failure) -> (entry: PostEntry, fields: [JSON.Member]) {
        (Self.entry(answer, hosts: hosts), Self.fields(answer))
    }

    /// The status of a query over the time limit; a second attempt would take as long.
    package var finalStatuses: Set<Int> { [500] }

    package func refusal(_ refusal: BooruRefusal) -> Failure {
        switch (refusal.status, refusal.kind) {
        case (410, _) where refusal.isOwn, (_, "PaginationExtension::PaginationError"): .pastTheEnd
        case (_, "PostQuery::TagLimitError"):
            .notTaken("Danbooru takes two tags at most from strangers\(refusal.reason)")
        case (_, "ActiveRecord::QueryCanceled"):
            .notTaken(
                "Danbooru gave up after the three seconds that it takes for a search; look for a rarer tag or a shorter time, or "
                    + "try again later"
            )
        // A user may hide a group of favourites.
        case (403, "User::PrivilegeError"): .withheld(Withholding.restricted)
        // The post was taken down by order of a court; a front may answer so for all of a country.
        case (451, _) where refusal.isOwn: .notFound
        default: refusal.usual(of: "Danbooru")
        }
    }
}
