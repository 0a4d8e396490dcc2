import Testing

@testable import Rankings

/// Which works a mount shows.
@Suite struct ListingFilterTests {
    private static func work(
        tags: [String] = [], width: Int = 1200, height: Int = 900, isAI: Bool? = nil
    ) -> Work {
        Work(
            id: WorkID(rawValue: 1), title: "A", author: UserID(rawValue: 1), authorName: "B", tags: tags,
            kind: .illustration, width: width, height: height, pageCount: 1, uploaded: 1, views: nil, ratings: nil,
            picture: "", withheld: nil, isAI: isAI)
    }

    @Test func withoutDemandsEverythingIsShown() {
        let filter = ListingFilter()
        #expect(filter.admitsAll)
        for work in [Self.work(), Self.work(width: 0, height: 0), Self.work(tags: ["AI"], isAI: true)] {
            #expect(filter.admits(work) && filter.admits(work, rankedAsGenerated: true))
        }
        #expect(filter.admits(rankingOfGenerated: true) && filter.admits(rankingOfGenerated: false))
    }

    /// What is said about a work, from the surest to the least sure: its ranking, its own field, its tags.
    @Test(
        arguments: [
            (false, nil, false, false), (false, nil, true, true), (false, false, true, false),
            (false, false, false, false),
            (false, true, false, true), (false, true, true, true), (true, nil, false, true), (true, false, false, true),
            (true, true, true, true),
        ] as [(Bool, Bool?, Bool, Bool)])
    func generatedWorksAreToldApart(inMode: Bool, field: Bool?, tagged: Bool, isGenerated: Bool) {
        let work = Self.work(tags: tagged ? ["風景", "NovelAI"] : ["風景", "aichi"], isAI: field)
        for treatment in ListingFilter.Generated.allCases {
            var filter = ListingFilter()
            filter.generated = treatment
            let isShown = filter.admits(work, rankedAsGenerated: inMode)
            switch treatment {
            case .show: #expect(isShown)
            case .hide: #expect(isShown == !isGenerated)
            case .only: #expect(isShown == isGenerated)
            }
        }
    }

    @Test func hidingGeneratedWorksHidesTheirRankings() {
        var filter = ListingFilter()
        filter.generated = .hide
        #expect(!filter.admits(rankingOfGenerated: true) && filter.admits(rankingOfGenerated: false))
        filter.generated = .only
        #expect(filter.admits(rankingOfGenerated: true) && filter.admits(rankingOfGenerated: false))
    }

    @Test func tagsAreComparedWholeAndWithoutCase() {
        var filter = ListingFilter()
        filter.tags = ["Landscape", "風景"]
        #expect(filter.admits(Self.work(tags: ["風景", "LANDSCAPE", "x"])))
        #expect(!filter.admits(Self.work(tags: ["風景"])), "both are demanded")
        #expect(!filter.admits(Self.work(tags: ["風景画", "landscapes"])))
        filter.refusedTags = ["Sketch"]
        #expect(!filter.admits(Self.work(tags: ["風景", "landscape", "sketch"])))
        filter.tags = []
        #expect(filter.admits(Self.work()))
        #expect(!filter.admitsAll)
    }

    @Test func widthAndShapeAreThoseOfTheFirstPage() {
        var filter = ListingFilter()
        filter.minimumWidth = 1000
        #expect(filter.admits(Self.work(width: 1000)))
        #expect(!filter.admits(Self.work(width: 999)))
        filter.minimumWidth = 0
        let shapes: [(ListingFilter.Orientation, Int, Int)] = [
            (.landscape, 11, 10), (.portrait, 10, 11), (.square, 10, 10),
        ]
        for wanted in ListingFilter.Orientation.allCases {
            filter.orientation = wanted
            for (shape, width, height) in shapes {
                #expect(filter.admits(Self.work(width: width, height: height)) == (shape == wanted))
            }
            #expect(!filter.admits(Self.work(width: 0, height: 0)), "its shape is not told")
        }
    }

    /// Every demand stands for itself: a work that fails one of them alone is not shown.
    @Test func demandsAddUp() {
        var filter = ListingFilter()
        (filter.generated, filter.tags, filter.refusedTags) = (.hide, ["a"], ["b"])
        (filter.minimumWidth, filter.orientation) = (1000, .landscape)
        #expect(filter.admits(Self.work(tags: ["A"], isAI: false)))
        for work in [
            Self.work(tags: ["A"], isAI: true), Self.work(), Self.work(tags: ["A", "B"]),
            Self.work(tags: ["A"], width: 999, height: 900), Self.work(tags: ["A"], height: 1300),
        ] { #expect(!filter.admits(work), "\(work)") }
    }
}
