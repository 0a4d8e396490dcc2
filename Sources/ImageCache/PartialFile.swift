internal import CLinux
internal import Glibc
internal import Rankings
internal import System
internal import Synchronization

/// Memory for pictures while the disk refuses them; shared by all downloads of a cache.
final class SpareMemory: Sendable {
    /// The limit in bytes.
    static let limit: Int64 = 64 << 20
    private let used = Mutex<Int64>(0)

    func take(_ bytes: Int64) -> Bool {
        used.withLock { used in
            guard used + bytes <= Self.limit else { return false }
            used += bytes
            return true
        }
    }

    func giveBack(_ bytes: Int64) {
        used.withLock { $0 -= bytes }
    }
}

/// The destination of a download's bytes: a partial file, or memory when the disk refuses.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held while the file is opened or moved to memory, not during writes.
final class PartialFile: Sendable {
    private struct State {
        var data: StoredFile?
        var state: StoredFile?
        /// Bytes of spare memory that are taken; 0 while on disk.
        var memory: Int64 = 0
        var isRemoved = false
    }

    let picture: PictureID
    /// The number of requests begun to bring its bytes (`Download.begun`).
    let begun = Atomic<UInt64>(0)
    private let store: PictureStore
    private let spare: SpareMemory
    private let state = Mutex(State())

    init(_ picture: PictureID, store: PictureStore, spare: SpareMemory) {
        self.picture = picture
        self.store = store
        self.spare = spare
    }

    deinit {
        state.withLock { if $0.memory > 0 { spare.giveBack($0.memory) } }
    }

    /// The file with the bytes so far; nil before the first one.
    var current: StoredFile? { state.withLock { $0.data } }

    /// Some of the present bytes; nil before the first one.
    func read(at offset: Int64, count: Int) throws(SystemError) -> [UInt8]? {
        guard let current else { return nil }
        return try Self.read(current, at: offset, count: count)
    }

    /// Whether the bytes are in memory and will never be stored.
    var isInMemory: Bool { state.withLock { $0.memory > 0 } }

    /// The state that an earlier download left, with the picture's edges read from its file; nil if nothing can be trusted.
    func resume() -> (PartialState, PictureEdges)? {
        guard let stateFile = try? file(".state"), let data = try? file(""),
            let bytes = try? Self.read(stateFile, at: 0, count: PartialState.size),
            let known = PartialState(bytes), known.key == picture.key, known.boot == store.boot, !known.boot.isEmpty,
            let size = try? data.use({ descriptor throws(SystemError) in try Files.size(descriptor) }),
            size >= known.present.ranges.last?.upperBound ?? 0
        else { return nil }
        var edges = PictureEdges()
        for range in known.present.ranges {
            // Without a declared length the newest bytes may be the last of the picture.
            let end = known.total ?? range.upperBound
            for part in [0..<Int64(PictureFormat.headLength), max(0, end - Int64(PictureFormat.tailLength))..<end] {
                let wanted = part.clamped(to: range)
                guard !wanted.isEmpty,
                    let bytes = try? Self.read(data, at: wanted.lowerBound, count: wanted.count)
                else { continue }
                unsafe bytes.withUnsafeBytes { unsafe edges.note($0, at: wanted.lowerBound, total: known.total) }
            }
        }
        state.withLock {
            $0.data = data
            $0.state = stateFile
        }
        return (known, edges)
    }

    /// Opens one of the download's two files.
    private func file(_ suffix: String, _ flags: Int32 = 0) throws(SystemError) -> StoredFile {
        let name = picture.key + suffix
        let descriptor = try Files.open(name, in: store.root.partial, O_RDWR | flags)
        let path = "\(PictureStore.partialName)/\(name)"
        return StoredFile(owning: descriptor, reopen: store.reopening(path, O_RDWR))
    }

    private static func read(_ file: StoredFile, at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
        try file.use { descriptor throws(SystemError) in try Files.read(descriptor, at: offset, count: count) }
    }

    /// The file to write to, created on first use.
    private func opened() throws(SystemError) -> StoredFile {
        let (data, isRemoved) = state.withLock { ($0.data, $0.isRemoved) }
        // The name may already belong to the next download of the picture.
        guard !isRemoved else { throw SystemError("writing to a download that is over", code: ECANCELED) }
        if let data { return data }
        do throws(SystemError) { return try make() } catch {
            // The directory was deleted during operation: make it again, once.
            guard error.code == ENOENT, (try? store.reopen()) != nil else { throw error }
            return try make()
        }
    }

    private func make() throws(SystemError) -> StoredFile {
        // Exclusively: an older download that still writes keeps its own file.
        store.removePartial(picture)
        let data = try file("", O_CREAT | O_EXCL)
        let stateFile = try file(".state", O_CREAT | O_EXCL)
        state.withLock {
            $0.data = data
            $0.state = stateFile
        }
        return data
    }

