import Booru
package import Rankings
package import Sourcing

/// A site of the Moebooru engine as the registry has it.
package struct MoebooruPlugIn: SourcePlugIn {
    private let site: MoebooruSite

    private init(_ site: MoebooruSite) {
        self.site = site
    }

    package static let yandere = MoebooruPlugIn(.yandere)
    package static let konachan = MoebooruPlugIn(.konachan)

    package var description: SourceDescription { site.description }

    package func source(_ means: SourceMeans) -> any RankingSource {
        BooruSource(MoebooruEngine(site), means)
    }

    package var vocabulary: Set<String> { BooruLimits.vocabulary }

    package func examine(_ means: ExaminationMeans) async -> [Assumption]? {
        await BooruExaminer(MoebooruEngine(site), means).examine()
    }

    package var plainRequest: String { "/post.json?tags=rating:s&limit=1" }
}
