import Glibc
import Testing

@testable import RankFS

/// What is taken for a file manager's glance, and what for a person who goes somewhere.
///
/// The sequences are those that the programs were seen to make.
@Suite struct LookRecognitionTests {
    private let start = ContinuousClock.now
    private let parent = "ranking/daily"
    private let nautilus = Program(process: 10, name: "nautilus")
    private let dolphin = Program(process: 20, name: "dolphin")
    private let worker = Program(process: 21, name: "kioslave5")
    private let thunar = Program(process: 30, name: "thunar")
    private let shell = Program(process: 40, name: "ls")

    /// The machine by reference: what changes it does not fit into an expectation otherwise.
    private final class Recognition {
        private var looks = LookRecognition()
        var remembered: Int { looks.remembered }

        func matters(opening path: String) -> Bool { looks.matters(opening: path) }

        func asked(of path: String, now: ContinuousClock.Instant) { looks.asked(of: path, now: now) }

        func looked(in path: String, isListed: Bool, by program: Program?, now: ContinuousClock.Instant) -> Bool {
            looks.looked(in: path, isListed: isListed, by: program, now: now)
        }

        func opened(
            _ path: String, below parent: String?, by program: Program?, now: ContinuousClock.Instant
        ) -> LookRecognition.Opening {
            looks.opened(path, below: parent, by: program, now: now)
        }

        func isGlancing(at path: String, _ program: Program?) -> Bool { looks.isGlancing(at: path, program) }
    }

    private func day(_ number: Int) -> String { "ranking/daily/2024-05-0\(number)" }

