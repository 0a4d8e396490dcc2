internal import Digests
internal import HTTP
internal import ObjectStore
internal import Rankings

/// Answers of the service that several machines need, in one object that they fill together.
///
/// A part that is there is taken from there. For one that is not, a machine asks the service that gets the lease of the
/// document; the others look again every moment until the part has come. Who has waited for as long as an answer takes asks
/// for itself, so that a machine that died, or one that may ask seldom, holds nobody up.
///
/// ## Concurrency
///
/// An actor; whatever waits for the network lets others in.
actor SharedDocument {
    /// How long somebody waits for another machine's answer, all that the store is asked meanwhile included.
    static let patience = Duration.seconds(4)
    /// How often those who wait look.
    static let interval = Duration.milliseconds(100)
    /// How often they try to get the lease.
    static let claimInterval = Duration.milliseconds(500)
    /// For how long a machine has a document's lease; it takes it again while it has something to ask.
    static let leaseSeconds: Int64 = 10
    /// How long a machine that ends waits for its last answers to be written.
    static let lastPatience = Duration.seconds(1)
    /// How long answers are collected before they are written together, at least.
    static let gathering = Duration.milliseconds(25)
    /// A document that others change at the same moment is read and written again so often.
    static let mostTries = 4

    private let key: ObjectKey
    private let store: TierStore
    private let leases: Leases
    private var parts: [String: DocumentPart] = [:]
    /// Parts that were asked here and are not on the store yet.
    private var unwritten: Set<String> = []
    private var etag: String?
    private var isOfLaterVersion = false
    /// Whether the store has something against this document: it is read then, and not written.
    private var isNotTaken = false
    /// When the store was last asked for it.
    private var looked: ContinuousClock.Instant?
    private var looking: Task<Void, Never>?
    private var lease: Leases.Lease?
    private var claimed: ContinuousClock.Instant?
    /// When another machine was last found to have it.
    private var declined: ContinuousClock.Instant?
    private var claiming: Task<Bool, Never>?
    /// Questions that are under way.
    private var asking = 0
    private var writing: Task<Void, Never>?
    private var releasing: Task<Void, Never>?

    init(_ key: ObjectKey, store: TierStore, leases: Leases) {
        self.key = key
        self.store = store
        self.leases = leases
    }

    /// An answer from the document, or from the service.
    ///
    /// - Parameters:
    ///   - name: The part.
    ///   - isFresh: Whether an answer given then, now by the store's clock, still counts.
    ///   - isPossible: Whether the service can have said that, now by the store's clock; otherwise nobody has.
    ///   - mayKeep: Whether the service's answer, once it has come, is one for this document.
    ///   - ask: Asks the service.
    /// - Returns: What the service said, now or to another machine.
    /// - Throws: What the service says now.
    func value<Value: Codable & Sendable>(
        _ name: String, isFresh: @Sendable (_ asked: Int64, _ now: Int64) -> Bool,
        isPossible: @Sendable (_ value: Value, _ now: Int64) -> Bool = { _, _ in true },
        mayKeep: @Sendable () -> Bool = { true },
        ask: @Sendable () async throws(SourceError) -> Value
    ) async throws(SourceError) -> Value {
        let end = store.time.now() + Self.patience
        await look(since: nil, until: end)
        while !isOfLaterVersion, store.rests(.read) == nil, store.time.now() < end {
            if let value: Value = await known(name, isFresh, isPossible) {
                store.count { $0.answersShared += 1 }
                return value
            }
            if await leads(until: end) {
                // Whoever had the lease before may have answered meanwhile.
                await look(since: claimed, until: end)
                if let value: Value = await known(name, isFresh, isPossible) {
                    store.count { $0.answersShared += 1 }
                    giveLeaseBack()
                    return value
                }
                break
            }
            guard store.rests(.read) == nil else { break }
            do { try await store.time.sleep(Self.interval) } catch { throw .cancelled }
            await look(since: store.time.now() - Self.interval, until: end)
        }
        guard !Task.isCancelled else {
            giveLeaseBack()
            throw .cancelled
        }
        store.count { $0.answersAsked += 1 }
        asking += 1
        do throws(SourceError) {
            let value = try await ask()
            asking -= 1
            if mayKeep() { keep(name, value) } else { giveLeaseBack() }
            return value
        } catch {
            asking -= 1
            giveLeaseBack()
            throw error
        }
    }

    /// An answer that the document has, as far as it is known here.
    private func known<Value: Decodable & Sendable>(
        _ name: String, _ isFresh: (Int64, Int64) -> Bool, _ isPossible: (Value, Int64) -> Bool
    ) async -> Value? {
        guard let part = parts[name], let now = store.now, isFresh(part.asked, now),
            let value: Value = await part.decoded()
        else { return nil }
        return isPossible(value, now) ? value : nil
    }

    /// Numbers that the document has and that never change; nil for each other part.
    func numbers(_ names: [String]) async -> [Int64?] {
        await look(since: nil, until: store.time.now() + Self.patience)
        guard !isOfLaterVersion else { return names.map { _ in nil } }
        let found = names.map { parts[$0]?.number }
        let count = found.count { $0 != nil }
        store.count { $0.answersShared += count }
        return found
    }

    // MARK: - Reading

    /// Asks the store for the document unless that was done since a moment, or ever; waits no longer than until another one.
    private func look(since moment: ContinuousClock.Instant?, until end: ContinuousClock.Instant) async {
        if let looking {
            _ = await looking.value(until: end, store.time)
            return
        }
        if let looked, moment.map({ looked >= $0 }) ?? true { return }
        let task = Task {
            await read()
            looking = nil
        }
        looking = task
        _ = await task.value(until: end, store.time)
    }

    private func read() async {
        let moment = store.time.now()
        guard let found = await store.get(key, unless: etag) else { return }
        looked = moment
        guard case .object(let object) = found else {
            if case .absent = found { etag = nil }
            return
        }
        etag = object.etag
        guard let description = object.description, description.length == Int64(object.bytes.count),
            description.hash == XXH3.hex(object.bytes), description.key == key.text
        else { return store.isWrong(key) }
        do throws(DocumentText.Failure) {
            merge(try DocumentText.parts(key.text, of: object.bytes))
            store.isRight()
        } catch {
            switch error {
            case .ofLaterVersion: isOfLaterVersion = true
            case .isNoDocument: store.isWrong(key)
            }
        }
    }

    /// Takes over what others wrote; what was asked here and is newer stays.
    private func merge(_ found: [String: DocumentPart]) {
        let now = store.now
        for (name, part) in found {
            // What was asked in the future would be newer than anything that is asked now.
            if let now, AnswerAge.isFuture(part.asked, now) { continue }
            if unwritten.contains(name), let own = parts[name], own.asked >= part.asked { continue }
            unwritten.remove(name)
            parts[name] = part
        }
    }

    // MARK: - Asking

    /// Whether this machine has the lease, or gets it now.
    private func leads(until end: ContinuousClock.Instant) async -> Bool {
        let now = store.time.now()
        if let lease, now < lease.ends { return true }
        if let declined, claiming == nil, now - declined < Self.claimInterval { return false }
        let task = claiming ?? Task { await claim() }
        claiming = task
        if let leads = await task.value(until: end, store.time) { return leads }
        // A lease that comes too late is nobody's.
        Task {
            _ = await task.value
            giveLeaseBack()
        }
        return false
    }

    private func claim() async -> Bool {
        defer { claiming = nil }
        claimed = store.time.now()
        switch await leases.claim(key, seconds: Self.leaseSeconds) {
        case .held(let lease):
            self.lease = lease
            declined = nil
            return true
        case .taken:
            lease = nil
            declined = claimed
            return false
        // Who cannot ask for a lease needs none.
        case .unknown: return true
        }
    }

    /// Lets another machine ask, unless there is something to ask or to write here.
    private func giveLeaseBack() {
        guard let lease, asking == 0, writing == nil else { return }
        self.lease = nil
        releasing = Task { [leases] in await leases.release(lease) }
    }

    // MARK: - Writing

    /// Adds an answer that was given to another question.
    func offer(_ name: String, _ value: some Codable & Sendable) async {
        await look(since: nil, until: store.time.now() + Self.patience)
        keep(name, value)
    }

    private func keep(_ name: String, _ value: some Encodable) {
        guard !isOfLaterVersion, let text = try? JSONText(value), let now = store.now else { return }
        parts[name] = DocumentPart(name, asked: now, value: text)
        unwritten.insert(name)
        guard writing == nil else { return }
        writing = Task { await writeAll() }
    }

    /// Writes what has gathered until nothing new comes, then gives the lease back.
    private func writeAll() async {
        var pause = Self.gathering
        while !unwritten.isEmpty || asking > 0, !Task.isCancelled {
            try? await store.time.sleep(pause)
            guard !unwritten.isEmpty else { continue }
            let began = store.time.now()
            guard await write() else { break }
            // A large document is not written without a break.
            pause = max(Self.gathering, store.time.now() - began)
        }
        writing = nil
        giveLeaseBack()
    }

    /// Whether it is written; what could not be is written with what is asked next.
    private func write() async -> Bool {
        for _ in 0..<Self.mostTries {
            // The one that is there now may have been read since the last try.
            guard !isOfLaterVersion, !isNotTaken else { return false }
            let names = unwritten
            let bytes = DocumentText.bytes(key.text, parts)
            switch await store.put(key, bytes, if: etag.map { .isStill($0) } ?? .isNew) {
            case .done(let etag):
                self.etag = etag
                unwritten.subtract(names)
                return true
            case .notTaken:
                isNotTaken = true
                return false
            case .failed, .unasked: return false
            case .declined: await read()
            }
        }
        return false
    }

    /// Returns once everything is written that was asked for.
    func settle() async {
        await writing?.value
    }

    /// Returns once everything is written and the lease is given back, or the machine that ends can wait no longer.
    func close() async {
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
