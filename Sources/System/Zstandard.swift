internal import CZstd

/// Zstandard (RFC 8878), in which machines share texts.
package enum Zstandard {
    /// The level of zstd(1) for texts that are written often: a page of a ranking takes a millisecond.
    private static let level: Int32 = 3
    /// The first bytes of compressed bytes (RFC 8878, section 3.1.1).
    private static let magic: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD]

    /// Returns compressed bytes; nil if memory ran out.
    package static func compressed(_ bytes: [UInt8]) -> [UInt8]? {
        let bound = ZSTD_compressBound(bytes.count)
        var isWell = true
        let found = unsafe [UInt8](unsafeUninitializedCapacity: bound) { buffer, count in
            let size = unsafe ZSTD_compress(buffer.baseAddress, bound, bytes, bytes.count, level)
            isWell = ZSTD_isError(size) == 0
            count = isWell ? size : 0
        }
        return isWell ? found : nil
    }

    /// Returns the original of compressed bytes, and other bytes as they are; nil for damaged bytes, and for those that do not state
    /// their length or a longer one than `limit`.
    package static func original(_ bytes: [UInt8], upTo limit: Int) -> [UInt8]? {
        guard bytes.starts(with: magic) else { return bytes }
        // Two values above all lengths say that there is none (zstd.h, ZSTD_CONTENTSIZE_UNKNOWN and _ERROR).
        let length = unsafe ZSTD_getFrameContentSize(bytes, bytes.count)
        guard length <= UInt64(max(0, limit)) else { return nil }
        var isWell = true
        let found = unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            let size = unsafe ZSTD_decompress(buffer.baseAddress, Int(length), bytes, bytes.count)
            isWell = ZSTD_isError(size) == 0
            count = isWell ? size : 0
        }
        return isWell && found.count == Int(length) ? found : nil
    }
}
