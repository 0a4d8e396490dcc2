internal import Sourcing
internal import System

/// The formats of pictures, recognized by the beginning and the end of their files.
///
/// JPEG: ITU T.81 B.1.1.3 (SOI, EOI). PNG: RFC 2083 section 3. GIF: GIF89a section 27. WebP: RFC 9649 section 2.4. Zip: APPNOTE
/// 4.3.16, without a comment, as services make them. AVIF and MP4: ISO/IEC 14496-12 section 4.3 (the file type box with its
/// brand). WebM: RFC 8794 section 11.2.1 (the EBML header). The last three do not show where they end.
enum PictureFormat: String, Sendable {
    case jpeg, png, gif, webp, zip, avif, mp4, webm

    /// Bytes at the beginning that determine the format.
    static let headLength = 12
    /// Bytes at the end that show whether the file is whole; enough for the longest trailer, a zip's 22 bytes.
    static let tailLength = 24

    /// The format that a file name extension promises; nil for an extension that is not a picture's.
    init?(fileExtension: String) {
        let name = fileExtension.lowercased()
        self.init(rawValue: name == "jpg" ? "jpeg" : name)
    }

    /// The format that the first bytes show; nil for any other bytes.
    init?(head: [UInt8]) {
        let found = Self.beginnings.first { head.dropFirst($0.offset).starts(with: $0.bytes) }
        guard let found, found.format != .webp || head.starts(with: "RIFF".utf8) else { return nil }
        self = found.format
    }

