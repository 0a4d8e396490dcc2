import Rankings
import System

/// The database of the catalog, as an actor on a serial queue of its own.
///
/// ## Concurrency
///
/// Calls run one after another off the cooperative pool. `lookup` and `getattr` never wait for it.
actor ListingStore {
    private let executor = SerialQueueExecutor(label: "catalog")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private let path: String
    private let view: ListingView
    /// Called when a damaged file was set aside during work.
    private let onSetAside: @Sendable (SetAside) -> Void
    private var connection: Connection

    init(
        _ connection: sending Connection, path: String, view: ListingView,
        onSetAside: @escaping @Sendable (SetAside) -> Void
    ) {
        self.connection = connection
        self.path = path
        self.view = view
        self.onSetAside = onSetAside
    }

    /// Closes the file.
    func close() {
        connection.close()
    }

    /// Runs changes in one transaction; returns the number of new sizes.
    func apply(_ writes: [StoreWrite]) throws(DatabaseError) -> Int {
        // Reads continue in a file that was removed from its directory; changes written there would be lost to the next mount.
        if connection.isAstray { connection = try connection.restored() }
        let variant = StoredVariant(view)
        return try read { connection throws(DatabaseError) in
            try connection.transaction { () throws(DatabaseError) in
                var newSizes = 0
                for write in writes {
                    switch write {
                    case .listing(let listing): newSizes += try Rows.write(listing, variant, to: connection)
                    case .size(let size, let picture): newSizes += try Rows.write(size, of: picture, to: connection)
                    case .toldSize(let size, let picture):
                        newSizes += try Rows.writeTold(size, of: picture, to: connection)
                    case .noSize(let picture): newSizes -= try Rows.deleteSize(of: picture, in: connection)
                    case .newest(let mode, let newest): try Rows.write(newest, of: mode, to: connection)
                    case .text(let key, let text): try Rows.write(text, under: key, to: connection)
                    case .noText(let key): try Rows.deleteText(key, in: connection)
                    case .recent(let picture): try Rows.write(picture, to: connection)
                    case .forget(let key): try Rows.delete(key, variant, in: connection)
                    }
                }
                return newSizes
            }
        }
    }

    /// The sizes of pictures in bytes, 0 for unknown ones.
    func sizes(of pictures: [PictureID]) throws(DatabaseError) -> [Int64] {
        try read { connection throws(DatabaseError) in
            try pictures.map { picture throws(DatabaseError) in try Rows.size(of: picture, in: connection) ?? 0 }
        }
    }

    /// Runs `body`; a damaged file is set aside, so that the next call works on a new one.
    func read<Value: Sendable>(
        _ body: @Sendable (Connection) throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value {
        do throws(DatabaseError) {
            return try body(connection)
        } catch {
            guard error.code.meansUnusable else { throw error }
            connection.close()
            let reason = error.description
            let moved = try Connection.moveAside(path)
            connection = try Connection.openOrSetAside(path: path, migrations: Schema.migrations).connection
            onSetAside((moved, reason))
            throw error
        }
    }
}
