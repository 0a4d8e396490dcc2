import Rankings
import System
import Glibc
import HTTP
import Synchronization

/// The uploads of pictures to the object store: a few at once, at a limited rate, not on metered networks, with retries.
///
/// Pictures for which other machines wait, by a lease of this one, go first. The others, such as those downloaded while the store was
/// away, go one at a time and in no order: other machines have the same ones, and what one has brought the others need not send.
///
/// A failed upload is retried later, after others. A rejected one is tried a few times. A store that takes long, or did not answer
/// in time, gets one picture at a time, and more time for the pictures that failed.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class Uploads: Sendable {
    /// The most uploads at once.
    static let mostAtOnce = 4
    /// The average bytes a second: the other users of an ordinary connection keep a share of it.
    static let pace: Double = 16_777_216
    /// The pause while the network is metered, and before the first retry of a failed upload.
    ///
    /// It doubles after each further failure of an upload.
    static let pause = Duration.seconds(30)
    /// The pause while another request probes the store.
    static let probePause = Duration.seconds(1)
    /// The longest pause before a retry.
    static let longestPause = Duration.seconds(3600)
    /// The number of tries for a picture that the store rejects.
    static let mostTries = 3
    /// The time of an upload from which on they are made one at a time.
    static let long = Duration.seconds(2)

    private struct State {
        var task: Task<Void, Never>?
        /// The additions to the list, one after the other.
        var listing: Task<Void, Never>?
        /// Waits for the retry of a failed upload; a new upload ends the wait.
        var nap: Task<Void, Never>?
        /// The actions after the end of each upload that other machines wait for, by key.
        var followUps: [ObjectKey: @Sendable () async -> Void] = [:]
        /// The actions after the end of uploads that replace an object.
        var replacements: [ObjectKey: @Sendable () -> Void] = [:]
        /// The pace that the next upload waits for.
        var pace = SteadyPace(burst: 0, perSecond: Uploads.pace)
        var waiting = 0
        var isClosed = false
        /// The number of uploads added.
        var added = 0
        /// The time that an upload takes, or until it is given up, and the end of the last one.
        var usual = UsualAnswer()
        var endedAt: ContinuousClock.Instant?
        /// The starts of the uploads in progress.
        var began: [ObjectKey: ContinuousClock.Instant] = [:]

        /// Returns the time that an upload takes, by those of the last minutes and by the oldest one in progress; nil if there is none.
        func expected(now: ContinuousClock.Instant) -> Duration? {
            let lately = endedAt.map { now - $0 < TierHealth.longestRest } ?? false
            return [lately ? usual.usual : nil, began.values.min().map { now - $0 }].compactMap(\.self).max()
        }

        /// Returns the present limit of uploads at once: a slow line, and one that is not known, brings one sooner than several, and
        /// leaves room for small requests.
        func atOnce(now: ContinuousClock.Instant) -> Int {
            expected(now: now) ?? Uploads.long >= Uploads.long ? 1 : Uploads.mostAtOnce
        }

        /// Takes note of the time of an upload that has ended.
        mutating func learn(_ took: Duration, now: ContinuousClock.Instant) {
            if expected(now: now) == nil { usual = UsualAnswer() }
            usual.learn(took)
            endedAt = now
        }
    }

    private let store: TierStore
    private let list: UploadList
    private let maySpend: @Sendable () -> Bool
    private let state: Mutex<State>
    /// The start of the list's time scale.
    private let began: ContinuousClock.Instant

    init(_ store: TierStore, list: UploadList, maySpend: @escaping @Sendable () -> Bool) {
        self.store = store
        self.list = list
        self.maySpend = maySpend
        began = store.time.now()
        state = Mutex(State())
    }

    /// The number of waiting uploads, for status displays.
    var waiting: Int { state.withLock { $0.waiting } }

    /// Whether a picture that is added now would be uploaded.
    var areWelcome: Bool { maySpend() && store.takesWrites }

    /// The present limit of uploads at once.
    var atOnce: Int {
        let now = store.time.now()
        return state.withLock { $0.atOnce(now: now) }
    }

    /// The time until a picture that others wait for and that is added now is probably stored.
    var delay: Duration {
        let now = store.time.now()
        return state.withLock { ($0.expected(now: now) ?? .zero) * ($0.followUps.count + 1) / $0.atOnce(now: now) }
    }

    /// The number of uploads with an action after their end.
    var followed: Int { state.withLock { $0.followUps.count } }

    /// Continues the uploads of the last run, unless the user has taken the right to write from this machine since.
    func resume() {
        guard store.mayWrite else { return }
        Task {
            await note()
            if state.withLock({ $0.waiting }) > 0 { begin() }
        }
    }

    /// Adds an upload.
    ///
    /// - Parameters:
    ///   - upload: The picture to upload.
    ///   - then: The action once the picture is stored, postponed or given up; nil if no other machine waits for that.
    ///   - atEnd: The action once the picture has replaced an object, or is given up.
    func add(_ upload: Upload, then: (@Sendable () async -> Void)?, atEnd: (@Sendable () -> Void)? = nil) {
        state.withLock { state in
            state.followUps[upload.key] = then
            state.replacements[upload.key] = atEnd
            state.waiting += 1
            state.listing = Task { [list, before = state.listing] in
                await before?.value
                for key in await list.add(upload, isAwaited: then != nil) {
                    store.count { $0.dropped += 1 }
                    await left(key)
                }
                begin()
            }
        }
    }

    /// Ends the uploads in progress; the next run continues the waiting ones.
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
            state.added += 1
            state.nap?.cancel()
            guard state.task == nil, !state.isClosed else { return }
            state.task = Task(priority: .low) { await run() }
        }
    }

    /// The seconds since the start.
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
            var goesOn = areWelcome
            if goesOn {
                goesOn = await withTaskGroup(of: Bool.self) { group in
                    for upload in uploads { group.addTask { await self.bring(upload) } }
                    return await group.reduce(true) { $0 && $1 }
                }
            }
            guard !goesOn else { continue }
            try? await store.time.sleep(store.rests(.write) ?? (maySpend() ? Self.probePause : Self.pause))
        }
        state.withLock { $0.task = nil }
    }

    /// Waits for a time, but not if an upload was added; a new upload ends the wait.
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

    /// Uploads a picture; false if the store must not be used for a while.
    private func bring(_ upload: Upload) async -> Bool {
        // Others may have brought what none of them waits for, and a store receives all of a picture before it declines it.
        let isAwaited = state.withLock { $0.followUps[upload.key] != nil }
        if !upload.replaces, !isAwaited, await store.has(upload.key) {
            await end(upload)
            return true
        }
        await waitForTurn(upload.length)
        guard !Task.isCancelled else { return false }
        guard let (content, blocks) = Self.content(of: upload) else {
            store.count { $0.dropped += 1 }
            await end(upload)
            return true
        }
        let description = ObjectDescription(length: upload.length, blocks: blocks, key: upload.key.text)
        let began = store.time.now()
        state.withLock { $0.began[upload.key] = began }
        let written = await store.put(
            upload.key, content, description, if: upload.replaces ? .always : .isNew, transferClass: .bulk,
            within: TierStore.writePatience(for: upload.length, tries: upload.tries))
        let ended = store.time.now()
        state.withLock { state in
            state.began[upload.key] = nil
            switch written {
            case .done, .failed(.timedOut): state.learn(ended - began, now: ended)
            case .declined, .notTaken, .failed, .unasked: break
            }
        }
        switch written {
        // Another machine has brought it meanwhile.
        case .declined: break
        case .done:
            store.count {
                $0.uploads += 1
                $0.sentBytes += upload.length
            }
        case .notTaken(let error) where upload.tries + 1 >= Self.mostTries:
            store.report(.notTaken(upload.key.text, reason: error.cause))
            store.count { $0.dropped += 1 }
        case .notTaken:
            await postpone(upload)
            return true
        case .failed(let error):
            guard error != .cancelled, !Task.isCancelled else { return false }
            await postpone(upload)
            return store.takesWrites
        case .unasked: return false
        }
        await end(upload)
        return true
    }

    /// Postpones an upload after a failed try; others need not wait for it.
    private func postpone(_ upload: Upload) async {
        await follow(upload.key)
        let seconds = Self.pause.components.seconds << Int64(min(max(upload.tries, 0), 10))
        await noted(list.postpone(upload, until: now + min(seconds, Self.longestPause.components.seconds)))
    }

    /// Removes an upload that has succeeded or is given up.
    private func end(_ upload: Upload) async {
        let isNoted = await list.remove(upload)
        await left(upload.key)
        await noted(isNoted)
    }

    /// Pauses where the disk has taken no note: the same upload would be made again at once.
    private func noted(_ isNoted: Bool) async {
        if !isNoted { try? await store.time.sleep(Self.pause) }
    }

    /// Tells those that wait for an upload that it is not in the list any more.
    private func left(_ key: ObjectKey) async {
        await follow(key)
        let atEnd = state.withLock { $0.replacements.removeValue(forKey: key) }
        atEnd?()
    }

    private func follow(_ key: ObjectKey) async {
        let then = state.withLock { $0.followUps.removeValue(forKey: key) }
        await then?()
    }

    private func waitForTurn(_ length: Int64) async {
        let now = store.time.now()
        let wait = state.withLock { state in
            defer { state.pace.take(Double(length)) }
            return state.pace.wait(now: now)
        }
        if wait > .zero { try? await store.time.sleep(wait) }
    }

    /// Returns the bytes of a picture that is still stored unchanged, and the digests of their blocks; nil if it is gone or
    /// damaged.
    private static func content(of upload: Upload) -> (RequestContent, blocks: [UInt8])? {
        let descriptor = Descriptors.own.open(upload.path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = OpenFile(owning: descriptor)
        guard let (hash, blocks) = file.digests(of: upload.length), hash == upload.hash else { return nil }
        let content = unsafe RequestContent(length: upload.length) { offset, buffer in
            let count = unsafe pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            return count >= 0 ? count : nil
        }
        return (content, blocks)
    }
}

