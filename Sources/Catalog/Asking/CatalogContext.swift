package import HTTP
import Rankings
import System

/// The shared tools of a catalog's parts: the source, the clocks and the database.
struct CatalogContext: Sendable {
    let configuration: CatalogConfiguration
    let source: any RankingSource
    let store: ListingStore
    let stored: StoredContents
    let outbox: Outbox
    let report: @Sendable (CatalogEvent) -> Void
    let background = BackgroundTasks()

    /// The time limit for news from the service where something stored can be shown instead.
    static let refreshPatience: Duration = .seconds(5)

    /// The wall clock, in Unix seconds.
    var now: Int64 { configuration.now() }

    var view: ListingView { configuration.view }

    /// The moment at which a request that begins now is given up: sooner where something stored can be shown instead.
    func deadline(isComparison: Bool = false) -> ContinuousClock.Instant {
        let timeout = configuration.timeout
        return configuration.time.now() + (isComparison ? min(timeout, Self.refreshPatience) : timeout)
    }

    /// The viewers to whom the service shows a listing as it does now.
    func audience(of listing: ListingKey) -> AnswerAudience { audience(of: listing, source.signIn) }

    /// The viewers to whom the service shows a listing in a sign-in state; an account's own listing is one for all states.
    func audience(of listing: ListingKey, _ signIn: SignIn) -> AnswerAudience {
        guard case .signedIn(let user) = signIn, listing.owner != user else { return .everybody }
        return .user(user)
    }

    /// Reads from the database once all pending changes have been written.
    func read<Value: Sendable>(
        _ body: @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        await outbox.flush()
        return try await store.read(body)
    }

    /// The stored size of a picture in bytes; nil if none is known.
    func storedSize(of picture: PictureID) async -> Int64? {
        // The last answer may still be on its way to the database.
        await outbox.flush()
        guard let size = try? await store.sizes(of: [picture]).first, size > 0 else { return nil }
        return size
    }
}

// MARK: - Configuration

/// The limits and places of a catalog.
package struct CatalogConfiguration: Sendable {
    /// The directory of the database; must exist.
    package var directory: String
    /// The number of recent days that a mode lists besides the stored ones.
    package var days: Int
    /// The view that listings show.
    package var view: ListingView
    /// The time limit of one waiting operation.
    package var timeout: Duration
    /// The wall clock, in Unix seconds.
    package var now: @Sendable () -> Int64
    /// The clock of deadlines.
    package var time = TimeSource.system
    /// The version of the program: another one may decode what this one cannot.
    package var version = ""

    package init(
        directory: String, days: Int, view: ListingView, timeout: Duration, now: @escaping @Sendable () -> Int64
    ) {
        self.directory = directory
        self.days = days
        self.view = view
        self.timeout = timeout
        self.now = now
    }
}
