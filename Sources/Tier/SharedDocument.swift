import Digests
import HTTP
import ObjectStore
import Rankings
import Synchronization

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

// MARK: - The documents of a service

/// The documents of one service on the store.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class SharedDocuments: Sendable {
    /// Documents kept in memory: what comes after a listing has been read is on the disk.
    private static let mostKept = 16

    private struct Shelf: Sendable {
        var documents: [ObjectKey: SharedDocument] = [:]
        /// The ones used last at the end.
        var order: [ObjectKey] = []
    }

    private let store: TierStore
    private let leases: Leases
    /// What the service and what is chosen of it are called.
    private let service: String
    private let shelf = Mutex(Shelf())

    init(_ store: TierStore, leases: Leases, service: String) {
        self.store = store
        self.leases = leases
        self.service = service
    }

    /// The present instant of the clock that waits for the store are measured by.
    var now: ContinuousClock.Instant { store.time.now() }

    /// A document; nil for a name that no key can have.
    func document(_ parts: String...) -> SharedDocument? {
        guard let key = ObjectKey(["documents", service] + parts) else { return nil }
        return shelf.withLock { shelf in
            shelf.order.removeAll { $0 == key }
            shelf.order.append(key)
            if let document = shelf.documents[key] { return document }
            let document = SharedDocument(key, store: store, leases: leases)
            shelf.documents[key] = document
            if shelf.order.count > Self.mostKept { shelf.documents[shelf.order.removeFirst()] = nil }
            return document
        }
    }

    /// Writes what has gathered, and gives leases back.
    func close() async {
        await withTaskGroup { group in
            for document in shelf.withLock({ Array($0.documents.values) }) { group.addTask { await document.close() } }
        }
    }
}

// MARK: - Text

/// A part of a document: an answer of the service, and when it was given.
///
/// The answer is read when it is wanted: a document has hundreds of parts, and one page of it is wanted at a time.
struct DocumentPart: Sendable {
    /// By the store's clock, in Unix seconds.
    let asked: Int64
    /// The part as it stands in the document.
    let line: String

    init(_ name: String, asked: Int64, value: JSONText) {
        self.asked = asked
        line = JSONText.object([("part", .text(name)), ("asked", .integer(asked)), ("value", value)]).line
    }

    fileprivate init(asked: Int64, line: String) {
        self.asked = asked
        self.line = line
    }

    /// The answer; null if it cannot be read.
    var value: JSON { (try? JSONReader.read(Array(line.utf8)))?["value"].bounded ?? .null }

    /// The answer, if it is a whole number.
    var number: Int64? { try? value.decoded(as: Int64.self) }

    /// What a type makes of the answer, read beside whatever else is going on; nil if it cannot.
    @concurrent func decoded<Value: Decodable & Sendable>() async -> Value? { try? value.decoded(as: Value.self) }
}

/// Documents as bytes: a line that says what it is, then a line of JSON for each part.
///
/// A part that cannot be read costs that part; a document of another kind, or of a later version, is left alone.
enum DocumentText {
    /// Grows when a part means something else than before.
    static let schema: Int64 = 1

    enum Failure: Error {
        /// It is of a later version of this program.
        case ofLaterVersion
        /// It is no document of this name.
        case isNoDocument
    }

    /// The bytes of a document.
    static func bytes(_ name: String, _ parts: [String: DocumentPart]) -> [UInt8] {
        var text = JSONText.object([("schema", .integer(schema)), ("document", .text(name))]).line + "\n"
        for (_, part) in parts.sorted(by: { $0.key < $1.key }) { text += part.line + "\n" }
        return Array(text.utf8)
    }

    /// Reads the bytes of a document.
    static func parts(_ name: String, of bytes: [UInt8]) throws(Failure) -> [String: DocumentPart] {
        let lines = bytes.split(separator: UInt8(ascii: "\n"))
        guard let head = lines.first.flatMap({ try? JSONReader.read(Array($0)) }), let version = head["schema"].number,
            head["document"].text == name
        else { throw .isNoDocument }
        guard version <= schema else { throw .ofLaterVersion }
        var parts: [String: DocumentPart] = [:]
        for line in lines.dropFirst() {
            guard let head = Self.head(line), let name = head["part"].text, let asked = head["asked"].number else {
                continue
            }
            parts[name] = DocumentPart(asked: asked, line: String(decoding: line, as: UTF8.self))
        }
        return parts
    }

    /// What stands before the answer, as all machines write it; otherwise the whole line.
    private static func head(_ line: ArraySlice<UInt8>) -> JSON? {
        // No text holds this: quotes in it have a backslash before them.
        if let end = line.firstRange(of: value), let head = try? JSONReader.read(line[..<end.lowerBound] + closing) {
            return head
        }
        return try? JSONReader.read(Array(line))
    }

    private static let value = Array(",\"value\":".utf8)
    private static let closing = Array("}".utf8)
}

// MARK: - Age

/// For how long an answer counts that another machine was given.
enum AnswerAge {
    /// A day may be put right for so long after it has appeared, in seconds.
    static let moving: Int64 = 3600
    /// What may still change is asked again after so many seconds.
    static let changing: Int64 = 600
    /// Which day is the newest, in seconds: the next one may be late.
    static let newest: Int64 = 300
    /// Lists of an author's works, in seconds: as long as a mount keeps them.
    static let author: Int64 = 6 * 3600
    /// Records of works, in seconds.
    static let record: Int64 = 30 * 86_400
    /// By how much the store's clock may differ from answer to answer, as one machine or the other sees it, in seconds.
    static let apart: Int64 = 60

    /// Whether the ranking of a day, asked at one moment and looked at at another, is as the service has it.
    static func isFresh(_ day: Day, _ days: RankingDays, asked: Int64, now: Int64) -> Bool {
        guard !isFuture(asked, now) else { return false }
        let published = days.published(day)
        let isQuiet = asked >= published + moving || holds(asked, changing, now)
        guard case .settles(let age, let interval) = days.change else { return isQuiet }
        let (settled, overflows) = published.addingReportingOverflow(age)
        guard !overflows, now >= settled else { return isQuiet }
        return asked >= settled && holds(asked, interval, now)
    }

    /// Whether so many seconds have not passed; what was asked in the future counts as asked long ago, so that nothing is kept for years.
    static func holds(_ asked: Int64, _ seconds: Int64, _ now: Int64) -> Bool {
        let (passed, overflows) = now.subtractingReportingOverflow(asked)
        return !isFuture(asked, now) && !overflows && passed < seconds
    }

    /// Whether a moment has not come yet.
    static func isFuture(_ asked: Int64, _ now: Int64) -> Bool {
        let (ahead, overflows) = asked.subtractingReportingOverflow(now)
        return asked > now && (overflows || ahead > apart)
    }

    /// The newest day that a service can have told at a moment: it may be a day ahead of its own calendar.
    static func newestDay(_ days: RankingDays, at now: Int64) -> Day {
        let (tomorrow, overflows) = now.addingReportingOverflow(86_400)
        return days.newest(at: overflows ? now : tomorrow)
    }
}
