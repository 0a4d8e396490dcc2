import Glibc
import Posix

/// What is asked of the programs that call; each call reads some small files of proc(5).
struct Processes: Sendable {
    /// The program that a thread belongs to; nil if it is gone, or of another process namespace.
    var program: @Sendable (_ thread: Int32) -> CallingProgram?
    /// Whether a process watches an inode with inotify(7).
    var watches: @Sendable (_ process: Int32, _ inode: UInt64) -> Bool
    /// The words of the command line of a thread's program.
    var arguments: @Sendable (_ thread: Int32) -> [String]
    /// The programs that started a thread's program, the nearest first.
    var starters: @Sendable (_ thread: Int32) -> [CallingProgram]

    /// Those of this machine.
    static let system = Processes(
        program: program(of:), watches: { Watches.contain($1, of: $0) }, arguments: arguments(of:),
        starters: starters(of:))

    /// Programs between a file manager and what it starts: sandboxes, each of which forks.
    private static let mostStarters = 4

    private static func program(of thread: Int32) -> CallingProgram? {
        guard thread > 0, let process = number("Tgid:", of: thread), let name = text(of: "/proc/\(process)/comm")
        else { return nil }
        return CallingProgram(process: process, name: String(name.prefix { $0 != "\n" }))
    }

    private static func arguments(of thread: Int32) -> [String] {
        text(of: "/proc/\(thread)/cmdline").map { $0.split(separator: "\0").map(String.init) } ?? []
    }

    private static func starters(of thread: Int32) -> [CallingProgram] {
        var starters: [CallingProgram] = []
        var process = thread
        while starters.count < mostStarters, let parent = number("PPid:", of: process), parent > 1,
            let program = program(of: parent)
        {
            starters.append(program)
            process = parent
        }
        return starters
    }

    private static func number(_ key: String, of thread: Int32) -> Int32? {
        text(of: "/proc/\(thread)/status").flatMap { number(key, in: $0) }
    }

