internal import Digests
internal import Glibc
internal import HTTP
internal import ObjectStore
internal import Synchronization

/// Brings pictures to the store: a few at once, not faster than a bound, not on networks that cost, and again after a failure.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class Uploads: Sendable {
    /// Pictures on their way at once.
    static let mostAtOnce = 4
    /// Bytes a second, on average: what others in the house still have of an ordinary connection.
    static let pace: Double = 16_777_216
    /// How long nothing is tried after a failure, or while the network costs.
    static let pause = Duration.seconds(30)
    /// Bytes a second that a store takes at least.
    static let slowest: Double = 262_144

    private struct State {
        var task: Task<Void, Never>?
        /// What is going onto the list, one behind the other.
        var listing: Task<Void, Never>?
        /// What is to be done once an upload is over, by key.
        var followUps: [ObjectKey: @Sendable () async -> Void] = [:]
        /// When the next upload may begin.
        var next: ContinuousClock.Instant
        var waiting = 0
        var isClosed = false
        /// Grows with each one that is added.
        var added = 0
    }

    private let store: TierStore
    private let list: UploadList
    private let maySpend: @Sendable () -> Bool
    private let state: Mutex<State>

    init(_ store: TierStore, list: UploadList, maySpend: @escaping @Sendable () -> Bool) {
        self.store = store
        self.list = list
        self.maySpend = maySpend
        state = Mutex(State(next: store.time.now()))
    }

    /// How many wait, for status displays.
    var waiting: Int { state.withLock { $0.waiting } }

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
            state.listing = Task { [list, before = state.listing] in
                await before?.value
                await list.add(upload)
                begin()
            }
        }
    }

    /// Ends what is on its way; what waits is for the next run.
    func close() async {
        let (task, listing) = state.withLock { state in
            state.isClosed = true
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

    private func run() async {
        while !Task.isCancelled {
            let seen = state.withLock { $0.added }
            let uploads = await list.first(Self.mostAtOnce)
            await note()
            if uploads.isEmpty {
                let isOver = state.withLock { state in
                    guard state.added == seen || state.isClosed else { return false }
                    state.task = nil
                    return true
                }
                if isOver { return }
                continue
            }
            var isDone = maySpend() && store.rests == nil
            if isDone {
                isDone = await withTaskGroup(of: Bool.self) { group in
                    for upload in uploads { group.addTask { await self.bring(upload) } }
                    return await group.reduce(true) { $0 && $1 }
                }
            }
            if !isDone { try? await store.time.sleep(max(Self.pause, store.rests ?? .zero)) }
        }
        state.withLock { $0.task = nil }
    }

    /// Brings one; false if it is to be tried again.
    private func bring(_ upload: Upload) async -> Bool {
        await waitForTurn(upload.length)
        guard !Task.isCancelled else { return false }
        if let content = Self.content(of: upload) {
            let description = ObjectDescription(
                mediaType: "application/octet-stream", length: upload.length,
                hash: XXH3.hex(upload.hash), key: upload.key)
            let patience = TierStore.patience + .seconds(Double(upload.length) / Self.slowest)
            guard case .done = await store.put(upload.key, content, description, within: patience) else {
                // Behind the others, whom one that the store never takes would hold up for good.
                if !Task.isCancelled { await list.add(upload) }
                return false
            }
            store.count {
                $0.uploads += 1
                $0.sentBytes += upload.length
            }
        }
        await list.remove(upload)
        let then = state.withLock { $0.followUps.removeValue(forKey: upload.key) }
        await then?()
        return true
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
        let descriptor = unsafe open(upload.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        let file = OpenFile(owning: descriptor)
        guard file.hash(of: upload.length) == upload.hash else { return nil }
        return unsafe RequestContent(length: upload.length) { offset, buffer in
            let count = unsafe pread(file.descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            return count >= 0 ? count : nil
        }
    }
}

/// A descriptor that closes itself when the last reference goes.
private final class OpenFile: Sendable {
    let descriptor: Int32

    init(owning descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// XXH3 of its first bytes; nil if there are fewer.
    func hash(of length: Int64) -> UInt64? {
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
