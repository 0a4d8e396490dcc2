import Glibc
import Testing

@testable import RankFS

/// What is taken for a file manager's glance, and what for a person who goes somewhere.
///
/// The sequences are those that the programs were seen to make.
@Suite struct LookRecognitionTests {
    private let start = ContinuousClock.now
    private let parent = "ranking/daily"
    private let nautilus = CallingProgram(process: 10, name: "nautilus")
    private let dolphin = CallingProgram(process: 20, name: "dolphin")
    private let worker = CallingProgram(process: 21, name: "kioslave5")
    private let gthumb = CallingProgram(process: 30, name: "gthumb")
    private let shell = CallingProgram(process: 40, name: "ls")

    /// The machine by reference: what changes it does not fit into an expectation otherwise.
    private final class Recognition {
        private var looks = LookRecognition()
        var remembered: Int { looks.remembered }
        var hasDesktops: Bool { looks.hasDesktops }

        func watcher(
            opening path: String, below parent: String?, by program: CallingProgram, now: ContinuousClock.Instant
        ) -> Int32? {
            looks.watcher(opening: path, below: parent, by: program, now: now)
        }

        func asked(
            of path: String, below parent: String?, by program: CallingProgram, now: ContinuousClock.Instant
        ) {
            looks.asked(of: path, below: parent, by: program, now: now)
        }

        func looked(
            in path: String, isListed: Bool = true, by program: CallingProgram?, now: ContinuousClock.Instant
        ) -> Bool {
            looks.looked(in: path, isListed: isListed, by: program, now: now)
        }

        func opened(
            _ path: String, below parent: String?, by program: CallingProgram,
            isWatched: Bool = false, now: ContinuousClock.Instant
        ) -> LookRecognition.Opening {
            looks.opened(path, below: parent, by: program, isWatched: isWatched, now: now)
        }

        func awaited(_ program: CallingProgram) { looks.awaited(program) }

        func closed(_ path: String, below parent: String?, now: ContinuousClock.Instant) {
            looks.closed(path, below: parent, now: now)
        }

        func isGlancing(at path: String, _ program: CallingProgram) -> Bool { looks.isGlancing(at: path, program) }

        func isDesktop(_ program: CallingProgram) -> Bool { looks.isDesktop(program) }

        func refused(_ path: String, toThumbnailerOf program: CallingProgram, now: ContinuousClock.Instant) {
            looks.refused(path, toThumbnailerOf: program, now: now)
        }

        func secondTrier(of path: String, now: ContinuousClock.Instant) -> CallingProgram? {
            looks.secondTrier(of: path, now: now)
        }

        func triedAgain(_ path: String) { looks.triedAgain(path) }
    }

    private func day(_ number: Int) -> String { "ranking/daily/2024-05-0\(number)" }

    private func after(_ seconds: Double) -> ContinuousClock.Instant { start.advanced(by: .seconds(seconds)) }

    /// A person goes to a directory: it is watched, opened, and looked into unless GIO remembers what it found.
    private func go(
        _ looks: Recognition, to path: String, below parent: String?, _ program: CallingProgram, at time: Double,
        isLookedUp: Bool = true
    ) -> (opening: LookRecognition.Opening, isWanted: Bool) {
        let opening = looks.opened(path, below: parent, by: program, isWatched: true, now: after(time + 0.1))
        let isWanted = isLookedUp && looks.looked(in: path, by: program, now: after(time + 0.2))
        return (opening, isWanted)
    }

    @Test func itemCountsAreGlancesAndTheNextVisitIsNone() {
        let looks = Recognition()
        let first = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        // Nobody knows yet that it is a file manager; its look tells.
        #expect(first == (.watched, true))
        for number in 1...7 {
            let time = Double(number) * 1.5
            #expect(looks.opened(day(number), below: parent, by: nautilus, now: after(time)) == .count)
            #expect(looks.isGlancing(at: day(number), nautilus))
            #expect(!looks.looked(in: day(number), by: nautilus, now: after(time + 0.1)))
            looks.closed(day(number), below: parent, now: after(time + 0.2))
        }
        let visit = go(looks, to: day(3), below: parent, nautilus, at: 12, isLookedUp: false)
        #expect(visit.opening == .visit)
        #expect(!looks.isGlancing(at: day(3), nautilus))
        #expect(looks.isGlancing(at: day(4), nautilus))
        // The thumbnails are being made already.
        #expect(!looks.looked(in: day(3), by: nautilus, now: after(12.3)))
        // The window is shown anew.
        #expect(looks.opened(day(3), below: parent, by: nautilus, now: after(12.5)) == .ordinary)
    }

