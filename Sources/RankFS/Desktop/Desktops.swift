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
    /// Which file managers came to a directory a moment ago: what a window shows first is told with its thumbnails.
    private let visits = Mutex(ProgramPlaces(lifetime: TreeLimits.visit))
    /// Which programs watch a directory that they read, and may yet show themselves as file managers.
    private let watches = Mutex(ProgramPlaces(lifetime: TreeLimits.watch))
    /// Who waits until a program visits a directory, by its path.
    private let visitWaiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])
    /// What each thread found last by a further name.
    private let found = Mutex<[Int32: (picture: String, name: FurtherName)]>([:])
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
    ///
    /// - Parameters:
    ///   - directory: Which.
    ///   - inode: Its inode number.
    ///   - caller: By whom.
    /// - Returns: What it is taken for, and the directory in which it was seen.
    func opening(
        _ directory: any TreeDirectory, _ inode: UInt64, by caller: Caller
    ) -> (opening: LookRecognition.Opening, parent: String?) {
        guard let program = processes.program(caller.process) else { return (.ordinary, nil) }
        let path = directory.path.text
        let parent = shownParentPath(of: directory, to: program)
        let watcher = looks.withLock { $0.watcher(opening: path, below: parent, by: program, now: moment) }
        // Outside the lock: it reads what proc(5) shows.
        let isWatched = watcher.map { processes.watches($0, inode) } ?? false
        let opening = looks.withLock {
            $0.opened(path, below: parent, by: program, isWatched: isWatched, now: moment)
        }
        return (opening, parent)
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

    /// A directory that was opened for a glance is read to its end, or closed.
    func endGlance(at directory: any TreeDirectory, from parent: String) {
        looks.withLock { $0.closed(directory.path.text, below: parent, now: moment) }
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
        looks.withLock { $0.asked(of: node.path.text, below: parent, by: program, now: moment) }
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
        left(visits, directory, caller) != nil
    }

    /// For how long yet what a program learns of a directory that it shows may wait; nil if it is not to wait.
    func timeOfVisit(to directory: any TreeDirectory, by caller: Caller) -> Duration? {
        left(visits, directory, caller)
    }

    /// A program that shows a directory has waited for what it was told, and has as long for what it learns next.
    func prolongVisit(to directory: any TreeDirectory, by caller: Caller) {
        guard let program = processes.program(caller.process) else { return }
        visits.withLock { $0.note(directory.path.text, program.process, now: moment, prolongs: true) }
    }

    /// A program that watches a directory is about to read it.
    func noteWatch(of directory: any TreeDirectory, by caller: Caller) {
        guard let program = processes.program(caller.process) else { return }
        looks.withLock { $0.awaited(program) }
        watches.withLock { $0.note(directory.path.text, program.process, now: moment, prolongs: false) }
    }

    /// Whether a program that watches a directory may show itself as a file manager at any moment.
    func isWatching(_ directory: any TreeDirectory, _ caller: Caller) -> Bool {
        left(watches, directory, caller) != nil
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

    /// A name of a picture besides those in the directories of its listing.
    enum FurtherName {
        /// In `recent/`: looking through what was read is not reading it again.
        case recent
        /// `random.jpg`.
        case random
    }

    /// Somebody finds a picture by a further name.
    func noteFound(_ picture: Node, as name: FurtherName, by caller: Caller) {
        let path = picture.path.text
        found.withLock { found in
            if found.count >= TreeLimits.rememberedFinders { found = [:] }
            found[caller.process] = (path, name)
        }
    }

    /// The further name by which a caller opens a picture; nil if it is another one.
    ///
    /// The kernel keeps none of them: it looks one up for whoever opens it, just before and on the same thread.
    func furtherName(of picture: Node, openedBy caller: Caller) -> FurtherName? {
        guard let found = self.found.withLock({ $0.removeValue(forKey: caller.process) }) else { return nil }
        return found.picture == picture.path.text ? found.name : nil
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
