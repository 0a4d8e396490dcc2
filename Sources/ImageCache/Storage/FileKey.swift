internal import CXXHash
internal import Rankings

/// The name of a picture's file: a 128-bit hash of its key, so that no name from outside ever becomes a path.
///
/// XXH3 is not cryptographic; a file also holds its whole key, which is compared when it is opened.
struct FileKey: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    init(_ picture: PictureID) {
        self.init(key: picture.key)
    }

    init(key: String) {
        var key = key
        self = key.withUTF8 { bytes in
            let hash = unsafe XXH3_128bits(bytes.baseAddress, bytes.count)
            return FileKey(high: hash.high64, low: hash.low64)
        }
    }

    /// Reads a file name back; nil for anything that `name` does not make.
    init?(name: some StringProtocol) {
        guard name.utf8.count == 32, name.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
            let high = UInt64(name.prefix(16), radix: 16), let low = UInt64(name.suffix(16), radix: 16)
        else { return nil }
        self.init(high: high, low: low)
    }

    /// 32 hexadecimal digits.
    var name: String {
        Self.hex(high) + Self.hex(low)
    }

    /// The directory of 256 that the file lies in: two hexadecimal digits.
    var fan: String {
        String(name.prefix(2))
    }

    private static func hex(_ value: UInt64) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
