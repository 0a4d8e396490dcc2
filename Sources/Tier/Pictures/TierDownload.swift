internal import Digests
internal import HTTP
internal import ObjectStore
internal import Synchronization

/// Takes one picture from the store: its bytes are handed on as they come, and hashed, so that the end tells whether they are right.
///
/// A store that crawls is left alone: after the first bytes so many must have come as a slow disk brings.
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
        case failed(StoreError)
    }

    /// Bytes a second that must have come, measured from the first one on.
    static let slowest: Int64 = 512 << 10
    /// How long that is not looked at.
    static let grace = Duration.seconds(1)

    private struct State: Sendable {
        var head: HTTPHead?
        var description: ObjectDescription?
        var received: Int64 = 0
        var begun: ContinuousClock.Instant?
        var failure: StoreError?
        var isWrong = false
        var isForeign = false
        var transfer: (any Transfer)?
        var continuation: CheckedContinuation<Outcome, Never>?
        var isCancelled = false
        var errorBody: [UInt8] = []

        /// Counts bytes; returns where they go, or nil if they come too slowly.
        mutating func take(_ count: Int64, now: ContinuousClock.Instant) -> Int64? {
            let first = begun ?? now
            begun = first
            guard received >= TierDownload.due(after: now - first) else {
                failure = .unreachable("it is too slow")
                return nil
            }
            let offset = received
            received += count
            return offset
        }
    }

    private let state = Mutex(State())
    private let hash = XXH3()
    private let length: Int64?
    private let key: ObjectKey
    private let time: TimeSource
    private let write: @Sendable (UnsafeRawBufferPointer, Int64) -> Bool

    /// - Parameters:
    ///   - length: Bytes that it must have; nil if nobody knows.
    ///   - key: What it must have been written as.
    ///   - time: Measures the pace.
    ///   - write: Takes the bytes.
    init(
        length: Int64?, key: ObjectKey, time: TimeSource,
        write: @escaping @Sendable (UnsafeRawBufferPointer, Int64) -> Bool
    ) {
        self.length = length
        self.key = key
        self.time = time
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
        // The first byte has a deadline of its own; libcurl's is the end of the whole.
        let watch = Task { [time] in
            try await time.sleep(TierStore.patience)
            giveUpSilent()
        }
        defer {
            watch.cancel()
            if let head = state.withLock({ $0.head }) { store.heard(head) }
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                state.withLock { $0.continuation = continuation }
                let transfer = store.transport.start(request, sink: self)
                urgency.follow(transfer)
                let isOver = state.withLock { state in
                    if state.continuation != nil { state.transfer = transfer }
                    return state.isCancelled
                }
                if isOver { transfer.cancel() }
            }
        } onCancel: {
            end(.cancelled)
        }
    }

    /// What the store answered, once it has.
    var status: Int? { state.withLock { $0.head?.status } }

    private func giveUpSilent() {
        if state.withLock({ $0.begun == nil }) { end(.unreachable("it did not answer in time")) }
    }

    private func end(_ error: StoreError) {
        let transfer = state.withLock { state in
            state.failure = state.failure ?? error
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }

    // MARK: - What comes

    func head(_ head: HTTPHead) -> Bool {
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
        guard let offset = state.withLock({ $0.take(count, now: now) }) else { return false }
        unsafe hash.add(bytes)
        return unsafe write(bytes, offset)
    }

    /// Bytes that must have come so long after the first.
    private static func due(after passed: Duration) -> Int64 {
        let seconds: Double = max(Duration.zero, passed - grace) / Duration.seconds(1)
        return Int64(seconds * Double(slowest))
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let ended = state.withLock { state in
            let ended = state
            state.continuation = nil
            state.transfer = nil
            return ended
        }
        ended.continuation?.resume(returning: outcome(ended, result))
    }

    private func outcome(_ state: State, _ result: Result<Void, HTTPError>) -> Outcome {
        if state.isForeign { return .foreign }
        if state.isWrong { return .wrong }
        if let failure = state.failure { return .failed(failure) }
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