    /// The bytes of each format's beginning, and their offset; the first that a file has are its own.
    private static let beginnings: [(format: PictureFormat, offset: Int, bytes: [UInt8])] = [
        (.jpeg, 0, [0xFF, 0xD8, 0xFF]), (.png, 0, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
        (.gif, 0, Array("GIF87a".utf8)), (.gif, 0, Array("GIF89a".utf8)), (.webp, 8, Array("WEBP".utf8)),
        (.zip, 0, [0x50, 0x4B, 0x03, 0x04]), (.avif, 4, Array("ftypavi".utf8)), (.mp4, 4, Array("ftyp".utf8)),
        (.webm, 0, [0x1A, 0x45, 0xDF, 0xA3]),
    ]

    /// Whether a file of this format may end with these bytes.
    ///
    /// - Parameters:
    ///   - tail: The last `tailLength` bytes of the file, or all of a shorter one.
    ///   - head: Its first `headLength` bytes; only WebP, which declares its length there, needs them.
    ///   - length: The length of the whole file, in bytes.
    /// - Returns: False for a file that was cut off.
    func isWhole(tail: [UInt8], head: [UInt8], length: Int64) -> Bool {
        switch self {
        case .jpeg: return tail.suffix(2) == [0xFF, 0xD9]
        case .png: return tail.suffix(12) == [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
        case .gif: return tail.last == 0x3B
        case .zip: return tail.suffix(22).starts(with: [0x50, 0x4B, 0x05, 0x06])
        case .webp:
            guard head.count >= 8 else { return false }
            let stated = head[4..<8].reversed().reduce(Int64(0)) { $0 << 8 | Int64($1) }
            return stated + 8 == length
        case .avif, .mp4, .webm: return true
        }
    }

    /// Whether the last bytes show nothing about the end.
    var hasNoEndMark: Bool { [.avif, .mp4, .webm].contains(self) }

    /// Whether a media type belongs to this format and to no other.
    func isNamed(by type: some StringProtocol) -> Bool {
        switch self {
        case .jpeg, .png, .gif, .webp, .avif: type == "image/\(rawValue)"
        case .zip: type == "application/zip" || type == "application/x-zip-compressed"
        case .mp4, .webm: type == "video/\(rawValue)"
        }
    }

    /// Whether a media type can belong to this format; the image host sometimes sends WebP under JPEG names.
    func admits(_ type: String) -> Bool {
        if type.hasPrefix("image/") || PictureSize.anyBytes.contains(type) { return true }
        return isNamed(by: type)
    }
}

/// The first and the last bytes of a picture, gathered while it arrives in any order.
struct PictureEdges: Sendable {
    /// The first bytes, as far as they came without a hole.
    private(set) var head: [UInt8] = []
    /// The last bytes by their distance from the end; nil where none came yet.
    private var tail: [UInt8?] = Array(repeating: nil, count: PictureFormat.tailLength)
    /// The newest bytes, and their end: the last bytes of a picture without a declared length.
    private var rolling: [UInt8] = []
    private var rollingEnd: Int64 = 0

    init() {}

    /// Whether the beginning is present, or all of a picture that is shorter.
    func headIsComplete(total: Int64?) -> Bool {
        head.count >= Int(min(Int64(PictureFormat.headLength), total ?? .max))
    }

    /// The last bytes, once all of them are present.
    func completeTail(total: Int64) -> [UInt8]? {
        let known = tail.suffix(Int(min(total, Int64(PictureFormat.tailLength)))).compactMap(\.self)
        return known.count == Int(min(total, Int64(PictureFormat.tailLength))) ? known : nil
    }

    /// Takes note of received bytes.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes.
    ///   - offset: Their offset in the picture.
    ///   - total: The picture's length in bytes, if known.
    mutating func note(_ bytes: UnsafeRawBufferPointer, at offset: Int64, total: Int64?) {
        let wanted = PictureFormat.headLength
        if offset <= Int64(head.count), head.count < wanted {
            let skipped = head.count - Int(offset)
            let available = unsafe bytes.dropFirst(skipped).prefix(wanted - head.count)
            unsafe head.append(contentsOf: available)
        }
        if offset != rollingEnd { rolling = [] }
        rollingEnd = offset + Int64(bytes.count)
        unsafe rolling.append(contentsOf: bytes.suffix(PictureFormat.tailLength))
        rolling.removeFirst(max(0, rolling.count - PictureFormat.tailLength))
        guard let total else { return }
        let tailStart = total - Int64(PictureFormat.tailLength)
        let first = max(offset, tailStart)
        let end = min(offset + Int64(bytes.count), total)
        guard first < end else { return }
        for position in first..<end {
            tail[Int(position - tailStart)] = unsafe bytes[Int(position - offset)]
        }
    }

    /// Takes the length, after bytes came that may belong to the end.
    mutating func learned(total: Int64) {
        let tailStart = total - Int64(PictureFormat.tailLength)
        let first = rollingEnd - Int64(rolling.count)
        for (position, byte) in zip(first..., rolling) where position >= tailStart && position < total {
            tail[Int(position - tailStart)] = byte
        }
    }

    /// Whether the bytes that came without a hole up to a place are a whole picture.
    func endsWhole(_ format: PictureFormat, at end: Int64) -> Bool {
        rollingEnd == end && headIsComplete(total: end) && PictureFormat(head: head) == format
            && format.isWhole(tail: rolling, head: head, length: end)
    }
}

// MARK: - Proof by the whole

/// The proof that all bytes of a picture have to give before it counts as whole.
enum Proof: Equatable, Sendable {
    /// The digest that the listing gives (`PictureLocation.digest`).
    case digest(String)
    /// An end shown by the structure.
    ///
    /// It may lie before the last byte where a length was declared, since cameras and editors write more after it.
    case structure(PictureFormat, endsAtLength: Bool)

    /// Whether the first bytes of a file give the proof.
    ///
    /// Blocks for the disk.
    func holds(for descriptor: Int32, length: Int64) -> Bool {
        switch self {
        case .digest(let digest): return (try? PictureStore.digest(descriptor, length: length)) == digest
        case .structure(let format, let endsAtLength):
            var bytes = StructureReader(length: length) { offset, count in
                (try? Files.read(descriptor, at: offset, count: count)) ?? []
            }
            guard let end = bytes.end(of: format) else { return false }
            return endsAtLength ? end == length : end <= length
        }
    }
}

/// Steps through a picture's parts to its end, without decoding them.
///
/// JPEG: ITU T.81 annex B. PNG: RFC 2083 section 3.2. GIF: GIF89a sections 15 to 27. WebP: RFC 9649 section 2.3. AVIF and MP4:
/// ISO/IEC 14496-12 section 4.2. WebM: RFC 8794 sections 4 to 6.
struct StructureReader {
    private let length: Int64
    private let read: (_ offset: Int64, _ count: Int) -> [UInt8]
    /// The bytes that were read last, and their offset in the file.
    private var block: [UInt8] = []
    private var start: Int64 = 0
    private var place: Int64 = 0

    /// Bytes read at once.
    private static let blockLength = 64 << 10

    init(length: Int64, read: @escaping (_ offset: Int64, _ count: Int) -> [UInt8]) {
        self.length = length
        self.read = read
    }

    /// The end of a picture; nil if there is none within its length, or the format shows none.
    mutating func end(of format: PictureFormat) -> Int64? {
        place = 0
        switch format {
        case .jpeg: return endOfJPEG()
        case .png: return endOfPNG()
        case .gif: return endOfGIF()
        case .webp: return endOfWebP()
        case .avif, .mp4: return endOfBoxes()
        case .webm: return endOfElements()
        case .zip: return nil
        }
    }

    // MARK: - Formats

    private mutating func endOfJPEG() -> Int64? {
        skip(2)
        while true {
            // To the next marker, over the coded data between two markers, where 0xFF stands before a zero or a restart (B.1.1.2).
            while let byte = next(), byte != 0xFF {}
            var marker = next()
            while marker == 0xFF { marker = next() }
            guard let marker else { return nil }
            switch marker {
            case 0xD9: return place
            case 0x00, 0x01, 0xD0...0xD7: continue
            default:
                guard let size = number(2), size >= 2 else { return nil }
                skip(size - 2)
            }
        }
    }

    private mutating func endOfPNG() -> Int64? {
        skip(8)
        while let size = number(4), let type = number(4) {
            skip(size + 4)
            if type == 0x4945_4E44 { return place <= length ? place : nil }
        }
        return nil
    }

    private mutating func endOfGIF() -> Int64? {
        skip(10)
        guard let flags = next() else { return nil }
        skip(2 + Self.colours(flags))
        while let kind = next() {
            switch kind {
            case 0x3B: return place
            case 0x21: skip(1)
            case 0x2C:
                skip(8)
                guard let flags = next() else { return nil }
                skip(Self.colours(flags) + 1)
            default: return nil
            }
            while let size = next(), size > 0 { skip(Int64(size)) }
        }
        return nil
    }

    /// Bytes of a colour table; 0 if there is none.
    private static func colours(_ flags: UInt8) -> Int64 { flags & 0x80 == 0 ? 0 : 3 << (Int64(flags & 7) + 1) }

    private mutating func endOfWebP() -> Int64? {
        skip(4)
        guard let size = number(4).map({ Int64(UInt32(truncatingIfNeeded: $0).byteSwapped) }) else { return nil }
        return size + 8 <= length ? size + 8 : nil
    }

    private mutating func endOfBoxes() -> Int64? {
        var (hasIndex, hasData) = (false, false)
        while place < length {
            let first = place
            guard var size = number(4), let type = number(4) else { return nil }
            if size == 1 { size = number(8) ?? 0 }
            // A box that extends to the end of the file ends wherever it is cut.
            guard size >= place - first, size <= length - first else { return nil }
            hasIndex = hasIndex || [0x6D6F_6F76, 0x6D6F_6F66, 0x6D65_7461].contains(type)
            hasData = hasData || type == 0x6D64_6174
            place = first + size
        }
        return hasIndex && hasData ? place : nil
    }

    private mutating func endOfElements() -> Int64? {
        var hasSegment = false
        while place < length {
            guard let id = element(), let size = element(isSize: true) else { return nil }
            hasSegment = hasSegment || id == 0x1853_8067
            // A segment without a size is entered: its parts have sizes.
            if size < 0, id == 0x1853_8067 { continue }
            guard (0...length - place).contains(size) else { return nil }
            place += size
        }
        return hasSegment ? place : nil
    }

    /// Reads a number of variable length (RFC 8794 section 4); as a size without its marker, and negative if it is unknown.
    private mutating func element(isSize: Bool = false) -> Int64? {
        guard let first = next(), first != 0 else { return nil }
        let more = first.leadingZeroBitCount
        var value = Int64(isSize ? first & (0x7F >> more) : first)
        for _ in 0..<more {
            guard let byte = next() else { return nil }
            value = value << 8 | Int64(byte)
        }
        guard isSize else { return value }
        return value == 1 << (7 * (Int64(more) + 1)) - 1 ? -1 : value
    }

    // MARK: - Bytes

    /// Skips bytes; after the end nothing is read any more.
    private mutating func skip(_ count: Int64) { place += max(0, min(count, length - place + 1)) }

    private mutating func next() -> UInt8? {
        guard place < length else { return nil }
        let index = place - start
        if block.indices.contains(Int(index)) {
            place += 1
            return block[Int(index)]
        }
        start = place
        block = read(place, Int(min(Int64(Self.blockLength), length - place)))
        place += 1
        return block.first
    }

    /// Reads a number of `count` bytes, the most significant first; nil for a number that no length can be.
    private mutating func number(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let byte = next(), value < 1 << 55 else { return nil }
            value = value << 8 | Int64(byte)
        }
        return value
    }
}
