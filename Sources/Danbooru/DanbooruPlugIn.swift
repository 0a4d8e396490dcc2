import Booru
package import Rankings
package import Sourcing

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
