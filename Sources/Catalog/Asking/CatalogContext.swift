package import HTTP
import Rankings
import SQLite

/// What every part of a catalog works with: the source, the clocks and the database.
struct CatalogContext: Sendable {
    let configuration: CatalogConfiguration
    let source: any RankingSource
    let store: ListingStore
    let stored: StoredContents
    let outbox: Outbox
    let report: @Sendable (CatalogEvent) -> Void
    let background = BackgroundTasks()

    /// How long the service may take to say what is new where something stored can be shown instead.
    static let refreshPatience: Duration = .seconds(5)

    /// Wall clock in Unix seconds.
    var now: Int64 { configuration.now() }

    var view: ListingView { configuration.view }

    /// How long an answer may take where nothing can be shown without it.
    var timeout: AnswerLimit { AnswerLimit(configuration.timeout, configuration.time) }

    /// How long it may take where something stored can be shown instead.
    var shortTimeout: AnswerLimit {
        AnswerLimit(min(configuration.timeout, Self.refreshPatience), configuration.time)
    }

    /// Asks the database once it has everything that is on its way there.
    func read<Value: Sendable>(
        _ body: @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        await outbox.flush()
        return try await store.read(body)
    }
}

// MARK: - Configuration

/// The limits and places a catalog works with.
package struct CatalogConfiguration: Sendable {
    /// The directory of the database; must exist.
    package var directory: String
    /// How many recent days a mode lists besides the stored ones.
    package var days: Int
    /// What listings show.
    package var view: ListingView
    /// The bound of one waiting operation.
    package var timeout: Duration
    /// Wall clock in Unix seconds.
    package var now: @Sendable () -> Int64
    /// The clock of deadlines.
    package var time = TimeSource.system

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