    /// Writes bytes at an offset in the picture.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        try opened().use { descriptor throws(SystemError) in
            unsafe try Files.write(bytes, to: descriptor, at: offset)
        }
    }

    /// Moves the present bytes to memory (memfd_create(2)) and removes the partial file.
    ///
    /// - Parameter total: The number of bytes that the whole picture may take.
    /// - Returns: False if the bytes are in memory already, or memory has no room for them.
    /// - Throws: The error that kept the bytes from being moved.
    func moveToMemory(total: Int64) throws(SystemError) -> Bool {
        guard !isInMemory, spare.take(max(1, total)) else { return false }
        let memory: StoredFile
        do throws(SystemError) {
            let descriptor = Descriptors.own.take { unsafe rankfs_memory_file("rankfs-picture") }
            guard descriptor >= 0 else { throw SystemError("making a file in memory") }
            memory = StoredFile(owning: descriptor)
            try current?.use { source throws(SystemError) in try Self.copy(source, to: descriptor) }
        } catch {
            spare.giveBack(max(1, total))
            throw error
        }
        state.withLock {
            $0.data = memory
            $0.state = nil
            $0.memory = max(1, total)
        }
        store.removePartial(picture)
        return true
    }

    private static func copy(_ source: Int32, to target: Int32) throws(SystemError) {
        var offset: Int64 = 0
        while true {
            let block = try Files.read(source, at: offset, count: Files.blockSize)
            guard !block.isEmpty else { return }
            try Files.write(block, to: target, at: offset)
            offset += Int64(block.count)
        }
    }

    /// Saves the state of the present bytes, for a daemon that resumes after this one.
    func note(total: Int64?, validator: String?, present: ByteSet) {
        guard let file = state.withLock({ $0.isRemoved ? nil : $0.state }) else { return }
        let known = PartialState(
            key: picture.key, total: total, validator: validator, boot: store.boot, present: present)
        // A state that cannot be written costs a resume, nothing else.
        try? file.use { descriptor throws(SystemError) in try Files.write(known.encoded, to: descriptor, at: 0) }
    }

    /// Removes the partial file; readers that have it open keep it.
    func discard() {
        let wasOnDisk = state.withLock { state in
            defer {
                state.data = nil
                state.state = nil
                state.isRemoved = true
            }
            return state.memory == 0 && state.data != nil
        }
        if wasOnDisk { store.removePartial(picture) }
    }

    /// Removes the partial file's names and keeps its bytes for the present readers.
    func unlink() {
        state.withLock { state in
            state.isRemoved = true
            return state.data
        }?.keepOpen()
        store.removePartial(picture)
    }
}

// MARK: - The state beside it

/// The state of an unfinished download, kept beside its file so that a later daemon resumes by Range after a kill.
///
/// The bytes themselves are not synced while they come. Killing the daemon loses none of them; a power cut might, so a partial
/// file of another boot is not trusted.
struct PartialState: Equatable, Sendable {
    /// Bytes that a state takes on disk, written at once; within one sector it is either the old or the new state.
    static let size = 512
    /// `RANKFSD1`.
    static let magic: Int64 = 0x3144_5346_4B4E_4152
    /// The largest number of ranges kept; a download with more forgets the last ones and requests their bytes again.
    static let mostRanges = 12
    /// The longest validator that is kept, in bytes; dates have 29 bytes.
    static let longestValidator = 100
    /// The number of bytes after which a state is written again: the cost of a kill.
    static let interval: Int64 = 256 << 10

    /// `PictureID.key`.
    var key: String
    var total: Int64?
    /// The validator for `If-Range`.
    var validator: String?
    /// The value of `/proc/sys/kernel/random/boot_id` at the time of writing.
    var boot: String
    var present: ByteSet

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.write(Self.magic)
        writer.write(total ?? -1)
        writer.write(short: key)
        writer.write(short: validator.map { $0.utf8.count <= Self.longestValidator ? $0 : "" } ?? "")
        writer.write(short: boot)
        writer.write(Array(present.ranges.prefix(Self.mostRanges))) { $0.write($1) }
        return writer.sealed(length: Self.size)
    }
}

extension PartialState {
    /// Decodes `encoded`; nil for all other bytes.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size, var reader = ByteReader(sealed: bytes), reader.number() == Self.magic,
            let total = reader.number(), let key = reader.shortText(), let validator = reader.shortText(),
            let boot = reader.shortText(), let ranges = reader.list({ $0.range() }), ranges.count <= Self.mostRanges
        else { return nil }
        self.init(
            key: key, total: total < 0 ? nil : total, validator: validator.isEmpty ? nil : validator, boot: boot,
            present: ByteSet(ranges))
    }
}

// MARK: - Ranges

/// Some bytes of a picture, as the present ones: sorted ranges that neither overlap nor touch.
typealias ByteSet = RangeSet<Int64>

extension ByteSet {
    /// The number of bytes in the set.
    var count: Int64 {
        ranges.reduce(0) { $0 + Int64($1.count) }
    }

    /// Whether every byte of the range is present; an empty range always is.
    func contains(_ range: Range<Int64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    /// The first missing byte at or after `offset`.
    func firstMissing(from offset: Int64) -> Int64 {
        ranges.first { $0.contains(offset) }?.upperBound ?? offset
    }

    /// The missing parts of `bounds`, in order.
    func gaps(in bounds: Range<Int64>) -> [Range<Int64>] {
        Array(ByteSet(bounds).subtracting(self).ranges)
    }
}
