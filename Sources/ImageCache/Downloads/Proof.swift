/// What all bytes of a picture have to show before it counts as whole.
enum Proof: Equatable, Sendable {
    /// The digest that the listing told (`PictureLocation.digest`).
    case digest(String)
    /// An end of its own: before all of its bytes, where a length was told; cameras and editors write more behind it.
    case structure(PictureFormat, endsAtLength: Bool)

    /// Whether the first bytes of a file show it.
    ///
    /// Blocks for the disk.
    func holds(for descriptor: Int32, length: Int64) -> Bool {
        switch self {
        case .digest(let digest): return (try? PictureStore.digest(descriptor, length: length)) == digest
        case .structure(let format, let endsAtLength):
            var bytes = StructureReader(length: length) { offset, count in
                (try? CacheFiles.read(descriptor, at: offset, count: count)) ?? []
            }
            guard let end = bytes.end(of: format) else { return false }
            return endsAtLength ? end == length : end <= length
        }
    }
}

/// The way through a picture's parts to its end; nothing of them is decoded.
///
/// JPEG: ITU T.81 annex B. PNG: RFC 2083 section 3.2. GIF: GIF89a sections 15 to 27. WebP: RFC 9649 section 2.3. AVIF and MP4:
/// ISO/IEC 14496-12 section 4.2. WebM: RFC 8794 sections 4 to 6.
struct StructureReader {
    private let length: Int64
    private let read: (_ offset: Int64, _ count: Int) -> [UInt8]
    /// The bytes that were read last, and where they begin.
    private var block: [UInt8] = []
    private var start: Int64 = 0
    private var place: Int64 = 0

    /// Bytes read at once.
    private static let blockLength = 64 << 10

    init(length: Int64, read: @escaping (_ offset: Int64, _ count: Int) -> [UInt8]) {
        self.length = length
        self.read = read
    }

    /// Where a picture ends; nil if it does not within its length, or shows no end.
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
            // To the next marker, over what is coded between two, where 0xFF stands before a zero or a restart (B.1.1.2).
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

    /// Bytes of a table of colours, if there is one.
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
            // A box that goes on to the end of the file ends wherever it is cut.
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
            // A segment without a size is gone through: its parts have one.
            if size < 0, id == 0x1853_8067 { continue }
            guard (0...length - place).contains(size) else { return nil }
            place += size
        }
        return hasSegment ? place : nil
    }

    /// A number of variable length (RFC 8794 section 4); as a size without its mark, and negative if it is unknown.
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

    /// Goes on so far; behind the end nothing is read any more.
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

    /// A number of so many bytes, the most significant first; nil for one that no length can be.
    private mutating func number(_ count: Int) -> Int64? {
        var value: Int64 = 0
        for _ in 0..<count {
            guard let byte = next(), value < 1 << 55 else { return nil }
            value = value << 8 | Int64(byte)
        }
        return value
    }
}
