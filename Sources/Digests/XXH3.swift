internal import CXXHash

/// XXH3 (https://github.com/Cyan4973/xxHash) of bytes as they come: the fast hash that stored pictures are checked with; no
/// protection against people.
///
/// ## Concurrency
///
/// One thread at a time.
@safe package final class XXH3: @unchecked Sendable {
    // `@unchecked` because its owner calls from one thread at a time, as transports do.
    private let state: OpaquePointer?

    /// The hash of nothing yet.
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

    /// 64 bits of all that was added; nil if there was no memory for it.
    package var value: UInt64? {
        guard let state = unsafe state else { return nil }
        return unsafe XXH3_64bits_digest(state)
    }

    /// The same as 16 lower-case hexadecimal digits.
    package var hex: String? { value.map(Self.hex) }

    /// 64 bits of a message.
    package static func hash(_ bytes: [UInt8]) -> UInt64 {
        unsafe bytes.withUnsafeBytes { unsafe XXH3_64bits($0.baseAddress, $0.count) }
    }

    /// 128 bits of a text's UTF-8.
    package static func hash128(_ text: String) -> (high: UInt64, low: UInt64) {
        var text = text
        return text.withUTF8 { bytes in
            let hash = unsafe XXH3_128bits(bytes.baseAddress, bytes.count)
            return (hash.high64, hash.low64)
        }
    }

    /// 64 bits of a message as 16 lower-case hexadecimal digits.
    package static func hex(_ bytes: [UInt8]) -> String { hex(hash(bytes)) }

    /// A number as 16 lower-case hexadecimal digits.
    package static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