extension OpenFile {
    /// Returns the XXH3 and the digests of the blocks of the file's first bytes; nil if there are fewer.
    fileprivate func digests(of length: Int64) -> (hash: UInt64, blocks: [UInt8])? {
        let hash = XXH3()
        var blocks = BlockDigests(length: length)
        let isWhole: Void? = unsafe try? Files.readAll(descriptor, length: length) { part in
            unsafe hash.add(part)
            unsafe blocks.add(part)
        }
        guard isWhole != nil else { return nil }
        return hash.value.map { ($0, blocks.digests) }
    }
}

// MARK: - The list

/// A picture to upload.
struct Upload: Hashable, Sendable {
    var key: ObjectKey
    /// The path of the file that begins with the picture's bytes.
    var path: String
    /// The length of the picture in bytes.
    var length: Int64
    /// The XXH3 of the picture's bytes.
    var hash: UInt64
    /// Whether it takes the place of an object that is not used; that stays until then.
    var replaces = false
    /// The number of failed tries.
    var tries = 0
}

/// The list of pictures to upload, stored on the disk so that a restart loses none.
///
/// ## Concurrency
///
/// An actor on a queue of its own, which may wait for the disk.
actor UploadList {
    /// The most waiting pictures; a store that is away for weeks costs the oldest ones.
    static let most = 20_000

    static let migrations: [Migration] = [
        (
            "uploads",
            """
            CREATE TABLE uploads(
                number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, path TEXT NOT NULL,
                length INTEGER NOT NULL, hash INTEGER NOT NULL) STRICT;
            """
        ),
        (
            "tries of uploads",
            """
            ALTER TABLE uploads ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE uploads ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
            """
        ),
        (
            "awaited uploads", "ALTER TABLE uploads ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0;"
        ),
        ("replacements", "ALTER TABLE uploads ADD COLUMN replaces INTEGER NOT NULL DEFAULT 0;"),
        (
            // For which store those were that wait is unknown.
            "places of uploads",
            """
            DELETE FROM uploads;
            ALTER TABLE uploads ADD COLUMN place TEXT NOT NULL DEFAULT '';
            ALTER TABLE uploads ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
            """
        ),
    ]

    private let queue = SerialQueueExecutor(label: "rankfs.tier.uploads")
    private let connection: Connection
    private let home: Home
    private let most: Int

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    /// The only store that the uploads of a list may go to, with its bucket and prefix, and whether pictures of listings that need
    /// signing in may go there.
    typealias Home = (place: String, takesPrivate: Bool)

    /// Opens the list; a damaged one is set aside, which costs uploads and nothing else.
    ///
    /// Uploads that an earlier run left for another store are dropped, and so are those that may be private where nothing private is
    /// shared any more: all that were added while it was.
    init(path: String, for home: Home, most: Int = UploadList.most) throws(DatabaseError) {
        self.home = home
        self.most = most
        connection = try Connection.openOrSetAside(path: path, migrations: Self.migrations, inMemoryIfFull: true)
            .connection
        // The times are relative to the start of an earlier run, whose leases have ended.
        try? connection.run(
            "DELETE FROM uploads WHERE place <> ? OR private > ?", .text(home.place), .flag(home.takesPrivate))
        try? connection.run("UPDATE uploads SET due = 0, awaited = 0")
    }

    /// Adds an upload, in place of an older one of the same picture; if that one was to replace an object, this one is, too.
    ///
    /// - Parameters:
    ///   - upload: The upload.
    ///   - isAwaited: Whether other machines wait for it.
    /// - Returns: The keys of the uploads that no longer fit the list.
    func add(_ upload: Upload, isAwaited: Bool = false) -> [ObjectKey] {
        let isNoted: Void? = try? connection.run(
            """
            INSERT OR REPLACE INTO uploads(key, path, length, hash, replaces, awaited, place, private)
            VALUES(?1, ?2, ?3, ?4, max(?5, (SELECT coalesce(max(replaces), 0) FROM uploads WHERE key = ?1)), ?6, ?7, ?8)
            """,
            .text(upload.key.text), .text(upload.path), .integer(upload.length),
            .integer(Int64(bitPattern: upload.hash)), .flag(upload.replaces), .flag(isAwaited),
            .text(home.place), .flag(home.takesPrivate))
        var cut = isNoted == nil ? [upload.key] : []
        try? connection.rows(
            """
            DELETE FROM uploads WHERE number IN (SELECT number FROM uploads ORDER BY number DESC LIMIT -1 OFFSET ?)
            RETURNING key
            """,
            .integer(Int64(most))
        ) { row in
            if let key = ObjectKey(row.text(0)) { cut.append(key) }
        }
        return cut
    }

    /// Postpones an upload after a failed try.
    ///
    /// - Parameters:
    ///   - upload: The upload.
    ///   - due: The time of the next try, in seconds since the start.
    /// - Returns: Whether the disk has taken note of it.
    func postpone(_ upload: Upload, until due: Int64) -> Bool {
        (try? connection.run(
            "UPDATE uploads SET tries = tries + 1, due = ?, awaited = 0 WHERE key = ?", .integer(due),
            .text(upload.key.text))) != nil
    }

    /// Removes an upload from the list; returns whether the disk has taken note of it.
    func remove(_ upload: Upload) -> Bool {
        (try? connection.run("DELETE FROM uploads WHERE key = ?", .text(upload.key.text))) != nil
    }

    /// Returns the oldest awaited uploads that are due by `now`, in seconds since the start; without any, another one.
    func first(_ count: Int, dueBy now: Int64) -> [Upload] {
        let awaited = some("awaited = 1 AND due <= ? ORDER BY number", count, dueBy: now)
        return awaited.isEmpty ? some("due <= ? ORDER BY random()", 1, dueBy: now) : awaited
    }

    private func some(_ condition: StaticString, _ count: Int, dueBy now: Int64) -> [Upload] {
        var uploads: [Upload] = []
        try? connection.rows(
            """
            SELECT key, path, length, hash, replaces, tries FROM uploads
            WHERE place = ? AND private <= ? AND \(condition) LIMIT ?
            """,
            .text(home.place), .flag(home.takesPrivate), .integer(now), .integer(Int64(count))
        ) { row in
            guard let key = ObjectKey(row.text(0)) else { return }
            uploads.append(
                Upload(
                    key: key, path: row.text(1), length: row.int64(2), hash: UInt64(bitPattern: row.int64(3)),
                    replaces: row.int64(4) != 0, tries: Int(clamping: row.int64(5))))
        }
        return uploads
    }

    /// The time of the next upload, in seconds since the start; nil if none waits.
    var nextDue: Int64? {
        try? connection.first("SELECT due FROM uploads ORDER BY due LIMIT 1") { row in row.int64(0) }
    }

    /// The number of waiting uploads.
    var count: Int {
        (try? connection.first("SELECT count(*) FROM uploads") { row in row.int(0) }) ?? 0
    }

    func close() { connection.close() }
}
