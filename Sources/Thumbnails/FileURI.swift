/// Addresses of files as desktops write them: thumbnails are named by their digest, so each byte counts.
package enum FileURI {
    /// How an address is written.
    package enum Spelling: CaseIterable, Sendable {
        /// As GLib, and nearly all of Qt and KDE, write it.
        case standard
        /// As QUrl::url() does, by which Gwenview names thumbnails.
        case decoded
    }

    static let scheme = "file://"

    /// `file:///home/me/a%20b.jpg` of an absolute path.
    package static func of(_ path: String, _ spelling: Spelling = .standard) -> String {
        scheme + (spelling == .standard ? escaped(path) : escaped(path) { keptByQt($0) })
    }

    /// Percent-encodes all bytes but those that g_filename_to_uri(3) leaves (reference/desktop.md 2.3).
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

    /// What QUrl::PrettyDecoded leaves in a path (Qt 5.15, tried).
    private static func keptByQt(_ byte: UInt8) -> Bool {
        byte >= 0x80 || kept.contains(byte) || " []".utf8.contains(byte)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let kept = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/!$&'()*+,:=@~-._;".utf8)
}
