/// One step of a schema; once released, neither its name nor its text ever changes.
package struct Migration: Sendable {
    package let name: String
    /// Statements without parameters.
    package let sql: String

    package init(_ name: String, _ sql: String) {
        self.name = name
        self.sql = sql
    }
}

/// The reason why a schema could not be brought up to date.
package enum MigrationError: Error, Hashable, Sendable {
    /// The file was written by a newer program: it has steps that this one does not know.
    case newerSchema(steps: [String])
    case database(DatabaseError)
}

/// Brings a database to the newest schema: a list of named steps to which new ones are only appended.
package struct Migrator: Sendable {
    private let migrations: [Migration]

    package init(_ migrations: [Migration]) {
        self.migrations = migrations
    }

    /// Runs the missing steps, all in one transaction.
    package func migrate(_ connection: Connection) throws(MigrationError) {
        do throws(DatabaseError) {
            try connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations(position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT")
        } catch { throw .database(error) }
        let applied = try appliedSteps(of: connection)
        let known = migrations.map(\.name)
        guard known.starts(with: applied) else {
            throw .newerSchema(steps: applied.filter { !known.contains($0) })
        }
        guard applied.count < migrations.count else { return }
        do throws(DatabaseError) {
            try connection.transaction { () throws(DatabaseError) in
                for (position, migration) in migrations.enumerated().dropFirst(applied.count) {
                    try connection.execute(migration.sql)
                    try connection.run(
                        "INSERT INTO migrations(position, name) VALUES(?, ?)", .integer(position), .text(migration.name)
                    )
                }
            }
        } catch { throw .database(error) }
    }

    private func appliedSteps(of connection: Connection) throws(MigrationError) -> [String] {
        var names: [String] = []
        do throws(DatabaseError) {
            try connection.rows("SELECT name FROM migrations ORDER BY position") { row in names.append(row.text(0)) }
        } catch { throw .database(error) }
        return names
    }
}
