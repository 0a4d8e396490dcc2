package import Catalog
package import HTTP
package import ImageCache
internal import ImageHost
package import ObjectStore
package import Rankings
package import SQLite
internal import Synchronization

/// The shared tier of a mount: what other machines have downloaded and been told, on an object store.
///
/// It is asked between what is on this machine's disk and the service. Nothing that happens to it is an error for anybody.
///
/// ## Concurrency
///
/// Any thread may call.
package final class Tier: Sendable {
    /// What a tier works with.
    package struct Configuration: Sendable {
        /// Names the service and what is chosen of it, in characters of keys.
        package var service: String
        /// Where the list of uploads is kept.
        package var directory: String
        /// Whether what only signed-in users see is shared with the same user's machines.
        package var sharesPrivate: Bool
        /// Whether uploads may go over the network now; asked often, so it must not wait.
        package var maySpend: @Sendable () -> Bool
        /// Tells this run from all others.
        package var owner: String

        package init(
            service: String, directory: String, sharesPrivate: Bool, maySpend: @escaping @Sendable () -> Bool,
            owner: String
        ) {
            self.service = service
            self.directory = directory
            self.sharesPrivate = sharesPrivate
            self.maySpend = maySpend
            self.owner = owner
        }
    }

    /// What goes into displays.
    package struct Status: Hashable, Sendable {
        /// In a word: `up`, `resting`, `read-only`.
        package var state: String
        /// Why, if it does not work.
        package var reason: String?
        /// Seconds until it is asked again.
        package var restsFor: Int?
        /// Pictures that are to be uploaded.
        package var waiting: Int
        package var counts: TierCounts
    }

    private let configuration: Configuration
    private let store: TierStore
    private let leases: Leases
    private let documents: SharedDocuments
    private let uploads: Uploads
    /// What needs signing in, for each user who did.
    private let ofUsers = Mutex<[UserID: SharedDocuments]>([:])

    /// - Parameters:
    ///   - configuration: Names and limits.
    ///   - store: Where objects are.
    ///   - time: Measures waits and deadlines.
    ///   - report: Told what is to be logged.
    /// - Throws: If the list of uploads cannot be opened.
    package init(
        _ configuration: Configuration, store: ObjectStore, time: TimeSource = .system,
        report: @escaping @Sendable (TierEvent) -> Void
    ) throws(DatabaseError) {
        self.configuration = configuration
        self.store = TierStore(store, time: time, report: report)
        leases = Leases(self.store, owner: configuration.owner)
        documents = SharedDocuments(self.store, leases: leases, service: configuration.service)
        uploads = Uploads(
            self.store, list: try UploadList(path: configuration.directory + "/uploads.sqlite"),
            maySpend: configuration.maySpend)
        uploads.resume()
    }

    /// Pictures on the store.
    package var pictures: any PictureTier {
        TierPictures(store, leases: leases, service: configuration.service, uploads: uploads)
    }

    /// Sizes of pictures on the store.
    ///
    /// - Parameters:
    ///   - needsSignIn: Whether only signed-in users see a ranking.
    ///   - signIn: Who has signed in now, who may see more of it than everybody.
    /// - Returns: What the catalogue asks before it asks the image host.
    package func sizes(
        needsSignIn: @escaping @Sendable (RankingMode) -> Bool, signIn: @escaping @Sendable () -> SignIn
    ) -> any SharedSizes {
        TierSizes { [self] listing in
            guard case .ranking(let mode, let day) = listing else { return nil }
            let signIn = signIn()
            let isShared = !needsSignIn(mode) && signIn == .signedOut
            let documents = isShared ? documents : signIn.user.flatMap { ownDocuments(of: $0) }
            return documents?.day(mode, day)
        }
    }

    /// A source whose answers are shared.
    package func sharing(_ source: any RankingSource) -> any RankingSource {
        TieredSource(source: source, shared: documents) { [self] user in ownDocuments(of: user) }
    }

    /// What is shared among a user's machines alone; nil unless that was asked for.
    private func ownDocuments(of user: UserID) -> SharedDocuments? {
        guard configuration.sharesPrivate else { return nil }
        return ofUsers.withLock { ofUsers in
            if let known = ofUsers[user] { return known }
            let own = SharedDocuments(
                store, leases: leases, service: "\(configuration.service)-user-\(user.rawValue)")
            ofUsers[user] = own
            return own
        }
    }

    /// Figures for displays; never waits.
    package var status: Status {
        var status = Status(
            state: "up", restsFor: store.rests(.write).map { Int($0.components.seconds) }, waiting: uploads.waiting,
            counts: store.figures)
        switch store.state {
        case .works: break
        case .rests(let reason): (status.state, status.reason) = ("resting", reason)
        case .readOnly(let reason): (status.state, status.reason) = ("read-only", reason)
        }
        return status
    }

    /// Ends uploads, of which those that wait are taken up by the next run, and writes the last answers.
    package func close() async {
        await documents.close()
        for own in ofUsers.withLock({ Array($0.values) }) { await own.close() }
        await uploads.close()
    }
}
