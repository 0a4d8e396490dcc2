/// Distinguishes a person that opens a directory in a file manager from the file manager that opens every directory it shows.
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
/// A pure state machine without clock or access to processes.
struct LookRecognition: Sendable {
    /// The purpose for which a directory is opened.
    enum Opening: Hashable, Sendable {
        /// By no file manager, as far as can be determined.
        case ordinary
        /// By a program that watches the directory and has not yet been held up to see whether it is a file manager.
        case watched
        /// By a file manager that a person navigates to the directory.
        case visit
        /// By a file manager that counts the entries.
        case count
        /// By a file manager that draws a preview of the directory.
        case preview

        /// Whether no person requested the directory.
        var isGlance: Bool { self == .count || self == .preview }
    }

    /// A longer pause ends a round of glances.
    static let pause: Duration = .seconds(2)
    /// A round continues during a glance, but not for ever: an interrupted opening is never closed.
    static let longestGlance: Duration = .seconds(120)
    /// How soon a file manager tries by itself after its thumbnailer failed, as Nemo does.
    static let secondTry: Duration = .seconds(2)
    /// The maximum number of remembered programs, rounds, refusals, and directories of a program; the last used stay.
    static let most = 1000

    private struct Known {
        /// Whether it queried the names that identify file managers.
        var isDesktop = false
        /// Whether it watched the first directory that it was seen to open; nil before.
        var watchesFirst: Bool?
        /// Whether it was held up once, in order to identify itself.
        var wasAwaited = false
        /// The directories that it last opened for a glance.
        var glanced: Set<String> = []
        /// The directory last opened for another purpose, and whether a person went there.
        var place: (path: String, isVisit: Bool)?
        /// The number of its newest event, by which the oldest program is forgotten.
        var used: UInt64 = 0
    }

    private struct Round {
        var program: CallingProgram
        var last: ContinuousClock.Instant
        /// The number of glances in progress: the pages of a long listing take their time, since no person waits for them.
        var open = 0
        /// The directory that is being counted: a program counts one at a time.
        var counting: String?
        /// The counted directories: none is counted twice.
        var counted: Set<String> = []
        /// The only child with a query of free space, if the round has no other sign: properties query one child, a window all.
        var onlyAsked: String?
    }

    /// The programs that queried `.hidden` or opened a directory.
    private var programs: [CallingProgram: Known] = [:]
    /// The rounds of glances at children, by the path of the parent.
    private var rounds: [String: Round] = [:]
    /// The pictures recently refused to thumbnailers, with the programs that started those, by path.
    private var refusals: [String: (program: CallingProgram, time: ContinuousClock.Instant)] = [:]
    private var events: UInt64 = 0
    /// Whether any program identified itself as a file manager.
    private(set) var hasDesktops = false

    /// The number of remembered programs, rounds and refusals.
    var remembered: Int { programs.count + rounds.count + refusals.count }

    /// Returns the process with a relevant watch on a directory that a program opens; nil if no watch matters.
    func watcher(
        opening path: String, below parent: String?, by program: CallingProgram, now: ContinuousClock.Instant
    ) -> Int32? {
        if KnownPrograms.previewers.contains(program.name) {
            return parent.flatMap { round(at: $0, now) }?.program.process
        }
        return programs[program]?.watchesFirst == false ? nil : program.process
    }

