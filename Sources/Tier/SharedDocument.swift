import System
import HTTP
import Rankings
import Synchronization

/// Answers of the service that several machines need, in one object that they fill together.
///
/// A stored part is taken from the object. For a missing part, the machine with the lease of the document sends a request to the
/// service; the others read the object again at short intervals until the part has come. A machine that has waited as long as an
/// answer takes sends its own request, so that a machine that died, or one with a low rate limit, delays no other.
///
/// An object store that takes longer than the service (`TierStore.late`) delays nobody: the request goes to the service beside the one
/// to the store, and the store's answer serves the parts that are still missing when it comes.
///
/// ## Concurrency
///
/// An actor; waits for the network do not block other calls.
actor SharedDocument {
    /// The times of a kind of document.
    struct Times: Sendable {
        /// The time limit of a wait for another machine's answer, from the last answer that another machine brought; machines add a
        /// sixteenth to three sixteenths to it, so that they do not all ask the service at the same moment.
        let patience: Duration
        /// The time limit of a wait in which other machines bring answers, including all requests to the object store meanwhile.
        let longestPatience: Duration
        /// The shortest time for which answers are collected before they are written together.
        let gathering: Duration
        /// The time limit of a read, which calls do not wait for to the end.
        let reading: Duration
        /// Whether an answer of any time is right, so that an older one of another machine serves as well.
        let isFinal: Bool
        /// The documents kept in memory: after an answer has been used, its content is on the disk.
        let kept: Int

        /// Those of pages, sizes and records.
        static let answers = Times(
            patience: .seconds(6), longestPatience: .seconds(12), gathering: .milliseconds(25),
            reading: TierStore.patience, isFinal: false, kept: 48)
        /// Those of previews: a window waits for them, and a document is large.
        static let previews = Times(
            patience: .seconds(2), longestPatience: .seconds(8), gathering: .seconds(1), reading: .seconds(10),
            isFinal: true, kept: 4)
    }

    /// The interval at which a waiting machine reads the object, at first, later, and while the store has too many requests.
    static let intervals = (
        first: Duration.milliseconds(100), later: Duration.milliseconds(300), busy: Duration.seconds(2)
    )
    /// The interval at which a waiting machine tries to get the lease.
    static let claimInterval = Duration.milliseconds(500)
    /// The length of a document's lease in seconds; a machine renews it while it has requests to send.
    static let leaseSeconds: Int64 = 10
    /// The time limit of a closing machine's wait for its last answers to be written.
    static let lastPatience = Duration.seconds(1)
    /// The time after which the lease is requested beside a read of the object that is still in progress.
    static let apart = Duration.milliseconds(50)
    /// The age at which a read of the object is too old to begin with.
    static let recent = Duration.milliseconds(100)
    /// The number of times a document is read and written again if other machines change it at the same moment.
    static let mostTries = 4

    private let key: ObjectKey
    private let store: TierStore
    private let leases: Leases
    nonisolated let times: Times
    private var parts: [String: DocumentPart] = [:]
    /// Parts that this machine requested and that are not in the object store yet.
    private var unwritten: Set<String> = []
    /// Answers that came before the object store's clock was known.
    private var undated: [String: JSON] = [:]
    private var etag: String?
    private var isOfLaterVersion = false
    /// Whether the object store rejects this document; then it is read, and not written.
    private var isNotTaken = false
    /// The times, by the object store's clock, before which parts of a kind count as absent.
    private var voidBefore: [String: Int64] = [:]
    /// The beginning of the last renewal of pages, which keeps those that it has renewed itself.
    private var voidedBy: ContinuousClock.Instant?
    /// The time at which an answer of another machine was last found in the document.
    private var changed: ContinuousClock.Instant?
    /// The time of the last request to the object store for the document.
    private var looked: ContinuousClock.Instant?
    private var looking: (task: Task<Void, Never>, began: ContinuousClock.Instant)?
    private var lease: Leases.Lease?
    /// The time since which a read of the object shows what the previous holder of the lease has stored.
    private var claimed: ContinuousClock.Instant?
    /// The last time at which another machine had the lease.
    private var declined: ContinuousClock.Instant?
    private var claiming: (task: Task<Bool, Never>, began: ContinuousClock.Instant)?
    /// The time at which a wait for a store with too many requests was given up; further calls do not wait as long again.
    private var gaveUp: ContinuousClock.Instant?
    /// The number of calls that may need the lease.
    private var calls = 0
    private var writing: Task<Void, Never>?
    /// Ends once the next answers are to be written.
    private var gathering: Task<Void, Never>?
    private var isClosed = false
    private var releasing: Task<Void, Never>?

    init(_ key: ObjectKey, store: TierStore, leases: Leases, _ times: Times = .answers) {
        self.key = key
        self.store = store
        self.leases = leases
        self.times = times
    }

    /// Returns an answer from the document, or from the service.
    ///
    /// - Parameters:
    ///   - name: The name of the part.
    ///   - isFresh: Returns whether an answer given at one time is still fresh now, both by the object store's clock.
    ///   - isPossible: Returns whether the service can have given an answer, and gives it still, by the same clock; others are ignored.
    ///   - mayKeep: Returns whether the service's answer, once it has come, belongs in this document.
    ///   - ask: Sends the request to the service.
    /// - Returns: The service's answer, to this machine or to another.
    /// - Throws: The service's error.
    func value<Value: JSONCoded>(
        _ name: String, isFresh: @Sendable (_ asked: Int64, _ now: Int64) -> Bool,
        isPossible: @Sendable (_ value: Value, _ asked: Int64, _ now: Int64) -> Bool = { _, _, _ in true },
        mayKeep: @Sendable () -> Bool = { true },
        ask: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        if RequestUrgency.renewal != nil { return try await renewed(name, mayKeep, ask) }
        calls += 1
        defer {
            calls -= 1
            giveLeaseBack()
        }
        var known: Value? = await known(name, isFresh, isPossible)
        if known == nil {
            let (began, led) = (store.time.now(), holdsLease)
            let pauses = follows ? nil : leases.readPauses(Leases.pauseIntervals.answers)
            known = await shared(name, isFresh, isPossible)
            // It has come with the answers about the document and the lease.
            if known == nil, !led { _ = await pauses?.value(until: began + store.late, store.time) }
        }
        if let known {
            store.count { $0.answersShared += 1 }
            return known
        }
        guard !Task.isCancelled else { throw .cancelled }
        store.count { $0.answersAsked += 1 }
        let began = store.time.now()
        let value = try await ask()
        store.serviceAnswered(after: store.time.now() - began)
        if mayKeep() { keep(name, value) }
        return value
    }

    /// Returns an answer that another machine has stored or stores now; nil if this machine is to request it.
    private func shared<Value: JSONCoded>(
        _ name: String, _ isFresh: (Int64, Int64) -> Bool, _ isPossible: (Value, Int64, Int64) -> Bool
    ) async -> Value? {
        let began = store.time.now()
        let patience = times.patience + store.spread(times.patience / 8)
        if !follows, await !lookAndClaim(since: holdsLease ? nil : began - Self.recent), !store.isBusy { return nil }
        while !isOfLaterVersion, store.rests(.read) == nil {
            let last = began + times.longestPatience
            let isBusy = store.isBusy
            let end = isBusy ? last : min(max(began, changed ?? began) + patience, last)
            let now = store.time.now()
            if isBusy, let gaveUp, now - gaveUp < TierHealth.firstRest { return nil }
            guard now < end else {
                if isBusy { gaveUp = now }
                return nil
            }
            if let value: Value = await known(name, isFresh, isPossible) { return value }
            if await leads(until: end) {
                // The previous holder of the lease may have stored an answer meanwhile, or the present one whom the store did not name.
                guard await look(since: holdsLease ? claimed : store.time.now() - Self.recent) else { return nil }
                return await known(name, isFresh, isPossible)
            }
            guard store.rests(.read) == nil else { return nil }
            let isFirst = store.time.now() - began < .seconds(1)
            let interval =
                store.isBusy
                ? store.spread(Self.intervals.busy) : isFirst ? Self.intervals.first : Self.intervals.later
            do { try await store.time.sleep(interval) } catch { return nil }
            _ = await look(since: store.time.now() - interval, within: end - store.time.now())
        }
        return nil
    }

    /// Returns an answer of the document from the parts already read.
    private func known<Value: JSONCoded>(
        _ name: String, _ isFresh: (Int64, Int64) -> Bool, _ isPossible: (Value, Int64, Int64) -> Bool
    ) async -> Value? {
        guard !isOfLaterVersion, let part = parts[name], let now = store.now, isFresh(part.asked, now),
            let value: Value = await part.decoded()
        else { return nil }
        return isPossible(value, part.asked, now) ? value : nil
    }

    /// Returns numbers of the document that never change; nil for each other part.
    func numbers(_ names: [String]) async -> [Int64?] {
        _ = await look(since: nil)
        guard !isOfLaterVersion else { return names.map { _ in nil } }
        let found = names.map { parts[$0]?.number }
        let count = found.count { $0 != nil }
        store.count { $0.answersShared += count }
        return found
    }

    /// Reads the document anew and returns all of its parts.
    func partsNow() async -> [String: DocumentPart] {
        _ = await look(since: store.time.now(), within: TierStore.patience)
        return isOfLaterVersion ? [:] : parts
    }

    // MARK: - Reading

    /// Reads the document unless it was read since `moment`, or ever if that is nil.
    ///
    /// - Parameters:
    ///   - moment: The earliest time of a read that is recent enough.
    ///   - limit: The time limit from the beginning of the read; nil for that of a reader, after which the service is quicker.
    /// - Returns: Whether the document has been read in time.
    private func look(since moment: ContinuousClock.Instant?, within limit: Duration? = nil) async -> Bool {
        if let looked, moment.map({ looked >= $0 }) ?? true { return store.late > .zero }
        let now = store.time.now()
        let task = looking?.task ?? Task { await read() }
        let began = looking?.began ?? now
        looking = (task, began)
        let end = began + (limit ?? store.late)
        return now < end ? await task.value(until: end, store.time) != nil : false
    }

    /// Reads the document like `look`, and requests the lease at the same time if the answer takes longer than a moment: at a distant
    /// store the service's request would otherwise wait for two answers in a row.
    private func lookAndClaim(since moment: ContinuousClock.Instant?) async -> Bool {
        if await look(since: moment, within: min(Self.apart, store.late)) { return true }
        guard store.rests(.read) == nil, store.late > .zero else { return false }
        if !holdsLease { _ = claim() }
        return await look(since: moment)
    }

    private func read() async {
        let (moment, known) = (store.time.now(), etag)
        defer { looking = nil }
        guard let found = await store.get(key, unless: known, within: times.reading) else { return }
        // The time of a large one says nothing of others.
        if !store.isBusy, times.reading == TierStore.patience { store.documentCame(after: store.time.now() - moment) }
        looked = moment
        guard case .object(let object) = found else {
            // It was removed, and was not written meanwhile: the service is asked again.
            if case .absent = found, etag == known {
                etag = nil
                merge([:])
            }
            return
        }
        etag = object.head.etag
        switch Provenance(object.head, store.store.secret, of: key) {
        case .ours(let description) where description.holds(for: object.body, key: key): break
        // The next answer replaces it.
        case .unproven: return
        case .ours, .foreign: return store.isWrong(key)
        }
        guard let text = Zstandard.original(object.body, upTo: TierStore.longestText) else {
            return store.isWrong(key)
        }
        switch DocumentText.read(key.text, of: text) {
        case .parts(let found):
            merge(found)
            store.isRight()
        case .ofLaterVersion:
            isOfLaterVersion = true
            store.isOfLaterVersion(key)
        case .noDocument: store.isWrong(key)
        }
    }

    /// Takes over the parts that other machines wrote, and drops those that they removed; newer parts that this machine requested
    /// stay.
    private func merge(_ found: [String: DocumentPart]) {
        let now = store.now
        parts = parts.filter { unwritten.contains($0.key) || found[$0.key] != nil }
        for (name, part) in found {
            if let void = voidBefore[Self.kind(of: name)], part.asked < void { continue }
            // A part with a time in the future would be newer than any later answer.
            if let now, AnswerAge.isFuture(part.asked, now) { continue }
            if unwritten.contains(name), let own = parts[name], own.asked >= part.asked,
                !times.isFinal || own.answer != part.answer
            {
                continue
            }
            unwritten.remove(name)
            if parts[name]?.line != part.line { changed = store.time.now() }
            parts[name] = part
        }
    }

    /// The kind of a part: `page` of `page/1`.
    private static func kind(of name: String) -> String { String(name.prefix { $0 != "/" }) }

    // MARK: - Requests

    /// Requests an answer from the service whatever the document has, and replaces it there, a page together with all pages that are
    /// older than the renewal: the pages of a listing are as old as the one that a user wants anew.
    private func renewed<Value: JSONCoded>(
        _ name: String, _ mayKeep: @Sendable () -> Bool, _ ask: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let value = try await ask()
        store.count { $0.answersAsked += 1 }
        guard mayKeep() else { return value }
        if store.now == nil { _ = await look(since: nil, within: times.patience) }
        if let now = store.now {
            let kind = Self.kind(of: name)
            if kind == "page", voidedBy != RequestUrgency.renewal {
                voidedBy = RequestUrgency.renewal
                voidBefore[kind] = now
                parts = parts.filter { Self.kind(of: $0.key) != kind }
            }
            keep(name, value)
        }
        return value
    }

    /// Whether another machine had the lease a moment ago, and its answers come from the store in time.
    private var follows: Bool {
        let now = store.time.now()
        return store.late > .zero && declined.map { now - $0 < Self.claimInterval * 2 } ?? false
    }

    /// Whether this machine has the lease.
    private var holdsLease: Bool { lease.map { store.time.now() < $0.ends } ?? false }

    /// Returns whether this machine has the lease, or gets it now, or works without one because the store takes too long to write it.
    private func leads(until end: ContinuousClock.Instant) async -> Bool {
        if holdsLease { return true }
        guard let claiming = claim() else { return false }
        let late = claiming.began + store.lateLease
        let isBusy = store.isBusy
        let isHeld = await claiming.task.value(until: isBusy ? end : min(end, late), store.time)
        return isHeld ?? (!store.isBusy && store.time.now() >= late)
    }

    /// The request for the lease in progress, or a new one; nil if another machine had the lease a moment ago.
    private func claim() -> (task: Task<Bool, Never>, began: ContinuousClock.Instant)? {
        if let claiming { return claiming }
        let now = store.time.now()
        let isBusy = store.isBusy
        if let declined, now - declined < (isBusy ? Self.intervals.busy : Self.claimInterval) { return nil }
        // Each request counts then, and those that read the document have one too many already.
        if isBusy, looked.map({ now - $0 > Self.intervals.busy }) ?? true { return nil }
        // A read that is still in progress shows what the previous holder of the lease has stored.
        claimed = looking?.began ?? now
        let task = Task { [releasing] in
            defer { claiming = nil }
            // A removal that comes later would take the new one.
            await releasing?.value
            switch await leases.claim(key, seconds: Self.leaseSeconds) {
            case .held(let lease):
                self.lease = lease
                declined = nil
                // It may have come too late.
                giveLeaseBack()
                return true
            case .taken:
                lease = nil
                declined = now
                return false
            case .awaited: return false
            case .unknown where store.isBusy:
                declined = now
                return false
            // A machine that cannot request a lease works without one.
            case .unknown: return true
            }
        }
        claiming = (task, now)
        return claiming
    }

    /// Gives the lease back, unless calls or writes are in progress here.
    private func giveLeaseBack() {
        guard let lease, calls == 0, writing == nil else { return }
        self.lease = nil
        releasing = Task { [leases] in await leases.release(lease) }
    }

    // MARK: - Writing

    /// Adds an answer that came with another request.
    func offer(_ name: String, _ value: some JSONCoded) { keep(name, value) }

    private func keep(_ name: String, _ value: some JSONCoded) {
        guard !isOfLaterVersion else { return }
        undated[name] = value.coded
        date()
        if writing == nil { writing = Task { await writeAll() } }
    }

    /// Gives the collected answers their time, once the object store has declared its own.
    private func date() {
        guard let now = store.now else { return }
        for (name, text) in undated {
            parts[name] = DocumentPart(name, asked: now, value: text)
            unwritten.insert(name)
        }
        undated = [:]
    }

    /// Writes the collected parts until no new one comes, then gives the lease back.
    private func writeAll() async {
        var pause = times.gathering
        // The object as it is now is the condition of the write.
        _ = await look(since: nil, within: times.reading)
        date()
        undated = [:]
        while !unwritten.isEmpty || calls > 0 && store.takesWrites && !isClosed, !Task.isCancelled {
            if !isClosed {
                gathering = Task { [time = store.time, pause] in try? await time.sleep(pause) }
                await gathering?.value
            }
            guard !unwritten.isEmpty else { continue }
            let began = store.time.now()
            guard await write() else { break }
            // The pause is as long as the write, so that a large document is not written continuously.
            pause = max(times.gathering, store.time.now() - began)
        }
        writing = nil
        giveLeaseBack()
    }

    /// Writes the document and returns whether it is written; unwritten parts are written with the next one.
    private func write() async -> Bool {
        for _ in 0..<Self.mostTries {
            // The present object may have been read since the last try.
            guard !isOfLaterVersion, !isNotTaken else { return false }
            guard !unwritten.isEmpty else { return true }
            let names = unwritten
            guard let bytes = Zstandard.compressed(DocumentText.bytes(key.text, parts)),
                bytes.count <= TierStore.longestDocument
            else {
                isNotTaken = true
                return false
            }
            switch await store.put(key, bytes, if: etag.map { .isStill($0) } ?? .isNew) {
            case .done(let etag):
                self.etag = etag
                unwritten.subtract(names)
                return true
            case .notTaken:
                isNotTaken = true
                return false
            case .failed, .unasked: return false
            case .declined:
                let moment = store.time.now()
                await read()
                // Without the object as it is now the next try would be declined too.
                guard let looked, looked >= moment else { return false }
            }
        }
        return false
    }

    /// Returns once all collected parts are written.
    func settle() async {
        await writing?.value
    }

    /// Returns once all parts are written and the lease is given back, or after the time limit of a closing machine.
    func close() async {
        isClosed = true
        gathering?.cancel()
        if let writing {
            let limit = Task { [time = store.time] in
                try await time.sleep(Self.lastPatience)
                writing.cancel()
            }
            await writing.value
            limit.cancel()
        }
        await releasing?.value
    }
}

