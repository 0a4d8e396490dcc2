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

/// Brings a database to the newest schema: a list of named steps to which new ones are only appended.
package struct Migrator: Sendable {
    private let migrations: [Migration]

    package init(_ migrations: [Migration]) {
        self.migrations = migrations
    }

    /// Runs the missing steps, all in one transaction; throws `.newerSchema` for a file with steps that this program does not know.
    package func migrate(_ connection: Connection) throws(DatabaseError) {
        try connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations(position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT")
        var applied: [String] = []
        try connection.rows("SELECT name FROM migrations ORDER BY position") { row in applied.append(row.text(0)) }
        let known = migrations.map(\.name)
        guard known.starts(with: applied) else {
            let steps = applied.filter { !known.contains($0) }.joined(separator: ", ")
            throw DatabaseError(
                code: .newerSchema, message: "it was written by a later rankfs (\(steps)); update rankfs")
        }
        guard applied.count < migrations.count else { return }
        try connection.transaction { () throws(DatabaseError) in
            for (position, migration) in migrations.enumerated().dropFirst(applied.count) {
                try connection.execute(migration.sql)
                try connection.run(
                    "INSERT INTO migrations(position, name) VALUES(?, ?)", .integer(position), .text(migration.name))
            }
        }
    }
}
