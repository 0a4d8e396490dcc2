/// File names made from titles: pure, legal everywhere, at most 200 bytes.
package enum FileName {
    /// Longest name in bytes of UTF-8: room for the temporary names of rsync and editors below the 255 of file systems.
    package static let longest = 200

    /// `001-Title.jpg`; the rank has at least three digits.
    package static func ranked(_ rank: Int, title: String, fileExtension: String) -> String {
        fatalError("written by the owner of Rankings: \(rank) \(title) \(fileExtension)")
    }

    /// `12345678-Title.jpg`
    package static func work(_ id: WorkID, title: String, fileExtension: String) -> String {
        fatalError("written by the owner of Rankings: \(id) \(title) \(fileExtension)")
    }
}
