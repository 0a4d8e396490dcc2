internal import Digests
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
        let hash = XXH3.hash128(key)
        self.init(high: hash.high, low: hash.low)
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
        XXH3.hex(high) + XXH3.hex(low)
    }

    /// The directory of 256 that the file lies in: two hexadecimal digits.
    var fan: String {
        String(name.prefix(2))
    }
}
