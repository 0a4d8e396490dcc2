import Rankings
import Testing

@testable import Origin

@Suite struct UniverseTests {
    let universe = Universe(seed: 1)

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

    @Test func worksOfDaysToComeDoNotExistYet() throws {
        let entry = try #require(universe.entries(Mode.all[0], universe.newest(at: noon), 1...1).first)
        #expect(universe.post(entry.work.id, now: noon) != nil)
        #expect(universe.post(entry.work.id, now: noon - 1) == nil)
    }
}
