import Synchronization

/// Answers readdir and readdirplus alike: entries are added until the buffer is full.
package final class DirectoryReply: Reply, @unchecked Sendable {
    /// Whether the kernel wants attributes with the names (readdirplus).
    package let wantsAttributes: Bool
    private let packer: Mutex<any DirectoryPacker>

    /// A reply that hands its entries to a closure in place of the kernel.
    ///
    /// - Parameters:
    ///   - size: Room, in bytes as the kernel counts them.
    ///   - wantsAttributes: As in readdirplus.
    ///   - waiting: The deadline that ``later(_:)`` is held to; without it none.
    ///   - answer: Called once, on the thread that answers.
    package convenience init(
        size: Int = 4096, wantsAttributes: Bool = true, waiting: WaitingRequests? = nil,
        answer: @escaping @Sendable (Answer) -> Void
    ) {
        let request = PendingRequest(destination: RecordingDestination(record: answer), waiting: waiting)
        let packer = RecordingPacker(size: size, wantsAttributes: wantsAttributes)
        self.init(request, wantsAttributes: wantsAttributes, packer: packer)
    }

    /// A reply to the kernel.
    init(
        _ request: PendingRequest, undo: Undo = Undo(), wantsAttributes: Bool, packer: sending any DirectoryPacker
    ) {
        self.wantsAttributes = wantsAttributes
        self.packer = Mutex(packer)
        super.init(request, undo: undo)
    }

    /// The attributes that are told with a name, and for how long the kernel may keep the name and them.
    package typealias Known = (attributes: Attributes, entryTimeout: Duration, attributesTimeout: Duration)

    /// Adds a name; false if the buffer is full and the entry must come first in the next answer.
    ///
    /// Allocates nothing: a directory has hundreds of entries.
    ///
    /// - Parameters:
    ///   - name: The name, which has no NUL.
    ///   - inode: Its number.
    ///   - kind: Its kind, so that `ls` without `-l` needs no stat.
    ///   - nextOffset: Where the next read goes on after this entry.
    ///   - attributes: With readdirplus, the attributes if they are known; an entry added with them counts as one lookup of
    ///     its inode, one without counts nothing. Ignored if ``wantsAttributes`` is false.
    /// - Returns: Whether the entry found room.
    package func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, attributes: Known?
    ) -> Bool {
        // The kernel links no inode to "." and "..", and counts no lookup for them.
        let known = wantsAttributes && name != "." && name != ".." ? attributes : nil
        return packer.withLock { $0.add(name, inode: inode, kind: kind, nextOffset: nextOffset, known) }
    }

    /// Sends what was added; nothing added means the end of the directory.
    package func send() {
        let (answer, counted) = packer.withLock { ($0.answer, $0.counted) }
        guard !request.answer(answer) else { return }
        counted.forEach(undo.forget)
    }
}

/// Packs entries into the room that the kernel gave.
protocol DirectoryPacker {
    /// What was packed.
    var answer: Answer { get }
    /// The inodes whose lookup counts the answer raises.
    var counted: [UInt64] { get }
    /// Packs an entry; false if there is no room for it.
    mutating func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, _ known: DirectoryReply.Known?
    ) -> Bool
}

/// Keeps the entries as values, and counts bytes as the kernel would.
private struct RecordingPacker: DirectoryPacker {
    private var room: Int
    private let fixedSize: Int
    private var entries: [DirectoryEntry] = []

    init(size: Int, wantsAttributes: Bool) {
        room = size
        // linux/fuse.h: struct fuse_dirent is 24 bytes before the name, struct fuse_direntplus puts 128 before that.
        fixedSize = wantsAttributes ? 152 : 24
    }

    var answer: Answer { .directory(entries) }

    var counted: [UInt64] { entries.compactMap(\.attributes?.inode) }

    mutating func add(
        _ name: String, inode: UInt64, kind: Attributes.Kind, nextOffset: Int64, _ known: DirectoryReply.Known?
    ) -> Bool {
        // FUSE_DIRENT_ALIGN: entries begin at multiples of eight.
        let size = (fixedSize + name.utf8.count + 7) / 8 * 8
        guard size <= room else { return false }
        room -= size
        entries.append(
            DirectoryEntry(
                name: Array(name.utf8), inode: inode, kind: kind, nextOffset: nextOffset,
                attributes: known?.attributes))
        return true
    }
}
