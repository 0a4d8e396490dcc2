internal import Digests
internal import HTTP
package import ObjectStore
internal import Rankings

/// What `rankfs tier` looks at: all objects below a prefix, whichever machine wrote them.
///
/// ## Concurrency
///
/// A value; any task may call.
package struct TierInspection: Sendable {
    /// How many objects of a kind there are, and their bytes.
    package struct Tally: Hashable, Sendable {
        package var objects = 0
        package var bytes: Int64 = 0

        package init() {}
    }

    /// What there is.
    package struct Survey: Hashable, Sendable {
        /// By the service that they are of.
        package var pictures: [String: Tally] = [:]
        package var documents: [String: Tally] = [:]
        package var leases = Tally()
        /// What is none of ours.
        package var others = Tally()
    }

    /// An object that was not right, or could not be looked at.
    package struct Mistake: Hashable, Sendable {
        package var key: String
        /// As a part of a sentence.
        package var reason: String

        package init(key: String, reason: String) {
            self.key = key
            self.reason = reason
        }
    }

    /// What was found on reading all of it.
    package struct Verification: Hashable, Sendable {
        package var pictures = Tally()
        package var documents = Tally()
        /// What is none of ours, which is left alone.
        package var others = Tally()
        /// What did not have the bytes that were written.
        package var mistakes: [Mistake] = []
        /// What could not be read, or removed: nothing is known of it.
        package var failures: [Mistake] = []
        /// Why not everything was looked at; nil if it was.
        package var stopped: String?

        package init() {}

        /// Whether something was learnt.
        fileprivate var isEmpty: Bool { self == Verification() }
    }

    /// Objects read at once.
    private static let atOnce = 8
    /// How long an answer may take, besides what its bytes take.
    private static let patience = Duration.seconds(120)
    /// Bytes a second that an object comes with at least, on a line that eight of them share.
    private static let slowest: Double = 16_384
    /// So many failures in a row are no trouble of single objects.
    private static let mostFailures = 64
    /// Parts of a list at most, of a thousand objects each: more is no store's list of ours.
    private static let mostParts = 10_000

    private let store: ObjectStore
    private let time: TimeSource

    package init(_ store: ObjectStore) {
        self.store = store
        time = .system
    }

    /// Counts what is there.
    package func survey() async throws(StoreError) -> Survey {
        var survey = Survey()
        try await forEach { entries in
            for entry in entries {
                switch ObjectKind(entry.key) {
                case .picture(let service): survey.pictures[service, default: Tally()].add(entry)
                case .document(let service): survey.documents[service, default: Tally()].add(entry)
                case .lease: survey.leases.add(entry)
                case nil: survey.others.add(entry)
                }
            }
        }
        return survey
    }

    /// Reads everything, and removes what rankfs wrote and does not have the bytes that were written.
    ///
    /// What cannot be read, as machines replace it or the line breaks, is told at the end; the others are looked at all the same.
    ///
    /// - Parameter isRemoving: Whether that is done, or only told.
    /// - Returns: What was right and what was not.
    /// - Throws: Why the store did not answer at all.
    package func verify(isRemoving: Bool) async throws(StoreError) -> Verification {
        var found = Verification()
        var failures = 0
        do throws(StoreError) {
            try await forEach { (entries) async throws(StoreError) in
                let ours = entries.filter { found.takes($0) }
                for start in stride(from: 0, to: ours.count, by: Self.atOnce) {
                    let part = ours[start..<min(start + Self.atOnce, ours.count)]
                    let looks = await withTaskGroup(of: (ObjectList.Entry, Look).self) { group in
                        for entry in part { group.addTask { (entry, await look(entry, isRemoving)) } }
                        return await group.reduce(into: []) { $0.append($1) }
                    }
                    for (entry, look) in looks {
                        found.add(look, entry)
                        guard case .failed(let error, _) = look else {
                            failures = 0
                            continue
                        }
                        failures += 1
                        if failures >= Self.mostFailures { throw error }
                    }
                }
            }
        } catch {
            guard !found.isEmpty else { throw error }
            found.stopped = error.text
        }
        return found
    }

    /// What reading an object told.
    fileprivate enum Look: Sendable {
        case right
        case gone
        case others
        /// It was removed, if that was wanted.
        case wrong
        /// Nothing is known of it, or it is wrong and could not be removed.
        case failed(StoreError, isWrong: Bool)
    }

    private func look(_ entry: ObjectList.Entry, _ isRemoving: Bool) async -> Look {
        let hash = XXH3()
        let download = unsafe TierDownload(length: nil, key: entry.key, time: time, pace: nil) { bytes, _ in
            unsafe hash.add(bytes)
            return true
        }
        // The list that named it has told what time it is there; another machine may have written a larger one since.
        let bytes = Double(min(entry.size, PictureLimits.largest))
        switch await download.run(
            on: store, deadline: time.now() + Self.patience + .seconds(bytes / Self.slowest))
        {
        case .whole: return .right
        case .absent: return .gone
        case .foreign: return .others
        case .slow: return .failed(.timedOut, isWrong: false)
        case .failed(let error): return .failed(error, isWrong: false)
        case .wrong:
            guard isRemoving else { return .wrong }
            do throws(StoreError) {
                try await store.delete(entry.key, deadline: time.now() + Self.patience)
                return .wrong
            } catch { return .failed(error, isWrong: true) }
        }
    }

    private func forEach(
        _ take: ([ObjectList.Entry]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var token: String?
        // No order can be asked for: some stores list folder by folder.
        var seen: Set<String> = []
        for _ in 0..<Self.mostParts {
            let list = try await store.list(after: token, deadline: time.now() + Self.patience)
            try await take(list.entries)
            guard let next = list.next else { return }
            // One that begins anew for ever is no list.
            guard seen.insert(next).inserted else { break }
            token = next
        }
        throw .nonsense("its list of objects does not end")
    }

    // MARK: - What a mount needs

    /// Whether a store does what machines rely on.
    package enum Ability: Hashable, Sendable {
        /// It is read, written, and holds conditions.
        case all
        /// It is read and written, but two machines may get the same lease: they may download the same twice.
        case withoutConditions
        /// It is read only.
        case readOnly(reason: String)
        case none(reason: String)
    }

    /// Tries what a mount does with an object of its own, which it removes.
    ///
    /// - Parameters:
    ///   - name: A name that nobody else has.
    ///   - now: Unix seconds of this machine.
    /// - Returns: What the store does, and by how many seconds its clock is ahead of `now` if it tells.
    package func examine(name: String, now: Int64) async -> (ability: Ability, ahead: Int64?) {
        guard let key = ObjectKey("leases/examination/\(name)") else { return (.none(reason: "no key"), nil) }
        let deadline = time.now() + TierStore.patience * 4
        let bytes = Array("{\"seconds\":0}".utf8)
        let description = ObjectDescription(
            mediaType: "application/json", length: Int64(bytes.count), hash: XXH3.hex(bytes), key: key)
        do throws(StoreError) {
            _ = try await store.get(key, limit: 1024, deadline: deadline)
        } catch { return (.none(reason: error.text), nil) }
        do throws(StoreError) {
            let first = try await store.put(key, RequestContent(bytes), description, if: .isNew, deadline: deadline)
            let second = try await store.put(key, RequestContent(bytes), description, if: .isNew, deadline: deadline)
            try await store.delete(key, deadline: deadline)
            let ahead = store.now.map { $0 - now }
            return (first != nil && second == nil ? .all : .withoutConditions, ahead)
        } catch {
            // Others write what is there already, which comes to the same.
            return (error == .troubled(status: 501) ? .withoutConditions : .readOnly(reason: error.text), nil)
        }
    }
}

extension TierInspection.Tally {
    fileprivate mutating func add(_ entry: ObjectList.Entry) {
        objects += 1
        // A store can tell any number.
        let (sum, overflows) = bytes.addingReportingOverflow(entry.size)
        bytes = overflows ? .max : sum
    }
}

extension TierInspection.Verification {
    private static let damage = "its bytes are not those that were written"

    /// Whether an object is to be read; leases are nobody's for long.
    fileprivate mutating func takes(_ entry: ObjectList.Entry) -> Bool {
        switch ObjectKind(entry.key) {
        case .picture, .document: return true
        case .lease: return false
        case nil:
            others.add(entry)
            return false
        }
    }

    fileprivate mutating func add(_ look: TierInspection.Look, _ entry: ObjectList.Entry) {
        let key = entry.key.text
        switch look {
        case .right:
            if case .picture = ObjectKind(entry.key) { pictures.add(entry) } else { documents.add(entry) }
        // Another machine has replaced it, or it has expired.
        case .gone: break
        case .others: others.add(entry)
        case .wrong:
            mistakes.append(TierInspection.Mistake(key: key, reason: Self.damage))
        case .failed(let error, isWrong: false):
            failures.append(TierInspection.Mistake(key: key, reason: error.text))
        case .failed(let error, isWrong: true):
            failures.append(
                TierInspection.Mistake(
                    key: key,
                    reason: "its bytes are not those that were written, and it cannot be removed: \(error.text)"))
        }
    }
}
