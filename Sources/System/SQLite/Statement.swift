internal import CSQLite

/// A prepared statement: bind, step through its rows, reset.
///
/// Parameters count from 1 and columns from 0, as in SQLite.
///
/// ## Concurrency
///
/// Belongs to the one thread or actor that owns its connection; not Sendable on purpose.
// Safe outside: the pointer is private, made by `prepare` and finalised once, in `deinit`.
@safe
package final class Statement {
    /// The text of the statement.
    package let sql: String
    private let handle: OpaquePointer
    /// Keeps the connection's handle open for as long as this statement is.
    private let database: DatabaseHandle

    init(_ sql: String, on database: DatabaseHandle) throws(DatabaseError) {
        var sqlCopy = sql
        var handle: OpaquePointer?
        // PERSISTENT: the statement is kept and reused, so it does not occupy SQLite's small lookaside memory.
        let code = sqlCopy.withUTF8 { text in
            unsafe text.withMemoryRebound(to: CChar.self) { text in
                unsafe sqlite3_prepare_v3(
                    database.pointer, text.baseAddress, Int32(clamping: text.count), UInt32(SQLITE_PREPARE_PERSISTENT),
                    &handle, nil)
            }
        }
        guard code == SQLITE_OK, let handle = unsafe handle else {
            throw code == SQLITE_OK
                ? DatabaseError(code: .misuse, message: "the statement is empty", sql: sql)
                : database.error(code, sql: sql)
        }
        self.sql = sql
        unsafe self.handle = handle
        self.database = database
    }

    deinit {
        // The result repeats the error of the last step, which was thrown then.
        unsafe sqlite3_finalize(handle)
    }

    // MARK: - Binding

    /// Binds values to the parameters from the first on.
    package func bind(_ values: [SQLValue]) throws(DatabaseError) {
        for (offset, value) in values.enumerated() {
            try bind(value, at: Int32(offset) + 1)
        }
    }

    /// Binds one value; text and blobs are copied.
    package func bind(_ value: SQLValue, at index: Int32) throws(DatabaseError) {
        let code: Int32
        switch value {
        case .null:
            code = unsafe sqlite3_bind_null(handle, index)
        case .integer(let number):
            code = unsafe sqlite3_bind_int64(handle, index, number)
        case .text(var text):
            code = text.withUTF8 { bytes in
                // A null pointer would bind NULL in place of an empty text.
                guard let base = bytes.baseAddress, !bytes.isEmpty else {
                    return unsafe rankfs_sqlite3_bind_text_transient(handle, index, "", 0)
                }
                guard let length = Int32(exactly: bytes.count) else { return SQLITE_TOOBIG }
                return unsafe base.withMemoryRebound(to: CChar.self, capacity: bytes.count) { text in
                    unsafe rankfs_sqlite3_bind_text_transient(handle, index, text, length)
                }
            }
        case .blob(let bytes):
            code = unsafe bytes.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress, unsafe !bytes.isEmpty else {
                    return unsafe sqlite3_bind_zeroblob(handle, index, 0)
                }
                guard let length = Int32(exactly: bytes.count) else { return SQLITE_TOOBIG }
                return unsafe rankfs_sqlite3_bind_blob_transient(handle, index, base, length)
            }
        }
        guard code == SQLITE_OK else { throw database.error(code, sql: sql) }
    }

    // MARK: - Stepping

    /// Goes to the next row; false after the last one.
    package func step() throws(DatabaseError) -> Bool {
        let code = unsafe sqlite3_step(handle)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw database.error(code, sql: sql)
        }
    }

    /// Makes the statement ready for reuse and releases its locks and bound values.
    package func reset() {
        // The result repeats the error of the last step, which was thrown then.
        unsafe sqlite3_reset(handle)
        unsafe sqlite3_clear_bindings(handle)
    }

    // MARK: - Columns of the present row

    /// Whether the column holds NULL.
    package func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    /// The column as an integer; 0 for NULL.
    package func int64(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(handle, column)
    }

    /// The column as an integer of the machine's width; 0 for NULL.
    package func int(_ column: Int32) -> Int {
        Int(int64(column))
    }

    /// The column as an integer, or nil for NULL.
    package func optionalInt64(_ column: Int32) -> Int64? {
        isNull(column) ? nil : int64(column)
    }

    /// The column as text, NUL characters included; empty for NULL.
    package func text(_ column: Int32) -> String {
        // The pointer must be fetched before the length (https://www.sqlite.org/c3ref/column_blob.html).
        guard let start = unsafe sqlite3_column_text(handle, column) else { return "" }
        let length = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: length), as: UTF8.self)
    }

    /// The column as text, or nil for NULL.
    package func optionalText(_ column: Int32) -> String? {
        isNull(column) ? nil : text(column)
    }

    /// The column as bytes; empty for NULL.
    package func blob(_ column: Int32) -> [UInt8] {
        guard let start = unsafe sqlite3_column_blob(handle, column) else { return [] }
        let length = Int(unsafe sqlite3_column_bytes(handle, column))
        return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: length))
    }
}

// MARK: - Database handle

/// The open handle of a database: closed when its connection and the last statement are gone.
// Safe outside: the pointer comes from `sqlite3_open_v2` and is closed once, in `deinit`.
@safe
final class DatabaseHandle {
    let pointer: OpaquePointer

    init(path: String, flags: Int32) throws(DatabaseError) {
        var pointer: OpaquePointer?
        let code = unsafe sqlite3_open_v2(path, &pointer, flags, nil)
        guard let pointer = unsafe pointer else {
            throw DatabaseError(code: ResultCode(rawValue: code), message: "no memory for a database")
        }
        unsafe self.pointer = pointer
        guard code == SQLITE_OK else { throw error(code, sql: nil) }
        // Extended codes distinguish a full disk from a failing one.
        unsafe sqlite3_extended_result_codes(pointer, 1)
    }

    deinit {
        unsafe sqlite3_close_v2(pointer)
    }

    /// The error of the last call, with its text.
    func error(_ code: Int32, sql: String?) -> DatabaseError {
        let message = unsafe sqlite3_errmsg(pointer).map { unsafe String(cString: $0) } ?? "unknown error"
        return DatabaseError(code: ResultCode(rawValue: code), message: message, sql: sql)
    }
}
