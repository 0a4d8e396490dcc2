/// The name of an object in a bucket, made of characters that need no escaping in an address.
///
/// A signature then has them as the address has, and stores differ in the characters they accept.
package struct ObjectKey: Hashable, Sendable, CustomStringConvertible {
    /// The most bytes of a key in S3 (Amazon S3 User Guide, "Object key naming guidelines").
    private static let longest = 1024

    package let text: String

    /// Joins parts with `/`.
    ///
    /// - Returns: Nil if a part is empty, consists of dots alone, or has a character other than `A-Z a-z 0-9 - _ .`.
    package init?(_ parts: some Sequence<String>) {
        let parts = Array(parts)
        guard !parts.isEmpty, parts.allSatisfy(Self.isPlain) else { return nil }
        text = parts.joined(separator: "/")
        guard text.utf8.count <= Self.longest else { return nil }
    }

    /// Reads a key with `/` between its parts.
    package init?(_ text: String) {
        self.init(text.split(separator: "/", omittingEmptySubsequences: false).map(String.init))
    }

    package var description: String { text }

    private static func isPlain(_ part: String) -> Bool {
        !part.isEmpty && part.contains { $0 != "." }
            && part.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }
}
