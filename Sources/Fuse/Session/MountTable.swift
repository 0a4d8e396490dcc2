internal import CFuse3
import Glibc
import System

/// The mounts that this process sees: `/proc/self/mountinfo`, see proc_pid_mountinfo(5).
///
/// The only reliable way to detect a mount with a dead daemon: while the attributes of its root are cached, stat(2) of it
/// succeeds and mount(2) stacks another mount on top.
package struct MountTable: Sendable {
    /// One mount.
    package struct Mount: Hashable, Sendable {
        /// The number of this mount, for open files listed as `mnt_id` in `/proc/self/fdinfo`; reused after the unmount.
        package var number = ""
        /// The mount point's bytes, an absolute path.
        package var path: [UInt8]
        /// The type, for example `fuse.rankfs`.
        package var type: String
        /// The mounted source; for FUSE, its `fsname`.
        package var source: String
        /// The device number of its files, as `major:minor`, which is unique among the file systems mounted at one time.
        package var device = ""
        /// Options of the file system, such as `user_id=0` and `allow_other`.
        package var superOptions: [String] = []
    }

    /// The mounts in the order of mounting: of several at one path, the last is visible.
    package let mounts: [Mount]

    /// Parses the text of the table; lines that are not understood are left out.
    package init(text: [UInt8]) {
        mounts = text.split(separator: UInt8(ascii: "\n")).compactMap(Self.mount)
    }

    /// Returns the current table; empty if `/proc` is not mounted.
    ///
    /// Reads a file of the kernel, which does not wait.
    package static func current() -> MountTable {
        MountTable(text: contents(of: "/proc/self/mountinfo"))
    }

    /// Returns the mount at an absolute path without symbolic links, given by its bytes.
    package func mount(at path: some Sequence<UInt8>) -> Mount? {
        let path = Array(path)
        return mounts.last { $0.path == path }
    }

    /// Whether the daemon of a FUSE mount is gone.
    ///
    /// The sign is ENOTCONN from statvfs(3), which the kernel never answers from its cache. The call sends a request to the
    /// daemon if there is one, and waits for its answer: not for a task's thread.
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
            // Any number of optional fields, then "-", the type, the source and the file system's options.
            let separator = fields[fixedFields...].firstIndex(where: { $0.elementsEqual([UInt8(ascii: "-")]) }),
            fields.count >= separator + 3
        else { return nil }
        let superOptions = fields.count > separator + 3 ? list(fields[separator + 3]) : []
        return Mount(
            number: text(fields[0]), path: unescaped(fields[4]), type: text(fields[separator + 1]),
            source: text(fields[separator + 2]), device: text(fields[2]),
            superOptions: superOptions)
    }

    private static func text(_ field: ArraySlice<UInt8>) -> String {
        String(decoding: unescaped(field), as: UTF8.self)
    }

    private static func list(_ field: ArraySlice<UInt8>) -> [String] {
        field.split(separator: UInt8(ascii: ",")).map(text)
    }

    /// Decodes space, tab, line feed, backslash and `#`, which are written as a backslash and three octal digits.
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

    /// How often a table is read that changes during the read.
    private static let attempts = 10

    /// Returns the whole table at one moment: a table read in parts during other mounts and unmounts may lack lines.
    private static func contents(of path: String) -> [UInt8] {
        let descriptor = Descriptors.own.open(path, O_RDONLY)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var result: [UInt8] = []
        for _ in 0..<attempts {
            result = (try? Files.read(descriptor, upTo: .max)) ?? []
            // POLLPRI reports a change since the table was opened or last polled (proc_pid_mounts(5)).
            var state = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            guard unsafe poll(&state, 1, 0) > 0, lseek(descriptor, 0, SEEK_SET) == 0 else { break }
        }
        return result
    }

    // MARK: - Unmounting

    /// The paths of fusermount3(1), which is setuid root.
    package static let helpers = ["/usr/bin/fusermount3", "/bin/fusermount3", "/usr/local/bin/fusermount3"]

    /// Detaches a mount at once and returns whether that succeeded; processes with open files of the mount keep them.
    ///
    /// For a mount with a dead daemon, or one that cannot be closed in order. As root with umount2(2), otherwise with
    /// fusermount3(1), which lets users unmount their own mounts. Blocks until done.
    @discardableResult
    package static func unmountLazily(_ mountPoint: String) -> Bool {
        if geteuid() == 0 { return unsafe umount2(mountPoint, Int32(MNT_DETACH)) == 0 }
        let words = ["fusermount3", "-u", "-q", "-z", "--", mountPoint]
        return (try? ChildProcess.run(words[0], words))?.status == 0
    }
}
