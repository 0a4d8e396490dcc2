package import Rankings
package import Sourcing

/// The entry of a board in the registry of sources.
package struct BooruPlugIn: SourcePlugIn {
    private let engine: any BooruEngine
    package let plainRequest: String

    init(_ engine: any BooruEngine, plainRequest: String) {
        self.engine = engine
        self.plainRequest = plainRequest
    }

    package var description: SourceDescription { engine.description }

    package func source(_ means: SourceMeans) -> any RankingSource { BooruSource(engine, means) }

    package var vocabulary: Set<String> { BooruLimits.vocabulary }
}
