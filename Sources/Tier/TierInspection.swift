internal import Digests
internal import HTTP
package import ObjectStore

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

    /// An object that was not right.
    package struct Mistake: Hashable, Sendable {
        package var key: String
        /// As a part of a sentence.
        package var reason: String
    }

    /// What was found on reading all of it.
    package struct Verification: Hashable, Sendable {
        package var pictures = Tally()
        package var documents = Tally()
        package var mistakes: [Mistake] = []
    }

    /// Objects read at once.
    private static let atOnce = 8
    /// How long one object may take.
    private static let patience = Duration.seconds(120)

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
                let parts = entry.key.text.split(separator: "/").map(String.init)
                switch (parts.first, parts.count) {
                case ("pictures", 2...): survey.pictures[parts[1], default: Tally()].add(entry)
                case ("documents", 2...): survey.documents[parts[1], default: Tally()].add(entry)
                case ("leases", _): survey.leases.add(entry)
                default: survey.others.add(entry)
                }
            }
        }
        return survey
    }

    /// Reads everything, and removes what does not have the bytes that were written.
    ///
    /// - Parameter isRemoving: Whether that is done, or only told.
    /// - Returns: What was right and what was not.
    /// - Throws: Why the store did not answer.
    package func verify(isRemoving: Bool) async throws(StoreError) -> Verification {
        var found = Verification()
        try await forEach { (entries) async throws(StoreError) in
            let ours = entries.filter { $0.key.text.hasPrefix("pictures/") || $0.key.text.hasPrefix("documents/") }
            for start in stride(from: 0, to: ours.count, by: Self.atOnce) {
                let part = ours[start..<min(start + Self.atOnce, ours.count)]
                let looks = await withTaskGroup(of: (ObjectList.Entry, Result<String?, StoreError>).self) { group in
                    for entry in part { group.addTask { (entry, await look(entry)) } }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                for (entry, look) in looks {
                    if let reason = try look.get() {
                        found.mistakes.append(Mistake(key: entry.key.text, reason: reason))
                        if isRemoving { try await store.delete(entry.key, deadline: time.now() + Self.patience) }
                    } else if entry.key.text.hasPrefix("pictures/") {
                        found.pictures.add(entry)
                    } else {
                        found.documents.add(entry)
                    }
                }
            }
        }
        return found
    }

    /// What is wrong with an object; nil if nothing is.
    private func look(_ entry: ObjectList.Entry) async -> Result<String?, StoreError> {
        let hash = XXH3()
        let download = unsafe TierDownload(length: nil, key: entry.key, time: time) { bytes, _ in
            unsafe hash.add(bytes)
            return true
        }
        // The list that named it has told what time it is there.
        let (request, _) = store.request(
            for: entry.key, limit: entry.size, priority: .reader, deadline: time.now() + Self.patience)
        switch await download.run(request, on: store, urgency: Urgency()) {
        case .whole: return .success(nil)
        // Another machine has replaced it.
        case .absent: return .success(nil)
        case .wrong: return .success("its bytes are not those that were written")
        case .failed(let error): return .failure(error)
        }
    }

    private func forEach(
        _ take: ([ObjectList.Entry]) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        var token: String?
        repeat {
            let list = try await store.list(after: token, deadline: time.now() + Self.patience)
            try await take(list.entries)
            // One that begins anew for ever is no list.
            guard list.next != token || token == nil else { throw .nonsense("its list of objects does not end") }
            token = list.next
        } while token != nil
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
        bytes += entry.size
    }
}
