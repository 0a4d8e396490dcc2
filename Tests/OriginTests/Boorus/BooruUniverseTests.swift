import Rankings
import Testing

@testable import Origin

/// Days and posts of boards on which other tests rely.
@Suite(.timeLimit(.minutes(1))) struct BooruUniverseTests {
    /// From the tables of `zdump -v America/New_York`.
    @Test func clocksOfNewYork() throws {
        let changes: [(before: Int64, offset: Int64, after: Int64)] = [
            (1_710_053_999, -18_000, -14_400), (1_730_613_599, -14_400, -18_000),  // 2024
            (1_173_596_399, -18_000, -14_400), (1_194_155_999, -14_400, -18_000),  // 2007
        ]
        for change in changes {
            #expect(Service.danbooru.offset(at: change.before) == change.offset)
            #expect(Service.danbooru.offset(at: change.before + 1) == change.after)
        }
        func hours(_ text: String) throws -> Int64 {
            let day = try #require(Day(text))
            return
                (Service.danbooru.begin(of: day.advanced(by: 1))
                - Service.danbooru.begin(of: day)) / 3600
        }
        #expect(try hours("2024-03-10") == 23)
        #expect(try hours("2024-11-03") == 25)
        #expect(try hours("2024-07-01") == 24)
        #expect(Moment.rails(1_790_535_228_533) == "2026-09-27T14:53:48.533-04:00")
        #expect(Moment.rails(1_480_128_042_851) == "2016-11-25T21:40:42.851-05:00")
    }

    @Test(arguments: [Service.danbooru, .yandere, .konachan]) func landmarks(
        site: Service
    ) throws {
        let universe = Universe(seed: 3, site)
        func post(_ mark: String) throws -> Post {
            try #require(universe.post(Landmarks.id(mark, site), now: noon))
        }
        func kinds(_ mark: String) throws -> [Origin.Tag.Kind: Int] {
            let tags = universe.tags(of: try post(mark)).map { TagTable.boards.all[$0] }
            return Dictionary(grouping: tags, by: \.kind).mapValues(\.count)
        }
        let first: [Service: Int64] = [.danbooru: 10_622_977, .yandere: 829_697, .konachan: 380_929]
        #expect(Landmarks.id("plain", site) == first[site], "the program's help tells it")
        let best = universe.posts(on: Landmarks.day, now: noon).sorted { ($0.score, $0.id) > ($1.score, $1.id) }
        #expect(
            best.prefix(Landmarks.posts.count).map(\.id)
                == (0..<Int64(Landmarks.posts.count)).map { $0 + Landmarks.id("plain", site) })
        for (mark, format) in ["mp4": Format.mp4, "webm": .webm, "webp": .webp, "gif": .gif] {
            #expect(try post(mark).format == format)
        }
        #expect(try post("zip").format == ((site == .danbooru) ? .zip : .gif))
        #expect(try post("avif").format == ((site == .danbooru) ? .avif : .gif))
        #expect(try post("banned").flags.contains(.banned) == (site == .danbooru))
        #expect(try post("deleted").flags == [.deleted] && post("flagged").flags == [.flagged])
        #expect(try kinds("withoutArtist")[.artist] == nil)
        #expect(try kinds("threeArtists")[.artist] == 3)
        #expect(try universe.tags(of: post("hostileTags")).count == universe.tags.hostile.count)
        #expect(try kinds("manyTags").values.reduce(0, +) > 300)
        #expect(try post("child").parent == Landmarks.id("plain", site) && post("plain").flags == [.parent])
        #expect(try post("small").pages[0].width <= BoardRendition.sampleWidth)
        #expect(try post("breakable").format == .png && post("large").pages[0].width == 2400)
        #expect(try post("pixivOriginal").source.work != nil && post("pixivPage").source.work != nil)
        #expect(try post("noSource").source.text.isEmpty && !post("freeText").source.text.contains("://"))
    }
}
