import Glibc
import Posix

/// Reading files and directories without Foundation.
enum ReplayFiles {
    /// All bytes of a file; nil if it cannot be read or is larger than `maximum`.
    static func bytes(_ path: String, maximum: Int = 64 << 20) -> [UInt8]? {
        guard let bytes = try? FileBytes.read(path, upTo: maximum + 1), bytes.count <= maximum else { return nil }
        return bytes
    }

    /// What changes when a file is written: its modification time in nanoseconds and its size; nil if it is absent.
    static func stamp(_ path: String) -> [Int]? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return [Int(status.st_mtim.tv_sec), status.st_mtim.tv_nsec, Int(status.st_size), Int(status.st_ino)]
    }

    /// The files below a directory whose names end in a suffix, in the order of their paths; nil if it is no directory.
    static func below(_ directory: String, suffix: String) -> [String]? {
        guard let entries = try? Directory.entries(at: directory) else { return nil }
        var found: [String] = []
        for name in entries.map(\.name) where !name.hasPrefix(".") {
            let path = "\(directory)/\(name)"
            if name.hasSuffix(suffix) {
                found.append(path)
            } else {
                found += below(path, suffix: suffix) ?? []
            }
        }
        return found.sorted()
    }
}
