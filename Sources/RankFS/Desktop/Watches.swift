import Glibc
import Posix

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
