import Glibc
import System

/// The queries about calling programs; each query reads some small files of proc(5).
struct Processes: Sendable {
    /// Returns the program of a thread; nil if it is gone, or belongs to another process namespace.
    var program: @Sendable (_ thread: Int32) -> CallingProgram?
    /// Returns whether a process watches an inode with inotify(7).
    var watches: @Sendable (_ process: Int32, _ inode: UInt64) -> Bool
    /// Returns the words of the command line of a thread's program.
    var arguments: @Sendable (_ thread: Int32) -> [String]
    /// Returns the programs that started a thread's program, the nearest first.
    var starters: @Sendable (_ thread: Int32) -> [CallingProgram]

    /// The queries of this machine.
    static let system = Processes(
        program: program(of:), watches: { watches($1, of: $0) }, arguments: arguments(of:),
        starters: starters(of:))

    /// The maximum number of programs between a file manager and the program it starts: sandboxes, each of which forks.
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

    /// Extracts a number from a text of `/proc/PID/status`.
    static func number(_ key: String, in status: String) -> Int32? {
        let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
        return line.flatMap { Int32($0.drop { !$0.isNumber }) }
    }

    private static func text(of path: String) -> String? {
        // The requested fields are in the first lines.
        guard let bytes = try? Files.read(path, upTo: 512), !bytes.isEmpty else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: - Calling program

/// A running program.
struct CallingProgram: Hashable, Sendable {
    /// The process number, the same for all threads of the program.
    var process: Int32
    /// The name of its main thread, of which Linux keeps 15 bytes.
    var name: String
}

// MARK: - Known programs

/// The programs that must be recognised by name, since their behaviour does not distinguish them; all lists of names.
///
/// Most programs are recognised by their behaviour: file managers by the names that they query (`EntryName`) and by their
/// watches, walks by the pace of their opens (`Callers`), and programs that copy and pack because they follow no links
/// (`O_NOFOLLOW`).
package enum KnownPrograms {
    /// The programs that open directories for previews: KIO's workers of KDE Frameworks 5 and 6.
    static let previewers: Set<String> = ["kioslave5", "kioworker"]

    /// Programs that search for all thumbnails of a directory in order, and have each picture read that has no thumbnail yet.
    ///
    /// Dolphin lists in a thread of its own (seen with 22.12).
    static let eagerViewers: Set<String> = [dolphin.program]

    /// Viewers that read each picture of a folder that has no thumbnail yet, one after the other, for the strip below the picture.
    ///
    /// They have searched for the thumbnail a moment before (seen with gThumb 3.12).
    static let stripViewers: Set<String> = ["gthumb"]

    /// File managers that do so for their windows, in a thread of their own (libfm-qt 1.2, ThumbnailJob::loadForFile).
    static let ownThumbnailers: Set<String> = ["pcmanfm-qt"]

    /// Programs that name thumbnails by the decoded address: libgwenview, ThumbnailProvider takes the digest of QUrl::url().
    static let decodingViewers: Set<String> = ["gwenview"]

    /// The ending of the names of programs that file managers start for one thumbnail.
    ///
    /// The names are in the entries of `/usr/share/thumbnailers`.
    static let thumbnailerEnding = "thumbnailer"

    /// The word in a previewer's command line that means thumbnails: `kioslave5 …/kio/thumbnail.so thumbnail local:…`.
    static let previewerTask = "thumbnail"

    /// The beginning of the names of Samba's processes, which open without waiting for devices and read what their clients read
    /// (Samba 4.17; later ones have their client's address in the name).
    static let fileServer = "smbd"

    /// Indexers that read every file they find unless a directory declares that it must not be indexed.
    package static let trackers: Set<String> = ["tracker-miner-f", "localsearch-3"]
    /// KDE's indexer, which only its own configuration can exclude from a directory.
    package static let baloo = "baloo_file"

    /// A file manager: its name in sentences, and its program.
    package typealias FileManager = (name: String, program: String)

    package static let nautilus: FileManager = ("Nautilus", "nautilus")
    package static let nemo: FileManager = ("Nemo", "nemo")
    package static let caja: FileManager = ("Caja", "caja")
    package static let thunar: FileManager = ("Thunar", "thunar")
    package static let dolphin: FileManager = ("Dolphin", "dolphin")
}

// MARK: - Thumbnailer

/// A program that reads pictures to make thumbnails.
enum Thumbnailer: Hashable, Sendable {
    /// A program that a file manager starts for one file, per the entries of `/usr/share/thumbnailers`.
    ///
    /// For example `gdk-pixbuf-thumbnailer -s 256 file:///… /tmp/….png`. The edge is in pixels.
    case ofOneFile(edge: Int)
    /// KDE's worker, which makes one thumbnail after the other: `kioslave5 …/kio/thumbnail.so thumbnail local:…`.
    case worker
    /// A viewer that fills the strip below its picture.
    case strip
    /// A file manager that fills its window.
    case window

    /// The edge, in pixels, for a command line without one.
    private static let normalEdge = 128

    /// Parses a command line; nil for any other program.
    init?(arguments: [String]) {
        guard let program = arguments.first else { return nil }
        let name = String(program.split(separator: "/").last ?? "")
        if KnownPrograms.previewers.contains(where: program.hasSuffix), arguments.contains(KnownPrograms.previewerTask)
        {
            self = .worker
        } else if program.hasSuffix(KnownPrograms.thumbnailerEnding) {
            let edges = zip(arguments.dropFirst(), arguments.dropFirst(2)).filter { ["-s", "--size"].contains($0.0) }
            self = .ofOneFile(edge: edges.last.map { Int($0.1) ?? .max } ?? Self.normalEdge)
        } else if KnownPrograms.stripViewers.contains(name) {
            self = .strip
        } else if KnownPrograms.ownThumbnailers.contains(name) {
            self = .window
        } else {
            return nil
        }
    }
}

// MARK: - Watches

/// The inodes that a process watches with inotify(7), as listed by proc(5).
extension Processes {
    /// The maximum number of bytes read of one list of watches: enough for an editor that watches ten thousand directories.
    private static let longest = 1 << 20

    /// Whether a process watches an inode of this mount; false if the list of watches is not readable.
    ///
    /// File systems are not distinguished: inode numbers of this mount are long and unique, except for the root's.
    ///
    /// - Parameters:
    ///   - inode: The inode number, as in stat(2).
    ///   - process: The process that owns the descriptors; only root may inspect the processes of other users.
    /// - Returns: Whether the process watches it.
    static func watches(_ inode: UInt64, of process: Int32) -> Bool {
        ((try? Directory.entries(at: "/proc/\(process)/fd")) ?? []).map(\.name).contains { descriptor in
            isInotify("/proc/\(process)/fd/\(descriptor)")
                && tells(of: inode, (try? Files.read("/proc/\(process)/fdinfo/\(descriptor)", upTo: longest)) ?? [])
        }
    }

    /// Whether a text of `/proc/PID/fdinfo` has a line of a watched inode: `inotify wd:3 ino:9e7e sdev:800013 …` (proc(5)).
    static func tells(of inode: UInt64, _ text: [UInt8]) -> Bool {
        let wanted = "ino:\(String(inode, radix: 16))".utf8
        return text.split(separator: UInt8(ascii: "\n")).contains { line in
            line.split(separator: UInt8(ascii: " ")).contains { $0.elementsEqual(wanted) }
        }
    }

    private static func isInotify(_ link: String) -> Bool {
        let target = "anon_inode:inotify".utf8.map { CChar(bitPattern: $0) }
        var buffer = [CChar](repeating: 0, count: target.count + 1)
        return unsafe readlink(link, &buffer, buffer.count) == target.count && buffer.starts(with: target)
    }
}
