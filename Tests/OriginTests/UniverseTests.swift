import Rankings
import Testing

@testable import Origin

@Suite struct UniverseTests {
    let universe = Universe(seed: 1)

    @Test func everyRankedWorkIsOnItsAuthorsList() throws {
        let day = try #require(Day("2022-05-01"))
        for entry in universe.entries(mode: 0, day: day, ranks: 1...500) {
            let works = try #require(universe.works(of: entry.work.author, now: noon))
            #expect(works.contains(entry.work.id), "rank \(entry.rank)")
            #expect(universe.work(entry.work.id, now: noon)?.title == entry.work.title)
        }
    }

    @Test func slotsAndAuthorsAgreeInBothDirections() throws {
        let table = AuthorTable(seed: 99)
        for number in stride(from: 0, to: 1 << Slot.bits, by: 1_234_567) {
            let slot = Slot(index: number)
            let slots = try #require(table.slots(of: table.author(of: slot)))
            #expect(slots.contains(slot))
            #expect(Set(slots).count == slots.count)
            #expect(slots.allSatisfy { table.author(of: $0) == table.author(of: slot) })
        }
    }

    @Test func aDayIsWhatTheServiceShows() throws {
        let day = try #require(Day("2022-05-01"))
        for mode in Universe.modes.indices where mode != 7 {
            let entries = universe.entries(mode: mode, day: day, ranks: 1...500)
            #expect((480...499).contains(entries.count), "some ranks are missing")
            #expect(Set(entries.map(\.work.id)).count == entries.count, "no work is twice on a day")
            #expect(entries.allSatisfy { $0.work.uploaded.day < day }, "uploaded before the day")
            #expect(entries.contains { $0.work.isMasked })
            let shown = Set(entries.map(\.work.title))
            #expect(shown.intersection(Titles.strange).count >= 30)
        }
    }

    @Test func aWorkThatStaysKeepsItsNumberAndTellsItsOldRank() throws {
        let day = try #require(Day("2022-05-01"))
        let today = universe.entries(mode: 0, day: day, ranks: 1...500)
        let before = universe.entries(mode: 0, day: day.advanced(by: -1), ranks: 1...500)
        let stayed = today.filter { $0.previousRank > 0 }
        #expect(stayed.count > 100)
        for entry in stayed {
            let old = try #require(before.first { $0.rank == entry.previousRank })
            #expect(old.work.id == entry.work.id)
        }
    }

    @Test func strangeTitlesAreStrange() {
        #expect(Titles.strange.contains(""))
        #expect(Titles.strange.contains("."))
        #expect(Titles.strange.contains(".."))
        #expect(Titles.strange.contains { $0.utf8.count > 400 })
        #expect(Titles.strange.contains { $0.contains("/") && $0.unicodeScalars.contains { $0.value > 127 } })
        #expect(Titles.strange.contains { $0.unicodeScalars.contains("\u{202E}") })
        #expect(Set(Titles.strange).count < Titles.strange.count, "some are twice")
    }

    @Test func specialAuthorsHaveTheWorksTheyAreNamedFor() {
        for (user, count) in [1001: 5000, 1002: 1, 1003: 0, 1004: 2000, 1005: 100] {
            #expect(universe.works(of: UserID(rawValue: Int64(user)), now: noon)?.count == count)
        }
        #expect(universe.works(of: UserID(rawValue: 1), now: noon) == nil)
    }

    @Test func theSeedDecides() throws {
        let day = try #require(Day("2022-05-01"))
        func titles(_ seed: UInt64) -> [String] {
            Universe(seed: seed).entries(mode: 0, day: day, ranks: 1...50).map(\.work.title)
        }
        #expect(titles(1) == titles(1))
        #expect(titles(1) != titles(2))
    }

    @Test func worksOfDaysToComeDoNotExistYet() throws {
        let newest = universe.newest(at: noon)
        #expect(newest == Day("2024-05-01"))
        let entry = try #require(universe.entries(mode: 0, day: newest, ranks: 1...1).first)
        #expect(universe.work(entry.work.id, now: noon) != nil)
        #expect(universe.work(entry.work.id, now: noon - 1) == nil)
    }
}

@Suite struct JapanTimeTests {
    @Test func writesAllForms() {
        let time = JapanTime(seconds: 1_651_244_415)
        #expect(time.path == "2022/04/30/00/00/15")
        #expect(time.display == "2022年04月30日 00:00")
        #expect(time.iso == "2022-04-30T00:00:15+09:00")
        #expect(time.isoUTC == "2022-04-29T15:00:15+00:00")
        #expect(time.http == "Fri, 29 Apr 2022 15:00:15 GMT")
        #expect(JapanTime(path: time.path) == time)
    }

    @Test(arguments: ["2022/04/31/00/00/00", "2022/04/30/24/00/00", "2022/4/30/00/00/00", "", "2022/04/30"])
    func refusesWhatIsNoTime(path: String) {
        #expect(JapanTime(path: path) == nil)
    }
}
