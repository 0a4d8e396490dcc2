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
    }

    var answer: Answer { .bytes([UInt8](buffer[..<used])) }

    mutating func add(_ entry: DirectoryEntry, entryTimeout: Duration, attributesTimeout: Duration) -> Bool {
        let room = buffer.count - used
        let needed = pack(entry, room: room, entryTimeout: entryTimeout, attributesTimeout: attributesTimeout)
        // Both functions return what the entry needs and have written nothing if that is more than there is.
        guard needed <= room else { return false }
        used += needed
        if let attributes = entry.attributes, withAttributes {
            counted.append(attributes.inode)
        }
        return true
    }

    /// The functions get no request, which they do not look at: this one may have been answered by an interrupt.
    private mutating func pack(
        _ entry: DirectoryEntry, room: Int, entryTimeout: Duration, attributesTimeout: Duration
    ) -> Int {
        let name = entry.name.map(CChar.init(bitPattern:)) + [0]
        let offset = off_t(entry.nextOffset)
        let used = used
        return unsafe buffer.withUnsafeMutableBytes { buffer in
            let target = unsafe buffer.baseAddress?.advanced(by: used).assumingMemoryBound(to: CChar.self)
            guard withAttributes else {
                var status = stat()
                status.st_ino = ino_t(entry.inode)
                status.st_mode = entry.kind.modeBits
                return unsafe fuse_add_direntry(nil, target, room, name, &status, offset)
            }
            var parameters = fuse_entry_param(nameOf: entry.inode, kind: entry.kind)
            if let attributes = entry.attributes {
                parameters = fuse_entry_param(
                    attributes, entryTimeout: entryTimeout, attributesTimeout: attributesTimeout)
            }
            return unsafe fuse_add_direntry_plus(nil, target, room, name, &parameters, offset)
        }
    }
}
