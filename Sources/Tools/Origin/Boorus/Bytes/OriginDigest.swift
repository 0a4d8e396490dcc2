import CNettle

/// An MD5 digest (RFC 1321), by which the boorus name originals.
struct OriginDigest: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// The digest of what a state has seen and of some bytes behind that.
    init(_ state: md5_ctx, then bytes: [UInt8]) {
        var state = state
        unsafe rankfs_md5_update(&state, bytes, bytes.count)
        var digest = [UInt8](repeating: 0, count: Self.count)
        unsafe rankfs_md5_digest(&state, &digest)
        func word(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        high = word(digest[..<8])
        low = word(digest[8...])
    }

    /// Parses 32 lower-case hexadecimal digits.
    init?(hex: some StringProtocol) {
        let digits = Array(hex.utf8)
        guard digits.count == 2 * Self.count,
            digits.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
            let high = UInt64(hex.prefix(Self.count), radix: 16), let low = UInt64(hex.suffix(Self.count), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }

    /// 32 lower-case hexadecimal digits.
    var hex: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: Self.count - digits.utf8.count) + digits
        }.joined()
    }

    private static let count = 16
}
