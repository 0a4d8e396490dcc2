import HTTP
import ImageCache
import Rankings
import Synchronization

/// A download of one picture from the object store, which passes its bytes on as they arrive and verifies them block by block.
///
/// A slow download is given up for the image host, which brings the rest.
///
/// ## Concurrency
///
/// The transport's thread delivers bytes; the waiting task may be cancelled from any thread. The mutex guards all state.
final class TierDownload: BodyReceiver {
    /// The end of a download.
    enum Outcome: Sendable {
        /// Every byte came; `isQuick` says whether about as soon as from the image host.
        case whole(length: Int64, isQuick: Bool)
        case absent
        /// The bytes are not those that were written, or not a picture's.
        case wrong
        /// The object is of another length than the one that is shown: the image host decides which of them is right.
        ///
        /// The age is in seconds; nil if the store does not state it.
        case ofOtherLength(age: Int64?)
        /// The object has no description: another program wrote it.
        case foreign
        /// A machine without the fleet's secret wrote the object.
        case unproven
        /// The download takes too long; `isThere` says whether any bytes came.
        case slow(isThere: Bool)
        /// The download was given up before its turn, or before its first block, because of what other downloads have shown.
        case withdrawn
        case failed(Failure)
    }

    fileprivate struct State: Sendable {
        var description: ObjectDescription?
        /// The ETag of an object that is so old that it is to be written anew.
        var oldTag: String?
        var digests: BlockDigests?
        var received: Int64 = 0
        /// The time at which the request left the transport's request queue.
        var sentAt: ContinuousClock.Instant?
        /// The bytes that had come when the pace was checked last.
        var checked: (received: Int64, at: ContinuousClock.Instant)?
        /// The download's share of the line, from its first byte on.
        var share: TierPace.Share?
        /// Watches the pace from the moment at which the request is sent.
        var watch: Task<Void, any Error>?
        /// The end, if it is not that of the request.
        var end: Outcome?
        var asking: Task<Result<ObjectStore.Found, Failure>, Never>?
        /// Whether a reader waits; nil if one does.
        var urgency: Urgency?
    }

    private let state = Mutex(State())
    private let length: Int64?
    private let key: ObjectKey
    private let secret: ObjectSecret?
    private let time: TimeSource
    private let pace: TierPace?
    private let sink: PictureSink

    /// - Parameters:
    ///   - length: The required number of bytes; nil if it is unknown.
    ///   - key: The key that the object must have been written under.
    ///   - secret: The secret of the machines that share the store.
    ///   - time: The clock of waits and of the pace.
    ///   - pace: The common pace of downloads; nil for a download limited by the deadline alone.
    ///   - sink: The destination of the bytes.
    init(
        length: Int64?, key: ObjectKey, secret: ObjectSecret?, time: TimeSource, pace: TierPace?, sink: PictureSink
    ) {
        self.length = length
        self.key = key
        self.secret = secret
        self.time = time
        self.pace = pace
        self.sink = sink
    }

    /// Downloads the picture.
    ///
    /// - Parameters:
    ///   - store: The object store.
    ///   - urgency: Reports whether a reader waits; nil if one does.
    ///   - deadline: The time at which the download is given up.
    /// - Returns: The end of the download.
    func run(on store: ObjectStore, urgency: Urgency? = nil, deadline: ContinuousClock.Instant) async -> Outcome {
        state.withLock { $0.urgency = urgency }
        if pace != nil {
            // The wait is longer than any reader's, and other downloads use the line. It is watched before the request
            // can be sent: the watch that follows takes its place.
            watch { download in
                try await download.time.sleep(TierPace.longestPatience)
                download.withdraw()
            }
        }
        let asking = Task {
            await Result { () async throws(Failure) in
                try await store.get(key, into: self, limit: PictureLimits.largest, urgency: urgency, deadline: deadline)
            }
        }
        let isOver = state.withLock { state in
            state.asking = asking
            return state.end != nil
        }
        if isOver { asking.cancel() }
        let result = await withTaskCancellationHandler {
            await asking.value
        } onCancel: {
            end(.failed(.cancelled))
        }
        let ended = state.withLock { state in
            defer { state.asking = nil }
            return state
        }
        ended.watch?.cancel()
        if ended.share != nil { pace?.end(now: time.now()) }
        let outcome = outcome(ended, result)
        switch outcome {
        case .absent: noteFirst()
        case .slow: if ended.proven == 0 { noteFirst(isGivenUp: true) }
        default: break
        }
        return outcome
    }

    /// Takes note of the time to the first block, or to what came in its place.
    private func noteFirst(isGivenUp: Bool = false) {
        let now = time.now()
        if let sent = state.withLock({ $0.sentAt }) { pace?.came(after: now - sent, isGivenUp: isGivenUp, now: now) }
    }

    /// The description and the ETag of an object that is to be written anew; nil for a newer one.
    var old: (description: ObjectDescription, etag: String)? {
        state.withLock { state in
            guard let description = state.description, let etag = state.oldTag else { return nil }
            return (description, etag)
        }
    }

    /// Gives the download up if it has not had its turn.
    func withdraw() {
        if state.withLock({ $0.sentAt == nil }) { end(.withdrawn) }
    }

    /// Gives the download up if no block of it has come, which says something of the store only after some time.
    func leave() {
        let now = time.now()
        let (isLate, isBlank) = state.withLock { state in
            (state.sentAt.map { now - $0 > TierPace.near } ?? false, state.proven == 0)
        }
        if isBlank { end(isLate ? nil : .withdrawn) }
    }

