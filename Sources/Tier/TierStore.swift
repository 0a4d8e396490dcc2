import System
import HTTP
import Rankings
import Synchronization

/// The object store as the tier uses it: with time limits, not while it rests, and without errors for the caller.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierStore: Sendable {
    /// The time limit of an answer, and of a picture's first byte: after that the request goes to the service.
    static let patience = Duration.seconds(2)
    /// The most bytes of a document; rankfs writes no larger one.
    static let longestDocument: Int64 = 8 << 20

    let store: ObjectStore
    let time: TimeSource
    private let health = Mutex(TierHealth())
    private let counts = Mutex(TierCounts())
    /// Whether the store supports conditions, as far as its answers show.
    private let conditions = Mutex(true)
    private let report: @Sendable (TierEvent) -> Void

    init(_ store: ObjectStore, time: TimeSource, report: @escaping @Sendable (TierEvent) -> Void) {
        self.store = store
        self.time = time
        self.report = report
    }

    /// The store's clock in Unix seconds, if it has declared its time; ages are measured by this clock alone.
    var now: Int64? { store.now }

    var state: TierHealth.State { health.withLock { $0.state } }

    var figures: TierCounts { counts.withLock { $0 } }

    func count(_ change: (inout TierCounts) -> Void) { counts.withLock { change(&$0) } }

    /// Returns the time until the store may be used again; nil if it may be used now.
    func rests(_ use: TierHealth.Use) -> Duration? {
        let now = time.now()
        return health.withLock { $0.restEnds(use, now: now) }.map { now.duration(to: $0) }
    }

    /// Reports an event to log.
    func tell(_ event: TierEvent) { report(event) }

    // MARK: - Requests

    /// Downloads a document; nil if the store rests or does not answer.
    func get(_ key: ObjectKey, unless etag: String? = nil) async -> ObjectStore.Found? {
        let found = await ask(.read) { deadline async throws(Failure) in
            try await store.get(key, unless: etag, limit: Self.longestDocument, deadline: deadline)
        }
        return try? found?.get()
    }

    /// The result of a write.
    enum Writing: Sendable {
        case done(etag: String?)
        /// The condition does not hold.
        case declined
        /// The store rejects the object.
        case notTaken(Failure)
        /// The store did not carry out the request.
        case failed(Failure)
        /// No request was sent: the store rests, or does not support conditions.
        case unasked

        fileprivate init(_ error: Failure) {
            if case .notTaken = error { self = .notTaken(error) } else { self = .failed(error) }
        }
    }

    /// Writes a document.
    ///
    /// - Parameters:
    ///   - key: The key of the document.
    ///   - bytes: The content of the document.
    ///   - condition: The condition of the write.
    ///   - insists: Whether the write is omitted if the store does not support conditions.
    /// - Returns: The result of the write.
    func put(
        _ key: ObjectKey, _ bytes: [UInt8], if condition: ObjectStore.Condition, insists: Bool = false
    ) async -> Writing {
        let knows = conditions.withLock { $0 }
        guard knows || !insists else { return .unasked }
        let description = ObjectDescription(
            mediaType: "application/x-ndjson", length: Int64(bytes.count), hash: XXH3.hex(bytes), key: key)
        let written = await ask(.write) { deadline async throws(Failure) -> DocumentWriting in
            do throws(Failure) {
                let condition = knows ? condition : .always
                return .answered(
                    try await store.put(key, RequestContent(bytes), description, if: condition, deadline: deadline))
            } catch {
                guard knows, error == .answered(status: 501) else { throw error }
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

    /// The answer of a store to the write of a document.
    private enum DocumentWriting {
        case answered(ObjectStore.Written?)
        /// The store does not support conditions, and wrote nothing (501: RFC 9110, section 15.6.2).
        case unknownCondition
    }

    /// Writes a picture; other machines see nothing of it before all of it is stored.
    func put(
        _ key: ObjectKey, _ content: RequestContent, _ description: ObjectDescription, within patience: Duration
    ) async -> Writing {
        let written = await ask(.write, within: patience) { deadline async throws(Failure) in
            try await store.put(key, content, description, transferClass: .bulk, deadline: deadline)
        }
        switch written {
        case nil: return .unasked
        case .failure(let error): return Writing(error)
        case .success(let written): return written.map { .done(etag: $0.etag) } ?? .declined
        }
    }

    /// Removes an object; a failure is ignored.
    func delete(_ key: ObjectKey) async {
        _ = await ask(.write) { deadline async throws(Failure) in
            try await store.delete(key, deadline: deadline)
        }
    }

    /// Sends a request and records its result; nil if the store rests.
    private func ask<Answer: Sendable>(
        _ use: TierHealth.Use, within patience: Duration = TierStore.patience,
        _ send: (ContinuousClock.Instant) async throws(Failure) -> Answer
    ) async -> Result<Answer, Failure>? {
        guard begin(use) else { return nil }
        do throws(Failure) {
            let answer = try await send(time.now() + patience)
            ended(use)
            return .success(answer)
        } catch {
            failed(use, error)
            return .failure(error)
        }
    }

    // MARK: - Health

    /// Returns whether a request may be sent now.
    func begin(_ use: TierHealth.Use) -> Bool {
        let now = time.now()
        return health.withLock { $0.mayAsk(use, now: now) }
    }

    /// Records that a request was answered.
    func ended(_ use: TierHealth.Use) { change { $0.worked(use) } }

    /// Records that a request failed.
    func failed(_ use: TierHealth.Use, _ error: Failure) {
        let now = time.now()
        change { $0.failed(use, error, now: now) }
    }

    /// Records that an object's bytes are those that were written.
    func isRight() { change { $0.toldTheTruth() } }

    /// Records and reports that an object's bytes are not those that were written.
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

/// The events of the tier to log.
package enum TierEvent: Hashable, Sendable {
    /// The tier works again.
    case works
    /// The store rests: for a while, requests go to the service in its place.
    case rests(reason: String)
    /// The store takes no uploads for a while.
    case readOnly(reason: String)
    /// An object does not have the bytes that were written; it is replaced as soon as it has been downloaded.
    case wrongObject(String)
    /// The store rejects a picture, which is not tried again.
    case notTaken(String, reason: String)
}

/// The counts of the tier since the start.
package struct TierCounts: Hashable, Sendable {
    /// The pictures that came from the object store, and those that it did not have.
    package var hits = 0
    package var misses = 0
    /// The pictures that another machine was downloading, and that came from the object store a moment later.
    package var awaited = 0
    /// The parts of documents that came from the object store, and those that were requested from the service.
    package var answersShared = 0
    package var answersAsked = 0
    /// The objects with bytes other than those written.
    package var wrong = 0
    package var uploads = 0
    /// The pictures that the store rejected, or that were gone before their upload.
    package var dropped = 0
    package var receivedBytes: Int64 = 0
    package var sentBytes: Int64 = 0
}

// MARK: - Health

/// The availability of the store: a failure makes it rest, for longer each time, and one request then probes it.
///
/// A failed read ends writing as well. A failed write ends writing alone, since a store may be full, or its line slow in one
/// direction.
///
/// A pure value: it takes the events and their times as parameters.
struct TierHealth: Sendable {
    /// The uses of a store.
    enum Use: Sendable {
        case read
        case write
    }

    /// The state that is reported to the user when it changes.
    enum State: Hashable, Sendable {
        case works
        /// No request is sent to the store for a while.
        case rests(reason: String)
        /// The store is read, and nothing is written to it for a while.
        case readOnly(reason: String)
    }

    /// The rest after a first failure; it doubles with each further one.
    static let firstRest = Duration.seconds(30)
    /// The longest rest: a store that has been away for a day costs one probe in this time.
    static let longestRest = Duration.seconds(300)
    /// The number of consecutive damaged objects that make a store rest: one may be an accident, three are not.
    static let mostLies = 3

    /// A rest: its end, and whether a probe is in progress.
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

    /// Returns the earliest time of the next request; nil if it may be sent now.
    func restEnds(_ use: Use, now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        [rest, use == .write ? writeRest : nil].compactMap { $0?.until }.filter { $0 > now }.max()
    }

    /// Returns whether a request may be sent; the first one after a rest is the only one until it has ended.
    mutating func mayAsk(_ use: Use, now: ContinuousClock.Instant) -> Bool {
        guard rest?.mayTry(now) ?? true, use == .read || writeRest?.mayTry(now) ?? true else { return false }
        rest?.isTried = true
        if use == .write { writeRest?.isTried = true }
        return true
    }

    /// Records a successful request.
    mutating func worked(_ use: Use) {
        rest = nil
        if use == .write { writeRest = nil }
    }

    /// Records an object with the right bytes.
    mutating func toldTheTruth() { lies = 0 }

    /// Records an object with wrong bytes.
    mutating func lied(now: ContinuousClock.Instant) {
        lies += 1
        guard lies >= Self.mostLies else { return }
        lies = 0
        Self.begin(&rest, "its objects are damaged", now)
    }

    /// Records a failed request.
    mutating func failed(_ use: Use, _ error: Failure, now: ContinuousClock.Instant) {
        switch (use, error) {
        // The request was cancelled, or the store rejects this object; the next request may probe the store.
        case (_, .cancelled), (.write, .notTaken):
            rest?.isTried = false
            writeRest?.isTried = false
        // Objects that may be read are still read; the next read determines whether they may.
        case (.write, _):
            if case .full = error { rest = nil } else if case .refused = error { rest = nil }
            rest?.isTried = false
            Self.begin(&writeRest, error.cause, now)
        case (.read, _): Self.begin(&rest, error.cause, now)
        }
    }

    private static func begin(_ rest: inout Rest?, _ reason: String, _ now: ContinuousClock.Instant) {
        // Several failures at the same moment count as one.
        if let rest, rest.until > now { return }
        let length = rest.map { min($0.length * 2, longestRest) } ?? firstRest
        rest = Rest(until: now + length, length: length, reason: reason)
    }
}

// MARK: - Leases

/// The choice of the machine that does a piece of work: the one with the lease in the object store.
///
/// A lease holds for a declared time from the moment at which the store wrote it, by the store's own clock: clocks of other
/// machines do not matter. Leases are advisory: a machine that does not get one in time works without it, and writes the same
/// content.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for microseconds.
final class Leases: Sendable {
    /// A lease that this machine holds.
    struct Lease: Sendable {
        let key: ObjectKey
        /// The latest end of the lease.
        let ends: ContinuousClock.Instant
    }

    /// The result of a request for a lease.
    enum Claim: Sendable {
        case held(Lease)
        /// Another machine holds the lease, for this time at most.
        case taken(Duration)
        /// The store did not answer.
        case unknown
    }

    /// The longest lease in seconds, whatever length it declares.
    static let longest: Int64 = 60

    private let store: TierStore
    /// The identifier of this run on this machine, which distinguishes it from all others.
    private let owner: String
    /// The times at which other machines' leases were first seen, for stores that declare no times.
    private let seen = Mutex<[ObjectKey: Sight]>([:])

    private struct Sight {
        let etag: String?
        let first: ContinuousClock.Instant
    }

    /// The number of leases above which ended ones are removed.
    private static let mostSeen = 256

    init(_ store: TierStore, owner: String) {
        self.store = store
        self.owner = owner
    }

    /// Tries to get the lease of a piece of work.
    ///
    /// - Parameters:
    ///   - work: The key of the work's object.
    ///   - seconds: The length of the lease in seconds; longer work continues without it.
    /// - Returns: The lease, the remaining time of its present holder, or `unknown`.
    func claim(_ work: ObjectKey, seconds: Int64) async -> Claim {
        guard let key = ObjectKey("leases/\(work.text)") else { return .unknown }
        switch await write(key, seconds: seconds, if: .isNew) {
        case .some(let lease?): return .held(lease)
        case nil: return .unknown
        case .some(nil): break
        }
        guard let found = await store.get(key) else { return .unknown }
        // The lease ended meanwhile; the next request decides about the next holder.
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

    /// Returns the age of a lease in seconds, as far as this machine has seen it.
    private func age(_ key: ObjectKey, _ etag: String?) -> Int64 {
        let now = store.time.now()
        return seen.withLock { seen in
            if let sight = seen[key], sight.etag == etag { return (now - sight.first).components.seconds }
            if seen.count >= Self.mostSeen {
                seen = seen.filter { now - $0.value.first <= .seconds(Self.longest) }
                // So many at one moment cannot be real leases.
                if seen.count >= Self.mostSeen { seen = [:] }
            }
            seen[key] = Sight(etag: etag, first: now)
            return 0
        }
    }

    /// Gives a lease back unless it has ended, when another machine may hold it.
    func release(_ lease: Lease) async {
        if store.time.now() < lease.ends { await store.delete(lease.key) }
    }

    /// Writes a lease; nil if the store did not answer, an inner nil if the condition does not hold.
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

/// The kind of an object by its key: one of the forms that rankfs writes.
///
/// Other users of the bucket may have folders of the same names, so that the whole key must match.
enum ObjectKind: Hashable, Sendable {
    /// A picture of a service.
    case picture(String)
    case document(String)
    case lease

    /// Parses a key; nil for a key that rankfs does not write.
    init?(_ key: ObjectKey) {
        let parts = key.text.split(separator: "/").map(String.init)
        switch parts.first {
        case "pictures" where Self.isPicture(parts): self = .picture(parts[1])
        case "documents" where Self.isDocument(parts): self = .document(parts[1])
        case "leases" where Self.isLease(Array(parts.dropFirst())): self = .lease
        default: return nil
        }
    }

    /// Returns the folder of a work's pictures: there are so many folders that none of them has too many pictures.
    static func folder(of work: WorkID) -> String {
        String((work.rawValue % 256 + 256) % 256, radix: 16)
    }

    private static func isPicture(_ parts: [String]) -> Bool {
        guard parts.count == 4, let picture = PictureID(key: parts[3]) else { return false }
        return parts[2] == folder(of: picture.work)
    }

    private static func isDocument(_ parts: [String]) -> Bool {
        guard parts.count >= 4 else { return false }
        if parts[2] == "newest" { return parts.count == 4 }
        guard let kind = ListingKind.allCases.first(where: { $0.facts.sharedUnder == parts[2] }) else { return false }
        guard parts.count == (kind.facts.form == .day ? 5 : 4), let name = parts.last else { return false }
        switch kind.facts.form {
        case .day: return Day(String(name.prefix(10))) != nil && isPage(name.dropFirst(10))
        case .name: return isHash(name.prefix(16)) && isPage(name.dropFirst(16))
        case .number: return isNumber(name.prefix { $0 != "-" }) && isPage(name.drop { $0 != "-" })
        }
    }

    /// Returns whether the rest of a document's name is that of a page, or empty.
    private static func isPage(_ rest: Substring) -> Bool {
        rest.isEmpty || rest.first == "-" && (isNumber(rest.dropFirst()) || isHash(rest.dropFirst()))
    }

    /// Returns whether a path below `leases/` is the key of the lease's object, or an examination of the store.
    private static func isLease(_ parts: [String]) -> Bool {
        switch parts.first {
        case "pictures": isPicture(parts)
        case "documents": isDocument(parts)
        case "examination": parts.count == 2
        default: false
        }
    }

    private static func isNumber(_ text: some StringProtocol) -> Bool { Int64(text).map { "\($0)" == text } ?? false }

    /// Returns whether a text has the form that `XXH3.hex` writes.
    private static func isHash(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
