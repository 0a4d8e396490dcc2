import Catalog
import Fuse
import Rankings
import Synchronization

/// Who looks at what: what was seen of the programs that call, so that a person in a file manager is told from one that counts, and
/// from a program that walks.
///
/// What it says decides what waits and what is prepared, never what is answered.
///
/// ## Concurrency
///
/// Any thread may call; each table has its own lock, and none is held while proc(5) is read.
final class Desktops: Sendable {
    let processes: Processes
    private let now: @Sendable () -> ContinuousClock.Instant
    let looks = Mutex(LookRecognition())
    private let excursions = Mutex(Excursions())
    /// Which file managers show a directory now: what they learn of its entries comes no faster than the thumbnails.
    private let visits = Mutex(ProgramPlaces(lifetime: TreeLimits.visit))
    /// Which programs watch a directory that they read, and may yet show themselves as file managers.
    private let watches = Mutex(ProgramPlaces(lifetime: TreeLimits.watch))
    /// Who waits until a program visits a directory, by its path.
    private let visitWaiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])
    /// Who came to a picture by its link in `recent/`: looking through what was read is not reading it again.
    private let recentWays = Mutex(ProgramPlaces(lifetime: TreeLimits.recentWay))
    private let datedWays = Mutex(DatedWays())

    /// - Parameters:
    ///   - processes: What is asked of the programs that call.
    ///   - now: The monotonic clock by which it is remembered who came when.
    init(_ processes: Processes, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.processes = processes
        self.now = now
    }

    /// The moment of the monotonic clock.
    var moment: ContinuousClock.Instant { now() }

    // MARK: - Opened directories

    /// What a directory is opened for.
    func opening(_ directory: any TreeDirectory, _ inode: UInt64, by caller: Caller) -> LookRecognition.Opening {
        guard let program = processes.program(caller.process) else { return .ordinary }
        let path = directory.path.text
        let parent = shownParentPath(of: directory, to: program)
        let watcher = looks.withLock { $0.watcher(opening: path, below: parent, by: program, now: moment) }
        // Outside the lock: it reads what proc(5) shows.
        let isWatched = watcher.map { processes.watches($0, inode) } ?? false
        return looks.withLock { $0.opened(path, below: parent, by: program, isWatched: isWatched, now: moment) }
    }

    /// Who opens a directory that shows a listing.
    struct ListingLook {
        /// The program, where it matters.
        var program: CallingProgram?
        /// Whether no person waits for the entries.
        var isNobodys: Bool
        /// The program that opens it while nothing is known of it; `closed(by:)` is to be told.
        var discoverer: Int32?
    }

    /// Notes that a directory with a listing is opened.
    ///
    /// - Parameters:
    ///   - directory: Which.
    ///   - opening: What for.
    ///   - isUnknown: Whether nothing is known of the listing.
    ///   - caller: By whom.
    /// - Returns: Who that is.
    func look(
        at directory: any ListingDirectory, _ opening: LookRecognition.Opening, isUnknown: Bool, by caller: Caller
    ) -> ListingLook {
        // Each look at proc(5) takes some microseconds: not for what everybody opens again and again.
        let program = isUnknown || opening != .ordinary ? processes.program(caller.process) : nil
        let discoverer = isUnknown ? program?.process ?? caller.process : nil
        let isWalk = discoverer.map { process in excursions.withLock { $0.opened(by: process, now: moment) } } ?? false
        if opening == .visit, let program { noteVisit(at: directory, by: program) }
        return ListingLook(
            program: program, isNobodys: opening.isGlance || opening != .visit && isWalk, discoverer: discoverer)
    }

    /// A program closes a listing of which nothing was known.
    func closed(by discoverer: Int32) {
        excursions.withLock { $0.closed(by: discoverer, now: moment) }
    }

    /// A directory that was opened for a glance is closed.
    func endGlance(at directory: any TreeDirectory) {
        looks.withLock { $0.closed(below: directory.parentPath, now: moment) }
    }

    /// Whether a program glances at a directory, so that nothing in it is worth a request.
    func isGlancing(at directory: any TreeDirectory, _ caller: Caller) -> Bool {
        guard looks.withLock(\.hasDesktops), let program = processes.program(caller.process) else { return false }
        return looks.withLock { $0.isGlancing(at: directory.path.text, program) }
    }

    // MARK: - Looked-up names

    /// A look of a desktop at a directory.
    struct Look {
        /// Nil if nobody knows.
        var program: CallingProgram?
        /// Whether it looks on a person's behalf, so that thumbnails are wanted that nobody is making yet.
        var isWanted: Bool
        /// Whether the directory is listed.
        var isOpening: Bool
    }

    /// A name is looked up; nil if it is not one by which desktops show themselves.
    ///
    /// They look up some names first (`.hidden`: GIO and KDE; `.directory`: PCManFM and KDE's previews of folders); `ls`, `cp` and
    /// `rsync` look up none of them.
    func look(_ name: [UInt8], in directory: any TreeDirectory, by caller: Caller) -> Look? {
        guard ProbedNames.isAnnouncement(name) else { return nil }
        let isOpening = ProbedNames.isOpening(name)
        let program = processes.program(caller.process)
        let isWanted = looks.withLock {
            $0.looked(in: directory.path.text, isListed: isOpening, by: program, now: moment)
        }
        return Look(program: program, isWanted: isWanted, isOpening: isOpening)
    }

    /// Somebody asked statfs(2) of a node.
    func noteStatistics(of node: Node?, by caller: Caller) {
        guard looks.withLock(\.hasDesktops), let node, let program = processes.program(caller.process) else { return }
        let parent: String? =
            if case .directory(let directory) = node { shownParentPath(of: directory, to: program) } else {
                node.path.parent?.text
            }
        looks.withLock { $0.asked(below: parent, by: program, now: moment) }
    }

    // MARK: - Visits

    /// A program shows a directory.
    func noteVisit(at directory: any TreeDirectory, by program: CallingProgram) {
        // Looking once more makes it no longer: what is told must not come ever slower.
        let path = directory.path.text
        visits.withLock { $0.note(path, program.process, now: moment, prolongs: false) }
        endWaiting(forVisitTo: path)
    }

    /// Whether a program shows a directory that it was told of lately.
    func isVisiting(_ directory: any TreeDirectory, _ caller: Caller) -> Bool {
        holds(visits, directory, caller)
    }

    /// A program that watches a directory is about to read it.
    func noteWatch(of directory: any TreeDirectory, by caller: Caller) {
        guard let program = processes.program(caller.process) else { return }
        looks.withLock { $0.awaited(program) }
        watches.withLock { $0.note(directory.path.text, program.process, now: moment, prolongs: false) }
    }

    /// Whether a program that watches a directory may show itself as a file manager at any moment.
    func isWatching(_ directory: any TreeDirectory, _ caller: Caller) -> Bool {
        holds(watches, directory, caller)
    }

    /// Returns once a program visits a directory, at once if the caller does, or when nobody is to wait for that any more.
    func waitForVisit(to directory: any TreeDirectory, by caller: Caller) async {
        let path = directory.path.text
        await withCheckedContinuation { continuation in
            visitWaiters.withLock { $0[path, default: []].append(continuation) }
            // It may have come since it was last looked for: whoever comes from now on finds who waits.
            if isVisiting(directory, caller) { endWaiting(forVisitTo: path) }
        }
    }

    /// Lets go on who waits until a program visits a directory.
    func endWaiting(forVisitTo path: String) {
        for waiter in visitWaiters.withLock({ $0.removeValue(forKey: path) ?? [] }) { waiter.resume() }
    }

    private func holds(
        _ places: borrowing Mutex<ProgramPlaces>, _ directory: any TreeDirectory, _ caller: Caller
    ) -> Bool {
        guard !places.withLock(\.isEmpty) else { return false }
        let path = directory.path.text
        guard places.withLock({ $0.isAnybody(at: path, now: moment) }),
            let program = processes.program(caller.process)
        else { return false }
        return places.withLock { $0.holds(path, program.process, now: moment) }
    }

    // MARK: - Ways

    /// Somebody reads a link in `recent/`, which leads to this path.
    func noteWay(toRecent path: String, by caller: Caller) {
        // The kernel follows a link for the program that opens it, which so reads the link just before it opens the picture.
        let process = processes.program(caller.process)?.process ?? caller.process
        recentWays.withLock { $0.note(path, process, now: moment, prolongs: true) }
    }

    /// Whether a caller opens a picture because it looks through `recent/`.
    func cameByRecent(to path: String, _ caller: Caller) -> Bool {
        guard recentWays.withLock({ $0.isAnybody(at: path, now: moment) }) else { return false }
        let process = processes.program(caller.process)?.process ?? caller.process
        return recentWays.withLock { $0.holds(path, process, now: moment) }
    }

    /// Somebody reads the link to a day.
    func noteWay(to mode: RankingMode, _ day: Day) {
        datedWays.withLock { $0.note(mode, day, now: moment) }
    }

    /// The path behind `by-date/` under which somebody knows the pictures of a listing now; nil if nobody does.
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

    /// The path of the directory in which a program sees another one: that of a day may be a month of `by-date/`.
    func shownParentPath(of directory: any TreeDirectory, to program: CallingProgram) -> String? {
        guard case .ranking(let mode, let day) = directory.listing?.key,
            datedPath(of: .ranking(mode, day)) != nil
        else { return directory.parentPath }
        let month = TreePath.dates(DateFolder(of: mode, day)).text
        return looks.withLock { $0.isShown(month, to: program, now: moment) } ? month : directory.parentPath
    }
}
