internal import HTTP
internal import ObjectStore
internal import Rankings
internal import Synchronization

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
