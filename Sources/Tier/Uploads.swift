import Digests
import Glibc
import HTTP
import ObjectStore
import Posix
import SQLite
import Synchronization

/// Brings pictures to the store: a few at once, not faster than a bound, not on networks that cost, and again after a failure.
///
/// What fails comes later, after others. What the store has something against is tried a few times; a store that did not answer in
/// time is given one picture at a time for a while, and more time for those that it did not take.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class Uploads: Sendable {
    /// Pictures on their way at once.
    static let mostAtOnce = 4
    /// Bytes a second, on average: what others in the house still have of an ordinary connection.
    static let pace: Double = 16_777_216
    /// How long nothing is tried while the store rests or the network costs, and for how long a picture comes later that has
    /// failed once; twice as long after each further time.
    static let pause = Duration.seconds(30)
    /// No picture waits longer for its next try.
    static let longestPause = Duration.seconds(3600)
    /// So often a picture is tried that the store has something against.
    static let mostTries = 3
    /// Bytes a second that a store takes at least; half of it after each failure of a picture, down to a sixteenth.
    static let slowest: Double = 262_144
    /// Pictures that go one behind the other after one that was not taken in time.
    static let careful = 16

    private struct State {
        var task: Task<Void, Never>?
        /// What is going onto the list, one behind the other.
        var listing: Task<Void, Never>?
        /// Waits for a picture that has failed; what is added ends that.
        var nap: Task<Void, Never>?
        /// What is to be done once an upload is over, by key.
        var followUps: [ObjectKey: @Sendable () async -> Void] = [:]
        /// When the next upload may begin.
        var next: ContinuousClock.Instant
        var waiting = 0
        var isClosed = false
        /// Grows with each one that is added.
        var added = 0
        /// So many are still to go one behind the other.
        var careful = 0
    }

    private let store: TierStore
    private let list: UploadList
    private let maySpend: @Sendable () -> Bool
    private let state: Mutex<State>
    /// What the list counts from.
    private let began: ContinuousClock.Instant

    init(_ store: TierStore, list: UploadList, maySpend: @escaping @Sendable () -> Bool) {
        self.store = store
        self.list = list
        self.maySpend = maySpend
        began = store.time.now()
        state = Mutex(State(next: began))
    }

    /// How many wait, for status displays.
    var waiting: Int { state.withLock { $0.waiting } }

    /// How many go at once now.
    var atOnce: Int { state.withLock { $0.careful > 0 ? 1 : Self.mostAtOnce } }

    /// Uploads whose end somebody waits for.
    var followed: Int { state.withLock { $0.followUps.count } }

    /// Takes up what the last run left.
    func resume() {
        Task {
            await note()
            if state.withLock({ $0.waiting }) > 0 { begin() }
        }
    }

    /// Adds one.
    ///
    /// - Parameters:
    ///   - upload: What to bring.
    ///   - then: Done once it is there, or will not be.
    func add(_ upload: Upload, then: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.followUps[upload.key] = then
            state.added += 1
            state.waiting += 1
            state.nap?.cancel()
            state.listing = Task { [list, before = state.listing] in
                await before?.value
                for key in await list.add(upload) { await drop(key) }
                begin()
            }
        }
    }

    /// Ends what is on its way; what waits is for the next run.
    func close() async {
        let (task, listing) = state.withLock { state in
            state.isClosed = true
            state.nap?.cancel()
            return (state.task, state.listing)
        }
        task?.cancel()
        await task?.value
        await listing?.value
        await list.close()
    }

    private func note() async {
        let count = await list.count
        state.withLock { $0.waiting = count }
    }

    private func begin() {
        state.withLock { state in
            guard state.task == nil, !state.isClosed else { return }
            state.task = Task(priority: .low) { await run() }
        }
    }

    /// Seconds since the start.
    private var now: Int64 { began.duration(to: store.time.now()).components.seconds }

    private func run() async {
        while !Task.isCancelled {
            let seen = state.withLock { $0.added }
            let uploads = await list.first(atOnce, dueBy: now)
            await note()
            if uploads.isEmpty {
                if let due = await list.nextDue {
                    await nap(unlessAddedSince: seen, .seconds(max(1, due - now)))
                    continue
                }
                let isOver = state.withLock { state in
                    guard state.added == seen || state.isClosed else { return false }
                    state.task = nil
                    return true
                }
                if isOver { return }
                continue
            }
            var goesOn = maySpend() && store.rests(.write) == nil
            if goesOn {
                goesOn = await withTaskGroup(of: Bool.self) { group in
                    for upload in uploads { group.addTask { await self.bring(upload) } }
                    return await group.reduce(true) { $0 && $1 }
                }
            }
            if !goesOn { try? await store.time.sleep(max(Self.pause, store.rests(.write) ?? .zero)) }
        }
        state.withLock { $0.task = nil }
    }

    /// Waits, but not while something new is there.
    private func nap(unlessAddedSince seen: Int, _ duration: Duration) async {
        let nap = state.withLock { state -> Task<Void, Never>? in
            guard state.added == seen, !state.isClosed else { return nil }
            let nap = Task<Void, Never> { [time = store.time] in try? await time.sleep(duration) }
            state.nap = nap
            return nap
        }
        await nap?.value
        state.withLock { $0.nap = nil }
    }

    /// Brings one; false if the store is to be left alone for a while.
    private func bring(_ upload: Upload) async -> Bool {
        await waitForTurn(upload.length)
        guard !Task.isCancelled else { return false }
        guard let content = Self.content(of: upload) else {
            store.count { $0.dropped += 1 }
            await end(upload)
            return true
        }
        let description = ObjectDescription(
            mediaType: "application/octet-stream", length: upload.length,
            hash: XXH3.hex(upload.hash), key: upload.key)
        let seconds = Double(upload.length) / Self.slowest * Double(1 << min(max(upload.tries, 0), 4))
        switch await store.put(upload.key, content, description, within: TierStore.patience + .seconds(seconds)) {
        case .done:
            store.count {
                $0.uploads += 1
                $0.sentBytes += upload.length
            }
            state.withLock { $0.careful = max(0, $0.careful - 1) }
            await end(upload)
            return true
        case .notTaken(let error) where upload.tries + 1 >= Self.mostTries:
            store.tell(.notTaken(upload.key.text, reason: error.text))
            store.count { $0.dropped += 1 }
            await end(upload)
            return true
        case .notTaken, .declined:
            await postpone(upload)
            return true
        case .failed(let error):
            guard error != .cancelled, !Task.isCancelled else { return false }
            if error == .timedOut { state.withLock { $0.careful = Self.careful } }
            await postpone(upload)
            return false
        case .unasked: return false
        }
    }

    private func postpone(_ upload: Upload) async {
        let seconds = Self.pause.components.seconds << Int64(min(max(upload.tries, 0), 10))
        await list.postpone(upload, until: now + min(seconds, Self.longestPause.components.seconds))
    }

    /// Takes one off the list that is there, or never will be.
    private func end(_ upload: Upload) async {
        await list.remove(upload)
        await follow(upload.key)
    }

    /// One is not on the list any more.
    private func drop(_ key: ObjectKey) async {
        store.count { $0.dropped += 1 }
        await follow(key)
    }

    private func follow(_ key: ObjectKey) async {
        let then = state.withLock { $0.followUps.removeValue(forKey: key) }
        await then?()
    }

    private func waitForTurn(_ length: Int64) async {
        let now = store.time.now()
        let turn = state.withLock { state in
            let turn = max(state.next, now)
            state.next = turn + .seconds(Double(length) / Self.pace)
            return turn
        }
        if turn > now { try? await store.time.sleep(turn - now) }
    }

    /// The bytes of a picture that is still stored as it was; nil if it has gone or is damaged.
    private static func content(of upload: Upload) -> RequestContent? {
        let descriptor = Descriptors.own.open(upload.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = OpenFile(owning: descriptor)
        guard file.hash(of: upload.length) == upload.hash else { return nil }
        return unsafe RequestContent(length: upload.length) { offset, buffer in
            let count = unsafe pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            return count >= 0 ? count : nil
        }
    }
}

