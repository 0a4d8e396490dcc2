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

extension Connection {
    /// Brings the database to the newest schema, a list of named steps to which new ones are only appended.
    ///
    /// Runs the missing steps, all in one transaction; throws `.newerSchema` for a file with steps that this program does not know.
    package func migrate(_ migrations: [Migration]) throws(DatabaseError) {
        try execute(
            "CREATE TABLE IF NOT EXISTS migrations(position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT")
        var applied: [String] = []
        try rows("SELECT name FROM migrations ORDER BY position") { row in applied.append(row.text(0)) }
        let known = migrations.map(\.name)
        guard known.starts(with: applied) else {
            let steps = applied.filter { !known.contains($0) }.joined(separator: ", ")
            throw DatabaseError(
                code: .newerSchema, message: "it was written by a later rankfs (\(steps)); update rankfs")
        }
        guard applied.count < migrations.count else { return }
        try transaction { () throws(DatabaseError) in
            for (position, migration) in migrations.enumerated().dropFirst(applied.count) {
                try execute(migration.sql)
                try run(
                    "INSERT INTO migrations(position, name) VALUES(?, ?)", .integer(position), .text(migration.name))
            }
        }
    }
}
