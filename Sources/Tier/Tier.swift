package import Catalog
package import HTTP
package import ImageCache
package import Sourcing
package import Rankings
package import System
internal import Synchronization

/// The shared tier of a mount: downloads and answers of other machines, in an object store.
///
/// It is used after this machine's disk and before the service. Its failures are never errors for a reader.
///
/// ## Concurrency
///
/// Any thread may call.
package final class Tier: Sendable {
    /// The figures of the tier for displays.
    package struct Status: Hashable, Sendable {
        /// The state in a word: `up`, `resting`, `slow`, `read-only`.
        package var state: String
        /// The reason, if the tier does not work, or is only read.
        package var reason: String?
        /// The seconds until the next request.
        package var restsFor: Int?
        /// The number of pictures to upload.
        package var waiting: Int
        package var counts: TierCounts

        /// The reason of a mount that works and may not write.
        package static let notWriting = "tier_write=off"
    }

    /// The name of the service, whose pictures are the same whatever is chosen of them.
    let pictureService: String
    private let service: String
    private let sharesPrivate: Bool
    let store: TierStore
    private let leases: Leases
    private let pauses: SharedPauses?
    private let documents: SharedDocuments
    private let uploads: Uploads
    /// The documents of answers that need signing in, for each signed-in user.
    private let ofUsers = Mutex<[UserID: SharedDocuments]>([:])

    /// - Parameters:
    ///   - store: The object store.
    ///   - service: The name of the service and of its chosen variant, in characters of keys; documents are stored under it.
    ///   - pictures: The name of the service, whose pictures are the same whatever is chosen of them.
    ///   - directory: The directory of the list of uploads.
    ///   - sharesPrivate: Whether answers for signed-in users are shared with the same user's machines.
    ///   - mayWrite: Whether this machine writes to the store.
    ///   - maySpend: Returns whether uploads may use the network now; called often, so it must not wait.
    ///   - owner: The identifier of this run, which distinguishes it from all others.
    ///   - time: The clock of waits and deadlines.
    ///   - report: Receives the events to log.
    /// - Throws: If the list of uploads cannot be opened.
    package init(
        _ store: ObjectStore, service: String, pictures: String, directory: String, sharesPrivate: Bool,
        mayWrite: Bool = true, maySpend: @escaping @Sendable () -> Bool, owner: String, time: TimeSource = .system,
        report: @escaping @Sendable (TierEvent) -> Void
    ) throws(DatabaseError) {
        (self.service, pictureService, self.sharesPrivate) = (service, pictures, sharesPrivate)
        self.store = TierStore(store, time: time, mayWrite: mayWrite, report: report)
        pauses = ObjectKey(["leases", ObjectKind.pauses, service]).map { [store = self.store] key in
            let leases = Leases(store, owner: owner)
            return SharedPauses(SharedDocument(key, store: store, leases: leases), store: store)
        }
        leases = Leases(self.store, owner: owner) { [pauses] in pauses?.read(every: $0) }
        documents = SharedDocuments(self.store, leases: leases, service: service)
        uploads = Uploads(
            self.store,
            list: try UploadList(
                path: directory + "/uploads.sqlite",
                for: ("\(store.place.origin) \(store.place.address)", takesPrivate: sharesPrivate)),
            maySpend: maySpend)
        uploads.resume()
    }

    /// The pictures in the object store.
    package var pictures: any PictureTier {
        TierPictures(store, leases: leases, service: pictureService, uploads: uploads)
    }

    /// Returns what the object store has about the pictures of days: only days live as long as their pictures.
    ///
    /// - Parameters:
    ///   - source: The facts of the source.
    ///   - signIn: Returns the present sign-in; a signed-in user may see more of a ranking than other users.
    /// - Returns: The sizes that the catalogue queries before it sends a request to the image host, and the previews of thumbnails.
    package func days(
        of source: SourceDescription, signIn: @escaping @Sendable () -> SignIn
    ) -> any SharedSizes & SharedPreviews {
        TierDays { [self] listing in
            listing.ranking == nil ? nil : source.audience(of: listing, signIn()).flatMap { documents(for: $0) }
        }
    }

    /// Returns a source with shared answers.
    package func sharing(_ source: any RankingSource) -> any RankingSource {
        TieredSource(source: source) { [self] in documents(for: $0) }
    }

    /// Returns the documents of answers for an audience; nil for a user's own unless they are shared.
    func documents(for audience: AnswerAudience) -> SharedDocuments? {
        guard case .user(let user) = audience else { return documents }
        guard sharesPrivate else { return nil }
        return ofUsers.withLock { ofUsers in
            if let known = ofUsers[user] { return known }
            let own = SharedDocuments(
                store, leases: leases, service: "\(service)\(ObjectKind.user)\(user.rawValue)")
            ofUsers[user] = own
            return own
        }
    }

    /// Begins pauses that hosts requested of other machines in a queue.
    package func pause(_ queue: RequestQueue) { pauses?.follow(queue) }

    /// Takes note of a pause that a host requested of this machine; others keep it too.
    ///
    /// - Parameters:
    ///   - news: The change of a host's state.
    ///   - wall: The wall clock in Unix seconds.
    package func note(_ news: RequestQueue.News, wall: Int64) {
        switch news {
        case .limited(let host, let seconds): pauses?.store(host, .host, seconds: seconds)
        case .serviceClosed(let host, let end):
            pauses?.store(host, .interface, seconds: end.subtracting(saturating: wall))
        case .turnedAway, .letIn: break
        }
    }

    /// The figures for displays; never waits.
    package var status: Status {
        var status = Status(
            state: "up", restsFor: store.rests(.write).map { Int($0.components.seconds) }, waiting: uploads.waiting,
            counts: store.figures)
        switch store.state {
        case .works: status.reason = store.mayWrite ? nil : Status.notWriting
        case .rests(let reason): (status.state, status.reason) = ("resting", reason)
        case .picturesRest(let reason): (status.state, status.reason) = ("slow", reason)
        case .readOnly(let reason): (status.state, status.reason) = ("read-only", reason)
        }
        return status
    }

    /// Ends uploads and writes the last answers; the next run continues the waiting uploads.
    package func close() async {
        await documents.close()
        await pauses?.close()
        for own in ofUsers.withLock({ Array($0.values) }) { await own.close() }
        await uploads.close()
    }
}
