import System
import HTTP
import ImageCache
import Rankings
import Synchronization

/// The object store as the tier uses it: with time limits, not while it rests, and without errors for the caller.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class TierStore: Sendable {
    /// The time limit of an answer: after that the request goes to the service.
    static let patience = Duration.seconds(2)
    /// The least usual time of a distant store's answers: a near one needs nearly as long on a busy machine.
    static let distant = Duration.milliseconds(500)
    /// The time limit of a write for which nothing waits, in addition to the time for its bytes.
    static let writePatience = Duration.seconds(30)
    /// The least bytes a second of a write; it halves after each failure of a picture, down to a sixteenth.
    static let slowestWrite: Double = 262_144
    /// The age in seconds from which on a picture that is read is written anew.
    static let renewedAfter: Int64 = 7 * 86_400
    /// The most bytes of a document; rankfs writes no larger one.
    static let longestDocument: Int64 = 8 << 20
    /// The most bytes of a document's text.
    static let longestText = 64 << 20

    let store: ObjectStore
    let time: TimeSource
    /// Whether the user lets this machine write to the store.
    let mayWrite: Bool
    /// Returns a number from 0 to 1 by chance.
    private let chance: @Sendable () -> Double
    private let health = Mutex(TierHealth())
    private let counts = Mutex(TierCounts())
    /// The usual answers of the service, and of the store about documents.
    private let answers = Mutex((service: UsualAnswer(usual: .milliseconds(500)), store: UsualAnswer()))
    /// Whether the store supports conditions, as far as its answers show.
    private let conditions = Atomic(true)
    /// Whether the store can write objects anew from themselves, as far as its answers show.
    private let renews = Atomic(true)
    /// Whether a document of a later version has been reported.
    private let seesLater = Atomic(false)
    /// Receives the events to log.
    let report: @Sendable (TierEvent) -> Void

    /// - Parameters:
    ///   - store: The store.
    ///   - time: The clock of deadlines and pauses.
    ///   - mayWrite: Whether the user lets this machine write to the store.
    ///   - chance: Returns a number from 0 to 1 by chance.
    ///   - report: Receives the events to log.
    init(
        _ store: ObjectStore, time: TimeSource, mayWrite: Bool = true,
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0...1) },
        report: @escaping @Sendable (TierEvent) -> Void
    ) {
        self.store = store
        self.time = time
        self.mayWrite = mayWrite
        self.chance = chance
        self.report = report
    }

    /// The store's clock in Unix seconds, if it has declared its time; ages are measured by this clock alone.
    var now: Int64? { store.now }

    var state: TierState { health.withLock { $0.state } }

    var figures: TierCounts { counts.withLock { $0 } }

    /// A time between half and one and a half of a given one, so that machines in step do not stay so.
    func spread(_ duration: Duration) -> Duration { duration * (0.5 + chance()) }

    func count(_ change: (inout TierCounts) -> Void) { counts.withLock { change(&$0) } }

    /// Returns the time until the store may be used again; nil if it may be used now.
    func rests(_ use: TierHealth.Use) -> Duration? {
        let now = time.now()
        return health.withLock { $0.restEnds(use, now: now) }.map { now.duration(to: $0) }
    }

    /// Whether the store supports conditions, as far as its answers show.
    var hasConditions: Bool { conditions.load(ordering: .relaxed) }

    // MARK: - Answer times

    /// The time for which a reader waits for a document: none where the store usually takes longer than the service, and as long as the
    /// service takes before the store has answered once.
    var late: Duration {
        answers.withLock { answers in
            guard let usual = answers.store.usual else { return answers.service.late }
            return usual > max(answers.service.late, Self.distant) ? .zero : Self.patience
        }
    }

    /// The time for which a reader waits for a lease of a document: twice the service's usual answer, as long as a distant store has at
    /// least.
    var lateLease: Duration { answers.withLock { max($0.service.late, Self.distant) } }

    /// The time after which a lease is read beside its write: later than the store's usual answer, and before a reader goes on.
    var lateAnswer: Duration { min(answers.withLock { $0.store.late }, lateLease / 2) }

    /// Takes note of an answer of the service.
    func serviceAnswered(after duration: Duration) { answers.withLock { $0.service.learn(duration) } }

    /// Takes note of a read of a document.
    func documentCame(after duration: Duration) { answers.withLock { $0.store.learn(duration) } }

    // MARK: - Requests

    /// Downloads a document; nil if the store rests or does not answer.
    func get(
        _ key: ObjectKey, unless etag: String? = nil, within patience: Duration = TierStore.patience
    ) async -> ObjectStore.Found? {
        let found = await ask(.read, within: patience) { deadline async throws(Failure) in
            try await store.get(key, unless: etag, limit: Self.longestDocument, deadline: deadline)
        }
        return try? found?.get()
    }

    /// Returns whether the store has an object for which nothing waits; a failure, whose cause no answer without a body tells, is ignored.
    func has(_ key: ObjectKey) async -> Bool {
        guard takesWrites else { return false }
        return (try? await store.has(key, deadline: time.now() + Self.writePatience)) ?? false
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
    ///   - insists: Whether the write is a lease, which is omitted if the store does not support conditions.
    ///   - patience: The time limit of the write; nil for that of its bytes.
    /// - Returns: The result of the write.
    func put(
        _ key: ObjectKey, _ bytes: [UInt8], if condition: ObjectStore.Condition, insists: Bool = false,
        within patience: Duration? = nil
    ) async -> Writing {
        await put(
            key, RequestContent(bytes), ObjectDescription(of: bytes, key: key),
            if: condition, insists: insists, within: patience ?? Self.writePatience(for: Int64(bytes.count)))
    }

    /// Returns the time limit of a write for which nothing waits.
    static func writePatience(for bytes: Int64, tries: Int = 0) -> Duration {
        writePatience + .seconds(Double(bytes) / slowestWrite * Double(1 << min(max(tries, 0), 4)))
    }

    /// Writes an object; other machines see nothing of it before all of it is stored.
    func put(
        _ key: ObjectKey, _ content: RequestContent, _ description: ObjectDescription,
        if condition: ObjectStore.Condition, insists: Bool = false, transferClass: TransferClass = .metadata,
        within patience: Duration
    ) async -> Writing {
        let knows = hasConditions
        guard knows || !insists else { return .unasked }
        let written = await ask(insists ? .lease : .write, within: patience) {
            deadline async throws(Failure) -> Writing in
            do throws(Failure) {
                let written = try await store.put(
                    key, content, description, if: knows ? condition : .always, transferClass: transferClass,
                    deadline: deadline)
                return written.map { .done(etag: $0.etag) } ?? .declined
            } catch {
                // The store supports no conditions, and wrote nothing (501: RFC 9110, section 15.6.2).
                guard knows, error == .answered(status: 501) else { throw error }
                conditions.store(false, ordering: .relaxed)
                return .unasked
            }
        }
        switch written {
        case nil: return .unasked
        case .failure(let error): return Writing(error)
        case .success(.unasked):
            return await put(
                key, content, description, if: condition, insists: insists, transferClass: transferClass,
                within: patience)
        case .success(let written): return written
        }
    }

    /// Removes an object; a failure is ignored.
    func delete(_ key: ObjectKey) async {
        _ = await ask(.write) { deadline async throws(Failure) in
            do throws(Failure) { try await store.delete(key, deadline: deadline) } catch {
                // A key may lack this right alone; what it wrote stays, and leases end by their time.
                if case .refused = error { throw .cancelled }
                throw error
            }
        }
    }

    /// Writes an old picture anew within the store, so that its age is the time since it was read, to `renewedAfter`.
    ///
    /// A failure is ignored; a store that cannot do it is not asked again.
    func renew(_ key: ObjectKey, _ description: ObjectDescription, if etag: String) async {
        guard takesWrites, renews.load(ordering: .relaxed) else { return }
        let deadline = time.now() + Self.writePatience
        let isPossible = try? await store.renew(key, description, if: etag, deadline: deadline)
        if isPossible == false { renews.store(false, ordering: .relaxed) }
    }

    /// Sends a request and records its result; nil if the store rests.
    private func ask<Answer: Sendable>(
        _ use: TierHealth.Use, within patience: Duration = TierStore.patience,
        _ send: (ContinuousClock.Instant) async throws(Failure) -> Answer
    ) async -> Result<Answer, Failure>? {
        guard begin(use) else { return nil }
        let deadline = time.now() + patience
        do throws(Failure) {
            let answer = try await repeated(use, until: deadline) { () async throws(Failure) in try await send(deadline)
            }
            let duration = time.now() - deadline + patience
            count { $0.answered(in: duration) }
            ended(use)
            return .success(answer)
        } catch {
            // What still comes after more than the time of an answer is too large for the line: others are not.
            let isLarge = use == .read && patience > Self.patience && error == .timedOut && time.now() >= deadline
            failed(use, isLarge ? .cancelled : error)
            return .failure(error)
        }
    }

    /// Sends a request, and again after pauses as long as the store answers that there are too many (Amazon S3 User Guide,
    /// "Optimizing performance": 503 SlowDown); the pauses differ by half between machines.
    func repeated<Answer: Sendable>(
        _ use: TierHealth.Use, until deadline: @autoclosure () -> ContinuousClock.Instant,
        _ send: () async throws(Failure) -> Answer
    ) async throws(Failure) -> Answer {
        while true {
            do throws(Failure) { return try await send() } catch {
                guard error.isTooMany else { throw error }
                let now = time.now()
                let wait = spread(health.withLock { $0.wasBusy(use, now: now) })
                guard now + wait < deadline() else { throw error }
                count { $0.slowedDown += 1 }
                do { try await time.sleep(wait) } catch { throw .cancelled }
            }
        }
    }

    // MARK: - Health

    /// Returns whether a request may be sent now.
    func begin(_ use: TierHealth.Use) -> Bool {
        guard !use.isWrite || mayWrite else { return false }
        let now = time.now()
        return health.withLock { $0.mayAsk(use, now: now) }
    }

    /// Whether the store has too many requests: its answers come late, and are worth the wait.
    var isBusy: Bool {
        let now = time.now()
        return health.withLock { $0.isBusy(now: now) }
    }

    /// Whether this machine can write to the store now.
    var takesWrites: Bool { mayWrite && rests(.write) == nil }

    /// Whether this machine can request leases now.
    var takesLeases: Bool { mayWrite && rests(.lease) == nil }

    /// Records that a request was answered.
    func ended(_ use: TierHealth.Use) { change { $0.worked(use) } }

    /// Records that a request failed.
    func failed(_ use: TierHealth.Use, _ error: Failure) {
        let now = time.now()
        change { $0.failed(use, error, now: now) }
    }

    /// Records that an object's bytes are those that were written.
    func isRight() { change { $0.toldTheTruth() } }

    /// Records that a picture came as quickly as it should.
    func wasQuick() { change { $0.wasQuick() } }

    /// Records that a picture would have come sooner from the image host.
    func wasSlow() {
        let now = time.now()
        count { $0.slow += 1 }
        change { $0.wasSlow(now: now) }
    }

    /// Records and reports that an object's bytes are not those that were written.
    func isWrong(_ key: ObjectKey) {
        let now = time.now()
        count { $0.wrong += 1 }
        report(.wrongObject(key.text))
        change { $0.lied(now: now) }
    }

    /// Reports the first document of a later version.
    func isOfLaterVersion(_ key: ObjectKey) {
        if !seesLater.exchange(true, ordering: .relaxed) { report(.laterVersion(key.text)) }
    }

    private func change(_ change: (inout TierHealth) -> Void) {
        let (before, after) = health.withLock { health in
            let before = health.state
            change(&health)
            return (before, health.state)
        }
        if before != after { report(.became(after)) }
    }
}

