/// Tells a person who opens a directory in a file manager from the file manager that looks into every directory it shows.
///
/// Nautilus, Caja, Nemo and Dolphin count the entries of the directories that they show, and Dolphin draws previews of them:
/// both open and list each, just as if a person had gone there. What differs is what comes before (seen with each of them):
/// in a directory that a person opens they ask statfs(2) first, for the free space that the window tells; in one that they
/// count or preview they do not. Thunar and PCManFM count nothing.
///
/// All begin with a look (`.hidden`) into the parent and go from one child to the next without a pause. `ls`, `cp` and `rsync` look
/// up no such name, so that nothing they open is ever taken for a glance; and a file manager is one only after it asked
/// statfs(2) before it opened a directory.
///
/// A pure state machine: it knows neither clock nor processes.
struct LookRecognition: Sendable {
    /// What an opened directory is opened for.
    enum Opening: Hashable, Sendable {
        /// By no file manager, as far as one can tell.
        case ordinary
        /// A person goes there in a file manager.
        case visit
        /// A file manager counts the entries.
        case count
        /// A file manager draws a preview of the directory.
        case preview

        /// Whether nobody asked to see the directory.
        var isGlance: Bool { self == .count || self == .preview }
    }

    /// The time between statfs(2) and the opening that it announces: a third of a second on an idle machine.
    static let announcement: Duration = .seconds(2)
    /// A longer pause ends a round of glances.
    static let pause: Duration = .seconds(2)
    /// Programs, directories and rounds remembered; when there are more, they are forgotten.
    static let most = 1000
    /// What looks into directories for previews: KIO's workers of KDE Frameworks 5 and 6.
    static let previewers: Set<String> = ["kioslave5", "kioworker"]

    private struct Known {
        /// Whether it looked up the names by which file managers show themselves.
        var isDesktop = false
        /// Whether it announced the first directory that it was seen to open; nil before.
        var announces: Bool?
        /// Directories that it opened for a glance last.
        var glanced: Set<String> = []
        /// The directory that was opened last for another reason, and whether a person went there.
        var place: (path: String, isVisit: Bool)?
    }

    private struct Round {
        var process: Int32
        var last: ContinuousClock.Instant
    }

    /// Programs that looked up `.hidden` or announced what they open, by process.
    private var programs: [Int32: Known] = [:]
    /// Rounds of glances at children, by the path of the parent.
    private var rounds: [String: Round] = [:]
    /// When statfs(2) was asked last, by path.
    private var announced: [String: ContinuousClock.Instant] = [:]

    /// Whether it matters which program opens a directory: a file manager showed itself, or may do so now.
    func matters(opening path: String) -> Bool {
        !programs.isEmpty || announced[path] != nil
    }

    /// Programs, rounds and announcements in memory.
    var remembered: Int { programs.count + rounds.count + announced.count }

    /// Somebody asked statfs(2) of a directory.
    mutating func asked(of path: String, now: ContinuousClock.Instant) {
        if announced.count >= Self.most { announced = [:] }
        announced[path] = now
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
        in path: String, isListed: Bool, by program: Program?, now: ContinuousClock.Instant
    ) -> Bool {
        guard let program else { return true }
        let known = programs[program.process, default: Known()]
        note(program, known) { $0.isDesktop = true }
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
    ///   - program: Nil if nobody knows.
    ///   - now: When.
    /// - Returns: What for.
    mutating func opened(
        _ path: String, below parent: String?, by program: Program?, now: ContinuousClock.Instant
    ) -> Opening {
        let isPreviewer = program.map { Self.previewers.contains($0.name) } ?? false
        // An announcement is not for a worker: Dolphin also asks statfs(2) of the first directory that it wants previewed.
        if isPreviewer, let program, let parent, isUnderWay(parent, now) {
            return glance(at: path, below: parent, program, for: .preview, now)
        }
        let isAnnounced = announced.removeValue(forKey: path).map { $0.duration(to: now) < Self.announcement } ?? false
        guard let program else { return .ordinary }
        if !isAnnounced, let parent, isCounting(path, below: parent, program, now) {
            return glance(at: path, below: parent, program, for: .count, now)
        }
        let before = programs[program.process]
        // Who neither announces nor looks is no file manager.
        guard isAnnounced || before != nil else { return .ordinary }
        let isVisit = isAnnounced && before?.isDesktop == true
        note(program, before ?? Known()) { known in
            // The root is shown, and counted, by those who show the directory that it is mounted in.
            if known.announces == nil, isAnnounced || parent != nil { known.announces = isAnnounced }
            known.glanced.remove(path)
            known.place = (path, isVisit)
        }
        if before?.isDesktop == true { begin(at: path, program, now) }
        return isVisit ? .visit : .ordinary
    }

    /// Whether a program has a directory open for a glance, so that nothing in it is worth a request.
    func isGlancing(at path: String, _ program: Program?) -> Bool {
        program.map { programs[$0.process]?.glanced.contains(path) ?? false } ?? false
    }

    // MARK: -

    private func isUnderWay(_ parent: String, _ now: ContinuousClock.Instant) -> Bool {
        rounds[parent].map { $0.last.duration(to: now) < Self.pause } ?? false
    }

    private func isCounting(
        _ path: String, below parent: String, _ program: Program, _ now: ContinuousClock.Instant
    ) -> Bool {
        guard isUnderWay(parent, now), rounds[parent]?.process == program.process,
            let known = programs[program.process]
        else { return false }
        return known.announces == true && known.place?.path != path
    }

    private mutating func glance(
        at path: String, below parent: String, _ program: Program, for opening: Opening, _ now: ContinuousClock.Instant
    ) -> Opening {
        rounds[parent]?.last = now
        note(program, programs[program.process, default: Known()]) { known in
            if known.glanced.count >= Self.most { known.glanced = [] }
            known.glanced.insert(path)
        }
        return opening
    }

    private mutating func note(_ program: Program, _ known: Known, _ change: (inout Known) -> Void) {
        if programs.count >= Self.most, programs[program.process] == nil { programs = [:] }
        var known = known
        change(&known)
        programs[program.process] = known
    }

    private mutating func begin(at path: String, _ program: Program, _ now: ContinuousClock.Instant) {
        if rounds.count >= Self.most { rounds = [:] }
        rounds[path] = Round(process: program.process, last: now)
    }
}
