internal import CCrypto
internal import CXXHash

/// XXH3 (https://github.com/Cyan4973/xxHash) of bytes as they arrive: the fast hash of stored pictures.
///
/// It gives no protection against deliberate changes.
///
/// ## Concurrency
///
/// One thread at a time.
@safe package final class XXH3: @unchecked Sendable {
    // `@unchecked` because its owner calls from one thread at a time, as transports do.
    private let state: OpaquePointer?

    /// Begins the hash of no bytes.
    package init() {
        unsafe state = XXH3_createState()
        if let state = unsafe state { _ = unsafe XXH3_64bits_reset(state) }
    }

    deinit {
        if let state = unsafe state { _ = unsafe XXH3_freeState(state) }
    }

    /// Appends bytes.
    package func add(_ bytes: UnsafeRawBufferPointer) {
        if let state = unsafe state { _ = unsafe XXH3_64bits_update(state, bytes.baseAddress, bytes.count) }
    }

    /// The 64-bit hash of all added bytes; nil if memory ran out.
    package var value: UInt64? {
        guard let state = unsafe state else { return nil }
        return unsafe XXH3_64bits_digest(state)
    }

    /// The 64-bit hash of a message.
    package static func hash(_ bytes: [UInt8]) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe XXH3_64bits($0.baseAddress, $0.count) }
    }

    /// The 128-bit hash of a text's UTF-8.
    package static func hash128(_ text: String) -> (high: UInt64, low: UInt64) {
        var text = text
        return text.withUTF8 { bytes in
            let hash = unsafe XXH3_128bits(bytes.baseAddress, bytes.count)
            return (hash.high64, hash.low64)
        }
    }

    /// The 64-bit hash of a message as 16 lower-case hexadecimal digits.
    package static func hex(_ bytes: [UInt8]) -> String { hex(hash(bytes)) }

    /// A number as 16 lower-case hexadecimal digits.
    package static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

// MARK: - MD 5

/// The MD5 message digest (RFC 1321), which names thumbnails on desktops and pictures at services; it protects nothing.
package struct MD5 {
    private var state = MD5_CTX()

    /// Begins the digest of no bytes.
    package init() {
        unsafe rankfs_md5_init(&state)
    }

    /// Appends bytes.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        unsafe rankfs_md5_update(&state, bytes.baseAddress, bytes.count)
    }

    /// The digest of all added bytes, as 32 lower-case hexadecimal digits.
    package consuming func hex() -> String {
        var digest = [UInt8](repeating: 0, count: Int(MD5_DIGEST_LENGTH))
        unsafe digest.withUnsafeMutableBufferPointer { unsafe rankfs_md5_final($0.baseAddress, &state) }
        return SHA256.hex(digest)
    }

    /// The digest of a message, as 32 lower-case hexadecimal digits.
    package static func hex(_ message: some Sequence<UInt8>) -> String {
        var digest = MD5()
        unsafe Array(message).withUnsafeBytes { unsafe digest.add($0) }
        return digest.hex()
    }
}

// MARK: - SHA 256

/// The SHA-256 message digest (FIPS 180-4), and messages authenticated with it (RFC 2104).
package struct SHA256: Sendable {
    private var state = SHA256_CTX()

    /// Begins the digest of no bytes.
    package init() {
        unsafe rankfs_sha256_init(&state)
    }

    /// Appends bytes.
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        unsafe rankfs_sha256_update(&state, bytes.baseAddress, bytes.count)
    }

    /// The digest of all added bytes, 32 bytes.
    package consuming func bytes() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        unsafe digest.withUnsafeMutableBufferPointer { unsafe rankfs_sha256_final($0.baseAddress, &state) }
        return digest
    }

    /// The digest of a message, 32 bytes.
    package static func digest(_ message: [UInt8]) -> [UInt8] {
        var digest = SHA256()
        unsafe message.withUnsafeBytes { unsafe digest.add($0) }
        return digest.bytes()
    }

    /// The authentication code of a message under a key, 32 bytes; nil for a key of more than 64 KB, or if memory ran out.
    package static func authenticate(_ message: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard let length = UInt16(exactly: key.count) else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        // Makes the pointer valid, which C also requires for an empty key.
        let key = key + [0]
        let isDone = unsafe rankfs_hmac_sha256(key, Int32(length), message, message.count, &digest) == 1
        return isDone ? digest : nil
    }

    /// Compares secret texts, in a time that does not depend on their content.
    package static func areEqual(_ one: String, _ other: String) -> Bool {
        let (one, other) = (Array(one.utf8), Array(other.utf8))
        guard one.count == other.count else { return false }
        return unsafe rankfs_are_equal(one, other, one.count) == 1
    }

    /// Bytes as lower-case hexadecimal digits.
    package static func hex(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

// MARK: - Base64

/// Bytes as text of 64 characters (RFC 4648, section 4).
package enum Base64 {
    /// Returns the text of bytes.
    package static func text(_ bytes: [UInt8]) -> String {
        var text = [UInt8](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        let count = Int(unsafe EVP_EncodeBlock(&text, bytes, Int32(clamping: bytes.count)))
        return String(decoding: text.prefix(count), as: UTF8.self)
    }

    /// Returns the bytes of a text; nil for one that no bytes have.
    package static func bytes(_ text: String) -> [UInt8]? {
        let text = Array(text.utf8)
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3 + 1)
        let padding = text.suffix(2).count { $0 == UInt8(ascii: "=") }
        let count = Int(unsafe EVP_DecodeBlock(&bytes, text, Int32(clamping: text.count)))
        return count >= padding ? Array(bytes.prefix(count - padding)) : nil
    }
}
