/// Addresses of files as desktops write them: thumbnails are named by their digest, so each byte counts.
package enum FileURI {
    /// How an address is written.
    package enum Spelling: CaseIterable, Sendable {
        /// As g_filename_to_uri(3) writes it.
        case glib
        /// As QUrl::toEncoded() of Qt 5, and so nearly all of KDE, writes it: it leaves semicolons and brackets.
        case qt
        /// As QUrl::url() does, by which Gwenview names thumbnails.
        case decoded
    }

    static let scheme = "file://"

    /// `file:///home/me/a%20b.jpg` of an absolute path.
    package static func of(_ path: String, _ spelling: Spelling = .glib) -> String {
        switch spelling {
        case .glib: scheme + escaped(path)
        case .qt: scheme + escaped(path) { kept.contains($0) || keptByQt.contains($0) }
        case .decoded:
            scheme
                + escaped(path) { $0 >= 0x80 || $0 == UInt8(ascii: " ") || kept.contains($0) || keptByQt.contains($0) }
        }
    }

    /// Percent-encodes all bytes but those that g_filename_to_uri(3) leaves (tried with GLib 2.74).
    package static func escaped(_ path: String) -> String {
        escaped(path) { kept.contains($0) }
    }

    private static func escaped(_ path: String, except isKept: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        for byte in path.utf8 {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let kept = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/!$&'()*+,:=@~-._".utf8)
    private static let keptByQt = Set("[];".utf8)
}
