internal import CCrypto

/// The SHA-256 message digest (FIPS 180-4), and messages authenticated with it (RFC 2104).
package enum SHA256 {
    /// The digest of a message, 32 bytes; nil if there was no memory for it.
    package static func digest(_ message: [UInt8]) -> [UInt8]? {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        return unsafe rankfs_sha256(message, message.count, &digest) == 1 ? digest : nil
    }

    /// What a message and a key add up to, 32 bytes; nil for a key of more than 64 KB, or if there was no memory for it.
    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard let length = UInt16(exactly: key.count) else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        // A pointer to something, which C wants for a key of no bytes too.
        let key = key + [0]
        let isDone = unsafe rankfs_hmac_sha256(key, Int32(length), message, message.count, &digest) == 1
        return isDone ? digest : nil
    }

    /// Bytes as lower-case hexadecimal digits.
    package static func hex(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