    /// A number of a text of `/proc/PID/status`.
    static func number(_ key: String, in status: String) -> Int32? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
        return line.flatMap { Int32($0.drop { !$0.isNumber }) }
    }

    private static func text(of path: String) -> String? {
        // What is asked for stands in the first lines.
        guard let bytes = try? FileBytes.read(path, upTo: 512), !bytes.isEmpty else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: - Calling program

/// A program that runs.
struct CallingProgram: Hashable, Sendable {
    /// Its process number, the same for all of its threads.
    var process: Int32
    /// The name of its main thread, of which Linux keeps 15 bytes.
    var name: String
}

// MARK: - Known programs

/// The programs that must be known by name, since nothing else that they do tells them apart: every list of names is here.
///
/// Most programs are told by what they do: file managers by the names that they look up (`ProbedNames`) and by what they watch
/// (`LookRecognition`), those that walk by the order in which they open (`Excursions`), those that copy and pack by following no
/// links (`O_NOFOLLOW`).
package enum KnownPrograms {
    /// What looks into directories for previews: KIO's workers of KDE Frameworks 5 and 6.
    static let previewers: Set<String> = ["kioslave5", "kioworker"]

    /// Programs that look for all thumbnails of a directory in order and have a picture read that has none yet; Dolphin lists in a
    /// thread of its own (seen with 22.12).
    static let eagerViewers: Set<String> = [dolphin.program]

    /// Programs that name thumbnails by the decoded address: libgwenview, ThumbnailProvider takes the digest of QUrl::url().
    static let decodingViewers: Set<String> = ["gwenview"]

    /// How the names of programs end that file managers start to make a thumbnail of one file, as the entries of
    /// `/usr/share/thumbnailers` say.
    static let thumbnailerEnding = "thumbnailer"

    /// What a previewer's command line holds when it makes thumbnails: `kioslave5 …/kio/thumbnail.so thumbnail local:…`.
    static let previewerTask = "thumbnail"

    /// Indexers that read what they find unless a directory says that it is not to be indexed.
    package static let trackers: Set<String> = ["tracker-miner-f", "localsearch-3"]
    /// Likewise, KDE's, which can only be told in its configuration.
    package static let baloo = "baloo_file"

    /// A file manager: its name in sentences, and its program.
    package struct FileManager: Sendable {
        package let name: String
        package let program: String
    }

    package static let nautilus = FileManager(name: "Nautilus", program: "nautilus")
    package static let nemo = FileManager(name: "Nemo", program: "nemo")
    package static let caja = FileManager(name: "Caja", program: "caja")
    package static let thunar = FileManager(name: "Thunar", program: "thunar")
    package static let dolphin = FileManager(name: "Dolphin", program: "dolphin")
}

// MARK: - Thumbnailer

/// A program that reads pictures to make thumbnails.
enum Thumbnailer: Hashable, Sendable {
    /// One that a file manager starts for one file, as the entries of `/usr/share/thumbnailers` say:
    /// `gdk-pixbuf-thumbnailer -s 256 file:///… /tmp/….png`. The edge is in pixels.
    case ofOneFile(edge: Int)
    /// KDE's worker, which makes one after the other: `kioslave5 …/kio/thumbnail.so thumbnail local:…`.
    case worker

    /// The edge of those that are told none.
    private static let normalEdge = 128

    /// Nil for the command line of another program.
    init?(arguments: [String]) {
        guard let program = arguments.first else { return nil }
        if KnownPrograms.previewers.contains(where: program.hasSuffix), arguments.contains(KnownPrograms.previewerTask)
        {
            self = .worker
        } else if program.hasSuffix(KnownPrograms.thumbnailerEnding) {
            let edges = zip(arguments.dropFirst(), arguments.dropFirst(2)).filter { ["-s", "--size"].contains($0.0) }
            self = .ofOneFile(edge: edges.last.map { Int($0.1) ?? .max } ?? Self.normalEdge)
        } else {
            return nil
        }
    }
}

// MARK: - Program places

/// Which programs were at which paths lately.
///
/// Every open and lookup asks: what most of them meet, a path at which no program was, is told by one look into a dictionary.
///
/// A pure state machine: it knows neither clock nor processes.
struct ProgramPlaces: Sendable {
    /// Paths remembered, and programs at each; when there are more, those whose time is over are forgotten, then all.
    static let most = 1000

    /// How long a program is remembered at a path.
    private let lifetime: Duration
    /// When each program came, by path.
    private var places: [String: [Int32: ContinuousClock.Instant]] = [:]

    init(lifetime: Duration) {
        self.lifetime = lifetime
    }

    var isEmpty: Bool { places.isEmpty }
    var remembered: Int { places.values.reduce(0) { $0 + $1.count } }

    /// A program comes to a path.
    ///
    /// - Parameters:
    ///   - path: Where.
    ///   - process: The program's process number.
    ///   - now: When.
    ///   - prolongs: Whether its time begins anew if it is there already.
    mutating func note(_ path: String, _ process: Int32, now: ContinuousClock.Instant, prolongs: Bool) {
        if !prolongs, holds(path, process, now: now) { return }
        if places.count >= Self.most || (places[path]?.count ?? 0) >= Self.most { forgetOld(now) }
        places[path, default: [:]][process] = now
    }

    /// Whether any program is at a path; forgets the path if none is any more.
    mutating func isAnybody(at path: String, now: ContinuousClock.Instant) -> Bool {
        guard let programs = places[path] else { return false }
        if programs.values.contains(where: { isFresh($0, now) }) { return true }
        places[path] = nil
        return false
    }

    /// Whether a program is at a path.
    func holds(_ path: String, _ process: Int32, now: ContinuousClock.Instant) -> Bool {
        left(path, process, now: now) != nil
    }

    /// How long a program will be remembered at a path; nil if it is not.
    func left(_ path: String, _ process: Int32, now: ContinuousClock.Instant) -> Duration? {
        places[path]?[process].flatMap { isFresh($0, now) ? lifetime - $0.duration(to: now) : nil }
    }

    private func isFresh(_ time: ContinuousClock.Instant, _ now: ContinuousClock.Instant) -> Bool {
        time.duration(to: now) < lifetime
    }

    private mutating func forgetOld(_ now: ContinuousClock.Instant) {
        places = places.mapValues { $0.filter { isFresh($0.value, now) } }.filter { !$0.value.isEmpty }
        if places.count >= Self.most || places.values.contains(where: { $0.count >= Self.most }) { places = [:] }
    }
}

// MARK: - Watches

/// What a process watches with inotify(7), as proc(5) tells.
enum Watches {
    /// Bytes read of one list of watches: those of an editor that watches ten thousand directories.
    private static let longest = 1 << 20

    /// Whether a process watches an inode of this mount; false if nobody may know.
    ///
    /// File systems are not told apart: inode numbers here are long ones that no other has, but for the root's.
    ///
    /// - Parameters:
    ///   - inode: Its number, as stat(2) shows it.
    ///   - process: Whose descriptors are looked at; only root may look at another user's.
    /// - Returns: Whether it does.
    static func contain(_ inode: UInt64, of process: Int32) -> Bool {
        inotifyDescriptors(of: process).contains { descriptor in
            tells(of: inode, (try? FileBytes.read("/proc/\(process)/fdinfo/\(descriptor)", upTo: longest)) ?? [])
        }
    }

    /// Whether a text of `/proc/PID/fdinfo` has a line of a watched inode: `inotify wd:3 ino:9e7e sdev:800013 …` (proc(5)).
    static func tells(of inode: UInt64, _ text: [UInt8]) -> Bool {
        let wanted = "ino:\(String(inode, radix: 16))".utf8
        return text.split(separator: UInt8(ascii: "\n")).contains { line in
            line.split(separator: UInt8(ascii: " ")).contains { $0.elementsEqual(wanted) }
        }
    }

    private static func inotifyDescriptors(of process: Int32) -> [String] {
        let names = (try? Directory.entries(at: "/proc/\(process)/fd").map(\.name)) ?? []
        return names.filter { isInotify("/proc/\(process)/fd/\($0)") }
    }

    private static func isInotify(_ link: String) -> Bool {
        let target = "anon_inode:inotify".utf8.map { CChar(bitPattern: $0) }
        var buffer = [CChar](repeating: 0, count: target.count + 1)
        return unsafe readlink(link, &buffer, buffer.count) == target.count && buffer.starts(with: target)
    }
}
