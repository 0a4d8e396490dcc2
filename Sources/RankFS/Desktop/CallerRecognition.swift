import Fuse
import Rankings
import Synchronization

/// The observed behaviour of calling programs, which distinguishes a person in a file manager from counting and from walks.
///
/// Its results decide the order and the preparation of work, never the answers.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards all facts, and proc(5) is read outside it.
final class CallerRecognition: Sendable {
    /// The way in which a directory was opened: by which program, a nameless one if proc(5) does not show it; the path of the directory
    /// in which the program saw it, nil for the root; and whether it shows a listing of which nothing was known.
    typealias Opening = (role: Callers.Role, program: CallingProgram, parent: String?, isUnknown: Bool)

    let processes: Processes
    private let now: @Sendable () -> ContinuousClock.Instant
    /// The facts, and the waiters to resume when a program visits a directory, by its path.
    private let state = Mutex((callers: Callers(), waiters: [String: [CheckedContinuation<Void, Never>]]()))

    /// - Parameters:
    ///   - processes: The queries about calling programs.
    ///   - now: The monotonic clock for remembered visits of programs.
    init(_ processes: Processes, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.processes = processes
        self.now = now
    }

    /// Reads or changes the facts at the present time, under the lock.
    func facts<Result: Sendable>(_ body: (inout Callers, _ now: ContinuousClock.Instant) -> Result) -> Result {
        state.withLock { body(&$0.callers, now()) }
    }

    /// The program of a caller; nil while no file manager is known, since it does not matter then.
    func program(of caller: Caller) -> CallingProgram? {
        facts { callers, _ in callers.hasDesktops } ? processes.program(caller.process) : nil
    }

    // MARK: - Opened directories

    /// Determines the role of the process that opens a directory.
    ///
    /// - Parameters:
    ///   - path: The path of the directory.
    ///   - inode: The inode number of the directory.
    ///   - parent: The path of its parent; nil for the root.
    ///   - key: The listing that it shows, where its path determines one.
    ///   - isUnknown: Whether it shows a listing of which nothing is known.
    ///   - caller: The process that opens it.
    /// - Returns: The role, and the directory in which the program saw this one.
    func opening(
        _ path: String, _ inode: UInt64, below parent: String?, key: ListingKey?, isUnknown: Bool, by caller: Caller
    ) -> Opening {
        let known = processes.program(caller.process)
        let program = known ?? CallingProgram(process: caller.process, name: "")
        let (parent, watcher) = facts { callers, now in
            let parent = callers.shownParent(parent, of: key, to: program, now: now)
            return (parent, callers.watcher(opening: path, below: parent, by: program, now: now))
        }
        let isWatched = known != nil && watcher.map { processes.watches($0, inode) } ?? false
        let role = facts {
            $0.opened(path, below: parent, by: program, isWatched: isWatched, isUnknown: isUnknown, now: $1)
        }
        return (role, program, parent, isUnknown)
    }

    /// Whether a program glances at a directory, so that no entry in it is worth a request.
    func isGlancing(at path: @autoclosure () -> String, _ caller: Caller) -> Bool {
        guard let program = program(of: caller) else { return false }
        let path = path()
        return facts { callers, _ in callers.isGlancing(at: path, program) }
    }

    /// Records the lookup of a name; nil if the name does not identify desktops.
    ///
    /// Desktops query some names first (`.hidden`: GIO and KDE; `.directory`: PCManFM and KDE's previews of folders); `ls`,
    /// `cp` and `rsync` query none of them.
    ///
    /// - Returns: The program, if known; whether the lookup is for a person, so that thumbnails are needed that are not being made
    ///   yet; and whether the directory is listed.
    func announcement(
        _ name: [UInt8], in path: @autoclosure () -> String, by caller: Caller
    ) -> (program: CallingProgram?, isWanted: Bool, isListed: Bool)? {
        guard EntryName.isAnnouncement(name) else { return nil }
        let (path, isListed, program) = (path(), name == EntryName.opening, processes.program(caller.process))
        let isWanted = facts { $0.announced(in: path, isListed: isListed, by: program, now: $1) }
        return (program, isWanted, isListed)
    }

    // MARK: - Visits

    /// How long entries of a directory may still be delayed for a program that visits it, nil for none, and whether a program
    /// that watches it may identify itself as a file manager at any moment.
    func stay(of caller: Caller, at path: @autoclosure () -> String) -> (visitLeft: Duration?, isWatching: Bool) {
        guard facts({ callers, _ in callers.hasAttention }) else { return (nil, false) }
        let path = path()
        guard facts({ $0.isAttended(path, now: $1) }), let program = processes.program(caller.process) else {
            return (nil, false)
        }
        return facts { ($0.visitLeft(to: path, program, now: $1), $0.isWatching(path, program, now: $1)) }
    }

    /// Records that a program shows a directory.
    func noteVisit(to path: String, by program: CallingProgram) {
        facts { $0.visits(path, program, now: $1) }
        endWaiting(forVisitTo: path)
    }

    /// Returns when a program visits the directory, at once if the caller does, or when the wait is ended.
    func waitForVisit(to path: String, by caller: Caller) async {
        let program = processes.program(caller.process)
        await withCheckedContinuation { continuation in
            let isVisiting = state.withLock { state in
                if let program, state.callers.visitLeft(to: path, program, now: now()) != nil { return true }
                state.waiters[path, default: []].append(continuation)
                return false
            }
            if isVisiting { continuation.resume() }
        }
    }

    /// Resumes the waiters for a visit to a directory.
    func endWaiting(forVisitTo path: String) {
        for waiter in state.withLock({ $0.waiters.removeValue(forKey: path) ?? [] }) { waiter.resume() }
    }
}
