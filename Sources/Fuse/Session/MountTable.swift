internal import CFuse3
import Glibc
import Posix

/// What is mounted where, as this process sees it: `/proc/self/mountinfo`, see proc_pid_mountinfo(5).
///
/// The only reliable way to learn about a mount whose daemon died: while its root's attributes are cached, stat(2) of it
/// succeeds and mount(2) stacks another one on top.
package struct MountTable: Sendable {
    /// One mount.
    package struct Mount: Hashable, Sendable {
        /// The number of this mount, as `mnt_id` in `/proc/self/fdinfo` tells it of open files; used again once it is gone.
        package var number: String
        /// The mount point's bytes, an absolute path.
        package var path: [UInt8]
        /// The type, for example `fuse.rankfs`.
        package var type: String
        /// What was mounted: for FUSE its `fsname`.
        package var source: String
        /// The device number that its files have, as `major:minor`: no two file systems have the same at one time.
        package var device: String
        /// Options of this mount, such as `ro` and `nosuid`.
        package var options: [String]
        /// Options of the file system, such as `user_id=0` and `allow_other`.
        package var superOptions: [String]

        /// Makes one, to compare with.
        package init(
            number: String = "", path: [UInt8], type: String, source: String, device: String = "",
            options: [String] = [], superOptions: [String] = []
        ) {
            self.number = number
            self.path = path
            self.type = type
            self.source = source
            self.device = device
            self.options = options
            self.superOptions = superOptions
        }
    }

    /// In the order of mounting: the last one at a path is the one that is seen there.
    package let mounts: [Mount]

    /// Reads the table from its text; lines that are not understood are left out.
    package init(text: [UInt8]) {
        mounts = text.split(separator: UInt8(ascii: "\n")).compactMap(Self.mount)
    }

    /// The table as it is now; empty if `/proc` is not mounted.
    ///
    /// Reads a file of the kernel's, which does not wait.
    package static func current() -> MountTable {
        MountTable(text: contents(of: "/proc/self/mountinfo"))
    }

    /// What is mounted at an absolute path without symbolic links, by its bytes.
    package func mount(at path: some Sequence<UInt8>) -> Mount? {
        let path = Array(path)
        return mounts.last { $0.path == path }
    }

    /// Whether a FUSE mount's daemon is gone: statvfs(3), which the kernel never answers from its cache, says ENOTCONN.
    ///
    /// Asks the daemon if there is one, and waits for it: not for a task's thread.
    package static func isStale(_ path: String) -> Bool {
        var status = statvfs()
        return unsafe statvfs(path, &status) != 0 && errno == ENOTCONN
    }

    // MARK: - The format

    /// Fields before the optional ones: identifier, parent, device, root, path, options.
    private static let fixedFields = 6

    private static func mount(_ line: ArraySlice<UInt8>) -> Mount? {
        let fields = line.split(separator: UInt8(ascii: " "))
        guard fields.count > fixedFields,
            // Any number of optional fields, then "-", type, source and the file system's options.
            let separator = fields[fixedFields...].firstIndex(where: { $0.elementsEqual([UInt8(ascii: "-")]) }),
            fields.count >= separator + 3
        else { return nil }
        let superOptions = fields.count > separator + 3 ? list(fields[separator + 3]) : []
        return Mount(
            number: text(fields[0]), path: unescaped(fields[4]), type: text(fields[separator + 1]),
            source: text(fields[separator + 2]), device: text(fields[2]), options: list(fields[5]),
            superOptions: superOptions)
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String {
        String(decoding: unescaped(field), as: UTF8.self)
    }

    private static func list(_ field: ArraySlice<UInt8>) -> [String] {
        field.split(separator: UInt8(ascii: ",")).map(text)
    }

    /// Space, tab, line feed, backslash and `#` are written as a backslash and three octal digits.
    private static func unescaped(_ field: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(field.count)
        var rest = field
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let value = octal(rest.prefix(3)) else {
                result.append(byte)
                continue
            }
            result.append(value)
            rest.removeFirst(3)
        }
        return result
    }

    private static func octal(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard digits.count == 3, digits.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "7")).contains) else { return nil }
        let value = digits.reduce(0) { $0 * 8 + Int($1 - UInt8(ascii: "0")) }
        return UInt8(exactly: value)
    }

    // MARK: - Reading

    /// How often a table is read that changes meanwhile.
    private static let attempts = 10

    /// The whole table at one moment: what is read in pieces while others mount and unmount may lack lines.
    private static func contents(of path: String) -> [UInt8] {
        let descriptor = Descriptors.own.open(path, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var result: [UInt8] = []
        for _ in 0..<attempts {
            result = (try? FileBytes.read(descriptor, upTo: .max)) ?? []
            // A change since the table was opened or last asked about (proc_pid_mounts(5)).
            var state = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            guard unsafe poll(&state, 1, 0) > 0, lseek(descriptor, 0, SEEK_SET) == 0 else { break }
        }
        return result
    }
}

// MARK: - Unmount

/// Unmounting without libfuse's session: of a mount whose daemon died, or that cannot be closed in order.
package enum Unmount {
    /// Detaches a mount at once and tells whether it succeeded; processes that have files of it open keep them.
    ///
    /// As root with umount2(2), otherwise with fusermount3(1), which lets users unmount what is theirs. Blocks until done.
    @discardableResult
    package static func lazily(_ mountPoint: String) -> Bool {
        if geteuid() == 0 {
            return unsafe umount2(mountPoint, Int32(MNT_DETACH)) == 0
        }
        return run(["fusermount3", "-u", "-q", "-z", "--", mountPoint])
    }

    /// Runs a program, waits and tells whether it succeeded.
    ///
    /// posix_spawn(3), because a Swift process does not fork.
    private static func run(_ words: [String]) -> Bool {
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        var process = pid_t()
        guard unsafe posix_spawnp(&process, words[0], nil, nil, &arguments, environ) == 0 else { return false }
        var status: Int32 = 0
        while unsafe waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { return false }
        }
        return status == 0
    }
}