/// The events of the tier to log.
package enum TierEvent: Hashable, Sendable {
    /// The store's state has changed.
    case became(TierState)
    /// A host requested a pause of another machine, which this machine keeps too.
    case pauses(host: String, seconds: Int64)
    /// An object does not have the bytes that were written; it is replaced as soon as it has been downloaded.
    case wrongObject(String)
    /// A later version of this program wrote a document, the first one of this run.
    case laterVersion(String)
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
    /// The objects that a machine without the fleet's secret wrote.
    package var unproven = 0
    /// The pictures that would have come sooner from the image host.
    package var slow = 0
    /// The answers that there are too many requests.
    package var slowedDown = 0
    package var uploads = 0
    /// The pictures that the store rejected, or that were gone before their upload.
    package var dropped = 0
    package var receivedBytes: Int64 = 0
    package var sentBytes: Int64 = 0
    /// The answers about documents and leases within each of `answerTimes` and not within the one before, and the later ones.
    package private(set) var answers = [0, 0, 0, 0]
    /// The time of all those answers together.
    package private(set) var answersTook = Duration.zero

    /// The limits by which the answers of a store are counted, in milliseconds.
    package static let answerTimes: [Int64] = [50, 250, 1000]

    fileprivate mutating func answered(in duration: Duration) {
        answersTook += duration
        answers[Self.answerTimes.firstIndex { duration <= .milliseconds($0) } ?? Self.answerTimes.count] += 1
    }
}

