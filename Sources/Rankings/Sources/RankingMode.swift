/// The name of a ranking, such as `daily` or `daily-manga`.
///
/// Which names there are, and what is true of each, a source's description tells.
package struct RankingMode: RawRepresentable, Hashable, Sendable {
    /// The name as it stands in paths.
    package let rawValue: String

    /// Nil for what is no name of a ranking by its form: anything but lower-case letters, digits, `_` and `-`.
    package init?(rawValue: String) {
        guard (1...Self.longest).contains(rawValue.utf8.count), rawValue.utf8.allSatisfy(Self.isAllowed) else {
            return nil
        }
        self.rawValue = rawValue
    }

    /// Bytes; those known have 16.
    private static let longest = 32

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
