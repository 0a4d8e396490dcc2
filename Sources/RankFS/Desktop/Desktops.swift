import Catalog
import Fuse
import Rankings
import Synchronization

/// The observed behaviour of calling programs, which distinguishes a person in a file manager from counting and from walks.
///
/// Its results decide the order and the preparation of work, never the answers.
///
/// ## Concurrency
///
/// Any thread may call; each table has its own lock, and none is held while proc(5) is read.
final class Desktops: Sendable {
    let processes: Processes
    private let now: @Sendable () -> ContinuousClock.Instant
    let looks = Mutex(LookRecognition())
    private let excursions = Mutex(Excursions())
    /// The file managers that came to a directory a moment ago: its first entries are delayed until they have thumbnails.
    private let visits = Mutex(ProgramPlaces(lifetime: TreeLimits.visit))
    /// The programs that watch a directory that they read, and may still identify themselves as file managers.
    private let watches = Mutex(ProgramPlaces(lifetime: TreeLimits.watch))
    /// The waiters to resume when a program visits a directory, by its path.
    private let visitWaiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])
    /// The picture that each thread last found by a further name.
    private let found = Mutex<[Int32: (picture: String, name: FurtherName)]>([:])
    private let datedWays = Mutex(DatedWays())

    /// - Parameters:
    ///   - processes: The queries about calling programs.
    ///   - now: The monotonic clock for remembered visits of programs.
    init(_ processes: Processes, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.processes = processes
        self.now = now
    }

    /// The present time of the monotonic clock.
    var moment: ContinuousClock.Instant { now() }

    // MARK: - Opened directories

    /// Determines the purpose for which a directory is opened.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - inode: The inode number of the directory.
    ///   - caller: The process that opens it.
    /// - Returns: The assumed purpose, and the directory in which the program saw it.
    func opening(
        _ directory: any TreeDirectory, _ inode: UInt64, by caller: Caller
    ) -> (opening: LookRecognition.Opening, parent: String?) {
        guard let program = processes.program(caller.process) else { return (.ordinary, nil) }
        let path = directory.path.text
        let parent = shownParentPath(of: directory, to: program)
        let watcher = looks.withLock { $0.watcher(opening: path, below: parent, by: program, now: moment) }
        // Outside the lock: it reads proc(5).
        let isWatched = watcher.map { processes.watches($0, inode) } ?? false
        let opening = looks.withLock {
            $0.opened(path, below: parent, by: program, isWatched: isWatched, now: moment)
        }
        return (opening, parent)
    }

    /// The reader of a directory that shows a listing.
    struct ListingLook {
        /// The program, where it matters.
        var program: CallingProgram?
        /// Whether no person waits for the entries.
        var isNobodys: Bool
        /// The program that opens the directory while the listing is unknown; must be passed to `closed(by:)`.
        var discoverer: Int32?
    }

    /// Records that a directory with a listing is opened.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - opening: The purpose of the opening.
    ///   - isUnknown: Whether nothing is known of the listing.
    ///   - caller: The process that opens it.
    /// - Returns: The reader.
    func look(
        at directory: any ListingDirectory, _ opening: LookRecognition.Opening, isUnknown: Bool, by caller: Caller
    ) -> ListingLook {
        // Each query of proc(5) takes some microseconds: not for directories that are opened again and again.
        let program = isUnknown || opening != .ordinary ? processes.program(caller.process) : nil
        let discoverer = isUnknown ? program?.process ?? caller.process : nil
        let isWalk = discoverer.map { process in excursions.withLock { $0.opened(by: process, now: moment) } } ?? false
        if opening == .visit, let program { noteVisit(at: directory, by: program) }
        return ListingLook(
            program: program, isNobodys: opening.isGlance || opening != .visit && isWalk, discoverer: discoverer)
    }

    /// Records that a program closes a listing that was unknown.
    func closed(by discoverer: Int32) {
        excursions.withLock { $0.closed(by: discoverer, now: moment) }
    }

    /// Records that a directory opened for a glance is read to its end, or closed.
    func endGlance(at directory: any TreeDirectory, from parent: String) {
        looks.withLock { $0.closed(directory.path.text, below: parent, now: moment) }
    }

    /// Whether a program glances at a directory, so that no entry in it is worth a request.
    func isGlancing(at directory: any TreeDirectory, _ caller: Caller) -> Bool {
        guard looks.withLock(\.hasDesktops), let program = processes.program(caller.process) else { return false }
        return looks.withLock { $0.isGlancing(at: directory.path.text, program) }
    }

    // MARK: - Lookups of names

    /// A lookup by which a desktop identifies itself in a directory.
    struct Look {
        /// The program; nil if unknown.
        var program: CallingProgram?
        /// Whether the lookup is for a person, so that thumbnails are needed that are not being made yet.
        var isWanted: Bool
        /// Whether the directory is listed.
        var isOpening: Bool
    }

    /// Records the lookup of a name; nil if the name does not identify desktops.
    ///
    /// Desktops query some names first (`.hidden`: GIO and KDE; `.directory`: PCManFM and KDE's previews of folders); `ls`,
    /// `cp` and `rsync` query none of them.
    func look(_ name: [UInt8], in directory: any TreeDirectory, by caller: Caller) -> Look? {
        guard ProbedNames.isAnnouncement(name) else { return nil }
        let isOpening = ProbedNames.isOpening(name)
        let program = processes.program(caller.process)
        let isWanted = looks.withLock {
            $0.looked(in: directory.path.text, isListed: isOpening, by: program, now: moment)
        }
        return Look(program: program, isWanted: isWanted, isOpening: isOpening)
    }

    /// Records a statfs(2) of a node.
    func noteStatistics(of node: Node?, by caller: Caller) {
        guard looks.withLock(\.hasDesktops), let node, let program = processes.program(caller.process) else { return }
        let parent: String? =
            if case .directory(let directory) = node { shownParentPath(of: directory, to: program) } else {
                node.path.parent?.text
            }
        looks.withLock { $0.asked(of: node.path.text, below: parent, by: program, now: moment) }
    }

    // MARK: - Visits

    /// Records that a program shows a directory.
    func noteVisit(at directory: any TreeDirectory, by program: CallingProgram) {
        // A further lookup does not prolong the visit: entries must not arrive ever more slowly.
        let path = directory.path.text
        visits.withLock { $0.note(path, program.process, now: moment, prolongs: false) }
        endWaiting(forVisitTo: path)
    }

    /// Whether a program shows a directory that it came to recently.
    func isVisiting(_ directory: any TreeDirectory, _ caller: Caller) -> Bool {
        left(visits, directory, caller) != nil
    }

    /// How long an entry of a directory that a program shows may still be delayed; nil for no delay.
    func timeOfVisit(to directory: any TreeDirectory, by caller: Caller) -> Duration? {
        left(visits, directory, caller)
    }

    /// Restarts the time of a program that has waited for an entry, so that the next entry may take as long.
    func prolongVisit(to directory: any TreeDirectory, by caller: Caller) {
        guard let program = processes.program(caller.process) else { return }
        visits.withLock { $0.note(directory.path.text, program.process, now: moment, prolongs: true) }
    }

    /// Records that a program that watches a directory is about to read it.
    func noteWatch(of directory: any TreeDirectory, by caller: Caller) {
        guard let program = processes.program(caller.process) else { return }
        looks.withLock { $0.awaited(program) }
        watches.withLock { $0.note(directory.path.text, program.process, now: moment, prolongs: false) }
    }

    /// Whether a program that watches a directory may identify itself as a file manager at any moment.
    func isWatching(_ directory: any TreeDirectory, _ caller: Caller) -> Bool {
        left(watches, directory, caller) != nil
    }

    /// Returns when a program visits the directory, at once if the caller does, or when the wait is ended.
    func waitForVisit(to directory: any TreeDirectory, by caller: Caller) async {
        let path = directory.path.text
        await withCheckedContinuation { continuation in
            visitWaiters.withLock { $0[path, default: []].append(continuation) }
            // The program may have come since the last check: a visit from now on finds this waiter.
            if isVisiting(directory, caller) { endWaiting(forVisitTo: path) }
        }
    }

    /// Resumes the waiters for a visit to a directory.
    func endWaiting(forVisitTo path: String) {
        for waiter in visitWaiters.withLock({ $0.removeValue(forKey: path) ?? [] }) { waiter.resume() }
    }

    private func left(
        _ places: borrowing Mutex<ProgramPlaces>, _ directory: any TreeDirectory, _ caller: Caller
    ) -> Duration? {
        guard !places.withLock(\.isEmpty) else { return nil }
        let path = directory.path.text
        guard places.withLock({ $0.isAnybody(at: path, now: moment) }),
            let program = processes.program(caller.process)
        else { return nil }
        return places.withLock { $0.left(path, program.process, now: moment) }
    }

    // MARK: - Ways

    /// A name of a picture besides the names in the directories of its listing.
    enum FurtherName {
        /// A name in `recent/`: viewing the pictures there does not count as a new read.
        case recent
        /// `random.jpg`.
        case random
    }

    /// Records that a picture was found by a further name.
    func noteFound(_ picture: Node, as name: FurtherName, by caller: Caller) {
        let path = picture.path.text
        found.withLock { found in
            if found.count >= TreeLimits.rememberedFinders { found = [:] }
            found[caller.process] = (path, name)
        }
    }

    /// Returns the further name by which a caller opens a picture; nil if it is another picture.
    ///
    /// The kernel keeps no further name: it sends a lookup just before the open, on the same thread.
    func furtherName(of picture: Node, openedBy caller: Caller) -> FurtherName? {
        guard let found = self.found.withLock({ $0.removeValue(forKey: caller.process) }) else { return nil }
        return found.picture == picture.path.text ? found.name : nil
    }

    /// Records that the link to a day was read.
    func noteWay(to mode: RankingMode, _ day: Day) {
        datedWays.withLock { $0.note(mode, day, now: moment) }
    }

    /// The path in `by-date/` by which programs know the pictures of a listing now; nil if there is none.
    func datedPath(of key: ListingKey) -> String? {
        guard case .ranking(let mode, let day) = key, datedWays.withLock({ $0.holds(mode, day, now: moment) }) else {
            return nil
        }
        return TreePath.dayLink(mode, day).text
    }

    /// The paths under which a program sees a directory now: a day may be seen in `by-date/` too.
    func sight(of directory: any TreeDirectory) -> [String] {
        [directory.path.text] + [directory.listing?.key.flatMap(datedPath)].compactMap(\.self)
    }

    /// The path of the directory in which a program sees another directory: for a day it may be a month of `by-date/`.
    func shownParentPath(of directory: any TreeDirectory, to program: CallingProgram) -> String? {
        guard case .ranking(let mode, let day) = directory.listing?.key,
            datedPath(of: .ranking(mode, day)) != nil
        else { return directory.parentPath }
        let month = TreePath.dates(DateFolder(of: mode, day)).text
        return looks.withLock { $0.isShown(month, to: program, now: moment) } ? month : directory.parentPath
    }
}
