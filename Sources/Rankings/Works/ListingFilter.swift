/// The condition for the works that a mount shows: a pure predicate, so that a hidden work keeps its rank and place.
package struct ListingFilter: Hashable, Sendable {
    /// The treatment of works made with AI.
    package enum Generated: String, Hashable, Sendable, CaseIterable {
        case show, hide, only
    }

    /// The shape of page 0.
    package enum Orientation: String, Hashable, Sendable, CaseIterable {
        case landscape, portrait, square
    }

    package var generated = Generated.show
    /// Tags that a work must have, compared without case; empty for no condition.
    package var tags: [String] = []
    /// Tags that a work must not have.
    package var refusedTags: [String] = []
    /// The minimum width of page 0, in pixels.
    package var minimumWidth = 0
    /// The required shape of page 0; nil for any.
    package var orientation: Orientation?

    package init() {}

    /// Tags by which authors mark works made with AI, for listings that have no field for it; lower case.
    private static let generatedTags: Set<String> = [
        "ai", "aiイラスト", "aiart", "ai生成", "ai生成作品", "ai-generated", "novelai", "novelaidiffusion", "stablediffusion",
        "nijijourney", "midjourney",
    ]

    /// Whether every work passes.
    package var admitsAll: Bool {
        self == ListingFilter()
    }

    /// Whether a ranking can show any work.
    ///
    /// - Parameter isGenerated: Whether all works of the ranking are made with AI.
    /// - Returns: False if the filter hides all of them.
    package func admits(rankingOfGenerated isGenerated: Bool) -> Bool {
        !(isGenerated && generated == .hide)
    }

    /// Whether a work is shown.
    ///
    /// - Parameters:
    ///   - work: The work as its listing describes it.
    ///   - rankedAsGenerated: Whether the work is in a ranking of works made with AI.
    /// - Returns: False for a work to hide.
    package func admits(_ work: Work, rankedAsGenerated: Bool = false) -> Bool {
        if work.width < minimumWidth { return false }
        if let orientation, orientation != Self.orientation(of: work) { return false }
        guard !tags.isEmpty || !refusedTags.isEmpty || generated != .show else { return true }
        let names = Set(work.tags.map { $0.lowercased() })
        guard tags.allSatisfy({ names.contains($0.lowercased()) }),
            !refusedTags.contains(where: { names.contains($0.lowercased()) })
        else { return false }
        if generated == .show { return true }
        let isGenerated = rankedAsGenerated || (work.isAI ?? !names.isDisjoint(with: Self.generatedTags))
        return isGenerated == (generated == .only)
    }

    /// The shape of a work; nil for a work of unknown size, which matches no wanted shape.
    private static func orientation(of work: Work) -> Orientation? {
        guard work.width > 0, work.height > 0 else { return nil }
        if work.width == work.height { return .square }
        return work.width > work.height ? .landscape : .portrait
    }
}
