/// Tells a person who opens a directory in a file manager from the file manager that looks into every directory it shows.
///
/// Nautilus, Caja, Nemo and Dolphin count the entries of the directories that they show, Gwenview and Dolphin draw previews of
/// them: both open and list each, just as if a person had gone there. What differs is that a file manager watches what it
/// shows: it has asked inotify(7) for a directory's changes before it opens it for a person, and never for what it counts
/// (seen with each of them, and with Thunar and PCManFM, which count nothing).
///
/// They count when they show the parent, and go from one child to the next without a pause; what is opened at another time is
/// copied, perhaps. All look up `.hidden` or `.directory`; `ls`, `cp` and `rsync` do not, so that nothing they open is ever
/// taken for a glance. Neither is what a program opens that did not watch the first directory that it opened, as file choosers
/// and gThumb, which watch a directory once they have read it.
///
/// A file manager's first directory is read before anything is looked up in it, by Dolphin some 200 entries of it: all that is known
/// of the program until then is that it watches.
///
/// A pure state machine: it knows neither clock nor processes.
struct LookRecognition: Sendable {
    /// What an opened directory is opened for.
    enum Opening: Hashable, Sendable {
        /// By no file manager, as far as one can tell.
        case ordinary
        /// By a program that watches the directory, and of which nobody has waited to see yet whether it is a file manager.
        case watched
        /// A person goes there in a file manager.
        case visit
        /// A file manager counts the entries.
        case count
        /// A file manager draws a preview of the directory.
        case preview

        /// Whether nobody asked to see the directory.
        var isGlance: Bool { self == .count || self == .preview }
    }

    /// A longer pause ends a round of glances.
    static let pause: Duration = .seconds(2)
    /// A round goes on while a glance is under way, but not for ever: an interrupted opening is never closed.
    static let longestGlance: Duration = .seconds(120)
    /// How soon a file manager whose thumbnailer failed tries by itself, as Nemo does.
    static let secondTry: Duration = .seconds(2)
    /// Programs, rounds and refusals remembered, and directories of each program; those that were used last stay.
    static let most = 1000

    private struct Known {
        /// Whether it looked up the names by which file managers show themselves.
        var isDesktop = false
        /// Whether it watched the first directory that it was seen to open; nil before.
        var watchesFirst: Bool?
        /// Whether it was held up once for it to show itself.
        var wasAwaited = false
        /// Directories that it opened for a glance last.
        var glanced: Set<String> = []
        /// The directory that was opened last for another reason, and whether a person went there.
        var place: (path: String, isVisit: Bool)?
        /// The newest event, to forget the oldest.
        var used: UInt64 = 0
    }

    private struct Round {
        var program: CallingProgram
        var last: ContinuousClock.Instant
        /// Glances under way: the pages of a long listing take their time, since nobody waits for them.
        var open = 0
        /// The directory that is being counted: one after the other is.
        var counting: String?
        /// Those that were: none is twice.
        var counted: Set<String> = []
        /// The child whose free space was asked for, if that alone tells of the round: properties ask for one, a window for all.
        var onlyAsked: String?
    }

    /// Programs that looked up `.hidden` or opened a directory.
    private var programs: [CallingProgram: Known] = [:]
    /// Rounds of glances at children, by the path of the parent.
    private var rounds: [String: Round] = [:]
    /// Pictures that thumbnailers were refused lately, with the programs that started them, by path.
    private var refusals: [String: (program: CallingProgram, time: ContinuousClock.Instant)] = [:]
    private var events: UInt64 = 0
    /// Whether any program showed itself as a file manager.
    private(set) var hasDesktops = false

    /// Programs, rounds and refusals in memory.
    var remembered: Int { programs.count + rounds.count + refusals.count }

    /// The process of which it matters whether it watches a directory that a program opens; nil if nobody's watching does.
    func watcher(
        opening path: String, below parent: String?, by program: CallingProgram, now: ContinuousClock.Instant
    ) -> Int32? {
        if KnownPrograms.previewers.contains(program.name) {
            return parent.flatMap { round(at: $0, now) }?.program.process
        }
        return programs[program]?.watchesFirst == false ? nil : program.process
    }

    /// Somebody asked statfs(2) of a directory, as Caja and Nautilus do of all children of one that they show again.
    mutating func asked(
        of path: String, below parent: String?, by program: CallingProgram, now: ContinuousClock.Instant
    ) {
        guard let parent, isDesktop(program) else { return }
        let goesOn = round(at: parent, now).map { $0.program == program } ?? false
        let isOther = rounds[parent]?.onlyAsked != path
        begin(at: parent, program, now)
        if !goesOn { rounds[parent]?.onlyAsked = path } else if isOther { rounds[parent]?.onlyAsked = nil }
    }

