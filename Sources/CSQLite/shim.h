// SQLite, with what Swift cannot see: SQLITE_TRANSIENT is a cast macro.
#ifndef RANKFS_CSQLITE_SHIM_H
#define RANKFS_CSQLITE_SHIM_H

#include <sqlite3.h>

// Both copy the value before they return (https://www.sqlite.org/c3ref/bind_blob.html).
static inline int rankfs_sqlite3_bind_text_transient(sqlite3_stmt *statement, int index, const char *text, int length) {
    return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}

static inline int rankfs_sqlite3_bind_blob_transient(sqlite3_stmt *statement, int index, const void *bytes, int length) {
    return sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

#endif
