internal import CCrypto

/// The MD5 message digest (RFC 1321), by which desktops name thumbnails and services tell pictures apart; no protection of anything.
package struct MD5 {
    private var state = MD5_CTX()

    /// The digest of nothing yet.
    package init() {
        unsafe rankfs_md5_init(&state)
    }

    /// Appends bytes.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        unsafe rankfs_md5_update(&state, bytes.baseAddress, bytes.count)
    }

    /// The digest of all that was added, as 32 lower-case hexadecimal digits.
    package consuming func hex() -> String {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        unsafe digest.withUnsafeMutableBufferPointer { unsafe rankfs_md5_final($0.baseAddress, &state) }
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// The digest of a message, as 32 lower-case hexadecimal digits.
    package static func hex(_ message: some Sequence<UInt8>) -> String {
        var digest = MD5()
        unsafe Array(message).withUnsafeBytes { unsafe digest.add($0) }
        return digest.hex()
    }
}
