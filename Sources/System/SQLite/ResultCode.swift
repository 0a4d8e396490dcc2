internal import CSQLite

/// A result of SQLite, as its own number (https://www.sqlite.org/rescode.html).
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The kind of failure without its detail: the low byte of an extended code.
    package var primary: ResultCode {
        ResultCode(rawValue: rawValue & 0xFF)
    }

    /// Whether the file itself is damaged, or was never a database.
    package var meansUnusable: Bool {
        primary == .corrupt || primary == .notADatabase
    }

    /// Whether the same change may succeed later: another program holds the database, the disk has no room, or the directory was just
    /// being removed (`SQLITE_IOERR_DELETE_NOENT`).
    package var mayEnd: Bool {
        [SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL].contains(primary.rawValue) || rawValue == SQLITE_IOERR | 23 << 8
    }

    package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    /// No code of SQLite: the schema has steps that this program does not know.
    package static let newerSchema = ResultCode(rawValue: -1)
}

/// A call of SQLite that failed.
package struct DatabaseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The extended result code.
    package let code: ResultCode
    /// SQLite's own message, which contains no bound values.
    package let message: String
    /// The statement at fault, without its values; nil where no statement was involved.
    package var sql: String?

    /// One line for logs: `database or disk is full (13) in "INSERT …"`.
    package var description: String {
        if code == .newerSchema { return message }
        guard let sql else { return "\(message) (\(code.rawValue))" }
        return "\(message) (\(code.rawValue)) in \"\(sql)\""
    }
}

// MARK: - SQL value

/// A value to bind to a parameter of a statement.
package enum SQLValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    /// An integer, or null for nil.
    package static func optional(_ value: Int64?) -> SQLValue {
        value.map(SQLValue.integer) ?? .null
    }

    /// A text, or null for nil.
    package static func optional(_ value: String?) -> SQLValue {
        value.map(SQLValue.text) ?? .null
    }

    /// An integer of the machine's width.
    package static func integer(_ value: Int) -> SQLValue {
        .integer(Int64(value))
    }

    /// 1 or 0.
    package static func flag(_ value: Bool) -> SQLValue {
        .integer(value ? Int64(1) : 0)
    }
}
