internal import Digests
internal import HTTP
internal import ObjectStore
internal import Synchronization

/// Takes one picture from the store: its bytes are handed on as they come, and hashed, so that the end tells whether they are right.
///
/// One that crawls is given up, which tells nothing of the store: the line to it may be slow, or others have it.
///
/// ## Concurrency
///
/// The transport's thread brings bytes; the task that waits may be cancelled from any. The mutex guards all but the hash.
@safe final class TierDownload: ResponseSink {
    /// How a download ended.
    enum Outcome: Sendable {
        case whole(length: Int64)
        case absent
        /// Bytes came that nobody wrote.
        case wrong
        /// It has no description: somebody else wrote it.
        case foreign
        /// It would take too long; whether anything of it came.
        case slow(isThere: Bool)
        case failed(StoreError)
    }

    private struct State: Sendable {
        var head: HTTPAnswer?
        var description: ObjectDescription?
        var received: Int64 = 0
        /// Whether the request has left the transport's queue.
        var isSent = false
        /// Its share of the line, from its first byte on.
        var share: TierPace.Share?
        var isSlow = false
        /// Ends what waits for its turn, then for its first byte, too long.
        var watch: Task<Void, any Error>?
        var failure: StoreError?
        var isWrong = false
        var isForeign = false
        var transfer: Transfer?
        var continuation: CheckedContinuation<Outcome, Never>?
        var errorBody: [UInt8] = []
    }

    private let state = Mutex(State())
    private let hash = XXH3()
    private let length: Int64?
    private let key: ObjectKey
    private let time: TimeSource
    private let pace: TierPace?
    private let write: @Sendable (UnsafeRawBufferPointer, Int64) -> Bool

    /// - Parameters:
    ///   - length: Bytes that it must have; nil if nobody knows.
    ///   - key: What it must have been written as.
    ///   - time: Measures waits and the pace.
    ///   - pace: What downloads must keep to together; nil for one that has all the time that its request has.
    ///   - write: Takes the bytes.
    init(
        length: Int64?, key: ObjectKey, time: TimeSource, pace: TierPace?,
        write: @escaping @Sendable (UnsafeRawBufferPointer, Int64) -> Bool
    ) {
        self.length = length
        self.key = key
        self.time = time
        self.pace = pace
        unsafe self.write = unsafe write
    }

    /// Sends the request and waits for its end.
    ///
    /// - Parameters:
    ///   - request: Made by the store.
    ///   - store: Where to.
    ///   - urgency: Tells when somebody waits.
    /// - Returns: How it ended.
    func run(_ request: HTTPRequest, on store: ObjectStore, urgency: Urgency) async -> Outcome {
        if pace != nil { watch(TierPictures.longestPatience) { $0.giveUpWaiting() } }
        defer {
            state.withLock { $0.watch }?.cancel()
            if let head = state.withLock({ $0.head }) { store.heard(head) }
        }
        let transfer = Transfer(request, sink: self)
        state.withLock { $0.transfer = transfer }
        return await urgency.whileFollowed(by: { transfer.setPriority(.reader) }) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    state.withLock { $0.continuation = continuation }
                    store.transport.begin(transfer)
                }
            } onCancel: {
                end { $0.failure = $0.failure ?? .cancelled }
            }
        }
    }

    /// What the store answered, once it has.
    var status: Int? { state.withLock { $0.head?.status } }

    /// Does something after a while, in place of what was to be done before.
    private func watch(_ duration: Duration, _ then: @escaping @Sendable (TierDownload) -> Void) {
        let watch = Task { [time] in
            try await time.sleep(duration)
            then(self)
        }
        state.withLock { state in
            state.watch?.cancel()
            state.watch = watch
        }
    }

    /// The queue is longer than anybody waits: others have the line.
    private func giveUpWaiting() {
        if state.withLock({ !$0.isSent }) { end { $0.isSlow = true } }
    }

    /// The first byte has a deadline of its own; libcurl's is the end of the whole.
    private func giveUpSilent() {
        if state.withLock({ $0.received == 0 }) { end { $0.failure = $0.failure ?? .timedOut } }
    }

    private func end(_ reason: (inout State) -> Void) {
        let transfer = state.withLock { state in
            reason(&state)
            return state.transfer
        }
        transfer?.cancel()
    }

    // MARK: - What comes

    func begun() {
        let isFirst = state.withLock { state in
            defer { state.isSent = true }
            return !state.isSent
        }
        if isFirst, pace != nil { watch(TierStore.patience) { $0.giveUpSilent() } }
    }

    func head(_ head: HTTPAnswer) -> Bool {
        state.withLock { state in
            state.head = head
            guard head.status == 200 else { return true }
            guard let description = ObjectDescription(head) else {
                state.isForeign = true
                return false
            }
            state.description = description
            state.isWrong = description.length != length ?? description.length || description.key != key.text
            return !state.isWrong
        }
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (now, count) = (time.now(), Int64(bytes.count))
        let isPicture = state.withLock { $0.head?.status == 200 }
        guard isPicture else {
            let text = unsafe Array(bytes.prefix(4096))
            state.withLock { $0.errorBody = text }
            return true
        }
        guard let offset = take(count, now) else { return false }
        unsafe hash.add(bytes)
        return unsafe write(bytes, offset)
    }

    /// Counts bytes; returns where they go, or nil if they come too slowly.
    private func take(_ count: Int64, _ now: ContinuousClock.Instant) -> Int64? {
        state.withLock { state in
            if let share = state.share, let pace, state.received < pace.due(share, now: now) {
                state.isSlow = true
                return nil
            }
            state.share = state.share ?? pace?.begin(now: now)
            let offset = state.received
            state.received += count
            return offset
        }
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let ended = state.withLock { state in
            let ended = state
            state.continuation = nil
            state.transfer = nil
            state.watch = nil
            return ended
        }
        ended.watch?.cancel()
        if ended.share != nil { pace?.end(now: time.now()) }
        ended.continuation?.resume(returning: outcome(ended, result))
    }

    private func outcome(_ state: State, _ result: Result<Void, HTTPError>) -> Outcome {
        if state.isForeign { return .foreign }
        if state.isWrong { return .wrong }
        if let failure = state.failure { return .failed(failure) }
        if state.isSlow { return .slow(isThere: state.received > 0) }
        // It stood still, or took all of its time.
        if pace != nil, state.received > 0, case .failure(.timedOut) = result { return .slow(isThere: true) }
        if case .failure(let error) = result { return .failed(StoreError(error)) }
        guard let head = state.head else { return .failed(.unreachable("it did not answer")) }
        guard head.status == 200 else {
            let error = StoreError(status: head.status, body: state.errorBody)
            return head.status == 404 && error != .noBucket ? .absent : .failed(error)
        }
        guard let description = state.description, description.length == state.received, description.hash == hash.hex
        else { return .wrong }
        return .whole(length: state.received)
    }
}
