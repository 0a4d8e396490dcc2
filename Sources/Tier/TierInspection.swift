internal import System
package import HTTP
internal import ImageCache
package import Rankings

/// An inspection of all objects below a prefix, for `rankfs tier`; the objects may be of any machine.
///
/// ## Concurrency
///
/// A value; any task may call.
package struct TierInspection: Sendable {
    /// The number of objects of a kind, and their bytes.
    package struct Tally: Hashable, Sendable {
        package var objects = 0
        package var bytes: Int64 = 0

        package init() {}
    }

    /// The objects by kind.
    package struct Survey: Hashable, Sendable {
        /// The pictures by service.
        package var pictures: [String: Tally] = [:]
        package var documents: [String: Tally] = [:]
        package var leases = Tally()
        /// The objects that rankfs did not write.
        package var others = Tally()
    }

    /// An object that is damaged, or could not be examined.
    package struct Mistake: Hashable, Sendable {
        package var key: String
        /// The reason as a part of a sentence.
        package var reason: String
    }

    /// The result of reading all objects.
    package struct Verification: Hashable, Sendable {
        package var pictures = Tally()
        package var documents = Tally()
        /// The objects that rankfs did not write, which are left unchanged.
        package var others = Tally()
        /// The objects without the bytes that were written.
        package var mistakes: [Mistake] = []
        /// The objects that could not be read or removed: their state is unknown, unless the reason says that they are damaged.
        package var failures: [Mistake] = []
        /// The reason that not all objects were examined; nil if they were.
        package var stopped: String?
    }

    /// The number of objects read at once.
    private static let atOnce = 8
    /// The time limit of an answer, in addition to the time for its bytes.
    private static let patience = Duration.seconds(120)
    /// The least bytes a second of an object, on a line that eight objects share.
    private static let slowest: Double = 16_384
    /// The number of consecutive failures that are not due to single objects.
    private static let mostFailures = 64
    /// The most parts of a list, of a thousand objects each: no object store of this program has more.
    private static let mostParts = 10_000

    private let store: ObjectStore
    private let services: Set<String>?
    private let time: TimeSource

    /// - Parameters:
    ///   - store: The store.
    ///   - services: The names of the service whose objects are inspected, one for each choice; nil for those of all, and of others.
    ///   - time: The clock of deadlines.
    package init(_ store: ObjectStore, of services: Set<String>? = nil, time: TimeSource = .system) {
        self.store = store
        self.services = services
        self.time = time
    }

    /// Counts the objects.
    package func survey() async throws(Failure) -> Survey {
        var survey = Survey()
        try await forEach { list in
            for size in list.others { survey.others.add(size) }
            for entry in list.entries {
                switch ObjectKind(entry.key) {
                case .picture(let service): survey.pictures[service, default: Tally()].add(entry.size)
                case .document(let service): survey.documents[service, default: Tally()].add(entry.size)
                case .lease: survey.leases.add(entry.size)
                case nil: survey.others.add(entry.size)
                }
            }
        }
        return survey
    }

    /// Reads all objects, and removes those that rankfs wrote and that do not have the bytes that were written.
    ///
    /// Objects that cannot be read, because a machine replaces them or the connection breaks, are reported at the end; the others
    /// are still examined.
    ///
    /// - Parameter isRemoving: Whether damaged objects are removed, or only reported.
    /// - Returns: The intact objects, and the others.
    /// - Throws: The error of a store that did not answer at all.
    package func verify(isRemoving: Bool) async throws(Failure) -> Verification {
        var found = Verification()
        var failures = 0
        do throws(Failure) {
            try await forEach { (list) async throws(Failure) in
                for size in list.others { found.others.add(size) }
                let ours = list.entries.filter { found.takes($0) }
                try await Self.forEach(of: ours) {
                    await look($0, isRemoving)
                } take: { (entry, look) throws(Failure) in
                    found.add(look.outcome, look.failure, entry)
                    guard let error = look.failure else { return failures = 0 }
                    failures += 1
                    if failures >= Self.mostFailures { throw error }
                }
            }
        } catch {
            guard found != Verification() else { throw error }
            found.stopped = error.cause
        }
        return found
    }

    /// Reads an object, and removes a damaged one.
    ///
    /// - Returns: The result, and the error if the object could not be read or removed.
    private func look(
        _ entry: ObjectList.Entry, _ isRemoving: Bool
    ) async -> (outcome: TierDownload.Outcome, failure: Failure?) {
        let download = TierDownload(
            length: nil, key: entry.key, secret: store.secret, time: time, pace: nil, sink: .ignoring)
        // The list that named the object has set the store's clock; another machine may have written a larger object since.
        let bytes = Double(min(entry.size, PictureLimits.largest))
        let outcome = await download.run(
            on: store, deadline: time.now() + Self.patience + .seconds(bytes / Self.slowest))
        switch outcome {
        case .slow, .withdrawn: return (outcome, .timedOut)
        case .failed(let error): return (outcome, error)
        case .wrong, .ofOtherLength: return (outcome, isRemoving ? await removal(of: entry) : nil)
        case .whole, .absent, .foreign, .unproven: return (outcome, nil)
        }
    }

    // MARK: - Room

    /// The result of making room.
    package struct Trimming: Hashable, Sendable {
        package var removed = Tally()
        package var kept = Tally()
        /// The pictures that could not be removed; they are not counted as removed.
        package var failures: [Mistake] = []
    }

    /// Removes the pictures that were written longest ago, until the others have at most so many bytes.
    ///
    /// A picture that is read a week after it was written is written anew (`TierStore.renew`), so these are those that were read
    /// longest ago, to a week. A picture whose time the store does not state stays. What is a picture follows from the key alone: a look
    /// at each object would double the requests.
    ///
    /// - Parameters:
    ///   - most: The bytes that may stay.
    ///   - isRemoving: Whether pictures are removed, or only counted.
    /// - Returns: The pictures that were removed, and those that stay.
    /// - Throws: The error of a store that did not list its objects.
    package func trim(keeping most: Int64, isRemoving: Bool) async throws(Failure) -> Trimming {
        var pictures: [ObjectList.Entry] = []
        try await forEach { list in
            pictures += list.entries.filter { if case .picture = ObjectKind($0.key) { true } else { false } }
        }
        var found = Trimming()
        var surplus: [ObjectList.Entry] = []
        for entry in pictures.sorted(by: { ($0.written ?? .max, $0.key.text) > ($1.written ?? .max, $1.key.text) }) {
            let fits = entry.size <= most && found.kept.bytes <= most - entry.size
            if entry.written == nil || surplus.isEmpty && fits {
                found.kept.add(entry.size)
            } else {
                surplus.append(entry)
            }
        }
        try await Self.forEach(of: surplus) {
            isRemoving ? await removal(of: $0) : nil
        } take: { (entry, failure) throws(Failure) in
            guard let failure else { return found.removed.add(entry.size) }
            found.failures.append(Mistake(key: entry.key.text, reason: failure.cause))
            if found.failures.count >= Self.mostFailures { throw failure }
        }
        return found
    }

    private func removal(of entry: ObjectList.Entry) async -> Failure? {
        do throws(Failure) {
            try await store.delete(entry.key, deadline: time.now() + Self.patience)
            return nil
        } catch { return error }
    }

    /// Works on objects, some at once, and takes the results.
    private static func forEach<Result: Sendable>(
        of entries: [ObjectList.Entry], _ work: @escaping @Sendable (ObjectList.Entry) async -> Result,
        take: (ObjectList.Entry, Result) throws(Failure) -> Void
    ) async throws(Failure) {
        for start in stride(from: 0, to: entries.count, by: atOnce) {
            let results = await withTaskGroup(of: (ObjectList.Entry, Result).self) { group in
                for entry in entries[start...].prefix(atOnce) { group.addTask { (entry, await work(entry)) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for (entry, result) in results { try take(entry, result) }
        }
    }

    /// Lists the objects whose keys begin with one, all of them by default, in parts.
    func forEach(
        beginning: ObjectKey? = nil, within patience: Duration = TierInspection.patience,
        _ take: (ObjectList) async throws(Failure) -> Void
    ) async throws(Failure) {
        var token: String?
        // The order cannot be requested: some stores list folder by folder.
        var seen: Set<String> = []
        for _ in 0..<Self.mostParts {
            var list = try await store.list(beginning: beginning, after: token, deadline: time.now() + patience)
            if let services {
                list.entries.removeAll { ObjectKind($0.key)?.isOf(services) != true }
                list.others = []
            }
            try await take(list)
            guard let next = list.next else { return }
            // A list that begins anew for ever is invalid.
            guard seen.insert(next).inserted else { break }
            token = next
        }
        throw .unreadable("its list of objects does not end")
    }

    // MARK: - Requirements of a mount

    /// The abilities of a store that machines rely on.
    package enum Ability: Hashable, Sendable {
        /// The store can be read and written, and obeys conditions.
        case all
        /// The store can be read and written, but two machines may get the same lease: they may download the same picture twice.
        case withoutConditions
        /// The store can only be read.
        case readOnly(reason: String)
        case none(reason: String)
    }

    /// Tests the operations of a mount with an object of its own, which is removed afterwards.
    ///
    /// - Parameters:
    ///   - name: A unique name.
    ///   - now: This machine's time in Unix seconds.
    /// - Returns: The abilities of the store, and the seconds by which its clock is ahead of `now`, if it declares its time.
    package func examine(name: String, now: Int64) async -> (ability: Ability, ahead: Int64?) {
        guard let key = ObjectKey("leases/examination/\(name)") else { return (.none(reason: "no key"), nil) }
        let deadline = time.now() + TierStore.patience * 4
        let bytes = Array("{\"seconds\":0}".utf8)
        let description = ObjectDescription(of: bytes, key: key)
        do throws(Failure) {
            _ = try await store.get(key, limit: 1024, deadline: deadline)
        } catch { return (.none(reason: error.cause), nil) }
        let write = { (condition: ObjectStore.Condition) async throws(Failure) in
            try await store.put(key, RequestContent(bytes), description, if: condition, deadline: deadline) != nil
        }
        do throws(Failure) {
            var obeys = true
            do throws(Failure) {
                guard try await write(.isNew) else {
                    return (.readOnly(reason: "it declines an object that is not there yet"), nil)
                }
                // A store that ignores the condition writes again.
                obeys = try await !write(.isNew)
            } catch {
                guard error == .answered(status: 501) else { throw error }
                (obeys, _) = (false, try await write(.always))
            }
            try await store.delete(key, deadline: deadline)
            return (obeys ? .all : .withoutConditions, store.now.map { $0 - now })
        } catch { return (.readOnly(reason: error.cause), nil) }
    }
}

extension TierInspection.Tally {
    /// Counts an object of a size.
    fileprivate mutating func add(_ size: Int64) {
        objects += 1
        // A store can declare any number.
        bytes = bytes.adding(saturating: size)
    }
}

extension TierInspection.Verification {
    private static let damage = "its bytes are not those that were written"

    /// Returns whether an object is to be read; leases are short-lived.
    fileprivate mutating func takes(_ entry: ObjectList.Entry) -> Bool {
        switch ObjectKind(entry.key) {
        case .picture, .document: return true
        case .lease: return false
        case nil:
            others.add(entry.size)
            return false
        }
    }

    fileprivate mutating func add(_ outcome: TierDownload.Outcome, _ failure: Failure?, _ entry: ObjectList.Entry) {
        let key = entry.key.text
        switch outcome {
        case .whole:
            if case .picture = ObjectKind(entry.key) { pictures.add(entry.size) } else { documents.add(entry.size) }
        // Another machine has replaced the object, or it has expired.
        case .absent: break
        case .foreign, .unproven: others.add(entry.size)
        case .wrong, .ofOtherLength:
            guard let failure else { return mistakes.append(TierInspection.Mistake(key: key, reason: Self.damage)) }
            failures.append(
                TierInspection.Mistake(
                    key: key, reason: "\(Self.damage), and it cannot be removed: \(failure.cause)"))
        case .slow, .withdrawn, .failed:
            failures.append(TierInspection.Mistake(key: key, reason: failure?.cause ?? ""))
        }
    }
}