// MARK: - The documents of a service

/// The documents of one service in the object store.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class SharedDocuments: Sendable {
    private struct Shelf: Sendable {
        var documents: [ObjectKey: SharedDocument] = [:]
        /// The keys of the documents; the ones used last are at the end.
        var order: [ObjectKey] = []
        /// The documents that made room for others and whose last answers are still to be written.
        var leaving: [ObjectIdentifier: SharedDocument] = [:]

        mutating func drop(_ key: ObjectKey) {
            order.removeAll { $0 == key }
            documents[key] = nil
        }
    }

    private let store: TierStore
    private let leases: Leases
    /// The name of the service and of its chosen variant.
    private let service: String
    private let shelf = Mutex(Shelf())

    init(_ store: TierStore, leases: Leases, service: String) {
        self.store = store
        self.leases = leases
        self.service = service
    }

    /// The present instant of the clock that measures waits for the object store.
    var now: ContinuousClock.Instant { store.time.now() }

    /// Returns the key of a document; nil for a name that no key can have.
    func key(_ parts: [String]) -> ObjectKey? { ObjectKey(["documents", service] + parts) }

    /// Drops a document that the object store has no more from memory.
    func drop(_ key: ObjectKey) {
        shelf.withLock { $0.drop(key) }
    }

    /// Returns a document; nil for a name that no key can have.
    func document(_ parts: [String], _ times: SharedDocument.Times = .answers) -> SharedDocument? {
        guard let key = key(parts) else { return nil }
        return shelf.withLock { shelf in
            shelf.order.removeAll { $0 == key }
            shelf.order.append(key)
            if let document = shelf.documents[key] { return document }
            let document = SharedDocument(key, store: store, leases: leases, times)
            shelf.documents[key] = document
            let alike = shelf.order.filter { shelf.documents[$0]?.times.kept == times.kept }
            if alike.count > times.kept, let oldest = alike.first {
                if let document = shelf.documents[oldest] { leave(document, &shelf) }
                shelf.drop(oldest)
            }
            return document
        }
    }

    /// Keeps a document that makes room for another one until its last answers are written.
    private func leave(_ document: SharedDocument, _ shelf: inout Shelf) {
        shelf.leaving[ObjectIdentifier(document)] = document
        Task {
            await document.settle()
            self.shelf.withLock { _ = $0.leaving.removeValue(forKey: ObjectIdentifier(document)) }
        }
    }

    /// Writes the collected parts, and gives leases back.
    func close() async {
        await withTaskGroup { group in
            let documents = shelf.withLock { Array($0.documents.values) + Array($0.leaving.values) }
            for document in documents { group.addTask { await document.close() } }
        }
    }
}
