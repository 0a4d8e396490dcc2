import Rankings
import Testing

@testable import RankFS

/// What is taken for a file manager's glance, and what for a person who goes somewhere.
///
/// The sequences are those that the programs were seen to make.
@Suite struct CallersTests {
    private let callers = Machine()
    private let parent = "ranking/daily"
    private let nautilus = CallingProgram(process: 10, name: "nautilus")
    private let dolphin = CallingProgram(process: 20, name: "dolphin")
    private let worker = CallingProgram(process: 21, name: "kioslave5")
    private let gthumb = CallingProgram(process: 30, name: "gthumb")
    private let shell = CallingProgram(process: 40, name: "ls")

    /// The machine by reference: what changes it does not fit into an expectation otherwise.
    private final class Machine {
        private var callers = Callers()
        private let start = ContinuousClock.now

        /// Reads or changes it, at a time in seconds.
        func at<Result>(_ seconds: Double, _ body: (inout Callers, Callers.Instant) -> Result) -> Result {
            body(&callers, start.advanced(by: .seconds(seconds)))
        }

        func opened(
            _ path: String, below parent: String?, by program: CallingProgram, isWatched: Bool = false,
            isUnknown: Bool = false, at seconds: Double
        ) -> Callers.Role {
            at(seconds) {
                $0.opened(path, below: parent, by: program, isWatched: isWatched, isUnknown: isUnknown, now: $1)
            }
        }

        func announced(
            in path: String, isListed: Bool = true, by program: CallingProgram?, at seconds: Double
        ) -> Bool {
            at(seconds) { $0.announced(in: path, isListed: isListed, by: program, now: $1) }
        }

        func ended(_ path: String, below parent: String, at seconds: Double) {
            at(seconds) { $0.endedGlance(at: path, below: parent, now: $1) }
        }

        func watcher(
            opening path: String, below parent: String?, by program: CallingProgram, at seconds: Double
        ) -> Int32? {
            at(seconds) { $0.watcher(opening: path, below: parent, by: program, now: $1) }
        }

        func queried(_ path: String, below parent: String?, by program: CallingProgram, at seconds: Double) {
            at(seconds) { $0.queriedFreeSpace(of: path, below: parent, by: program, now: $1) }
        }

        func refused(_ path: String, toThumbnailerOf program: CallingProgram, at seconds: Double) {
            at(seconds) { $0.refused(path, toThumbnailerOf: program, now: $1) }
        }

        func secondTrier(of path: String, at seconds: Double) -> CallingProgram? {
            at(seconds) { $0.secondTrier(of: path, now: $1) }
        }

        func isDesktop(_ program: CallingProgram) -> Bool {
            at(0) { callers, _ in callers.isDesktop(program) }
        }

        func isGlancing(at path: String, _ program: CallingProgram) -> Bool {
            at(0) { callers, _ in callers.isGlancing(at: path, program) }
        }
    }

    private func day(_ number: Int) -> String { "ranking/daily/2024-05-0\(number)" }

    /// A person goes to a directory: it is watched, opened, and looked into unless GIO remembers what it found.
    private func go(
        _ callers: Machine, to path: String, below parent: String?, _ program: CallingProgram, at time: Double,
        isLookedUp: Bool = true
    ) -> (role: Callers.Role, isWanted: Bool) {
        let role = callers.opened(path, below: parent, by: program, isWatched: true, at: time + 0.1)
        let isWanted = isLookedUp && callers.announced(in: path, by: program, at: time + 0.2)
        return (role, isWanted)
    }

    @Test func itemCountsAreGlancesAndTheNextVisitIsNone() {
        let first = go(callers, to: parent, below: "ranking", nautilus, at: 0)
        // Nobody knows yet that it is a file manager; its look tells.
        #expect(first == (.watched(isWalk: false), true))
        for number in 1...7 {
            let time = Double(number) * 1.5
            #expect(callers.opened(day(number), below: parent, by: nautilus, at: time) == .count)
            #expect(callers.isGlancing(at: day(number), nautilus))
            #expect(!callers.announced(in: day(number), by: nautilus, at: time + 0.1))
            callers.ended(day(number), below: parent, at: time + 0.2)
        }
        let visit = go(callers, to: day(3), below: parent, nautilus, at: 12, isLookedUp: false)
        #expect(visit.role == .visit)
        #expect(!callers.isGlancing(at: day(3), nautilus))
        #expect(callers.isGlancing(at: day(4), nautilus))
        // The thumbnails are being made already.
        #expect(!callers.announced(in: day(3), by: nautilus, at: 12.3))
        // The window is shown anew.
        #expect(callers.opened(day(3), below: parent, by: nautilus, at: 12.5) == .ordinary)
    }