/// The usual time to an answer; from that of the service follows when an answer of the store is late.
struct UsualAnswer: Sendable {
    /// The limits of the time for an answer, and the time before the service has answered once.
    static let limits = (least: Duration.milliseconds(250), most: TierStore.patience, unknown: Duration.seconds(1))

    /// The average; nil before the first answer.
    var usual: Duration?

    /// The average, or what is assumed before the first answer: half of the time after which that is late.
    var expected: Duration { usual ?? Self.limits.unknown / 2 }

    /// Takes note of an answer.
    mutating func learn(_ duration: Duration) { usual = usual.map { ($0 * 3 + duration) / 4 } ?? duration }

    /// The time after which an answer of the store is late, by the service's usual answer: twice that.
    var late: Duration {
        usual.map { min(max($0 * 2, Self.limits.least), Self.limits.most) } ?? Self.limits.unknown
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

    /// What comes between the name of a day and the number of a document of its previews.
    static let previews = "-previews-"
    /// The folder of the services' pauses, below `leases/`: they live as long as leases.
    static let pauses = "pauses"

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

    /// What comes between the name of a service and the number of the user for whom its answers are.
    static let user = "-user-"

    /// Whether the object is of a service, for whomever it is.
    ///
    /// - Parameter services: The names of the service, one for each choice; pictures have that without choices.
    /// - Returns: Whether it has one of these names.
    func isOf(_ services: Set<String>) -> Bool {
        switch self {
        case .picture(let name): return services.contains(name)
        case .document(let name):
            let user = name.indices.last { name[$0...].hasPrefix(Self.user) }
            guard let user, Self.isNumber(name[user...].dropFirst(Self.user.count)) else {
                return services.contains(name)
            }
            return services.contains(String(name[..<user]))
        case .lease: return false
        }
    }

    /// Returns the key of a service's picture.
    static func key(of picture: PictureID, service: String) -> ObjectKey? {
        ObjectKey(["pictures", service, folder(of: picture.work), picture.key])
    }

    /// Returns the folder of a work's pictures: there are so many folders that none of them has too many pictures.
    static func folder(of work: WorkID) -> String {
        String((work.rawValue % 256 + 256) % 256, radix: 16)
    }

    private static func isPicture(_ parts: [String]) -> Bool {
        guard parts.count == 4, let picture = PictureID(name: parts[3].utf8) else { return false }
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
        if rest.hasPrefix(previews) { return isNumber(rest.dropFirst(previews.count)) }
        return rest.isEmpty || rest.first == "-" && (isNumber(rest.dropFirst()) || isHash(rest.dropFirst()))
    }

    /// Returns whether a path below `leases/` is the key of the lease's object, a document of pauses, or an examination of the store.
    private static func isLease(_ parts: [String]) -> Bool {
        switch parts.first {
        case "pictures": isPicture(parts)
        case "documents": isDocument(parts)
        case "examination", pauses: parts.count == 2
        default: false
        }
    }

    private static func isNumber(_ text: some StringProtocol) -> Bool { Int64(text).map { "\($0)" == text } ?? false }

    /// Returns whether a text has the form that `XXH3.hex` writes.
    private static func isHash(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 16 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}