    /// Records a statfs(2) of a directory, as Caja and Nautilus make of all children of a directory that they show again.
    mutating func asked(
        of path: String, below parent: String?, by program: CallingProgram, now: ContinuousClock.Instant
    ) {
        guard let parent, isDesktop(program) else { return }
        let goesOn = round(at: parent, now).map { $0.program == program } ?? false
        let isOther = rounds[parent]?.onlyAsked != path
        begin(at: parent, program, now)
        if !goesOn { rounds[parent]?.onlyAsked = path } else if isOther { rounds[parent]?.onlyAsked = nil }
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
    mutating func looked(
        in path: String, isListed: Bool, by program: CallingProgram?, now: ContinuousClock.Instant
    ) -> Bool {
        guard let program else { return true }
        let known = programs[program, default: Known()]
        hasDesktops = true
        note(program) { $0.isDesktop = true }
        if known.glanced.contains(path) { return false }
        let isThere = known.place?.path == path
        guard isListed || isThere || known.place == nil else { return false }
        begin(at: path, program, now)
        return !(isThere && known.place?.isVisit == true)
    }

    /// Records that a program opens a directory, and returns the purpose.
    ///
    /// - Parameters:
    ///   - path: The path of the directory.
    ///   - parent: The path of its parent; nil for the root of the mount.
    ///   - program: The program that opens it.
    ///   - isWatched: Whether the process returned by `watcher` watches the directory.
    ///   - now: The present time.
    /// - Returns: The purpose of the opening.
    mutating func opened(
        _ path: String, below parent: String?, by program: CallingProgram, isWatched: Bool,
        now: ContinuousClock.Instant
    ) -> Opening {
        let round = parent.flatMap { self.round(at: $0, now) }
        if KnownPrograms.previewers.contains(program.name), let parent, round != nil, !isWatched {
            return glance(at: path, below: parent, program, for: .preview, now)
        }
        let known = programs[program, default: Known()]
        if known.isDesktop, known.watchesFirst == true, !isWatched, let parent, let round, round.program == program,
            round.counting == nil, round.onlyAsked == nil, !round.counted.contains(path), known.place?.path != path
        {
            rounds[parent]?.counting = path
            if round.counted.count >= Self.most { rounds[parent]?.counted = [] }
            rounds[parent]?.counted.insert(path)
            return glance(at: path, below: parent, program, for: .count, now)
        }
        let isVisit = isWatched && known.isDesktop
        let mayShowItself = isWatched && known.watchesFirst != false && !known.wasAwaited
        note(program) { known in
            // Programs that show the directory of the mount point count the root.
            if known.watchesFirst == nil, isWatched || parent != nil { known.watchesFirst = isWatched }
            known.glanced.remove(path)
            known.place = (path, isVisit)
        }
        // A directory that is opened without a watch is not shown: the program copies or searches the contents.
        if isVisit {
            begin(at: path, program, now)
            // A new display of the directory counts it again.
            rounds[path]?.counted = []
            rounds[path]?.onlyAsked = nil
        }
        return isVisit ? .visit : mayShowItself ? .watched : .ordinary
    }

    /// Records that a program is held up in a directory that it watches: its behaviour there shows whether it is a file manager.
    ///
    /// Not every directory shows this: in an empty one Dolphin makes no lookup.
    mutating func awaited(_ program: CallingProgram) {
        note(program) { $0.wasAwaited = true }
    }

    /// Records that a directory opened for a glance is read to its end, or closed.
    mutating func closed(_ path: String, below parent: String?, now: ContinuousClock.Instant) {
        guard let parent, let round = rounds[parent] else { return }
        if round.counting == path { rounds[parent]?.counting = nil }
        rounds[parent]?.open = max(0, round.open - 1)
        rounds[parent]?.last = now
    }

    /// Whether a program has a directory open for a glance, so that no entry in it is worth a request.
    func isGlancing(at path: String, _ program: CallingProgram) -> Bool {
        programs[program]?.glanced.contains(path) ?? false
    }

    /// Whether a program shows a directory: it went there last, or glances at its children are in progress.
    func isShown(_ path: String, to program: CallingProgram, now: ContinuousClock.Instant) -> Bool {
        programs[program]?.place?.path == path || round(at: path, now) != nil
    }

    /// Whether a program identified itself as a file manager.
    func isDesktop(_ program: CallingProgram) -> Bool {
        programs[program]?.isDesktop ?? false
    }

    /// Records that a picture was refused to a thumbnailer that a program started.
    mutating func refused(_ path: String, toThumbnailerOf program: CallingProgram, now: ContinuousClock.Instant) {
        if refusals.count >= Self.most { refusals = [:] }
        refusals[path] = (program, now)
    }

    /// Returns the program that may open a picture only because its thumbnailer was refused; nil if there is none.
    func secondTrier(of path: String, now: ContinuousClock.Instant) -> CallingProgram? {
        refusals[path].flatMap { $0.time.duration(to: now) < Self.secondTry ? $0.program : nil }
    }

    /// Records the second try: the next open of the picture is for a person.
    mutating func triedAgain(_ path: String) {
        refusals[path] = nil
    }

    // MARK: -

    private func round(at parent: String, _ now: ContinuousClock.Instant) -> Round? {
        rounds[parent].flatMap { round in
            round.last.duration(to: now) < (round.open > 0 ? Self.longestGlance : Self.pause) ? round : nil
        }
    }

    private mutating func glance(
        at path: String, below parent: String, _ program: CallingProgram, for opening: Opening,
        _ now: ContinuousClock.Instant
    ) -> Opening {
        rounds[parent]?.last = now
        rounds[parent]?.open += 1
        note(program) { known in
            if known.glanced.count >= Self.most { known.glanced = [] }
            known.glanced.insert(path)
        }
        return opening
    }

    private mutating func note(_ program: CallingProgram, _ change: (inout Known) -> Void) {
        if programs[program] == nil, programs.count >= Self.most,
            let oldest = programs.min(by: { $0.value.used < $1.value.used })
        {
            programs[oldest.key] = nil
        }
        events += 1
        var known = programs[program, default: Known()]
        known.used = events
        change(&known)
        programs[program] = known
    }

    private mutating func begin(at path: String, _ program: CallingProgram, _ now: ContinuousClock.Instant) {
        if rounds.count >= Self.most { rounds = [:] }
        var round = round(at: path, now) ?? Round(program: program, last: now)
        if round.program != program { round = Round(program: program, last: now) }
        round.last = now
        rounds[path] = round
    }
}

// MARK: - Probed names

/// Names that desktops, file servers and players look up in every directory, whatever its contents.
enum ProbedNames {
    /// The name that GIO and KDE look up in a directory that they list, and in no other.
    private static let opening = Array(".hidden".utf8)
    private static let announcements = [opening, Array(".directory".utf8)]

    /// Files that desktops, file servers and players search for; names that begin with a dot are no search either.
    private static let files: Set<String> = [
        "desktop.ini", "thumbs.db", "autorun.inf", "folder.jpg", "cover.jpg", "albumart.jpg", "ehthumbs.db",
        "lost+found", "index.html", "album.xml", "cachedir.tag",
    ]

    /// Whether a lookup of this name identifies a desktop; the kernel must not remember its absence.
    ///
    /// Thunar, Nautilus, Nemo, Caja and Dolphin query `.hidden`, PCManFM and KDE's previews of folders `.directory`.
    static func isAnnouncement(_ name: [UInt8]) -> Bool {
        announcements.contains(name)
    }

    /// Whether it is the name that GIO and KDE query in a directory that they list, and in no other.
    static func isOpening(_ name: [UInt8]) -> Bool {
        name == opening
    }

    /// Whether programs search for this name anywhere, so that no user has typed it.
    static func isProbed(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: ".") || files.contains(name.lowercased())
    }
}
