import CSQLite
import System
import TestSupport
import Testing

@Suite struct StatementTests {
    let directory = TemporaryFolder()
    let connection: Connection

    init() throws {
        connection = try Connection(path: directory.path + "/a.sqlite")
        try connection.execute("CREATE TABLE t(a INTEGER, b TEXT, c BLOB)")
    }

    @Test func valuesComeBackAsTheyWent() throws {
        let text = "é\0e\u{301}🎨"
        let blob: [UInt8] = [0, 255, 0]
        try connection.run("INSERT INTO t VALUES(?, ?, ?)", .integer(Int64.min), .text(text), .blob(blob))
        try connection.run("INSERT INTO t VALUES(?, ?, ?)", .null, .text(""), .blob([]))
        var rows = 0
        try connection.rows("SELECT a, b, c FROM t ORDER BY rowid") { row in
            rows += 1
            if rows == 1 {
                #expect(row.int64(0) == .min)
                #expect(Array(row.text(1).utf8) == Array(text.utf8))
                #expect(row.blob(2) == blob)
            } else {
                #expect(row.isNull(0) && row.optionalInt64(0) == nil)
                #expect(row.optionalText(1) == "")
                #expect(!row.isNull(2) && row.blob(2) == [])
            }
        }
        #expect(rows == 2)
    }

    @Test func statementsAreKeptAndForgetTheirValues() throws {
        let insert = try connection.statement("INSERT INTO t(a, b) VALUES(?, ?)")
        try insert.bind([.integer(1), .text("x")])
        #expect(try insert.step() == false)
        let again = try connection.statement("INSERT INTO t(a, b) VALUES(?, ?)")
        #expect(again === insert)
        #expect(try again.step() == false)
        #expect(try connection.first("SELECT count(*) FROM t WHERE a IS NULL AND b IS NULL") { $0.int(0) } == 1)
    }

    @Test func errorsNameTheStatementNotItsValues() throws {
        let error = #expect(throws: DatabaseError.self) {
            try connection.run("INSERT INTO nowhere VALUES(?)", .text("secret"))
        }
        #expect(error?.code.primary.rawValue == SQLITE_ERROR)
        #expect(error?.sql == "INSERT INTO nowhere VALUES(?)")
        #expect(error?.description.contains("secret") == false)
        let range = #expect(throws: DatabaseError.self) { try connection.run("SELECT ?", .integer(1), .integer(2)) }
        #expect(range?.code.rawValue == SQLITE_RANGE)
        #expect(throws: DatabaseError.self) { try connection.run("  ") }
    }

    @Test func transactionsAreUndoneWhenTheyThrow() throws {
        try connection.execute("CREATE TABLE u(a INTEGER PRIMARY KEY)")
        let error = #expect(throws: DatabaseError.self) {
            try connection.transaction { () throws(DatabaseError) in
                try connection.run("INSERT INTO u VALUES(1)")
                try connection.run("INSERT INTO u VALUES(1)")
            }
        }
        #expect(error?.code.primary.rawValue == SQLITE_CONSTRAINT)
        #expect(try connection.first("SELECT count(*) FROM u") { $0.int(0) } == 0)
        let value = try connection.transaction { () throws(DatabaseError) in
            try connection.run("INSERT INTO u VALUES(1)")
            return connection.changes
        }
        #expect(value == 1)
    }

    @Test func aClosedConnectionThrows() throws {
        connection.close()
        #expect(directory.names == ["a.sqlite"], "the log is folded in and removed")
        #expect(throws: DatabaseError.self) { try connection.execute("SELECT 1") }
    }

    @Test func filesAreInWALModeAndMissingOnesAreAnErrorForReaders() throws {
        #expect(try connection.first("PRAGMA journal_mode") { $0.text(0) } == "wal")
        #expect(try connection.first("PRAGMA foreign_keys") { $0.int(0) } == 1)
        let error = #expect(throws: DatabaseError.self) {
            try Connection(path: directory.path + "/none", isReadOnly: true)
        }
        #expect(error?.code.primary == .cannotOpen)
    }
}