    /// A program looked up `.hidden` or `.directory` in a directory.
    ///
    /// - Parameters:
    ///   - path: The directory's.
    ///   - isListed: Whether the name is one that is looked up in listed directories only; `.directory` is also looked up in
    ///     those that are just shown, for their icons.
    ///   - program: Nil if nobody knows.
    ///   - now: When.
    /// - Returns: Whether it looks on a person's behalf, so that thumbnails are wanted that nobody is making yet.
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

    /// A program opens a directory.
    ///
    /// - Parameters:
    ///   - path: The directory's.
    ///   - parent: Its parent's path; nil for the root of the mount.
    ///   - program: Who.
    ///   - isWatched: Whether the process that `watcher` named watches the directory.
    ///   - now: When.
    /// - Returns: What for.
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
            // The root is counted by those who show the directory that it is mounted in.
            if known.watchesFirst == nil, isWatched || parent != nil { known.watchesFirst = isWatched }
            known.glanced.remove(path)
            known.place = (path, isVisit)
        }
        // What it does not watch it does not show: it copies or searches what is below.
        if isVisit {
            begin(at: path, program, now)
            // Shown anew, it is counted anew.
            rounds[path]?.counted = []
            rounds[path]?.onlyAsked = nil
        }
        return isVisit ? .visit : mayShowItself ? .watched : .ordinary
    }

    /// A program is held up in a directory that it watches: what it does there tells whether it is a file manager.
    ///
    /// Not every directory tells: in an empty one Dolphin looks up nothing.
    mutating func awaited(_ program: CallingProgram) {
        note(program) { $0.wasAwaited = true }
    }

    /// A directory that was opened for a glance is read to its end, or closed.
    mutating func closed(_ path: String, below parent: String?, now: ContinuousClock.Instant) {
        guard let parent, let round = rounds[parent] else { return }
        if round.counting == path { rounds[parent]?.counting = nil }
        rounds[parent]?.open = max(0, round.open - 1)
        rounds[parent]?.last = now
    }

    /// Whether a program has a directory open for a glance, so that nothing in it is worth a request.
    func isGlancing(at path: String, _ program: CallingProgram) -> Bool {
        programs[program]?.glanced.contains(path) ?? false
    }

    /// Whether a program shows a directory: it went there last, or somebody looks at what is in it.
    func isShown(_ path: String, to program: CallingProgram, now: ContinuousClock.Instant) -> Bool {
        programs[program]?.place?.path == path || round(at: path, now) != nil
    }

    /// Whether a program showed itself as a file manager.
    func isDesktop(_ program: CallingProgram) -> Bool {
        programs[program]?.isDesktop ?? false
    }

    /// A thumbnailer that a program started was refused a picture.
    mutating func refused(_ path: String, toThumbnailerOf program: CallingProgram, now: ContinuousClock.Instant) {
        if refusals.count >= Self.most { refusals = [:] }
        refusals[path] = (program, now)
    }

    /// The program that may open a picture only because its thumbnailer was refused it; nil if there is none.
    func secondTrier(of path: String, now: ContinuousClock.Instant) -> CallingProgram? {
        refusals[path].flatMap { $0.time.duration(to: now) < Self.secondTry ? $0.program : nil }
    }

    /// It has tried: what it opens now is for somebody.
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

/// Names that desktops, file servers and players look up in every directory, whatever is there.
enum ProbedNames {
    /// The name that GIO and KDE look up in a directory that they list, and in no other.
    private static let opening = Array(".hidden".utf8)
    private static let announcements = [opening, Array(".directory".utf8)]

    /// Files that desktops, file servers and players look for; names that begin with a dot are no search either.
    private static let files: Set<String> = [
        "desktop.ini", "thumbs.db", "autorun.inf", "folder.jpg", "cover.jpg", "albumart.jpg", "ehthumbs.db",
        "lost+found", "index.html", "album.xml", "cachedir.tag",
    ]

    /// Whether a desktop shows itself by asking for this name; its absence must not be remembered by the kernel.
    ///
    /// Thunar, Nautilus, Nemo, Caja and Dolphin look up `.hidden`, PCManFM and KDE's previews of folders `.directory`.
    static func isAnnouncement(_ name: [UInt8]) -> Bool {
        announcements.contains(name)
    }

    /// Whether it is the name that GIO and KDE look up in a directory that they list, and in no other.
    static func isOpening(_ name: [UInt8]) -> Bool {
        name == opening
    }

    /// Whether programs look for this name anywhere, so that nobody has typed it.
    static func isProbed(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: ".") || files.contains(name.lowercased())
    }
}