    /// Takes note of a reader of a preload; the download is given up if the image host brings the picture sooner.
    func joined() {
        let now = time.now()
        guard let pace else { return }
        if pace.isFar(now: now) { leave() }
        if state.withLock({ $0.isBehind(pace, now, over: TierPace.glance) }) { end(nil) }
    }

    /// Begins a watch in place of the one before.
    private func watch(_ look: @escaping @Sendable (TierDownload) async throws -> Void) {
        state.withLock { state in
            state.watch?.cancel()
            state.watch = Task { try await look(self) }
        }
    }

    /// Ends the download when its first block is late, or later ones are.
    private func watchPace(_ pace: TierPace) async throws {
        let last = time.now() + pace.firstBlock(of: length)
        while true {
            let left = last - time.now()
            try await time.sleep(left > .zero ? min(left, TierPace.interval) : TierPace.interval)
            let now = time.now()
            if state.withLock({ $0.isSlow(pace, now, last) }) { return end(nil) }
        }
    }

    /// Ends the request with an outcome; nil for a slow one.
    private func end(_ outcome: Outcome?) {
        let asking = state.withLock { state in
            state.end = state.end ?? outcome ?? .slow(isThere: state.received > 0)
            return state.asking
        }
        asking?.cancel()
    }

    // MARK: - Arriving bytes

    func begun() {
        let now = time.now()
        let isFirst = state.withLock { state in
            defer { state.sentAt = state.sentAt ?? now }
            return state.sentAt == nil
        }
        if isFirst, let pace { watch { try await $0.watchPace(pace) } }
    }

    func head(_ head: HTTPAnswer) -> Bool {
        let provenance = Provenance(head, secret, of: key)
        return state.withLock { state in
            switch provenance {
            case .ours(let description):
                state.description = description
                state.oldTag = ObjectDescription.tag(of: head, from: TierStore.renewedAfter, secret)
                state.digests = BlockDigests(length: description.length)
                if description.key != key.text {
                    state.end = .wrong
                } else if let length, description.length != length {
                    state.end = .ofOtherLength(age: head.age)
                }
            case .unproven: state.end = .unproven
            case .foreign: state.end = .foreign
            }
            return state.end == nil
        }
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let now = time.now()
        guard let offset = state.withLock({ $0.take(Int64(bytes.count), pace, now) }), unsafe sink.write(bytes, offset)
        else { return false }
        let before = state.withLock { $0.proven }
        guard let (proven, length) = state.withLock({ unsafe $0.verify(bytes) }) else { return false }
        if before == 0, proven > 0 { noteFirst() }
        guard proven > 0, !sink.proven(proven, length) else { return true }
        state.withLock { $0.end = .wrong }
        return false
    }

    private func outcome(_ state: State, _ result: Result<ObjectStore.Found, Failure>) -> Outcome {
        if case .wrong? = state.end { return .wrong }
        if let description = state.description, state.received > 0, state.digests?.digests == description.blocks {
            let took = state.sentAt.map { time.now() - $0 } ?? .zero
            return .whole(
                length: description.length, isQuick: pace?.isQuick(description.length, in: took) ?? true)
        }
        if let end = state.end { return end }
        switch result {
        // The download used up its time.
        case .failure(.timedOut) where pace != nil && state.received > 0: return .slow(isThere: true)
        case .failure(let error): return .failed(error)
        case .success(.absent): return .absent
        case .success(.object), .success(.unchanged): return .wrong
        }
    }
}

extension TierDownload.State {
    /// The number of bytes that have been verified.
    fileprivate var proven: Int64 { digests?.complete ?? 0 }

    /// Returns whether the image host would bring the picture sooner; `last` is the time at which its first block is late.
    fileprivate mutating func isSlow(
        _ pace: TierPace, _ now: ContinuousClock.Instant, _ last: ContinuousClock.Instant
    ) -> Bool {
        guard let share, proven > 0 else { return now >= last }
        return received < pace.due(share, now: now) || isBehind(pace, now, over: TierPace.interval)
    }

    /// Returns whether a reader waits whom the image host would serve sooner, by the pace over at least so long a time.
    fileprivate mutating func isBehind(
        _ pace: TierPace, _ now: ContinuousClock.Instant, over least: Duration
    ) -> Bool {
        guard let share, let length = description?.length, proven > 0 else { return false }
        let before = checked ?? (0, share.began)
        guard now - before.at >= least else { return false }
        if now - before.at >= TierPace.interval { checked = (received, now) }
        let present = Double(received - before.received) / ((now - before.at) / .seconds(1))
        let isRead = urgency.map { $0.priority == .reader } ?? true
        return isRead && pace.isBehind(length - received, of: length, at: present)
    }

    /// Counts bytes; returns their offset, or nil if they arrive too slowly, or are too many.
    fileprivate mutating func take(_ count: Int64, _ pace: TierPace?, _ now: ContinuousClock.Instant) -> Int64? {
        guard end == nil, let length = description?.length, received + count <= length else {
            end = end ?? .wrong
            return nil
        }
        if let share, let pace, received < pace.due(share, now: now) {
            end = .slow(isThere: received > 0)
            return nil
        }
        share = share ?? pace?.begin(now: now)
        defer { received += count }
        return received
    }

    /// Verifies bytes.
    ///
    /// - Returns: The end of the verified bytes if it has changed, otherwise 0, with the object's length; nil for bytes that are
    ///   not those that were written.
    fileprivate mutating func verify(_ bytes: UnsafeRawBufferPointer) -> (proven: Int64, length: Int64)? {
        guard let description, var digests else { return nil }
        let before = digests.complete
        unsafe digests.add(bytes)
        self.digests = digests
        guard description.blocks.starts(with: digests.digests) else {
            end = .wrong
            return nil
        }
        return (digests.complete > before ? digests.complete : 0, description.length)
    }
}
