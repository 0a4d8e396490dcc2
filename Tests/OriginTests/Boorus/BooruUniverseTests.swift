import Rankings
import Testing

@testable import Origin

/// Posts follow from the seed and their numbers.
@Suite(.timeLimit(.minutes(1))) struct BooruUniverseTests {
    @Test(arguments: [ServedSite.danbooru, .yandere, .konachan]) func numbersAndPlaces(site: ServedSite) throws {
        let universe = PostUniverse(seed: 1, site: site)
        let day = site.day(at: noon).advanced(by: -3)
        let posts = universe.posts(on: day, now: noon)
        #expect(posts.map(\.id) == posts.map(\.id).sorted())
        #expect(posts.map(\.created) == posts.map(\.created).sorted())
        let begin = site.begin(of: day) * 1000
        let end = site.begin(of: day.advanced(by: 1)) * 1000
        for post in posts {
            #expect(PostSlot(id: post.id, site: site) == post.slot)
            #expect((begin..<end).contains(post.created))
        }
        #expect(PostSlot(id: 0, site: site) == nil && PostSlot(id: .max, site: site) == nil)
        #expect(PostSlot(id: Int64(site.stride), site: site) == nil, "a number between two days")
        #expect(universe.post(posts[0].id, now: site.begin(of: day) - 1) == nil, "before it was uploaded")
    }

    @Test func theSameSeedGivesTheSame() throws {
        func text(_ seed: UInt64) throws -> [UInt8] {
            let booru = Booru(.yandere) { $0.seed = seed }
            return try booru.get("/post.json?tags=date:2024-04-29&limit=5").drawn()
        }
        #expect(try text(7) == text(7))
        #expect(try text(7) != text(8))
    }

    @Test func aDayIsAFewPagesForEverybody() {
        let universe = PostUniverse(seed: 1, site: .danbooru)
        let newest = ServedSite.danbooru.day(at: noon).advanced(by: -1)
        for back in 0..<10 {
            let general = universe.posts(on: newest.advanced(by: -back), now: noon).filter { $0.rating == .general }
            #expect(general.count >= 200)
        }
        #expect(Set(universe.posts(on: newest, now: noon).map(\.rating)) == Set(ServedRating.allCases))
        #expect(universe.posts(on: newest.advanced(by: 3), now: noon).isEmpty)
        let today = universe.posts(on: newest.advanced(by: 1), now: noon)
        #expect(!today.isEmpty && today.allSatisfy { $0.created <= noon * 1000 }, "a day grows while it lasts")
    }

    /// From the tables of `zdump -v America/New_York`.
    @Test func clocksOfNewYork() throws {
        let changes: [(before: Int64, offset: Int64, after: Int64)] = [
            (1_710_053_999, -18_000, -14_400), (1_730_613_599, -14_400, -18_000),  // 2024
            (1_173_596_399, -18_000, -14_400), (1_194_155_999, -14_400, -18_000),  // 2007
            (1_143_961_199, -18_000, -14_400), (1_162_101_599, -14_400, -18_000),  // 2006
        ]
        for change in changes {
            #expect(ServedEasternTime.offset(at: change.before) == change.offset)
            #expect(ServedEasternTime.offset(at: change.before + 1) == change.after)
        }
        func hours(_ text: String) throws -> Int64 {
            let day = try #require(Day(text))
            return (ServedEasternTime.begin(of: day.advanced(by: 1)) - ServedEasternTime.begin(of: day)) / 3600
        }
        #expect(try hours("2024-03-10") == 23)
        #expect(try hours("2024-11-03") == 25)
        #expect(try hours("2024-07-01") == 24)
        #expect(ServedEasternTime.iso(1_790_535_228_533) == "2026-09-27T14:53:48.533-04:00")
        #expect(ServedEasternTime.iso(1_480_128_042_851) == "2016-11-25T21:40:42.851-05:00")
    }

    @Test(arguments: [ServedSite.danbooru, .yandere, .konachan]) func landmarks(site: ServedSite) throws {
        let universe = PostUniverse(seed: 3, site: site)
        func post(_ mark: PostLandmark) throws -> ServedPost { try #require(universe.post(mark.id(site), now: noon)) }
        func kinds(_ mark: PostLandmark) throws -> [ServedTag.Kind: Int] {
            let tags = universe.tags(of: try post(mark)).map { ServedTags.all[$0] }
            return Dictionary(grouping: tags, by: \.kind).mapValues(\.count)
        }
        let first: [ServedSite: Int64] = [.danbooru: 10_622_977, .yandere: 829_697, .konachan: 380_929]
        #expect(PostLandmark.first(site) == first[site], "the program's help tells it")
        let best = universe.posts(on: PostLandmark.day, now: noon).sorted { ($0.score, $0.id) > ($1.score, $1.id) }
        #expect(best.prefix(PostLandmark.allCases.count).map(\.id) == PostLandmark.allCases.map { $0.id(site) })
        for (mark, format) in [(PostLandmark.mp4, ServedFormat.mp4), (.webm, .webm), (.webp, .webp), (.gif, .gif)] {
            #expect(try post(mark).format == format)
        }
        #expect(try post(.zip).format == (site.isDanbooru ? .zip : .gif))
        #expect(try post(.avif).format == (site.isDanbooru ? .avif : .gif))
        #expect(try post(.banned).isBanned == site.isDanbooru)
        #expect(try post(.deleted).isDeleted && post(.pending).isPending && post(.flagged).isFlagged)
        #expect(try kinds(.withoutArtist)[.artist] == nil)
        #expect(try kinds(.threeArtists)[.artist] == 3)
        #expect(try universe.tags(of: post(.hostileTags)).count == ServedTags.hostile.count)
        #expect(try kinds(.manyTags).values.reduce(0, +) > 300)
        #expect(try post(.child).parent == PostLandmark.plain.id(site) && post(.plain).hasChildren)
        #expect(try post(.small).pixels.width <= ServedRendition.sampleWidth)
        #expect(try post(.breakable).format == .png && post(.large).pixels.width == 2400)
        #expect(try post(.pixivOriginal).source.pixivID != nil && post(.pixivPage).source.pixivID != nil)
        #expect(try post(.noSource).source.text.isEmpty && !post(.freeText).source.text.contains("://"))
    }
}
