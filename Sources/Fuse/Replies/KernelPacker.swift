internal import CFuse3
import Glibc

/// Packs entries as the kernel reads them, with `fuse_add_direntry` and `fuse_add_direntry_plus`, into one buffer.
struct KernelPacker: DirectoryPacker {
    private var buffer: [UInt8]
    private var used = 0
    private let withAttributes: Bool
    private(set) var counted: [UInt64] = []

    init(size: Int, withAttributes: Bool) {
        buffer = [UInt8](repeating: 0, count: size)
        self.withAttributes = withAttributes
        // linux/fuse.h: struct fuse_direntplus with a name of one byte takes 160 bytes.
        if withAttributes { counted.reserveCapacity(size / 160) }
    }

    var answer: Answer { .bytes([UInt8](buffer[..<used])) }

    /// The functions get no request, which they do not look at: this one may have been answered by an interrupt.
    mutating func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, _ known: DirectoryReply.Known?
    ) -> Bool {
        let (used, room) = (used, buffer.count - used)
        let needed = unsafe buffer.withUnsafeMutableBytes { buffer in
            let target = unsafe buffer.baseAddress?.advanced(by: used).assumingMemoryBound(to: CChar.self)
            // A native string ends with a NUL already: nothing is copied.
            return unsafe name.withCString { name in
                guard withAttributes else {
                    var status = stat()
                    status.st_ino = ino_t(inode)
                    status.st_mode = kind.modeBits
                    return unsafe fuse_add_direntry(nil, target, room, name, &status, off_t(nextOffset))
                }
                var parameters =
                    known.map {
                        fuse_entry_param(
                            $0.attributes, entryTimeout: $0.entryTimeout, attributesTimeout: $0.attributesTimeout)
                    } ?? fuse_entry_param(nameOf: inode, kind: kind)
                return unsafe fuse_add_direntry_plus(nil, target, room, name, &parameters, off_t(nextOffset))
            }
        }
        // Both functions return what the entry needs and have written nothing if that is more than there is.
        guard needed <= room else { return false }
        self.used += needed
        if withAttributes, let known { counted.append(known.attributes.inode) }
        return true
    }
}
