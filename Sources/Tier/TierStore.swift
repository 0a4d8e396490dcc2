import Digests
import HTTP
import ObjectStore
import Rankings
import Synchronization

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

// MARK: - Health

/// Whether the store is worth asking: a failure makes it rest, for longer each time, and one request then tries it out.
///
/// Reading that fails ends writing as well; writing that fails ends writing alone, for a store may be full, or its way slow in one
/// direction.
///
/// Pure: it is told what happened and when.
struct TierHealth: Sendable {
    /// What can be asked of a store.
    enum Use: Sendable {
        case read
        case write
    }

    /// What there is to tell people when it changes.
    enum State: Hashable, Sendable {
        case works
        /// Nothing is asked of it for a while.
        case rests(reason: String)
        /// It is read, and nothing is written to it for a while.
        case readOnly(reason: String)
    }

    /// How long a first failure keeps it from being asked; twice as long after each further one.
    static let firstRest = Duration.seconds(30)
    /// A store that has been away for a day costs a try in so long.
    static let longestRest = Duration.seconds(300)
    /// Wrong bytes in a row after which it is taken for broken: one object may be damaged, three are no accident.
    static let mostLies = 3

    /// When it may be asked again, and whether somebody is trying it.
    private struct Rest: Sendable {
        var until: ContinuousClock.Instant
        var length: Duration
        var reason: String
        var isTried = false

        func mayTry(_ now: ContinuousClock.Instant) -> Bool { now >= until && !isTried }
    }

    private var rest: Rest?
    private var writeRest: Rest?
    private var lies = 0

    var state: State {
        if let rest { return .rests(reason: rest.reason) }
        if let writeRest { return .readOnly(reason: writeRest.reason) }
        return .works
    }

    /// When it will be asked again at the earliest; nil if it may be now.
    func restEnds(_ use: Use, now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        [rest, use == .write ? writeRest : nil].compactMap { $0?.until }.filter { $0 > now }.max()
    }

    /// Whether a request may be sent; the first one after a rest is alone until it has ended.
    mutating func mayAsk(_ use: Use, now: ContinuousClock.Instant) -> Bool {
        guard rest?.mayTry(now) ?? true, use == .read || writeRest?.mayTry(now) ?? true else { return false }
        rest?.isTried = true
        if use == .write { writeRest?.isTried = true }
        return true
    }

    /// It answered as it should.
    mutating func worked(_ use: Use) {
        rest = nil
        if use == .write { writeRest = nil }
    }

    /// The bytes of an object were right.
    mutating func toldTheTruth() { lies = 0 }

    /// The bytes of an object were wrong.
    mutating func lied(now: ContinuousClock.Instant) {
        lies += 1
        guard lies >= Self.mostLies else { return }
        lies = 0
        Self.begin(&rest, "its objects are damaged", now)
    }

    /// It did not do what was asked.
    mutating func failed(_ use: Use, _ error: StoreError, now: ContinuousClock.Instant) {
        switch (use, error) {
        // Nobody wanted it any more, or the store has something against what was to be written; whoever comes next may try it.
        case (_, .cancelled), (.write, .notTaken):
            rest?.isTried = false
            writeRest?.isTried = false
        // What may be read goes on being read; whether it may be, who reads next finds out.
        case (.write, _):
            if case .full = error { rest = nil } else if case .refused = error { rest = nil }
            rest?.isTried = false
            Self.begin(&writeRest, error.text, now)
        case (.read, _): Self.begin(&rest, error.text, now)
        }
    }

    private static func begin(_ rest: inout Rest?, _ reason: String, _ now: ContinuousClock.Instant) {
        // Several fail at the same moment: that is one failure.
        if let rest, rest.until > now { return }
        let length = rest.map { min($0.length * 2, longestRest) } ?? firstRest
        rest = Rest(until: now + length, length: length, reason: reason)
    }
}

// MARK: - Leases

/// Says which machine does a piece of work: the one whose lease is on the store.
///
/// A lease names for how long it holds, from the moment at which the store wrote it and by the store's own clock: no clock of
/// another machine matters. It is advice: who does not get one in time works without it, and writes the same.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for microseconds.
final class Leases: Sendable {
    /// A lease that this machine has.
    struct Lease: Sendable {
        let key: ObjectKey
        /// Until when it holds, at the most.
        let ends: ContinuousClock.Instant
    }

    /// What came of asking for one.
    enum Claim: Sendable {
        case held(Lease)
        /// Another machine has it for so long at most.
        case taken(Duration)
        /// The store cannot tell.
        case unknown
    }

    /// No lease holds longer, whatever it says of itself.
    static let longest: Int64 = 60

    private let store: TierStore
    /// Tells this run of this machine from all others.
    private let owner: String
    /// When others' leases were first seen here, which counts where the store tells no times.
    private let seen = Mutex<[ObjectKey: Sight]>([:])

    private struct Sight {
        let etag: String?
        let first: ContinuousClock.Instant
    }

    /// More are cleared of those that have ended.
    private static let mostSeen = 256

    init(_ store: TierStore, owner: String) {
        self.store = store
        self.owner = owner
    }

