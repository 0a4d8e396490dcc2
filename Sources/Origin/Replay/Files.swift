import Glibc

/// Reading files and directories without Foundation.
enum Files {
    /// All bytes of a file; nil if it cannot be read or is larger than `maximum`.
    static func bytes(_ path: String, maximum: Int = 64 << 20) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= maximum {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            guard count > 0 else { return nil }
            bytes.append(contentsOf: piece[..<count])
        }
        return nil
    }

    /// What changes when a file is written: its modification time in nanoseconds and its size; nil if it is absent.
    static func stamp(_ path: String) -> [Int]? {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return [Int(status.st_mtim.tv_sec), status.st_mtim.tv_nsec, Int(status.st_size), Int(status.st_ino)]
    }

    /// The files below a directory whose names end in a suffix, in the order of their paths; nil if it is no directory.
    static func below(_ directory: String, suffix: String) -> [String]? {
        guard let stream = unsafe opendir(directory) else { return nil }
        defer { unsafe closedir(stream) }
        var found: [String] = []
        while let entry = unsafe readdir(stream) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasPrefix(".") { continue }
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
