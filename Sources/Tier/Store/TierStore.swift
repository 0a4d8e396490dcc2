internal import Digests
internal import HTTP
internal import ObjectStore
internal import Synchronization

/// The store as the tier asks it: within bounds, not while it rests, and never with an error for whoever asks.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierStore: Sendable {
    /// How long any answer may take, and a picture's first byte: after that the service is asked instead.
    static let patience = Duration.seconds(2)
    /// A document larger than this is none of ours, in bytes.
    static let longestDocument: Int64 = 8 << 20

    let store: ObjectStore
    let time: TimeSource
    private let health = Mutex(TierHealth())
    private let counts = Mutex(TierCounts())
    /// Whether the store knows conditions, as far as it has told.
    private let conditions = Mutex(true)
    private let report: @Sendable (TierEvent) -> Void

    init(_ store: ObjectStore, time: TimeSource, report: @escaping @Sendable (TierEvent) -> Void) {
        self.store = store
        self.time = time
        self.report = report
    }

    /// The store's clock in Unix seconds, as far as it has told; no other clock says how old something is.
    var now: Int64? { store.now }

    var state: TierHealth.State { health.withLock { $0.state } }

    var figures: TierCounts { counts.withLock { $0 } }

    func count(_ change: (inout TierCounts) -> Void) { counts.withLock { change(&$0) } }

    /// For how long the store will not be asked for something; nil if it may be now.
    func rests(_ use: TierHealth.Use) -> Duration? {
        let now = time.now()
        return health.withLock { $0.restEnds(use, now: now) }.map { now.duration(to: $0) }
    }

    /// Tells what there is to log.
    func tell(_ event: TierEvent) { report(event) }

    // MARK: - What is asked

    /// Fetches a document; nil if the store cannot be asked or does not answer.
    func get(_ key: ObjectKey, unless etag: String? = nil) async -> ObjectStore.Found? {
        let found = await ask(.read) { deadline async throws(StoreError) in
            try await store.get(key, unless: etag, limit: Self.longestDocument, deadline: deadline)
        }
        return try? found?.get()
    }

    /// What came of writing something.
    enum Writing: Sendable {
        case done(etag: String?)
        /// The condition does not hold.
        case declined
        /// The store has something against what was to be written.
        case notTaken(StoreError)
        /// The store did not do it.
        case failed(StoreError)
        /// It was not asked: it rests, or knows no conditions.
        case unasked

        fileprivate init(_ error: StoreError) {
            if case .notTaken = error { self = .notTaken(error) } else { self = .failed(error) }
        }
    }

    /// Writes a document.
    ///
    /// - Parameters:
    ///   - key: Its key.
    ///   - bytes: Its content.
    ///   - condition: When to write it.
    ///   - insists: Whether it is better not written than written without the condition, which some stores do not know.
    /// - Returns: What came of it.
    func put(
        _ key: ObjectKey, _ bytes: [UInt8], if condition: ObjectStore.Condition, insists: Bool = false
    ) async -> Writing {
        let knows = conditions.withLock { $0 }
        guard knows || !insists else { return .unasked }
        let description = ObjectDescription(
            mediaType: "application/x-ndjson", length: Int64(bytes.count), hash: XXH3.hex(bytes), key: key)
        let written = await ask(.write) { deadline async throws(StoreError) -> DocumentWriting in
            do throws(StoreError) {
                let condition = knows ? condition : .always
                return .answered(
                    try await store.put(key, RequestContent(bytes), description, if: condition, deadline: deadline))
            } catch {
                guard knows, error == .troubled(status: 501) else { throw error }
                return .unknownCondition
            }
        }
        switch written {
        case nil: return .unasked
        case .failure(let error): return Writing(error)
        case .success(.answered(let written)): return written.map { .done(etag: $0.etag) } ?? .declined
        case .success(.unknownCondition):
            conditions.withLock { $0 = false }
            return await put(key, bytes, if: condition, insists: insists)
        }
    }

    /// What a store answered to a document.
    private enum DocumentWriting {
        case answered(ObjectStore.Written?)
        /// It does not know conditions, and did nothing (501: RFC 9110, section 15.6.2).
        case unknownCondition
    }

    /// Writes a picture, of which others see nothing before all of it is there.
    func put(
        _ key: ObjectKey, _ content: RequestContent, _ description: ObjectDescription, within patience: Duration
    ) async -> Writing {
        let written = await ask(.write, within: patience) { deadline async throws(StoreError) in
            try await store.put(key, content, description, transferClass: .bulk, deadline: deadline)
        }
        switch written {
        case nil: return .unasked
        case .failure(let error): return Writing(error)
        case .success(let written): return written.map { .done(etag: $0.etag) } ?? .declined
        }
    }

    /// Removes an object; whether that went well matters to nobody.
    func delete(_ key: ObjectKey) async {
        _ = await ask(.write) { deadline async throws(StoreError) in
            try await store.delete(key, deadline: deadline)
        }
    }

    /// Nil if the store rests.
    private func ask<Answer: Sendable>(
        _ use: TierHealth.Use, within patience: Duration = TierStore.patience,
        _ send: (ContinuousClock.Instant) async throws(StoreError) -> Answer
    ) async -> Result<Answer, StoreError>? {
        guard begin(use) else { return nil }
        do throws(StoreError) {
            let answer = try await send(time.now() + patience)
            ended(use)
            return .success(answer)
        } catch {
            failed(use, error)
            return .failure(error)
        }
    }

    // MARK: - Health

    /// Whether a request may be sent now.
    func begin(_ use: TierHealth.Use) -> Bool {
        let now = time.now()
        return health.withLock { $0.mayAsk(use, now: now) }
    }

    /// A request was answered.
    func ended(_ use: TierHealth.Use) { change { $0.worked(use) } }

    /// A request was not.
    func failed(_ use: TierHealth.Use, _ error: StoreError) {
        let now = time.now()
        change { $0.failed(use, error, now: now) }
    }

    /// An object's bytes are those that were written.
    func isRight() { change { $0.toldTheTruth() } }

    /// They are not.
    func isWrong(_ key: ObjectKey) {
        let now = time.now()
        count { $0.wrong += 1 }
        report(.wrongObject(key.text))
        change { $0.lied(now: now) }
    }

    private func change(_ change: (inout TierHealth) -> Void) {
        let (before, after) = health.withLock { health in
            let before = health.state
            change(&health)
            return (before, health.state)
        }
        guard before != after else { return }
        switch after {
        case .works: report(.works)
        case .rests(let reason): report(.rests(reason: reason))
        case .readOnly(let reason): report(.readOnly(reason: reason))
        }
    }
}

/// What there is to log of the tier.
package enum TierEvent: Hashable, Sendable {
    /// It does what it should again.
    case works
    /// The service is asked in its place for a while.
    case rests(reason: String)
    /// It takes nothing for a while.
    case readOnly(reason: String)
    /// An object does not have the bytes that were written; it is replaced as soon as it has been downloaded.
    case wrongObject(String)
    /// The store has something against a picture, which is not tried again.
    case notTaken(String, reason: String)
}

/// What came of the tier since the start.
package struct TierCounts: Hashable, Sendable {
    /// Pictures that came from it, and those that were not there.
    package var hits = 0
    package var misses = 0
    /// Pictures that another machine was downloading, and that came from it a moment later.
    package var awaited = 0
    /// Parts of documents that came from it, and those that were asked of the service.
    package var answersShared = 0
    package var answersAsked = 0
    /// Objects with bytes that nobody wrote.
    package var wrong = 0
    package var uploads = 0
    /// Pictures that the store did not take, or that had gone before their turn.
    package var dropped = 0
    package var receivedBytes: Int64 = 0
    package var sentBytes: Int64 = 0
}
