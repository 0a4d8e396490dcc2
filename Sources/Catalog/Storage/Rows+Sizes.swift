import Rankings
import SQLite

extension Rows {
    static func size(of picture: PictureID, in connection: Connection) throws(DatabaseError) -> Int64? {
        try connection.first(
            "SELECT size FROM sizes WHERE work = ? AND page = ? AND rendition = ? AND uploaded = ?",
            .integer(picture.work.rawValue), .integer(picture.page), .text(picture.rendition.rawValue),
            .integer(picture.uploaded)
        ) { $0.int64(0) }
    }

    /// Writes a size unless the picture has one; 1 if it had none, else 0.
    static func writeTold(
        _ size: Int64, of picture: PictureID, to connection: Connection
    ) throws(DatabaseError) -> Int {
        try connection.run(
            "INSERT OR IGNORE INTO sizes VALUES(?, ?, ?, ?, ?)", .integer(picture.work.rawValue),
            .integer(picture.page),
            .text(picture.rendition.rawValue), .integer(picture.uploaded), .integer(size))
        return connection.changes > 0 ? 1 : 0
    }

    /// Writes a size in the place of any other; 1 if the picture had none before, else 0.
    static func write(_ size: Int64, of picture: PictureID, to connection: Connection) throws(DatabaseError) -> Int {
        if try writeTold(size, of: picture, to: connection) > 0 { return 1 }
        try connection.run(
            "UPDATE sizes SET size = ? WHERE work = ? AND page = ? AND rendition = ? AND uploaded = ?", .integer(size),
            .integer(picture.work.rawValue), .integer(picture.page), .text(picture.rendition.rawValue),
            .integer(picture.uploaded))
        return 0
    }

    /// Deletes a size; 1 if there was one, else 0.
    static func deleteSize(of picture: PictureID, in connection: Connection) throws(DatabaseError) -> Int {
        try connection.run(
            "DELETE FROM sizes WHERE work = ? AND page = ? AND rendition = ? AND uploaded = ?",
            .integer(picture.work.rawValue), .integer(picture.page), .text(picture.rendition.rawValue),
            .integer(picture.uploaded))
        return connection.changes
    }
}
