import CLinux
import Glibc
import RankFS
import System

/// Ordinary file operations on a mount; the calls may wait for the network, so they are not for tasks.
enum MountedFiles {
    /// The entries of a directory in its own order, without `.` and `..`, none of an unknown kind.
    static func list(_ path: String) throws(SystemError) -> [ListedFile] {
        try Directory.entries(at: path).map { entry in
            var entry = entry
            if entry.kind == .unknown {
                entry.kind = (try? status(of: "\(path)/\(entry.name)")).map(Self.kind) ?? .other
            }
            return entry
        }
    }

    /// The status of a file by lstat(2), which does not follow links.
    static func status(of path: String) throws(SystemError) -> stat {
        guard let status = fileStatus(link: path) else { throw .last() }
        return status
    }

    /// The kind of a file.
    static func kind(_ status: stat) -> ListedFile.Kind {
        switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .directory
        default: .other
        }
    }

    /// The day that a directory of pictures shows.
    ///
    /// - Throws: The error of opening the directory; ENODATA for other directories.
    static func day(shownBy directory: String) throws(SystemError) -> String {
        // Opened first: that makes the mount request the newest day, unless it knows the day.
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last() }
        defer { close(descriptor) }
        guard let day = attribute("user.rankfs.day", of: directory) else { throw SystemError(code: ENODATA) }
        return day
    }

    /// The number of pictures that a directory does not list because the service withholds them.
    static func withheld(in directory: String) -> Int {
        attribute("user.rankfs.withheld", of: directory).flatMap { Int($0) } ?? 0
    }

    /// Gives a command for a path, by its mount point: opening a directory would request its listing.
    ///
    /// - Returns: The number of pictures or listings concerned.
    static func give(
        _ command: MountCommand, to path: String, in mounts: [String]
    ) throws(SystemError) -> Int {
        let file = unsafe rankfs_open_path(path)
        guard file >= 0 else { throw .last() }
        defer { close(file) }
        guard let status = fileStatus(open: file) else { throw .last() }
        let root = unsafe open(LocalFiles.innermost(of: mounts, above: path)?.mount ?? path, O_RDONLY | O_CLOEXEC)
        guard root >= 0 else { throw .last() }
        defer { close(root) }
        var inode = UInt64(status.st_ino)
        let result = unsafe ioctl(root, UInt(command.rawValue | MountCommand.onInode), &inode)
        guard result >= 0 else { throw .last() }
        return Int(result)
    }

    /// An extended attribute as text; nil if there is none.
    static func attribute(_ name: String, of path: String) -> String? {
        bytes(of: name, at: path).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The extended attributes that a copy includes: all of `user.`; the mount lists none about its own store.
    static func attributes(of path: String) throws(SystemError) -> [(name: String, value: [UInt8])] {
        var list = [UInt8](repeating: 0, count: longestAttribute)
        let length = unsafe list.withUnsafeMutableBytes { buffer in
            unsafe llistxattr(path, buffer.baseAddress?.assumingMemoryBound(to: CChar.self), buffer.count)
        }
        guard length >= 0 else { throw .last() }
        return list[..<length].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
            .filter { $0.hasPrefix("user.") }
            .compactMap { name in bytes(of: name, at: path).map { (name, $0) } }
    }

    /// XATTR_SIZE_MAX and XATTR_LIST_MAX of Linux.
    private static let longestAttribute = 65_536

    private static func bytes(of name: String, at path: String) -> [UInt8]? {
        // Nearly all are short; a long one takes a second call.
        for size in [1024, longestAttribute] {
            var value = [UInt8](repeating: 0, count: size)
            let length = unsafe value.withUnsafeMutableBytes { unsafe lgetxattr(path, name, $0.baseAddress, $0.count) }
            if length >= 0 { return Array(value[..<length]) }
            if errno != ERANGE { return nil }
        }
        return nil
    }
}
