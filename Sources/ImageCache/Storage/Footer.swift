/// What follows the picture's bytes in a stored file: whose bytes they are, how many, and their hash.
///
/// At the end and not at the beginning, so that the descriptor can be handed out with offset 0 = first byte of the picture.
struct Footer: Equatable, Sendable {
    /// Bytes a footer takes: magic 8, length 8, hash 8, key 1 + 88 at most, check 8, rounded up.
    static let size = 128
    /// `RANKFSP1`; the digit is the format's version.
    static let magic: UInt64 = 0x3150_5346_4B4E_4152

    /// `PictureID.key`.
    var key: String
    /// Bytes of the picture.
    var length: Int64
    /// XXH3-64 of the picture's bytes.
    var hash: UInt64

    var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.write(Self.magic)
        writer.write(length)
        writer.write(hash)
        writer.write(key)
        return writer.sealed(length: Self.size)
    }

    init(key: String, length: Int64, hash: UInt64) {
        self.key = key
        self.length = length
        self.hash = hash
    }

    /// Reads the last `size` bytes of a file; nil if they are not a footer.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size, var reader = ByteReader(sealed: bytes), reader.readNumber() == Self.magic,
            let length = reader.readSigned(), length >= 0, let hash = reader.readNumber(), let key = reader.readText()
        else { return nil }
        self.init(key: key, length: length, hash: hash)
    }
}
