internal import CSQLite

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