    @Test func whatIsWatchedIsNeverAGlance() {
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 0)
        // In the middle of a round of counts.
        #expect(callers.opened(day(1), below: parent, by: nautilus, at: 0.3) == .count)
        #expect(callers.opened(day(2), below: parent, by: nautilus, isWatched: true, at: 0.4) == .visit)
        #expect(callers.opened(day(1), below: parent, by: nautilus, isWatched: true, at: 0.5) == .visit)
        #expect(!callers.isGlancing(at: day(1), nautilus))
    }

    @Test func whatIsBelowADirectoryThatIsCopiedIsNoGlance() {
        _ = go(callers, to: "ranking", below: "", nautilus, at: 0)
        #expect(callers.opened(parent, below: "ranking", by: nautilus, at: 3) == .ordinary)
        #expect(callers.opened(day(1), below: parent, by: nautilus, at: 3.1) == .ordinary)
    }

    @Test func whatIsOpenedAfterAPauseIsNoGlance() {
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 0)
        #expect(callers.opened(day(1), below: parent, by: nautilus, at: 2.1) == .count)
        callers.ended(day(1), below: parent, at: 2.1)
        // A copy of the directory.
        #expect(callers.opened(day(2), below: parent, by: nautilus, at: 4.2) == .ordinary)
        // Nor is anything below another directory.
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 5)
        let elsewhere = callers.opened(
            "ranking/weekly/2024-05-01", below: "ranking/weekly", by: nautilus, at: 5.5)
        #expect(elsewhere == .ordinary)
    }

    @Test func aRoundGoesOnWhileALongListingIsCounted() {
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 0)
        #expect(callers.opened(day(1), below: parent, by: nautilus, at: 1) == .count)
        callers.ended(day(1), below: parent, at: 30)
        #expect(callers.opened(day(2), below: parent, by: nautilus, at: 31.9) == .count)
        callers.ended(day(2), below: parent, at: 60)
        callers.ended(day(2), below: parent, at: 60)
        #expect(callers.opened(day(3), below: parent, by: nautilus, at: 61) == .count)
        // One that is never closed is forgotten in the end.
        #expect(callers.opened(day(4), below: parent, by: nautilus, at: 182) == .ordinary)
    }

    @Test func oneIsCountedAfterTheOtherAndEachOnce() {
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 0)
        #expect(callers.opened(day(1), below: parent, by: nautilus, at: 1) == .count)
        // The properties of another one meanwhile, for which all attributes are read.
        #expect(callers.opened(day(2), below: parent, by: nautilus, at: 1.1) == .ordinary)
        // What else is closed ends no count.
        callers.ended(day(2), below: parent, at: 1.2)
        #expect(callers.opened(day(3), below: parent, by: nautilus, at: 1.25) == .ordinary)
        callers.ended(day(1), below: parent, at: 1.3)
        // And of the one that has just been counted.
        #expect(callers.opened(day(1), below: parent, by: nautilus, at: 1.4) == .ordinary)
        #expect(callers.opened(day(4), below: parent, by: nautilus, at: 1.5) == .count)
        callers.ended(day(4), below: parent, at: 1.6)
        // The window comes back.
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 2)
        #expect(callers.opened(day(3), below: parent, by: nautilus, at: 2.5) == .count)
    }

    @Test func theFreeSpaceOfChildrenBeginsARoundWhereTheParentIsNotOpenedAgain() {
        let caja = CallingProgram(process: 11, name: "caja")
        _ = go(callers, to: parent, below: "ranking", caja, at: 0)
        _ = go(callers, to: day(7), below: parent, caja, at: 10)
        // Back: the parent is shown from memory.
        for number in 1...7 { callers.queried(day(number), below: parent, by: caja, at: 20) }
        for number in 1...6 {
            #expect(callers.opened(day(number), below: parent, by: caja, at: 20.1) == .count)
            callers.ended(day(number), below: parent, at: 20.2)
        }
        // df(1) and backups ask, too.
        callers.queried(day(1), below: parent, by: shell, at: 30)
        #expect(callers.opened(day(1), below: parent, by: shell, at: 30) == .ordinary)
        #expect(callers.opened(day(1), below: parent, by: caja, at: 30) == .ordinary)
        callers.queried("", below: nil, by: caja, at: 31)
        // Properties ask for the free space of one, and read all of it.
        for time in [40.0, 40.1] { callers.queried(day(2), below: parent, by: caja, at: time) }
        #expect(callers.opened(day(2), below: parent, by: caja, at: 40.2) == .ordinary)
    }

    @Test func programsThatAreNoFileManagersAreNeverRefused() {
        #expect(!callers.at(0) { callers, _ in callers.hasDesktops })
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 0)
        #expect(callers.at(0) { callers, _ in callers.hasDesktops })
        #expect(callers.isDesktop(nautilus) && !callers.isDesktop(shell))
        #expect(callers.opened(day(1), below: parent, by: shell, at: 0.5) == .ordinary)
        #expect(callers.announced(in: day(2), by: nil, at: 0.5))
        // Not even one that watches, as editors do.
        let editor = CallingProgram(process: 41, name: "code")
        #expect(callers.opened(parent, below: "ranking", by: editor, isWatched: true, at: 1) == .watched(isWalk: false))
        #expect(callers.opened(day(9), below: parent, by: editor, isWatched: true, at: 1) == .watched(isWalk: false))
        callers.at(1) { $0.awaited(editor, at: day(9), now: $1) }
        #expect(callers.opened(day(9), below: parent, by: editor, isWatched: true, at: 1) == .ordinary)
        for number in 1...7 {
            #expect(callers.opened(day(number), below: parent, by: editor, at: 1.1) == .ordinary)
        }
    }

    @Test func whoWatchesAfterReadingIsNeverRefused() {
        // gThumb and the file choosers of GTK.
        #expect(callers.watcher(opening: parent, below: "ranking", by: gthumb, at: 0) == gthumb.process)
        #expect(callers.opened(parent, below: "ranking", by: gthumb, at: 0) == .ordinary)
        #expect(callers.announced(in: parent, by: gthumb, at: 0.1))
        #expect(callers.watcher(opening: day(1), below: parent, by: gthumb, at: 0.2) == nil)
        #expect(callers.opened(day(1), below: parent, by: gthumb, at: 0.2) == .ordinary)
        #expect(callers.announced(in: day(1), by: gthumb, at: 0.3))
    }

    @Test func theRootIsCountedByWhoShowsTheDirectoryThatItIsIn() {
        #expect(callers.opened("", below: nil, by: nautilus, at: 0) == .ordinary)
        #expect(callers.announced(in: "", by: nautilus, at: 0))
        #expect(callers.opened("", below: nil, by: nautilus, at: 0) == .ordinary)
        let visit = go(callers, to: "", below: nil, nautilus, at: 5)
        #expect(visit.role == .visit)
        #expect(callers.opened("ranking", below: "", by: nautilus, at: 6) == .count)
    }

    @Test func previewsAreGlancesOfAnotherProcess() {
        #expect(callers.watcher(opening: day(1), below: parent, by: worker, at: 0) == nil)
        _ = go(callers, to: parent, below: "ranking", dolphin, at: 0)
        for number in 1...3 {
            let time = Double(number)
            // What matters is what the file manager shows, for which workers list directories, too.
            #expect(
                callers.watcher(opening: day(number), below: parent, by: worker, at: time) == dolphin.process)
            #expect(callers.opened(day(number), below: parent, by: worker, at: time) == .preview)
            #expect(!callers.announced(in: day(number), isListed: false, by: worker, at: time))
            callers.ended(day(number), below: parent, at: time)
        }
        let listing = callers.opened(day(4), below: parent, by: worker, isWatched: true, at: 4)
        #expect(!listing.isGlance)
        #expect(callers.opened(day(2), below: parent, by: dolphin, isWatched: true, at: 4.3) == .visit)
        // And one that copies a directory, later, is none.
        #expect(!callers.opened(day(3), below: parent, by: worker, at: 9).isGlance)
        #expect(callers.opened(day(1), below: parent, by: dolphin, at: 9) == .ordinary)
    }

    @Test func iconsOfDirectoriesThatAreShownAreWorthNoThumbnails() {
        let filer = CallingProgram(process: 50, name: "pcmanfm-qt")
        _ = go(callers, to: parent, below: "ranking", filer, at: 0, isLookedUp: false)
        #expect(callers.announced(in: parent, isListed: false, by: filer, at: 0.5))
        #expect(!callers.announced(in: day(1), isListed: false, by: filer, at: 0.5))
        #expect(go(callers, to: day(1), below: parent, filer, at: 3, isLookedUp: false).role == .visit)
        // The first directory of all, of which nobody knows how it was opened.
        let fresh = Machine()
        #expect(fresh.announced(in: day(1), isListed: false, by: filer, at: 0))
    }

    @Test func aFileManagerTriesOnceMoreWhatItsThumbnailerWasRefused() {
        let (picture, other) = ("\(day(1))/001-a.jpg", "\(day(1))/002-b.jpg")
        #expect(callers.secondTrier(of: picture, at: 0) == nil)
        // Several thumbnailers run at once.
        callers.refused(picture, toThumbnailerOf: nautilus, at: 0)
        callers.refused(other, toThumbnailerOf: dolphin, at: 0)
        #expect(callers.secondTrier(of: picture, at: 0.1) == nautilus)
        #expect(callers.secondTrier(of: other, at: 0.1) == dolphin)
        callers.at(0.1) { callers, _ in callers.triedAgain(picture) }
        #expect(callers.secondTrier(of: picture, at: 0.2) == nil)
        #expect(callers.secondTrier(of: other, at: 2) == nil)
    }

    @Test func whatIsUsedIsRemembered() {
        _ = go(callers, to: parent, below: "ranking", nautilus, at: 0)
        for number in 0..<Callers.most + 100 {
            let program = CallingProgram(process: Int32(number + 100), name: "caja")
            _ = callers.opened("search/\(number)", below: "search", by: program, isWatched: true, at: 0)
            if number.isMultiple(of: 20) {
                _ = callers.opened(parent, below: "ranking", by: nautilus, isWatched: true, at: 1)
            }
        }
        #expect(callers.isDesktop(nautilus))
        #expect(callers.opened(day(1), below: parent, by: nautilus, at: 1) == .count)
    }

    // MARK: Walks

    private func discovered(_ callers: Machine, by program: CallingProgram, at time: Double) -> Callers.Role {
        callers.opened(parent, below: "ranking", by: program, isUnknown: true, at: time)
    }

    @Test func theNextUnknownListingAtOnceIsAWalk() {
        #expect(discovered(callers, by: shell, at: 0) == .ordinary)
        // However long the first one took.
        callers.at(40) { $0.closedUnknown(by: shell, now: $1) }
        #expect([40.1, 50].map { discovered(callers, by: shell, at: $0) } == [.walk, .walk])
        #expect(discovered(callers, by: gthumb, at: 41) == .ordinary)
        #expect(callers.opened(parent, below: "ranking", by: shell, at: 51) == .ordinary, "of which all is known")
        // One that watches may yet be a file manager, and a visit is a person's.
        #expect(discovered(callers, by: nautilus, at: 60) == .ordinary)
        let editor = CallingProgram(process: 41, name: "code")
        for isWalk in [false, true] {
            let role = callers.opened(day(1), below: parent, by: editor, isWatched: true, isUnknown: true, at: 60)
            #expect(role == .watched(isWalk: isWalk) && role.isBackground == isWalk)
        }
        _ = callers.announced(in: day(1), by: editor, at: 61)
        #expect(
            callers.opened(day(1), below: parent, by: editor, isWatched: true, isUnknown: true, at: 61) == .visit)
    }

    @Test func whoTakesTheirTimeWalksNot() {
        for number in 0..<50 {
            #expect(discovered(callers, by: shell, at: Double(number) * 30) == .ordinary)
            callers.at(Double(number) * 30 + 20) { $0.closedUnknown(by: shell, now: $1) }
        }
        // A late close of one that is not known makes it no walk.
        callers.at(0) { $0.closedUnknown(by: gthumb, now: $1) }
        #expect(discovered(callers, by: gthumb, at: 1) == .ordinary)
    }

    // MARK: Visits and watches

    @Test(arguments: [true, false]) func aVisitEndsAndItsTimeBeginsAnewIfItShall(isProlonged: Bool) {
        func visit(at time: Double) {
            callers.at(time) { $0.visits(parent, nautilus, isProlonged: isProlonged, now: $1) }
        }
        func left(_ path: String, _ program: CallingProgram, at time: Double) -> Duration? {
            callers.at(time) { $0.visitLeft(to: path, program, now: $1) }
        }
        #expect(left(parent, nautilus, at: 0) == nil)
        visit(at: 0)
        #expect(left(parent, nautilus, at: 0.5) == TreeLimits.visit - .seconds(0.5))
        #expect(left(parent, gthumb, at: 0) == nil && left(day(1), nautilus, at: 0) == nil)
        visit(at: 1)
        #expect((left(parent, nautilus, at: 2.5) != nil) == isProlonged)
        visit(at: 4)
        #expect(left(parent, nautilus, at: 5.9) != nil, "its time was over")
        #expect(left(parent, nautilus, at: 6) == nil)
    }

    @Test func aDirectoryIsAttendedUntilTheLastVisitOrWatchOfItEnds() {
        func isAttended(_ path: String, at time: Double) -> Bool { callers.at(time) { $0.isAttended(path, now: $1) } }
        func isWatching(_ program: CallingProgram, at time: Double) -> Bool {
            callers.at(time) { $0.isWatching(parent, program, now: $1) }
        }
        #expect(!callers.at(0) { callers, _ in callers.hasAttention })
        callers.at(0) { $0.visits(parent, dolphin, now: $1) }
        callers.at(0.5) { $0.awaited(gthumb, at: parent, now: $1) }
        callers.at(1.2) { $0.awaited(gthumb, at: parent, now: $1) }
        #expect(isWatching(gthumb, at: 1.6) && !isWatching(gthumb, at: 1.7) && !isWatching(dolphin, at: 0.5))
        #expect(isAttended(parent, at: 1.9) && !isAttended(day(1), at: 0))
        callers.at(1.9) { $0.awaited(nautilus, at: parent, now: $1) }
        #expect(isAttended(parent, at: 3) && callers.at(3) { callers, _ in callers.hasAttention })
        #expect(!isAttended(parent, at: 3.1))
        #expect(!callers.at(3.1) { callers, _ in callers.hasAttention })
    }

    // MARK: Sizes

    private let listing = ListingKey.ranking(.daily, Day(ordinal: 19844))
    private let author = ListingKey.author(UserID(rawValue: 11))

    /// Begins to read the listing in roles, or ends it.
    private func read(_ callers: Machine, _ roles: Callers.Role..., ends: Bool = false) {
        for role in roles {
            callers.at(0) { callers, _ in
                if ends { callers.endedReading(listing, as: role) } else { callers.beganReading(listing, as: role) }
            }
        }
    }

    /// Whether the requests of sizes in directories, one after the other, are for all sizes.
    private func areWhole(_ callers: Machine, _ directories: ListingKey...) -> [Bool] {
        directories.map { key in
            callers.at(0) { $0.requestedSize(in: key, by: 1, isGlance: false, now: $1).isWhole }
        }
    }

    private func isBackground(_ callers: Machine, isGlance: Bool, in key: ListingKey? = nil) -> Bool {
        callers.at(0) { $0.requestedSize(in: key ?? listing, by: 1, isGlance: isGlance, now: $1).isBackground }
    }

    @Test func onlyTheSecondSizeInARowIsOfAWalk() {
        #expect(areWhole(Machine(), listing, author, listing) == [false, false, false])
        #expect(areWhole(Machine(), listing, listing, listing) == [false, true, true])
    }

    @Test func sizesInAnOpenDirectoryThatWasReadAreOfAWalk() {
        read(callers, .ordinary, .visit)
        #expect(areWhole(callers, author, listing) == [false, true])
        read(callers, .ordinary, ends: true)
        #expect(areWhole(callers, author, listing) == [false, true], "one of two readers is left")
        read(callers, .visit, ends: true)
        #expect(areWhole(callers, author, listing) == [false, false])
        // Closing more often than opening is harmless.
        read(callers, .visit, ends: true)
        read(callers, .visit, .visit)
        read(callers, .visit, ends: true)
        #expect(areWhole(callers, author, listing) == [false, true])
    }

    @Test func whoGlancesAsksForOneAtATime() {
        read(callers, .count)
        #expect(areWhole(callers, listing, listing) == [false, false])
        read(callers, .visit)
        #expect(areWhole(callers, listing) == [true], "a person went there meanwhile")
        read(callers, .visit, ends: true)
        #expect(areWhole(callers, listing) == [false])
        read(callers, .count, ends: true)
        #expect(areWhole(callers, listing) == [true])
    }

    @Test func whatOnlyProgramsReadIsAskedForThem() {
        #expect(!isBackground(callers, isGlance: false))
        read(callers, .walk, .preview)
        #expect(isBackground(callers, isGlance: true) && !isBackground(callers, isGlance: true, in: author))
        #expect(areWhole(callers, listing) == [true], "a walk wants all sizes")
        read(callers, .ordinary)
        #expect(!isBackground(callers, isGlance: true))
        read(callers, .ordinary, .walk, ends: true)
        #expect(isBackground(callers, isGlance: true))
        #expect(!isBackground(callers, isGlance: false), "another program's name while one counts")
        read(callers, .preview, ends: true)
        #expect(!isBackground(callers, isGlance: true))
    }

    // MARK: Copies

    private func requestsAll(
        _ callers: Machine, by thread: Int32, in key: ListingKey? = nil, at seconds: Double = 0
    ) -> Bool {
        callers.at(seconds) { $0.requestedSize(in: key ?? listing, by: thread, isGlance: false, now: $1).isWhole }
    }

    /// Whether the open of a picture ends the walk over sizes.
    private func endsWalk(
        _ callers: Machine, by thread: Int32, in key: ListingKey? = nil, isCopy: Bool = true
    ) -> Bool {
        callers.at(0) { callers, _ in
            callers.beganReading(pictureIn: key ?? listing, by: thread, isCopy: isCopy)
        }
    }

    /// `cp` without `-r`, and any program that reads pictures by name.
    @Test func whoReadsAPictureByNameNeedsNoOtherSizes() {
        for program: Int32 in 1...3 {
            #expect(!requestsAll(callers, by: program))
            #expect(!endsWalk(callers, by: program, isCopy: false))
        }
        read(callers, .ordinary)
        #expect(requestsAll(callers, by: 1) && !endsWalk(callers, by: 1, isCopy: false))
        #expect(requestsAll(callers, by: 1), "a file manager sniffs pictures of a directory that it shows")
    }

    @Test func twoSizesAreOfAWalkOnlySoonAfterEachOther() {
        let (callers, pace) = (Machine(), Callers.pace / .seconds(1))
        #expect(!requestsAll(callers, by: 1) && !requestsAll(callers, by: 2, at: pace))
        #expect(requestsAll(callers, by: 2, at: pace * 1.5))
    }

    /// Pictures in an order that no preload follows: each size costs a wait, and one request for all costs less.
    @Test func aCopyThatNoPreloadServesRequestsAllSizes() {
        var asked: [Bool] = []
        for _ in 0..<Callers.mostRequestsOfACopy + 3 {
            asked.append(requestsAll(callers, by: 1))
            #expect(!endsWalk(callers, by: 1) || asked.count == 1)
        }
        #expect(asked.firstIndex(of: true) == Callers.mostRequestsOfACopy + 1 && asked.last == true)
        // Two queries without a picture between them are of no copy.
        let other = Machine()
        _ = endsWalk(other, by: 1)
        #expect((0..<3).map { _ in requestsAll(other, by: 1) } == [false, false, true])
    }
}
