/// Addresses of files as GLib and Qt write them: thumbnails are named by their digest, so each byte counts.
package enum FileURI {
    /// `file:///home/me/a%20b.jpg` of an absolute path.
    package static func of(_ path: String) -> String {
        "file://" + escaped(path)
    }

    /// Percent-encodes all bytes but those that g_filename_to_uri(3) leaves (reference/desktop.md 2.3).
    package static func escaped(_ path: String) -> String {
        var bytes: [UInt8] = []
        for byte in path.utf8 {
            if kept.contains(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let kept = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/!$&'()*+,:=@~-._;".utf8)
}