extension OpenFile {
    /// XXH3 of its first bytes; nil if there are fewer.
    fileprivate func hash(of length: Int64) -> UInt64? {
        let hash = XXH3()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 64)
        defer { unsafe buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            let wanted = Int(min(Int64(buffer.count), length - offset))
            let count = unsafe pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
            guard count > 0 else { return nil }
            unsafe hash.add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        return hash.value
    }
}

// MARK: - The list

/// A picture that is to go to the store.
struct Upload: Hashable, Sendable {
    var key: ObjectKey
    /// The file that begins with its bytes.
    var path: String
    /// Bytes.
    var length: Int64
    /// What they add up to.
    var hash: UInt64
    /// How often it was tried in vain.
    var tries = 0
}

/// What is to go to the store, on the disk, so that a restart forgets nothing.
///
/// ## Concurrency
///
/// An actor on a queue of its own, which may wait for the disk.
actor UploadList {
    /// Pictures that wait at most; a store that is away for weeks costs the oldest ones.
    static let most = 20_000

    private static let migrations = [
        Migration(
            "uploads",
            """
            CREATE TABLE uploads(
                number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
                length INTEGER NOT NULL, hash INTEGER NOT NULL) STRICT;
            """),
        Migration(
            "tries of uploads",
            """
            ALTER TABLE uploads ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE uploads ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
            """),
    ]

    private let queue = SerialQueueExecutor(label: "rankfs.tier.uploads")
    private let connection: Connection
    private let most: Int

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    /// Opens the list; a damaged one is set aside, which costs uploads and nothing else.
    init(path: String, most: Int = UploadList.most) throws(DatabaseError) {
        self.most = most
        connection = try Connection.openOrSetAside(path: path, migrations: Self.migrations, inMemoryIfFull: true)
            .connection
        // Counted from the start of another run.
        try? connection.run("UPDATE uploads SET due = 0")
    }

    /// Adds an upload, in place of an older one of the same picture.
    ///
    /// - Returns: The keys of those for which there is no room any more.
    func add(_ upload: Upload) -> [ObjectKey] {
        try? connection.run(
            "INSERT OR REPLACE INTO uploads(key, path, length, hash) VALUES(?, ?, ?, ?)", .text(upload.key.text),
            .text(upload.path), .integer(upload.length), .integer(Int64(bitPattern: upload.hash)))
        var cut: [ObjectKey] = []
        try? connection.rows(
            "DELETE FROM uploads WHERE number <= (SELECT max(number) FROM uploads) - ? RETURNING key",
            .integer(Int64(most))
        ) { row in
            if let key = ObjectKey(row.text(0)) { cut.append(key) }
        }
        return cut
    }

    /// Leaves an upload for later, once more in vain.
    ///
    /// - Parameters:
    ///   - upload: Which.
    ///   - due: When it is tried again, in seconds since the start.
    func postpone(_ upload: Upload, until due: Int64) {
        try? connection.run(
            "UPDATE uploads SET tries = tries + 1, due = ? WHERE key = ?", .integer(due), .text(upload.key.text))
    }

    /// Takes an upload off the list.
    func remove(_ upload: Upload) {
        try? connection.run("DELETE FROM uploads WHERE key = ?", .text(upload.key.text))
    }

    /// The oldest ones whose time has come, in seconds since the start.
    func first(_ count: Int, dueBy now: Int64) -> [Upload] {
        var uploads: [Upload] = []
        try? connection.rows(
            "SELECT key, path, length, hash, tries FROM uploads WHERE due <= ? ORDER BY number LIMIT ?", .integer(now),
            .integer(Int64(count))
        ) { row in
            guard let key = ObjectKey(row.text(0)) else { return }
            uploads.append(
                Upload(
                    key: key, path: row.text(1), length: row.int64(2), hash: UInt64(bitPattern: row.int64(3)),
                    tries: Int(clamping: row.int64(4))))
        }
        return uploads
    }

    /// When the time of the next one comes, in seconds since the start; nil if none waits.
    var nextDue: Int64? {
        let due = try? connection.first("SELECT due FROM uploads ORDER BY due LIMIT 1") { row in row.int64(0) }
        return due.flatMap { $0 }
    }

    /// How many wait.
    var count: Int {
        let count = try? connection.first("SELECT count(*) FROM uploads") { row in row.int64(0) }
        return Int(count ?? 0)
    }

    func close() { connection.close() }
}
