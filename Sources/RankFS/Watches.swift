import Glibc

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
            tells(of: inode, bytes(of: "/proc/\(process)/fdinfo/\(descriptor)"))
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
        guard let directory = unsafe opendir("/proc/\(process)/fd") else { return [] }
        defer { unsafe closedir(directory) }
        var found: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if isInotify("/proc/\(process)/fd/\(name)") { found.append(name) }
        }
        return found
    }

    private static func isInotify(_ link: String) -> Bool {
        let target = "anon_inode:inotify".utf8.map { CChar(bitPattern: $0) }
        var buffer = [CChar](repeating: 0, count: target.count + 1)
        return unsafe readlink(link, &buffer, buffer.count) == target.count && buffer.starts(with: target)
    }

    private static func bytes(of path: String) -> [UInt8] {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count < longest {
            let count = unsafe read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
        return bytes
    }
}
