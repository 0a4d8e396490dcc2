internal import Glibc

/// An entry of a directory as readdir(3) lists it.
package struct ListedFile: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case file
        case directory
        case other
        /// The file system does not say: only lstat(2) tells.
        case unknown
    }

    package let name: String
    package let kind: Kind
}

/// Lists directories by readdir(3), in the order in which they give their entries, without `.` and `..`.
///
/// The calling thread waits for the file system. Names that are no UTF-8 are shown with replacement characters.
package enum Directory {
    /// The entries of a directory.
    ///
    /// - Throws: The error of open(2) or readdir(3).
    package static func entries(at path: String) throws(SystemError) -> [ListedFile] {
        try entries(owning: Descriptors.own.open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK))
    }

    /// The entries of an open directory, whose own place stays as it is.
    ///
    /// - Throws: The error of openat(2) or readdir(3).
    package static func entries(of descriptor: Int32) throws(SystemError) -> [ListedFile] {
        // A descriptor of its own: reading a directory moves its place, and closedir(3) closes it.
        try entries(owning: Descriptors.own.take { unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    }

    private static func entries(owning own: Int32) throws(SystemError) -> [ListedFile] {
        guard own >= 0 else { throw .last() }
        guard let stream = unsafe fdopendir(own) else {
            let failure = SystemError.last()
            close(own)
            throw failure
        }
        return try unsafe entries(of: stream)
    }

    private static func entries(of stream: OpaquePointer) throws(SystemError) -> [ListedFile] {
        defer { unsafe _ = closedir(stream) }
        var entries: [ListedFile] = []
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else { throw .last() }
                return entries
            }
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            entries.append(ListedFile(name: name, kind: kind(unsafe Int(entry.pointee.d_type))))
        }
    }

    private static func kind(_ type: Int) -> ListedFile.Kind {
        switch type {
        case Int(DT_REG): .file
        case Int(DT_DIR): .directory
        case Int(DT_UNKNOWN): .unknown
        default: .other
        }
    }
}
