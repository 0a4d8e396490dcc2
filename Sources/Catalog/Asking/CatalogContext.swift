import HTTP
import Rankings
import SQLite

/// What every part of a catalog works with: the source, the clocks and the database.
struct CatalogContext: Sendable {
    let configuration: Catalog.Configuration
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
