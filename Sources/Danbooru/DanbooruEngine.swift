package import Booru
package import Rankings
package import Sourcing

/// Danbooru's API.
package struct DanbooruEngine: BooruEngine {
    package init() {}

    package var description: SourceDescription { DanbooruFacts.description }

    package var scale: RatingScale { DanbooruFacts.scale }

    package var postsPerPage: Int { DanbooruFacts.postsPerPage }

    package func apiURL(upTo step: RatingScale.Step?) -> String {
        step?.rating ?? .general == .general ? DanbooruFacts.safeURL : DanbooruFacts.wholeURL
    }

    /// Two dates mean their midnights (`range_parser.rb`): with two dots the last day would be missing; three leave the end out.
    package func term(for days: Range<Day>) -> String {
        let next = days.lowerBound.advanced(by: 1)
        return days.upperBound == next
            ? "date:\(days.lowerBound)" : "date:\(days.lowerBound)...\(days.upperBound)"
    }

    package func isSyntax(_ word: String) -> Bool {
        ["and", "or"].contains(word) || DanbooruFacts.metatags.contains(word.prefix { $0 != ":" }) && word.contains(":")
    }

    /// What follows an `or` belongs to its last part alone (`post_query/parser.rb`).
    package func joined(_ terms: [String]) -> [String] {
        guard terms.contains(where: { $0.lowercased() == "or" }) else { return terms }
        return [PercentCoding.encode("(")] + terms + [PercentCoding.encode(")")]
    }

    /// `popular.json` would tell the same days, but once a minute only.
    package func list(_ terms: [String], page: Int) -> String {
        "/posts.json?tags=\(terms.joined(separator: "+"))&limit=\(postsPerPage)&page=\(page)"
    }

    package func record(of work: WorkID) -> String { "/posts/\(work.rawValue).json" }

    package func entries(in answer: JSON, hosts: PictureHosts) throws(SourceError) -> [PostEntry] {
        guard case .array(let posts) = answer else {
            throw .unreadable("Danbooru's list is no list; Danbooru may have changed it.")
        }
        return posts.map { DanbooruPost.entry($0, hosts: hosts) }
    }

    package func fields(of answer: JSON) -> [KnownFields] {
        let posts = answer.elements.filter { $0["file_url"].words != nil }
        let assets = posts.map { $0["media_asset"] }
        return [
            KnownFields("fields of a post", .danbooruPost, posts),
            KnownFields("fields of a file", .danbooruAsset, assets),
            KnownFields("fields of a rendition", .danbooruVariant, assets.flatMap { $0["variants"].elements }),
        ]
    }

    package func record(
        in answer: JSON, hosts: PictureHosts
    ) throws(SourceError) -> (entry: PostEntry, fields: PostFields) {
        (DanbooruPost.entry(answer, hosts: hosts), DanbooruPost.fields(answer))
    }

    /// A query over the time limit; it would take as long again.
    package var finalStatuses: Set<Int> { [500] }

    package func refusal(_ refusal: BooruRefusal) -> SourceError {
        switch (refusal.status, refusal.kind) {
        case (_, "PaginationExtension::PaginationError"), (410, _): .pastTheEnd
        case (_, "PostQuery::TagLimitError"):
            .refused("Danbooru takes two tags at most from strangers\(refusal.reason)")
        case (_, "ActiveRecord::QueryCanceled"):
            .refused(
                "Danbooru gave up after the three seconds that it takes for a search; look for a rarer tag or a shorter time, or "
                    + "try again later"
            )
        // Taken down by order of a court.
        case (451, _): .notFound
        default: refusal.usual(of: "Danbooru")
        }
    }

    package func webPage(of work: WorkID) -> String { "\(DanbooruFacts.wholeURL)/posts/\(work.rawValue)" }
}

// MARK: - Danbooru plug in

/// Danbooru as the registry has it.
package struct DanbooruPlugIn: SourcePlugIn {
    package init() {}

    package var description: SourceDescription { DanbooruFacts.description }

    package func source(_ means: SourceMeans) -> any RankingSource {
        BooruSource(DanbooruEngine(), means)
    }

    package var vocabulary: Set<String> { BooruLimits.vocabulary }

    package func examine(_ means: ExaminationMeans) async -> [Assumption]? {
        await BooruExaminer(DanbooruEngine(), means).examine()
    }

    package var plainRequest: String { "/posts.json?tags=rating:g&limit=1" }
}
