@_spi(_Unicode) import Swift

/// File names made from titles: pure, legal everywhere, at most 200 bytes.
///
/// Device names that Windows reserves (`CON`, `NUL`) need no care, since a rank or number precedes the title.
package enum FileName {
    /// The longest name in bytes of UTF-8: leaves room for the temporary names of rsync and editors below the 255 of file systems.
    package static let longest = 200

    /// The name of a work without a usable title.
    package static let untitled = "untitled"

    /// The bytes that every title leaves for a page (`_p999`), so that all pages of a work are cut alike and no two names collide.
    private static let pageRoom = 5

    /// The least digits of a rank or place.
    package static let digits = 3

    /// The name of an entry with a rank: `001-Title.jpg`.
    ///
    /// - Parameters:
    ///   - rank: The place in the ranking, from 1.
    ///   - digits: The least digits of the rank.
    ///   - title: The title from the service, of any content and length.
    ///   - fileExtension: Letters and digits, without a dot.
    /// - Returns: The name, at most `longest` bytes, also with the suffix of a page.
    package static func ranked(_ rank: Int, digits: Int = digits, title: String, fileExtension: String) -> String {
        name(prefix: Digits.padded(max(rank, 0), to: digits), title: title, fileExtension: fileExtension)
    }

    /// The name of an entry without a rank: `12345678-Title.jpg`; parameters are those of `ranked(_:digits:title:fileExtension:)`.
    package static func work(_ id: WorkID, title: String, fileExtension: String) -> String {
        name(prefix: String(max(id.rawValue, 0)), title: title, fileExtension: fileExtension)
    }

    /// The name of an author's entry, without a dot or extension: `42-Name`.
    package static func author(_ id: UserID, name: String) -> String {
        let prefix = String(max(id.rawValue, 0))
        return "\(prefix)-\(stem(name, room: longest - prefix.utf8.count - 1))"
    }

    private static func name(prefix: String, title: String, fileExtension: String) -> String {
        let room = longest - prefix.utf8.count - fileExtension.utf8.count - pageRoom - "-.".utf8.count
        return "\(prefix)-\(stem(title, room: room)).\(fileExtension)"
    }

    /// The title as part of a name: safe, not empty, at most `room` bytes.
    private static func stem(_ title: String, room: Int) -> String {
        let safe = SafeText.make(title)
        let cut = SafeText.trimmed(SafeText.cut(safe, toBytes: room))
        return cut.isEmpty ? untitled : cut
    }
}

// MARK: - Normalized name

/// Words from a user or a service, in the one spelling in which they are a key: Unicode's NFC.
///
/// macOS, Samba and copied text spell `ガ` as two scalars. To Swift both texts are equal; databases, stores and services
/// compare bytes.
package struct NormalizedName: Hashable, Sendable {
    /// The text in NFC.
    package let text: String

    /// Normalises a text of any spelling.
    package init(_ text: String) {
        var scalars = String.UnicodeScalarView()
        for scalar in text._nfc { scalars.append(scalar) }
        self.text = String(scalars)
    }
}