    @Test func whatIsWatchedIsNeverAGlance() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        // In the middle of a round of counts.
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(0.3)) == .count)
        #expect(looks.opened(day(2), below: parent, by: nautilus, isWatched: true, now: after(0.4)) == .visit)
        #expect(looks.opened(day(1), below: parent, by: nautilus, isWatched: true, now: after(0.5)) == .visit)
        #expect(!looks.isGlancing(at: day(1), nautilus))
    }

    @Test func whatIsBelowADirectoryThatIsCopiedIsNoGlance() {
        let looks = Recognition()
        _ = go(looks, to: "ranking", below: "", nautilus, at: 0)
        #expect(looks.opened(parent, below: "ranking", by: nautilus, now: after(3)) == .ordinary)
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(3.1)) == .ordinary)
    }

    @Test func whatIsOpenedAfterAPauseIsNoGlance() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(2.1)) == .count)
        looks.closed(day(1), below: parent, now: after(2.1))
        // A copy of the directory.
        #expect(looks.opened(day(2), below: parent, by: nautilus, now: after(4.2)) == .ordinary)
        // Nor is anything below another directory.
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 5)
        let elsewhere = looks.opened(
            "ranking/weekly/2024-05-01", below: "ranking/weekly", by: nautilus, now: after(5.5))
        #expect(elsewhere == .ordinary)
    }

    @Test func aRoundGoesOnWhileALongListingIsCounted() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(1)) == .count)
        looks.closed(day(1), below: parent, now: after(30))
        #expect(looks.opened(day(2), below: parent, by: nautilus, now: after(31.9)) == .count)
        looks.closed(day(2), below: parent, now: after(60))
        looks.closed(day(2), below: parent, now: after(60))
        #expect(looks.opened(day(3), below: parent, by: nautilus, now: after(61)) == .count)
        // One that is never closed is forgotten in the end.
        #expect(looks.opened(day(4), below: parent, by: nautilus, now: after(182)) == .ordinary)
    }

    @Test func oneIsCountedAfterTheOtherAndEachOnce() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(1)) == .count)
        // The properties of another one meanwhile, for which all attributes are read.
        #expect(looks.opened(day(2), below: parent, by: nautilus, now: after(1.1)) == .ordinary)
        // What else is closed ends no count.
        looks.closed(day(2), below: parent, now: after(1.2))
        #expect(looks.opened(day(3), below: parent, by: nautilus, now: after(1.25)) == .ordinary)
        looks.closed(day(1), below: parent, now: after(1.3))
        // And of the one that has just been counted.
        #expect(looks.opened(day(1), below: parent, by: nautilus, now: after(1.4)) == .ordinary)
        #expect(looks.opened(day(4), below: parent, by: nautilus, now: after(1.5)) == .count)
        looks.closed(day(4), below: parent, now: after(1.6))
        // The window comes back.
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 2)
        #expect(looks.opened(day(3), below: parent, by: nautilus, now: after(2.5)) == .count)
    }

    @Test func theFreeSpaceOfChildrenBeginsARoundWhereTheParentIsNotOpenedAgain() {
        let looks = Recognition()
        let caja = CallingProgram(process: 11, name: "caja")
        _ = go(looks, to: parent, below: "ranking", caja, at: 0)
        _ = go(looks, to: day(7), below: parent, caja, at: 10)
        // Back: the parent is shown from memory.
        for number in 1...7 { looks.asked(of: day(number), below: parent, by: caja, now: after(20)) }
        for number in 1...6 {
            #expect(looks.opened(day(number), below: parent, by: caja, now: after(20.1)) == .count)
            looks.closed(day(number), below: parent, now: after(20.2))
        }
        // df(1) and backups ask, too.
        looks.asked(of: day(1), below: parent, by: shell, now: after(30))
        #expect(looks.opened(day(1), below: parent, by: shell, now: after(30)) == .ordinary)
        #expect(looks.opened(day(1), below: parent, by: caja, now: after(30)) == .ordinary)
        looks.asked(of: "", below: nil, by: caja, now: after(31))
        // Properties ask for the free space of one, and read all of it.
        for time in [40.0, 40.1] { looks.asked(of: day(2), below: parent, by: caja, now: after(time)) }
        #expect(looks.opened(day(2), below: parent, by: caja, now: after(40.2)) == .ordinary)
    }

    @Test func programsThatAreNoFileManagersAreNeverRefused() {
        let looks = Recognition()
        #expect(!looks.hasDesktops)
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        #expect(looks.hasDesktops && looks.isDesktop(nautilus) && !looks.isDesktop(shell))
        #expect(looks.opened(day(1), below: parent, by: shell, now: after(0.5)) == .ordinary)
        #expect(looks.looked(in: day(2), by: nil, now: after(0.5)))
        // Not even one that watches, as editors do.
        let editor = CallingProgram(process: 41, name: "code")
        #expect(looks.opened(parent, below: "ranking", by: editor, isWatched: true, now: after(1)) == .watched)
        #expect(looks.opened(day(9), below: parent, by: editor, isWatched: true, now: after(1)) == .watched)
        looks.awaited(editor)
        #expect(looks.opened(day(9), below: parent, by: editor, isWatched: true, now: after(1)) == .ordinary)
        for number in 1...7 {
            #expect(looks.opened(day(number), below: parent, by: editor, now: after(1.1)) == .ordinary)
        }
    }

    @Test func whoWatchesAfterReadingIsNeverRefused() {
        let looks = Recognition()
        // gThumb and the file choosers of GTK.
        #expect(looks.watcher(opening: parent, below: "ranking", by: gthumb, now: start) == gthumb.process)
        #expect(looks.opened(parent, below: "ranking", by: gthumb, now: start) == .ordinary)
        #expect(looks.looked(in: parent, by: gthumb, now: after(0.1)))
        #expect(looks.watcher(opening: day(1), below: parent, by: gthumb, now: after(0.2)) == nil)
        #expect(looks.opened(day(1), below: parent, by: gthumb, now: after(0.2)) == .ordinary)
        #expect(looks.looked(in: day(1), by: gthumb, now: after(0.3)))
    }

    @Test func theRootIsCountedByWhoShowsTheDirectoryThatItIsIn() {
        let looks = Recognition()
        #expect(looks.opened("", below: nil, by: nautilus, now: start) == .ordinary)
        #expect(looks.looked(in: "", by: nautilus, now: start))
        #expect(looks.opened("", below: nil, by: nautilus, now: start) == .ordinary)
        let visit = go(looks, to: "", below: nil, nautilus, at: 5)
        #expect(visit.opening == .visit)
        #expect(looks.opened("ranking", below: "", by: nautilus, now: after(6)) == .count)
    }

    @Test func previewsAreGlancesOfAnotherProcess() {
        let looks = Recognition()
        #expect(looks.watcher(opening: day(1), below: parent, by: worker, now: start) == nil)
        _ = go(looks, to: parent, below: "ranking", dolphin, at: 0)
        for number in 1...3 {
            let time = Double(number)
            // What matters is what the file manager shows, for which workers list directories, too.
            #expect(
                looks.watcher(opening: day(number), below: parent, by: worker, now: after(time)) == dolphin.process)
            #expect(looks.opened(day(number), below: parent, by: worker, now: after(time)) == .preview)
            #expect(!looks.looked(in: day(number), isListed: false, by: worker, now: after(time)))
            looks.closed(day(number), below: parent, now: after(time))
        }
        let listing = looks.opened(day(4), below: parent, by: worker, isWatched: true, now: after(4))
        #expect(!listing.isGlance)
        #expect(looks.opened(day(2), below: parent, by: dolphin, isWatched: true, now: after(4.3)) == .visit)
        // And one that copies a directory, later, is none.
        #expect(!looks.opened(day(3), below: parent, by: worker, now: after(9)).isGlance)
        #expect(looks.opened(day(1), below: parent, by: dolphin, now: after(9)) == .ordinary)
    }

    @Test func iconsOfDirectoriesThatAreShownAreWorthNoThumbnails() {
        let looks = Recognition()
        let filer = CallingProgram(process: 50, name: "pcmanfm-qt")
        _ = go(looks, to: parent, below: "ranking", filer, at: 0, isLookedUp: false)
        #expect(looks.looked(in: parent, isListed: false, by: filer, now: after(0.5)))
        #expect(!looks.looked(in: day(1), isListed: false, by: filer, now: after(0.5)))
        #expect(go(looks, to: day(1), below: parent, filer, at: 3, isLookedUp: false).opening == .visit)
        // The first directory of all, of which nobody knows how it was opened.
        let fresh = Recognition()
        #expect(fresh.looked(in: day(1), isListed: false, by: filer, now: start))
    }

    @Test func aFileManagerTriesOnceMoreWhatItsThumbnailerWasRefused() {
        let looks = Recognition()
        let (picture, other) = ("\(day(1))/001-a.jpg", "\(day(1))/002-b.jpg")
        #expect(looks.secondTrier(of: picture, now: start) == nil)
        // Several thumbnailers run at once.
        looks.refused(picture, toThumbnailerOf: nautilus, now: start)
        looks.refused(other, toThumbnailerOf: dolphin, now: start)
        #expect(looks.secondTrier(of: picture, now: after(0.1)) == nautilus)
        #expect(looks.secondTrier(of: other, now: after(0.1)) == dolphin)
        looks.triedAgain(picture)
        #expect(looks.secondTrier(of: picture, now: after(0.2)) == nil)
        #expect(looks.secondTrier(of: other, now: after(2)) == nil)
    }

    @Test func onlySoMuchIsRememberedAndWhatIsUsedStays() {
        let looks = Recognition()
        _ = go(looks, to: parent, below: "ranking", nautilus, at: 0)
        for number in 0..<(3 * LookRecognition.most) {
            let program = CallingProgram(process: Int32(number + 100), name: "caja")
            _ = looks.opened("search/\(number)", below: "search", by: program, isWatched: true, now: start)
            _ = looks.looked(in: "search/\(number)", by: program, now: start)
            _ = looks.opened("search/\(number)/below", below: "search/\(number)", by: program, now: start)
            looks.refused("search/\(number)/picture", toThumbnailerOf: program, now: start)
            if number.isMultiple(of: 100) {
                _ = looks.opened(parent, below: "ranking", by: nautilus, isWatched: true, now: after(1))
            }
        }
        #expect(looks.remembered <= 3 * LookRecognition.most)
        #expect(looks.isDesktop(nautilus))
    }
}