    /// Tries to get the lease of a piece of work.
    ///
    /// - Parameters:
    ///   - work: What it is about.
    ///   - seconds: For how long; who is not done by then does the rest without it.
    /// - Returns: Who has it.
    func claim(_ work: ObjectKey, seconds: Int64) async -> Claim {
        guard let key = ObjectKey("leases/\(work.text)") else { return .unknown }
        switch await write(key, seconds: seconds, if: .isNew) {
        case .some(let lease?): return .held(lease)
        case nil: return .unknown
        case .some(nil): break
        }
        guard let found = await store.get(key) else { return .unknown }
        // It ended meanwhile; the next look will tell who is next.
        guard case .object(let object) = found else { return .taken(.zero) }
        let text = (try? JSONReader.read(object.bytes)) ?? .null
        let length = min(max(text["seconds"].number ?? 0, 0), Self.longest)
        let left = length - (object.age ?? age(key, object.etag))
        if left > 0, text["owner"].text == owner {
            return .held(Lease(key: key, ends: store.time.now() + .seconds(left)))
        }
        guard left < 0 || text["owner"].text == owner, let etag = object.etag else {
            return .taken(.seconds(max(0, left)))
        }
        switch await write(key, seconds: seconds, if: .isStill(etag)) {
        case .some(let lease?): return .held(lease)
        case .some(nil): return .taken(.seconds(seconds))
        case nil: return .unknown
        }
    }

    /// For how many seconds a lease has been there, as far as was seen here.
    private func age(_ key: ObjectKey, _ etag: String?) -> Int64 {
        let now = store.time.now()
        return seen.withLock { seen in
            if let sight = seen[key], sight.etag == etag { return (now - sight.first).components.seconds }
            if seen.count >= Self.mostSeen {
                seen = seen.filter { now - $0.value.first <= .seconds(Self.longest) }
                // As many at one moment are nobody's leases.
                if seen.count >= Self.mostSeen { seen = [:] }
            }
            seen[key] = Sight(etag: etag, first: now)
            return 0
        }
    }

    /// Gives a lease back; one that has ended may be another machine's by now.
    func release(_ lease: Lease) async {
        if store.time.now() < lease.ends { await store.delete(lease.key) }
    }

    /// Nil if the store did not answer, an empty answer if the condition does not hold.
    private func write(_ key: ObjectKey, seconds: Int64, if condition: ObjectStore.Condition) async -> Lease?? {
        let ends = store.time.now() + .seconds(seconds)
        let text = JSONText.object([("owner", .text(owner)), ("seconds", .integer(seconds))]).line
        switch await store.put(key, Array(text.utf8), if: condition, insists: true) {
        case .done: return .some(Lease(key: key, ends: ends))
        case .declined: return .some(nil)
        case .notTaken, .failed, .unasked: return nil
        }
    }
}

// MARK: - Keys

/// What an object is, as its key tells: one of the forms that rankfs writes, or somebody else's.
///
/// Whoever shares the bucket may have folders of the same names, so that the whole key has to fit.
enum ObjectKind: Hashable, Sendable {
    /// Of a service.
    case picture(String)
    case document(String)
    case lease

    /// Nil for a key that rankfs does not write.
    init?(_ key: ObjectKey) {
        let parts = key.text.split(separator: "/").map(String.init)
        switch parts.first {
        case "pictures" where Self.isPicture(parts): self = .picture(parts[1])
        case "documents" where Self.isDocument(parts): self = .document(parts[1])
        case "leases" where Self.isLease(Array(parts.dropFirst())): self = .lease
        default: return nil
        }
    }

    /// The folder of a work's pictures: so many that none of them has too many.
    static func folder(of work: WorkID) -> String {
        String((work.rawValue % 256 + 256) % 256, radix: 16)
    }

    private static func isPicture(_ parts: [String]) -> Bool {
        guard parts.count == 4, let picture = PictureID(key: parts[3]) else { return false }
        return parts[2] == folder(of: picture.work)
    }

    private static func isDocument(_ parts: [String]) -> Bool {
        switch (parts.count, parts.dropFirst(2).first) {
        case (5, "days"): Day(parts[4]) != nil
        case (4, "newest"): true
        case (4, "works"): isNumber(parts[3])
        case (4, "artists"): isHash(parts[3])
        case (4, "authors"):
            isNumber(parts[3])
                || isNumber(parts[3].dropLast(17)) && isHash(parts[3].suffix(17).dropFirst())
                    && parts[3].suffix(17).first == "-"
        default: false
        }
    }

    /// What is below `leases/`: the key that a lease is for, or an examination of the store.
    private static func isLease(_ parts: [String]) -> Bool {
        switch parts.first {
        case "pictures": isPicture(parts)
        case "documents": isDocument(parts)
        case "examination": parts.count == 2
        default: false
        }
    }

    private static func isNumber(_ text: some StringProtocol) -> Bool { Int64(text).map { "\($0)" == text } ?? false }

    /// As `XXH3.hex` writes it.
    private static func isHash(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}

// MARK: - Waiting

extension Task where Failure == Never {
    /// What the task returns, or nil once a moment has come or the caller is cancelled; the task goes on.
    func value(until moment: ContinuousClock.Instant, _ time: TimeSource) async -> Success? {
        let (values, end) = AsyncStream<Success>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let timer = Task<Void, Never> {
            try? await time.sleep(moment - time.now())
            end.finish()
        }
        // Not a part of the caller: nobody waits for it who has given up.
        _ = Task<Void, Never> {
            end.yield(await value)
            end.finish()
        }
        defer { timer.cancel() }
        var iterator = values.makeAsyncIterator()
        return await iterator.next()
    }
}
