import CLinux
import Fuse
import Glibc
import RankFS

/// `rankfs pin`, `unpin`, `evict`, `refresh` and `forget`: ioctls on paths inside a mount.
enum ActCommand {
    /// Bytes read at a time; what is read is not looked at.
    private static let block = 1 << 20

    static func run(_ command: MountCommand, paths: [String]) throws(ProgramError) {
        let mounts = MountTable.current().ownMountPoints
        var total = 0
        for path in paths {
            guard let canonical = Files.canonical(path) else {
                throw ProgramError(.unavailable, "\(LogText.escaped(path)) does not exist; look with ls.")
            }
            guard mounts.contains(where: { canonical == $0 || canonical.hasPrefix($0 + "/") }) else {
                throw ProgramError(
                    .usage,
                    "\(LogText.escaped(path)) is not inside a mount of rankfs; `rankfs status` lists those there are.")
            }
            total += try act(command, on: canonical)
        }
        Output.print(command.outcome(total))
    }

    /// Asks for one path, or for everything below a directory that means nothing to the command.
    private static func act(_ command: MountCommand, on path: String) throws(ProgramError) -> Int {
        do throws(Files.Failure) {
            let count = try ask(command, path)
            if command == .pin { try download(path) }
            return count
        } catch {
            guard error.code == ENOTTY, let names = try? Files.names(in: path) else {
                throw ProgramError(.unavailable, "\(LogText.escaped(path)): \(command.complaint(error)).")
            }
            var total = 0
            for name in names.sorted() where Files.isDirectoryItself("\(path)/\(name)") {
                total += try act(command, on: "\(path)/\(name)")
            }
            return total
        }
    }

    private static func ask(_ command: MountCommand, _ path: String) throws(Files.Failure) -> Int {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw Files.Failure.last() }
        defer { close(file) }
        let result = rankfs_ioctl(file, UInt(command.rawValue))
        guard result >= 0 else { throw Files.Failure.last() }
        return Int(result)
    }

    /// Reads a picture, or every one of a directory, so that the mount stores it.
    private static func download(_ path: String) throws(Files.Failure) {
        guard let names = try? Files.names(in: path) else { return try read(path) }
        let isTerminal = isatty(2) == 1
        for (index, name) in names.sorted().enumerated() {
            if isTerminal { Files.write(Array("\rpinned \(index) of \(names.count)".utf8), to: 2) }
            // What the service withholds, or cannot give now, must not keep the others from being stored.
            try? read("\(path)/\(name)")
        }
        if isTerminal { Files.write(Array("\r\u{1B}[K".utf8), to: 2) }
    }

    private static func read(_ path: String) throws(Files.Failure) {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { throw Files.Failure.last() }
        defer { close(file) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 4096)
        defer { unsafe buffer.deallocate() }
        while true {
            let count = unsafe Glibc.read(file, buffer.baseAddress, buffer.count)
            if count == 0 { return }
            guard count > 0 else { throw Files.Failure.last() }
        }
    }
}

extension MountCommand {
    /// The name on the command line.
    var name: String {
        switch self {
        case .pin: "pin"
        case .unpin: "unpin"
        case .evict: "evict"
        case .refresh: "refresh"
        case .forget: "forget"
        }
    }

    init?(named name: String) {
        guard let command = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = command
    }

    /// What was done, for people.
    fileprivate func outcome(_ count: Int) -> String {
        let (pictures, listings) = (count == 1 ? "picture" : "pictures", count == 1 ? "listing" : "listings")
        return switch self {
        case .pin: "pinned \(count) \(pictures)"
        case .unpin: "released \(count) \(pictures)"
        case .evict: "dropped \(count) stored \(pictures)"
        case .refresh: "refreshed \(count) \(listings)"
        case .forget: "forgot \(count) \(listings)"
        }
    }

    fileprivate func complaint(_ failure: Files.Failure) -> String {
        guard failure.code == ENOTTY else { return "\(failure.text); `rankfs status` tells more" }
        return switch self {
        case .pin, .unpin, .evict: "it is no picture and no directory of pictures; name one of those"
        case .refresh, .forget: "it is no listing; name a day, an author, a work or a search"
        }
    }
}
