internal import Glibc

/// Reads and writes whole files by read(2) and write(2), whatever signals arrive.
///
/// The calling thread waits for the disk, or for what else the descriptor leads to.
package enum FileBytes {
    /// The bytes from the present place on, at most `limit` of them; fewer only at the end of the file.
    ///
    /// - Throws: The error of read(2); what was read before it is lost.
    package static func read(_ descriptor: Int32, upTo limit: Int) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: max(1, min(limit, pieceSize)))
        while bytes.count < limit {
            let wanted = min(piece.count, limit - bytes.count)
            let count = unsafe piece.withUnsafeMutableBytes { unsafe Glibc.read(descriptor, $0.baseAddress, wanted) }
            if count == 0 { break }
            if count > 0 {
                bytes += piece[..<count]
            } else if errno != EINTR {
                throw .last()
            }
        }
        return bytes
    }

    /// The content of a file, at most `limit` bytes of it.
    ///
    /// - Throws: The error of open(2) or read(2).
    package static func read(_ path: String, upTo limit: Int) throws(SystemError) -> [UInt8] {
        let descriptor = Descriptors.own.open(path, O_RDONLY)
        guard descriptor >= 0 else { throw .last() }
        defer { close(descriptor) }
        return try read(descriptor, upTo: limit)
    }

    /// Writes all bytes at the present place.
    ///
    /// - Returns: False after an error, which errno(3) then tells.
    @discardableResult
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            var rest = unsafe bytes[...]
            while unsafe !rest.isEmpty {
                let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
                let count = unsafe Glibc.write(descriptor, part.baseAddress, part.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                unsafe rest = rest.dropFirst(count)
            }
            return true
        }
    }

    /// Bytes that are read at a time.
    private static let pieceSize = 64 << 10
}
