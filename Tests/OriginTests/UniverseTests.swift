import Rankings
import Testing

@testable import Origin

@Suite struct UniverseTests {
    let universe = Universe(seed: 1)

    @Test func slotsAndAuthorsAgreeInBothDirections() throws {
        let universe = Universe(seed: 99)
        for number in stride(from: 0, to: 1 << 27, by: 1_234_567) {
            let slot = Slot(day: number >> 13, number: number & 8191)
            let author = universe.author(of: slot)
            let slots = try #require(universe.slots(of: author))
            #expect(slots.contains(slot))
            #expect(Set(slots).count == slots.count)
            #expect(slots.allSatisfy { universe.author(of: $0) == author })
        }
    }

    @Test func aDayIsWhatTheServiceShows() throws {
        let day = try #require(Day("2022-05-01"))
        var masked = 0
        for mode in Mode.all where mode.index != 7 {
            let entries = universe.entries(mode, day, 1...mode.ranks)
            #expect((mode.ranks * 24 / 25...mode.ranks - mode.ranks / 500).contains(entries.count), "some are missing")
            #expect(Set(entries.map(\.work.id)).count == entries.count, "no work is twice on a day")
            #expect(entries.allSatisfy { $0.work.seconds < universe.service.begin(of: day) }, "uploaded before the day")
            let shown = Set(entries.map { universe.title(of: $0.work) })
            #expect(shown.intersection(Universe.strangeTitles).count >= mode.ranks * 3 / 50)
            masked += entries.count { $0.work.flags.contains(.masked) }
        }
        #expect(masked > 10)
    }

    @Test func strangeTitlesAreStrange() {
        #expect(Universe.strangeTitles.contains(""))
        #expect(Universe.strangeTitles.contains("."))
        #expect(Universe.strangeTitles.contains(".."))
        #expect(Universe.strangeTitles.contains { $0.utf8.count > 400 })
        #expect(Universe.strangeTitles.contains { $0.contains("/") && $0.unicodeScalars.contains { $0.value > 127 } })
        #expect(Universe.strangeTitles.contains { $0.unicodeScalars.contains("\u{202E}") })
        #expect(Set(Universe.strangeTitles).count < Universe.strangeTitles.count, "some are twice")
    }

    @Test func worksTellWhetherTheyWereMadeWithAI() {
        #expect(Set(universe.day("2024-05-01").map(\.work.aiType)) == [1, 2])
        #expect(universe.day("2024-05-01", 7, ranks: 1...50).allSatisfy { $0.work.aiType == 2 })
        #expect(universe.post(900_000_000, now: noon)?.aiType == 0, "older than the question")
    }

    @Test func worksOfDaysToComeDoNotExistYet() throws {
        let entry = try #require(universe.entries(Mode.all[0], universe.newest(at: noon), 1...1).first)
        #expect(universe.post(entry.work.id, now: noon) != nil)
        #expect(universe.post(entry.work.id, now: noon - 1) == nil)
    }
}

@Suite struct MomentTests {
    @Test func writesAllForms() {
        let seconds: Int64 = 1_651_244_415
        #expect(Moment.path(seconds) == "2022/04/30/00/00/15")
        #expect(Moment.text(seconds + Moment.japan, "%Y年%m月%d日 %H:%M") == "2022年04月30日 00:00")
        #expect(Moment.http(seconds) == "Fri, 29 Apr 2022 15:00:15 GMT")
        #expect(Moment.seconds(path: Moment.path(seconds)) == seconds)
    }

    @Test(arguments: ["2022/04/31/00/00/00", "2022/04/30/24/00/00", "2022/4/30/00/00/00", "", "2022/04/30"])
    func refusesWhatIsNoTime(path: String) {
        #expect(Moment.seconds(path: path) == nil)
    }
}
