internal import Digests
internal import Rankings

/// Which picture: all of its identity, in numbers and one word, so that no text from outside ever becomes a path.
struct FileKey: Hashable, Sendable {
    let picture: PictureID

    init(_ picture: PictureID) {
        self.picture = picture
    }

    /// Reads `name` back; nil for any other text.
    init?(name: some Sequence<UInt8>) {
        var reader = NameReader(name)
        guard let key = reader.key(), reader.isAtEnd else { return nil }
        self = key
    }

    /// `97973029_p0_original_1651244415`, at most 72 bytes: what unfinished downloads and pins are called.
    var name: String { picture.key }

    /// The directory of 256 that the picture's file lies in: the first two hexadecimal digits of its name's XXH3 of 128 bits.
    var fan: String {
        let digits = String(XXH3.hash128(name).high >> 56, radix: 16)
        return digits.utf8.count < 2 ? "0" + digits : digits
    }
}

/// A stored picture: its file has the picture's bytes and nothing else, and tells the rest by its name.
///
/// The whole key is in the name, so two pictures never have one name, whatever their hashes.
struct StoredPicture: Hashable, Sendable {
    /// The longest file that is believed in, in bytes: millions of them can be added up.
    static let longest: Int64 = 1 << 40

    let key: FileKey
    /// Bytes of the picture.
    let length: Int64
    /// Their XXH3, 64 bits.
    let hash: UInt64

    /// Key, length in bytes and hash, `97973029_p0_original_1651244415.1482301.00c7f2d0a8b1e394`: at most 103 bytes.
    var name: String { "\(key.name).\(length).\(XXH3.hex(hash))" }

    /// Where its file lies below the directory of pictures.
    var path: String { "\(key.fan)/\(name)" }
}

extension StoredPicture {
    /// Reads `name` back; nil for any other text.
    init?(name: some Sequence<UInt8>) {
        var reader = NameReader(name)
        guard let key = reader.key(), reader.skip("."), let length = reader.number(),
            (0...Self.longest).contains(length), reader.skip("."), let hash = reader.hash(), reader.isAtEnd
        else { return nil }
        self.init(key: key, length: length, hash: hash)
    }
}

/// Reads a file's name from its front; each thing in the one spelling that is written.
///
/// A start reads a hundred thousand names, so this works on bytes.
struct NameReader {
    private var rest: ArraySlice<UInt8>

    init(_ name: some Sequence<UInt8>) {
        rest = ArraySlice(name)
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    /// A picture's key; nil if that does not come next.
    mutating func key() -> FileKey? {
        guard let work = number(), skip("_"), skip("p"), let page = number(), skip("_") else { return nil }
        let word = rest.prefix { (97...122).contains($0) }
        rest.removeFirst(word.count)
        guard let rendition = Rendition(rawValue: String(decoding: word, as: UTF8.self)), skip("_"),
            let uploaded = number()
        else { return nil }
        return FileKey(
            PictureID(work: WorkID(rawValue: work), page: Int(page), rendition: rendition, uploaded: uploaded))
    }

    /// A decimal number without a plus or leading zeros.
    mutating func number() -> Int64? {
        let isNegative = skip("-")
        let digits = rest.prefix { (48...57).contains($0) }
        guard let first = digits.first, first != 48 || digits.count == 1 && !isNegative else { return nil }
        rest.removeFirst(digits.count)
        var value: Int64 = 0
        for digit in digits {
            // Downwards, where one number more lies.
            let (tens, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = tens.subtractingReportingOverflow(Int64(digit - 48))
            guard !isTooLong, !isTooLarge else { return nil }
            value = sum
        }
        if isNegative { return value }
        return value == .min ? nil : -value
    }

    /// 16 lower-case hexadecimal digits.
    mutating func hash() -> UInt64? {
        let digits = rest.prefix(16)
        guard digits.count == 16, digits.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }) else {
            return nil
        }
        rest.removeFirst(16)
        return digits.reduce(0) { $0 << 4 | UInt64($1 < 97 ? $1 - 48 : $1 - 87) }
    }
}
