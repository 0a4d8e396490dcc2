import Rankings

/// The observed behaviour of each calling program, and the role that follows from it when the program opens a directory.
///
/// ## File managers
///
/// Nautilus, Caja, Nemo and Dolphin count the entries of the directories that they show; Gwenview and Dolphin draw previews of
/// them. Both open and list each directory as if a person had gone there. The difference is that a file manager watches the
/// directories that it shows: it requests a directory's changes from inotify(7) before it opens the directory for a person, and
/// never for a directory that it counts (seen with each of them, and with Thunar and PCManFM, which count nothing).
///
/// They count when they show the parent, and go from one child to the next without a pause; a directory opened at another time
/// may be for a copy. All query `.hidden` or `.directory`; `ls`, `cp` and `rsync` do not, so their opens are never taken for a
/// glance. The same holds for a program that did not watch the first directory that it opened, such as file choosers and gThumb,
/// which watch a directory once they have read it.
///
/// A file manager reads its first directory before its first lookup in it; Dolphin reads some 200 entries of it. Until then,
/// the only sign of a file manager is its watch.
///
/// ## Walks
///
/// A walk opens the next unknown listing soon after it has closed the last one. The requests that `tree`, `find` and indexers
/// cause wait until the directories that a person opens meanwhile are served. No request is refused: a wrong guess only changes
/// the order.
///
/// `ls -l` reads a directory and stats entries while it is open; programs that were given names stat one after the other. Both
/// need every further size of the directory too.
///
/// `cp -r` and `tar` stat an entry and read it before they stat the next one; `rsync` stats all entries and then reads them. The
/// size of a picture arrives with its bytes, and further pictures are preloaded: from the first picture that such a program opens,
/// only the sizes are requested that it waits for.
///
/// A pure state machine without clock or access to processes.
struct Callers: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The role in which a program opens a directory.
    enum Role: Hashable, Sendable {
        /// No file manager and no walk, as far as can be determined.
        case ordinary
        /// A program that traverses the tree.
        case walk
        /// A program that watches the directory and has not yet been held up to see whether it is a file manager.
        case watched(isWalk: Bool)
        /// A file manager that a person navigates to the directory.
        case visit
        /// A file manager that counts the entries.
        case count
        /// A file manager that draws a preview of the directory.
        case preview

        /// Whether no person requested the directory, so that its requests are not worth more than they cost.
        var isGlance: Bool { self == .count || self == .preview }
        /// Whether no person waits for the entries.
        var isBackground: Bool { isGlance || self == .walk || self == .watched(isWalk: true) }
    }

    /// A name of a picture besides the names in the directories of its listing.
    enum FurtherName: Sendable {
        /// A name in `recent/`: viewing the pictures there does not count as a new read.
        case recent
        /// `random.jpg`.
        case random
    }

    /// The relation of a program to one directory.
    private struct Stay {
        /// Whether the program last opened the directory for a glance.
        var isGlance = false
        /// The time until which entries are delayed for a file manager that came to the directory.
        var visit: Instant?
        /// The time until which a program that watches the directory may identify itself as a file manager.
        var watch: Instant?
    }

    private struct Facts {
        /// Whether it queried the names that identify file managers.
        var isDesktop = false
        /// Whether it watched the first directory that it was seen to open; nil before.
        var watchesFirst: Bool?
        /// Whether it was held up once, in order to identify itself.
        var wasAwaited = false
        /// The directory last opened for no glance, and whether a person went there.
        var place: (path: String, isVisit: Bool)?
        /// The directories with glances, visits and watches, by path.
        var stays = RecentTable<String, Stay>(most: Callers.most)
        /// The time at which it last opened or closed an unknown listing.
        var discovery: Instant?
    }

    /// A thread that opens one picture after the other.
    private struct Copy {
        let directory: ListingKey
        /// Whether it copies them, so that it needs no other size, even of a directory that is being read.
        var isCopying = false
        /// The number of pictures in a row with sizes that had to be requested.
        var requests = 0
        /// Whether a size had to be requested since the last picture was opened.
        var isWaiting = false
    }

    private struct Round {
        var program: CallingProgram
        var last: Instant
        /// The number of glances in progress: the pages of a long listing take their time, since no person waits for them.
        var open = 0
        /// The directory that is being counted: a program counts one at a time.
        var counting: String?
        /// The counted directories: none is counted twice.
        var counted: Set<String> = []
        /// The only child with a query of free space, if the round has no other sign: properties query one child, a window all.
        var onlyQueried: String?
    }

    /// A longer pause ends a round of glances.
    static let pause: Duration = .seconds(2)
    /// A round continues during a glance, but not for ever: an interrupted opening is never closed.
    static let longestGlance: Duration = .seconds(120)
    /// How soon a file manager tries by itself after its thumbnailer failed, as Nemo does.
    static let secondTry: Duration = .seconds(2)
    /// The longest time from one listing of a walk to the next: `tree` stats all entries of one first, five seconds' worth of sizes.
    ///
    /// A person that proceeds faster uses a file manager, which is recognised by its watches, or one program for each step.
    static let pace: Duration = .seconds(10)
    /// How long the way through `by-date/` is remembered: each path that a program opens through a link is a step of it.
    static let wayMemory: Duration = .seconds(600)
    /// The maximum number of remembered ways; a program that reads all links of a month (`ls -l`) takes them all.
    static let mostWays = 64

    /// The sizes that a copy requests one after the other: more of them show that no preload brings them.
    static let mostRequestsOfACopy = 3

    /// The maximum number of programs, and of values in each other table but `ways`.
    static let most = 1000

    private var programs = RecentTable<CallingProgram, Facts>(most: most)
    /// The rounds of glances at children, by the path of the parent.
    private var rounds = RecentTable<String, Round>(most: most)
    /// The times at which the last visit or watch of any program ends, by path.
    private var attended = RecentTable<String, Instant>(most: most)
    /// The pictures recently refused to thumbnailers, with the programs that started those, by path.
    private var refusals = RecentTable<String, (program: CallingProgram, time: Instant)>(most: most)
    /// The picture that each thread last found by a further name.
    private var finds = RecentTable<Int32, (picture: String, name: FurtherName)>(most: most)
    /// The times at which links of `by-date/` to days were last read: file managers then know the pictures by that path.
    private var ways = RecentTable<ListingKey, Instant>(most: mostWays)
    /// The numbers of open directory handles that were read from, by listing.
    private var readers: [ListingKey: [Role: Int]] = [:]
    /// The directory of the last size that had to be requested and whose reader has opened no picture since, the thread that waited for
    /// it, and the time.
    private var lastSize: (directory: ListingKey, thread: Int32, time: Instant)?
    /// The directories in which threads copy pictures.
    private var copies = RecentTable<Int32, Copy>(most: most)
    /// Whether any program identified itself as a file manager.
    private(set) var hasDesktops = false

    // MARK: - Opened directories

    /// Returns the process with a relevant watch on a directory that a program opens; nil if no watch matters.
    func watcher(opening path: String, below parent: String?, by program: CallingProgram, now: Instant) -> Int32? {
        if KnownPrograms.previewers.contains(program.name) {
            return parent.flatMap { round(at: $0, now) }?.program.process
        }
        return programs[program]?.watchesFirst == false ? nil : program.process
    }

    /// Records that a program opens a directory, and returns its role.
    ///
    /// - Parameters:
    ///   - path: The path of the directory.
    ///   - parent: The path of its parent; nil for the root of the mount.
    ///   - program: The program that opens it.
    ///   - isWatched: Whether the process returned by `watcher` watches the directory.
    ///   - isUnknown: Whether the directory shows a listing of which nothing is known.
    ///   - now: The present time.
    /// - Returns: The role.
    mutating func opened(
        _ path: String, below parent: String?, by program: CallingProgram, isWatched: Bool, isUnknown: Bool = false,
        now: Instant
    ) -> Role {
        var facts = facts(of: program)
        defer { programs[program] = facts }
        let isWalk = isUnknown && facts.discovery.map { $0.duration(to: now) < Self.pace } ?? false
        if isUnknown { facts.discovery = now }
        if !isWatched, let parent, var round = round(at: parent, now),
            let glance = glance(at: path, program, facts, in: round)
        {
            if glance == .count {
                round.counting = path
                if round.counted.count >= Self.most { round.counted = [] }
                round.counted.insert(path)
            }
            round.last = now
            round.open += 1
            rounds[parent] = round
            facts.stays[path, default: Stay()].isGlance = true
            return glance
        }
        // An eager viewer has the first pictures of its first directory read before it shows itself.
        let isVisit = isWatched && (facts.isDesktop || KnownPrograms.eagerViewers.contains(program.name))
        let mayShowItself = isWatched && facts.watchesFirst != false && !facts.wasAwaited
        // Programs that show the directory of the mount point count the root.
        if facts.watchesFirst == nil, isWatched || parent != nil { facts.watchesFirst = isWatched }
        facts.stays[path]?.isGlance = false
        facts.place = (path, isVisit)
        guard isVisit else { return mayShowItself ? .watched(isWalk: isWalk) : isWalk ? .walk : .ordinary }
        // A directory that is opened without a watch is not shown: the program copies or searches the contents.
        begin(at: path, program, now)
        // A new display of the directory counts it again.
        rounds[path]?.counted = []
        rounds[path]?.onlyQueried = nil
        return .visit
    }

    /// Records that a directory opened for a glance is read to its end, or closed.
    mutating func endedGlance(at path: String, below parent: String, now: Instant) {
        guard var round = rounds[parent] else { return }
        if round.counting == path { round.counting = nil }
        round.open = max(0, round.open - 1)
        round.last = now
        rounds[parent] = round
    }

    /// Records that a program closes a listing that was unknown.
    mutating func closedUnknown(by program: CallingProgram, now: Instant) {
        if programs[program]?.discovery != nil { programs[program]?.discovery = now }
    }

    /// Whether a program has a directory open for a glance, so that no entry in it is worth a request.
    func isGlancing(at path: String, _ program: CallingProgram) -> Bool {
        programs[program]?.stays[path]?.isGlance ?? false
    }

    // MARK: - File managers

    /// Whether a program identified itself as a file manager.
    func isDesktop(_ program: CallingProgram) -> Bool {
        programs[program]?.isDesktop ?? false
    }

    /// Records a lookup of `.hidden` or `.directory` by a program.
    ///
    /// - Parameters:
    ///   - path: The path of the directory.
    ///   - isListed: Whether the name is queried only in directories that are listed; `.directory` is also queried in
    ///     directories that are merely shown, for their icons.
    ///   - program: The program; nil if unknown.
    ///   - now: The present time.
    /// - Returns: Whether the lookup is for a person, so that thumbnails are needed that are not being made yet.
    mutating func announced(in path: String, isListed: Bool, by program: CallingProgram?, now: Instant) -> Bool {
        guard let program else { return true }
        let facts = facts(of: program)
        hasDesktops = true
        programs[program, default: facts].isDesktop = true
        if isGlancing(at: path, program) { return false }
        let isThere = facts.place?.path == path
        guard isListed || isThere || facts.place == nil else { return false }
        begin(at: path, program, now)
        return !(isThere && facts.place?.isVisit == true)
    }

    /// Records a statfs(2) of a directory, as Caja and Nautilus make of all children of a directory that they show again.
    mutating func queriedFreeSpace(of path: String, below parent: String?, by program: CallingProgram, now: Instant) {
        guard let parent, isDesktop(program) else { return }
        let goesOn = round(at: parent, now).map { $0.program == program } ?? false
        let isOther = rounds[parent]?.onlyQueried != path
        begin(at: parent, program, now)
        if !goesOn { rounds[parent]?.onlyQueried = path } else if isOther { rounds[parent]?.onlyQueried = nil }
    }

    /// Records that a picture was refused to a thumbnailer that a program started.
    mutating func refused(_ path: String, toThumbnailerOf program: CallingProgram, now: Instant) {
        refusals[path] = (program, now)
    }

    /// Returns the program that may open a picture only because its thumbnailer was refused; nil if there is none.
    func secondTrier(of path: String, now: Instant) -> CallingProgram? {
        refusals[path].flatMap { $0.time.duration(to: now) < Self.secondTry ? $0.program : nil }
    }

    /// Records the second try: the next open of the picture is for a person.
    mutating func triedAgain(_ path: String) {
        refusals[path] = nil
    }

    // MARK: - Visits and watches

    /// Records that a program comes to a directory and shows it: its first entries are delayed until they have thumbnails.
    ///
    /// A further lookup does not restart the time of a visit: entries must not arrive ever more slowly. A wait for an entry does
    /// (`isProlonged`), so that the next entry may take as long.
    mutating func visits(_ path: String, _ program: CallingProgram, isProlonged: Bool = false, now: Instant) {
        if !isProlonged, visitLeft(to: path, program, now: now) != nil { return }
        var facts = facts(of: program)
        facts.stays[path, default: Stay()].visit = now + TreeLimits.visit
        programs[program] = facts
        attend(path, until: now + TreeLimits.visit)
    }

    /// Records that a program is held up in a directory that it watches: its behaviour there shows whether it is a file manager.
    ///
    /// Not every directory shows this: in an empty one Dolphin makes no lookup.
    mutating func awaited(_ program: CallingProgram, at path: String, now: Instant) {
        var facts = facts(of: program)
        facts.wasAwaited = true
        if !isWatching(path, program, now: now) {
            facts.stays[path, default: Stay()].watch = now + TreeLimits.watch
            attend(path, until: now + TreeLimits.watch)
        }
        programs[program] = facts
    }

    /// Whether there have been visits or watches at all, so that `isAttended` is worth a path.
    var hasAttention: Bool { attended.count > 0 }

    /// Whether any program visits or watches a directory; forgets the directory otherwise.
    ///
    /// Every lookup and read of a directory depends on this, which is a single access to a dictionary.
    mutating func isAttended(_ path: String, now: Instant) -> Bool {
        guard let end = attended[path] else { return false }
        if end <= now { attended[path] = nil }
        return end > now
    }

    /// How long an entry of a directory that a program shows may still be delayed; nil for no delay.
    func visitLeft(to path: String, _ program: CallingProgram, now: Instant) -> Duration? {
        programs[program]?.stays[path]?.visit.flatMap { $0 > now ? now.duration(to: $0) : nil }
    }

    /// Whether a program that watches a directory may identify itself as a file manager at any moment.
    func isWatching(_ path: String, _ program: CallingProgram, now: Instant) -> Bool {
        programs[program]?.stays[path]?.watch.map { $0 > now } ?? false
    }

    private mutating func attend(_ path: String, until end: Instant) {
        attended[path] = max(end, attended[path] ?? end)
    }

    // MARK: - Ways

    /// Records that a thread found a picture by a further name.
    mutating func found(_ picture: String, as name: FurtherName, by thread: Int32) {
        finds[thread] = (picture, name)
    }

    /// Returns the further name by which a thread opens a picture; nil if it is another picture.
    ///
    /// The kernel keeps no further name: it sends a lookup just before the open, on the same thread.
    mutating func furtherName(of picture: @autoclosure () -> String, openedBy thread: Int32) -> FurtherName? {
        guard let find = finds[thread] else { return nil }
        finds[thread] = nil
        return find.picture == picture() ? find.name : nil
    }

    /// Records that the link to a day was read.
    mutating func wentThroughDates(to key: ListingKey, now: Instant) {
        ways[key] = now
    }

    /// The path in `by-date/` by which programs know the pictures of a listing now; nil if there is none.
    func datedPath(of key: ListingKey, now: Instant) -> String? {
        guard let (mode, day) = key.ranking, let step = ways[key], step.duration(to: now) < Self.wayMemory
        else {
            return nil
        }
        return TreePath.dayLink(mode, day).text
    }

    /// The path of the directory in which a program sees another one: for a day it may be a month of `by-date/`.
    ///
    /// It is a month that the program shows: the program went there last, or glances at its children are in progress.
    func shownParent(_ parent: String?, of key: ListingKey?, to program: CallingProgram, now: Instant) -> String? {
        guard let (mode, day) = key?.ranking, datedPath(of: .ranking(mode, day), now: now) != nil else {
            return parent
        }
        let month = TreePath.dates(DateFolder(of: mode, day)).text
        return programs[program]?.place?.path == month || round(at: month, now) != nil ? month : parent
    }

    // MARK: - Readers and sizes

    /// Records the first read of a directory handle.
    mutating func beganReading(_ directory: ListingKey, as role: Role) {
        readers[directory, default: [:]][role, default: 0] += 1
    }

    /// Records the close of a directory handle that was read from.
    mutating func endedReading(_ directory: ListingKey, as role: Role) {
        guard let count = readers[directory]?[role] else { return }
        readers[directory]?[role] = count > 1 ? count - 1 : nil
        if readers[directory]?.isEmpty == true { readers[directory] = nil }
    }

    /// Records the request of a size.
    ///
    /// - Parameters:
    ///   - directory: The directory.
    ///   - thread: The thread that waits for the size.
    ///   - isGlance: Whether the caller was seen to count or preview the directory: other programs never count as a glance.
    ///   - now: The present time.
    /// - Returns: Whether all sizes of the directory should be requested, and whether only programs wait for them.
    mutating func requestedSize(
        in directory: ListingKey, by thread: Int32, isGlance: Bool, now: Instant
    ) -> (isWhole: Bool, isBackground: Bool) {
        if var copy = copies[thread], copy.directory == directory, !copy.isWaiting,
            copy.isCopying || readers[directory] == nil
        {
            (copy.requests, copy.isWaiting) = (copy.requests + 1, true)
            copies[thread] = copy
            return (copy.requests > Self.mostRequestsOfACopy, false)
        }
        copies[thread] = nil
        let isSecond = lastSize.map { $0.directory == directory && $0.time.duration(to: now) < Self.pace } ?? false
        lastSize = (directory, thread, now)
        guard let roles = readers[directory]?.keys else { return (isSecond, false) }
        if roles.contains(where: { !$0.isBackground }) { return (true, false) }
        return roles.allSatisfy(\.isGlance) ? (false, isGlance) : (true, true)
    }

    /// Records that a thread opens a picture: in a directory without readers it reads one picture after the other, as a copy.
    ///
    /// - Returns: Whether all sizes of the directory were last requested for this thread, which copies and does not need them any more.
    mutating func beganReading(pictureIn directory: ListingKey, by thread: Int32, isCopy: Bool) -> Bool {
        guard isCopy || readers[directory] == nil else { return false }
        var copy = copies[thread] ?? Copy(directory: directory)
        if copy.directory != directory { copy = Copy(directory: directory) }
        if !copy.isWaiting { copy.requests = 0 }
        (copy.isWaiting, copy.isCopying) = (false, isCopy)
        copies[thread] = copy
        guard let last = lastSize, last.directory == directory, last.thread == thread else { return false }
        lastSize = nil
        return isCopy
    }

    // MARK: -

    private func facts(of program: CallingProgram) -> Facts {
        programs[program] ?? Facts()
    }

    /// The glance for which a program opens a directory that is not watched, during a round of glances.
    private func glance(at path: String, _ program: CallingProgram, _ facts: Facts, in round: Round) -> Role? {
        if KnownPrograms.previewers.contains(program.name) { return .preview }
        let isCount =
            facts.isDesktop && facts.watchesFirst == true && round.program == program && round.counting == nil
            && round.onlyQueried == nil && !round.counted.contains(path) && facts.place?.path != path
        return isCount ? .count : nil
    }

    private func round(at parent: String, _ now: Instant) -> Round? {
        rounds[parent].flatMap { round in
            round.last.duration(to: now) < (round.open > 0 ? Self.longestGlance : Self.pause) ? round : nil
        }
    }

    private mutating func begin(at path: String, _ program: CallingProgram, _ now: Instant) {
        let round = round(at: path, now).flatMap { $0.program == program ? $0 : nil }
        rounds[path] = round ?? Round(program: program, last: now)
        rounds[path]?.last = now
    }
}
