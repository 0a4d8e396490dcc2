/// Which works a mount shows: a pure predicate, so that what is hidden keeps its rank and place.
package struct ListingFilter: Hashable, Sendable {
    /// How works made with AI are treated.
    package enum Generated: String, Hashable, Sendable, CaseIterable {
        case show, hide, only
    }

    /// The shape of page 0.
    package enum Orientation: String, Hashable, Sendable, CaseIterable {
        case landscape, portrait, square
    }

    package var generated = Generated.show
    /// Tags that a work must have, compared without case; empty for no demand.
    package var tags: [String] = []
    /// Tags that a work must not have.
    package var refusedTags: [String] = []
    /// Pixels that page 0 must be wide.
    package var minimumWidth = 0
    /// Nil for any.
    package var orientation: Orientation?

    package init() {}

    /// Tags by which authors mark what they made with AI, where the listing has no field for it; lower case.
    private static let generatedTags: Set<String> = [
        "ai", "aiイラスト", "aiart", "ai生成", "ai生成作品", "ai-generated", "novelai", "novelaidiffusion", "stablediffusion",
        "nijijourney", "midjourney",
    ]

    /// Whether every work passes.
    package var admitsAll: Bool {
        self == ListingFilter()
    }

    /// Whether a ranking can show anything.
    ///
    /// - Parameter isGenerated: Whether all its works are made with AI.
    /// - Returns: False if the filter hides all of them.
    package func admits(rankingOfGenerated isGenerated: Bool) -> Bool {
        !(isGenerated && generated == .hide)
    }

    /// Whether a work is shown.
    ///
    /// - Parameters:
    ///   - work: The work as its listing tells it.
    ///   - rankedAsGenerated: Whether it is in a ranking of works made with AI.
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

    /// Nil for a work whose size is not told: nobody can say that it has a wanted shape.
    private static func orientation(of work: Work) -> Orientation? {
        guard work.width > 0, work.height > 0 else { return nil }
        if work.width == work.height { return .square }
        return work.width > work.height ? .landscape : .portrait
    }
}