    private func after(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// A person goes to a directory: statfs, opening, and the look unless GIO remembers it.
    private func go(
        _ looks: Recognition, to path: String, below parent: String?, _ program: Program, at time: Double,
        isLookedUp: Bool = true
    ) -> (opening: LookRecognition.Opening, isWanted: Bool) {
        looks.asked(of: path, now: after(time))
        let opening = looks.opened(path, below: parent, by: program, now: after(time + 0.1))
        let isWanted =
            isLookedUp && looks.looked(in: path, isListed: true, by: program, now: after(time + 0.2))
        return (opening, isWanted)
    }

    @Test func itemCountsAreGlancesAndTheNextVisitIsNone() {
        let looks = Recognition()
        let first = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        // Nobody knows yet that it is a file manager; its look tells.
        #expect(first == (.ordinary, true))
        for number in 1...7 {
            let time = Double(number) * 1.5
            #expect(looks.opened(day(number), below: parent, by: nautilus, now: after(time)) == .count)
            #expect(looks.isGlancing(at: day(number), nautilus))
            #expect(!looks.looked(in: day(number), isListed: true, by: nautilus, now: after(time + 0.1)))
        }
        let visit = go(looks, to: day(3), below: parent, nautilus, at: 12, isLookedUp: false)
        #expect(visit.opening == .visit)
        #expect(!looks.isGlancing(at: day(3), nautilus))
        #expect(looks.isGlancing(at: day(4), nautilus))
        // The thumbnails are being made already.
        #expect(!looks.looked(in: day(3), isListed: true, by: nautilus, now: after(12.3)))
        // The window is shown anew.
        #expect(looks.opened(day(3), below: parent, by: nautilus, now: after(12.5)) == .ordinary)
    }

    @Test func whatIsOpenedAfterAPauseIsNoGlance() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(2.1)) == .count)
        #expect(looks.opened(day(2), below: parent, by: nautilus, now: after(4.2)) == .ordinary)
        // Nor is anything below another directory.
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 5)
        let elsewhere = looks.opened(
            "ranking/weekly/2024-05-01", below: "ranking/weekly", by: nautilus, now: after(5.5))
        #expect(elsewhere == .ordinary)
    }

    @Test func anAnnouncementHoldsOnceAndForAShortTime() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        looks.asked(of: day(1), now: after(1))
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(1.5)) == .visit)
        looks.asked(of: day(2), now: after(2))
        #expect(looks.opened(day(2), below: parent, by: nautilus, now: after(4.5)) == .ordinary)
    }

    @Test func programsThatAreNoFileManagersAreNeverRefused() {
        let looks = Recognition()
        #expect(!looks.matters(opening: parent))
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        #expect(looks.matters(opening: day(1)))
        #expect(looks.opened(day(1), below: parent, by: shell, now: after(0.5)) == .ordinary)
        #expect(looks.opened(day(2), below: parent, by: nil, now: after(0.5)) == .ordinary)
        #expect(looks.looked(in: day(2), isListed: true, by: nil, now: after(0.5)))
        // Not even one that asks for the free space first, as backups do.
        looks.asked(of: parent, now: after(1))
        #expect(looks.opened(parent, below: "ranking", by: shell, now: after(1)) == .ordinary)
        for number in 1...7 {
            #expect(looks.opened(day(number), below: parent, by: shell, now: after(1.1)) == .ordinary)
        }
    }

    @Test func aFileManagerThatAnnouncesNothingIsNeverRefused() {
        let looks = Recognition()
        // Thunar: the free space afterwards.
        #expect(looks.looked(in: parent, isListed: true, by: thunar, now: start))
        #expect(looks.opened(parent, below: "ranking", by: thunar, now: start) == .ordinary)
        looks.asked(of: parent, now: after(0.2))
        #expect(looks.opened(day(1), below: parent, by: thunar, now: after(0.5)) == .ordinary)
        #expect(looks.looked(in: day(1), isListed: true, by: thunar, now: after(0.6)))
        // Back and forth within the time of an announcement.
        #expect(looks.opened(parent, below: "ranking", by: thunar, now: after(1)) == .visit)
        #expect(looks.opened(day(2), below: parent, by: thunar, now: after(1.5)) == .ordinary)
    }

    @Test func theRootIsCountedByWhoShowsTheDirectoryThatItIsIn() {
        let looks = Recognition()
        #expect(looks.opened("", below: nil, by: nautilus, now: start) == .ordinary)
        #expect(looks.looked(in: "", isListed: true, by: nautilus, now: start))
        #expect(looks.opened("", below: nil, by: nautilus, now: start) == .ordinary)
        let visit = go(looks, to: "", below: nil, nautilus, at: 5)
        #expect(visit.opening == .visit)
        #expect(looks.opened("ranking", below: "", by: nautilus, now: after(6)) == .count)
    }

    @Test func previewsAreGlancesOfAnotherProcess() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", dolphin, at: 0)
        for number in 1...3 {
            let time = Double(number)
            #expect(looks.opened(day(number), below: parent, by: worker, now: after(time)) == .preview)
            #expect(!looks.looked(in: day(number), isListed: false, by: worker, now: after(time)))
        }
        // The announcement of a visit is not used up by a worker that comes in between.
        looks.asked(of: day(2), now: after(4))
        #expect(looks.opened(day(2), below: parent, by: worker, now: after(4.2)) == .preview)
        #expect(looks.opened(day(2), below: parent, by: dolphin, now: after(4.3)) == .visit)
        // And one that copies a directory, later, is none.
        #expect(!looks.opened(day(3), below: parent, by: worker, now: after(9)).isGlance)
        #expect(looks.opened(day(1), below: parent, by: dolphin, now: after(9)) == .ordinary)
    }

    @Test func iconsOfDirectoriesThatAreShownAreWorthNoThumbnails() {
        let looks = Recognition()
        let filer = Program(process: 50, name: "pcmanfm-qt")
        _ = go(looks, to: parent, below: "ranking", filer, at: 0, isLookedUp: false)
        #expect(looks.looked(in: parent, isListed: false, by: filer, now: after(0.5)))
        #expect(!looks.looked(in: day(1), isListed: false, by: filer, now: after(0.5)))
        #expect(go(looks, to: day(1), below: parent, filer, at: 3, isLookedUp: false).opening == .visit)
        // The first directory of all, of which nobody knows how it was opened.
        let fresh = Recognition()
        #expect(fresh.looked(in: day(1), isListed: false, by: filer, now: start))
    }

    @Test func onlySoMuchIsRemembered() {
        let looks = Recognition()
        for number in 0..<(3 * LookRecognition.most) {
            let program = Program(process: Int32(number + 100), name: "nautilus")
            looks.asked(of: "search/\(number)", now: start)
            _ = looks.opened("search/\(number)", below: "search", by: program, now: start)
            _ = looks.looked(in: "search/\(number)", isListed: true, by: program, now: start)
            _ = looks.opened("search/\(number)/below", below: "search/\(number)", by: program, now: start)
        }
        #expect(looks.remembered <= 3 * LookRecognition.most)
    }

    @Test func theProgramOfAThreadIsThatOfItsProcess() throws {
        let status = "Name:\tpool-org.gnome.\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4711\nNgid:\t0\nPid:\t4712\n"
        #expect(Program.process(in: status) == 4711)
        #expect(Program.process(in: "") == nil)
        #expect(Program.of(thread: 0) == nil)
        #expect(Program.of(thread: .max) == nil)
        let own = try #require(Program.of(thread: getpid()))
        #expect(own.process == getpid() && !own.name.isEmpty)
    }
}
