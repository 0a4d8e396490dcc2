internal import Glibc

/// An entry of a directory as readdir(3) lists it.
package struct ListedFile: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case file
        case directory
        case other
        /// The file system does not report the kind; lstat(2) does.
        case unknown
    }

    package let name: String
    package var kind: Kind
}

/// Lists directories by readdir(3), in the order of their entries, without `.` and `..`.
///
/// The calling thread waits for the file system. Names that are no UTF-8 are shown with replacement characters.
package enum Directory {
    /// Makes a directory and its missing parents, each private to the user unless other permissions are given.
    package static func make(_ path: String, permissions: UInt32 = 0o700) throws(SystemError) {
        if unsafe mkdir(path, permissions) == 0 { return }
        if errno == ENOENT, let slash = path.lastIndex(of: "/"), slash > path.startIndex {
            try make(String(path[..<slash]), permissions: permissions)
            if unsafe mkdir(path, permissions) == 0 { return }
        }
        guard errno == EEXIST else { throw .last() }
        guard let status = fileStatus(at: path) else { throw .last() }
        guard status.st_mode.isDirectory else { throw SystemError(code: ENOTDIR) }
    }

    /// The entries of a directory.
    ///
    /// - Throws: The error of open(2) or readdir(3).
    package static func entries(at path: String) throws(SystemError) -> [ListedFile] {
        try entries(owning: Descriptors.own.open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK))
    }

    /// The entries of an open directory; its own position stays unchanged.
    ///
    /// - Throws: The error of openat(2) or readdir(3).
    package static func entries(of descriptor: Int32) throws(SystemError) -> [ListedFile] {
        // A descriptor of its own: reading a directory moves its position, and closedir(3) closes it.
        try entries(owning: Descriptors.own.take { unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
    }

    /// Passes the names in an open directory as bytes, each valid during the call: for very large directories.
    ///
    /// - Throws: The error of openat(2) or readdir(3).
    package static func names(
        of descriptor: Int32, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(SystemError) {
        let own = Descriptors.own.take { unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        try unsafe read(owning: own) { name, _ in unsafe take(name) }
    }

    private static func entries(owning own: Int32) throws(SystemError) -> [ListedFile] {
        var entries: [ListedFile] = []
        try unsafe read(owning: own) { name, type in
            entries.append(ListedFile(name: unsafe String(decoding: name, as: UTF8.self), kind: kind(type)))
        }
        return entries
    }

    private static func read(
        owning own: Int32, _ take: (UnsafeRawBufferPointer, _ type: Int) -> Void
    ) throws(SystemError) {
        guard own >= 0 else { throw .last() }
        guard let stream = unsafe fdopendir(own) else {
            let failure = SystemError.last()
            close(own)
            throw failure
        }
        defer { unsafe _ = closedir(stream) }
        while true {
            errno = 0
            guard let entry = unsafe readdir(stream) else {
                guard errno == 0 else { throw .last() }
                return
            }
            unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                let name = unsafe UnsafeRawBufferPointer(rebasing: bytes.prefix { $0 != 0 })
                let dots = unsafe name.count <= 2 && name.allSatisfy { $0 == UInt8(ascii: ".") }
                if !dots { unsafe take(name, Int(entry.pointee.d_type)) }
            }
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
