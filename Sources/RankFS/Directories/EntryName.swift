import Rankings

/// The meaning of a name judged by its form alone, so that the names probed by desktops cost nothing.
///
/// Names are bytes: they need not be UTF-8, and forms that differ only in normalisation differ.
enum EntryName {
    /// The number at the beginning of a picture's name, or nil for a name that no picture has.
    ///
    /// - Parameters:
    ///   - name: The name's bytes.
    ///   - leastDigits: The number of digits to which the number is padded.
    ///   - extensions: The possible file extensions of works.
    /// - Returns: The rank or the work's number.
    static func pictureNumber(_ name: [UInt8], leastDigits: Int, extensions: Set<String>) -> Int64? {
        guard name.count <= FileName.longest, let dot = name.lastIndex(of: UInt8(ascii: ".")),
            extensions.contains(String(decoding: name[(dot + 1)...], as: UTF8.self))
        else { return nil }
        guard let dash = name.firstIndex(of: UInt8(ascii: "-")), dash >= leastDigits else { return nil }
        return Digits.number(name[..<dash]).map(Int64.init)
    }

    /// The author or work of a directory name: decimal digits without leading zeros.
    static func number(_ name: [UInt8]) -> Int64? {
        name.first == UInt8(ascii: "0") ? nil : Digits.number(name).map(Int64.init)
    }

    /// The words of a directory name in `search` and other folders of texts; nil for names that programs probe and for names that are no text.
    static func searchWords(_ name: [UInt8]) -> String? {
        guard name.count <= FileName.longest, !name.contains(where: { $0 < 0x20 || $0 == 0x7F }),
            let words = String(validating: name, as: UTF8.self),
            // The normalized form, in which the directory is listed.
            NormalizedName(words).text.utf8.count <= FileName.longest, !isProbed(words),
            words.contains(where: { !$0.isWhitespace })
        else { return nil }
        return words
    }

    /// The author's name after `@`.
    static func authorName(_ name: [UInt8]) -> String? {
        guard name.first == UInt8(ascii: "@"), name.count > 1 else { return nil }
        return String(validating: name.dropFirst(), as: UTF8.self)
    }

    /// Whether a work's directory may hold a picture or archive of this name: `p12.png`, `original.webp`, `ugoira.zip`.
    static func mayBeInWork(_ name: [UInt8], extensions: Set<String>) -> Bool {
        if name.elementsEqual("ugoira.zip".utf8) { return true }
        guard let dot = name.firstIndex(of: UInt8(ascii: ".")),
            extensions.contains(String(decoding: name[(dot + 1)...], as: UTF8.self))
        else { return false }
        if name.first == UInt8(ascii: "p"), Digits.number(name[1..<dot]) != nil { return true }
        return WorkPicture.stems.contains(String(decoding: name[..<dot], as: UTF8.self))
    }

    /// The name as text if it is plain ASCII, as every name outside the listings is.
    static func ascii(_ name: [UInt8]) -> String? {
        guard name.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        return String(decoding: name, as: UTF8.self)
    }

    // MARK: - Names that desktops, file servers and players look up in every directory, whatever its contents

    /// The name that GIO and KDE look up in a directory that they list, and in no other.
    static let opening = Array(".hidden".utf8)
    private static let announcements = [opening, Array(".directory".utf8)]

    /// Files that desktops, file servers and players search for; names that begin with a dot are no search either.
    private static let probedFiles: Set<String> = [
        "desktop.ini", "thumbs.db", "autorun.inf", "folder.jpg", "cover.jpg", "albumart.jpg", "ehthumbs.db",
        "lost+found", "index.html", "album.xml", "cachedir.tag",
    ]

    /// Whether a lookup of this name identifies a desktop; the kernel must not remember its absence.
    ///
    /// Thunar, Nautilus, Nemo, Caja and Dolphin query `.hidden`, PCManFM and KDE's previews of folders `.directory`.
    static func isAnnouncement(_ name: [UInt8]) -> Bool {
        announcements.contains(name)
    }

    /// Whether programs search for this name anywhere, so that no user has typed it.
    static func isProbed(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: ".") || probedFiles.contains(name.lowercased())
    }
}
