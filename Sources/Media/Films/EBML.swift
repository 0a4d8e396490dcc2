/// EBML elements as bytes (RFC 8794): an identifier, a length, a body.
enum EBML {
    /// An element with this body.
    static func element(_ id: UInt32, _ body: [UInt8]) -> [UInt8] {
        head(id, size: Int64(body.count)) + body
    }

    /// An unsigned number in as many bytes as it needs.
    static func element(_ id: UInt32, number: UInt64) -> [UInt8] {
        let bytes = bigEndian(number)
        let leading = bytes.prefix { $0 == 0 }.count
        return element(id, Array(bytes.dropFirst(min(leading, bytes.count - 1))))
    }

    /// An unsigned number in 8 bytes: the element's length is known before the number is.
    static func element(_ id: UInt32, wide number: Int64) -> [UInt8] {
        element(id, bigEndian(UInt64(number)))
    }

    /// A float of 8 bytes.
    static func element(_ id: UInt32, float: Double) -> [UInt8] {
        element(id, bigEndian(float.bitPattern))
    }

    static func element(_ id: UInt32, text: String) -> [UInt8] {
        element(id, Array(text.utf8))
    }

    /// Identifier and length of an element whose body of `size` bytes follows.
    static func head(_ id: UInt32, size: Int64) -> [UInt8] {
        identifier(id) + self.size(size)
    }

    /// An identifier: it contains its length marker, so its leading zero bytes are no part of it (RFC 8794, 5).
    static func identifier(_ id: UInt32) -> [UInt8] {
        Array(bigEndian(UInt64(id)).drop { $0 == 0 })
    }

    /// A length in as few bytes as it needs; below 2^56 - 1.
    ///
    /// The highest bit set tells how many bytes they are (RFC 8794, 6).
    static func size(_ size: Int64) -> [UInt8] {
        // All bits set would mean that the length is unknown.
        var width = 1
        while width < 8, size >= (1 << (7 * width)) - 1 { width += 1 }
        return Array(bigEndian(UInt64(size) | 1 << (7 * width)).suffix(width))
    }

    // MARK: -

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}
