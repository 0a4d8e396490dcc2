import CCairo

/// A whole picture file of an exact length: what was drawn, padding that every decoder skips, and the trailer.
///
/// The padding is legal: comment segments between the scan and the end of a JPEG (ITU-T T.81, B.2.4.5), a private
/// ancillary chunk before the end of a PNG (PNG specification, 5.4). It is computed where it is read and stands after
/// the picture itself, so that viewers have everything to show early.
struct DrawnPicture: Sendable {
    /// Bytes of the whole file.
    let length: Int
    private let head: [UInt8]
    private let tail: [UInt8]
    private let salt: UInt64
    private let isJPEG: Bool

    /// Bytes kept in memory for this picture.
    var cost: Int {
        head.count + tail.count
    }

    /// Pads a JPEG, which must end with its EOI marker and be no longer than `length`.
    init(jpeg: [UInt8], length: Int, salt: UInt64) {
        head = Array(jpeg.dropLast(2))
        tail = [0xff, 0xd9]
        self.length = max(length, jpeg.count)
        self.salt = salt
        isJPEG = true
    }

    /// Pads a PNG, which must end with its IEND chunk and leave `pngOverhead` bytes.
    init(png: [UInt8], length: Int, salt: UInt64) {
        let payload = length - png.count - Self.pngOverhead
        var chunk = Self.bigEndian(UInt32(payload))
        chunk.append(contentsOf: "rkPd".utf8)
        head = png.dropLast(Self.iendBytes) + chunk
        self.length = length
        self.salt = salt
        isJPEG = false
        var sum = crc32(0, nil, 0)
        sum = unsafe Array("rkPd".utf8).withUnsafeBufferPointer { unsafe crc32(sum, $0.baseAddress, 4) }
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        var offset = 0
        while offset < payload {
            let count = min(Self.pieceBytes, payload - offset)
            unsafe piece.withUnsafeMutableBytes { buffer in
                unsafe Self.noise(from: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]), salt)
            }
            sum = unsafe piece.withUnsafeBufferPointer { unsafe crc32(sum, $0.baseAddress, UInt32(count)) }
            offset += count
        }
        tail = Self.bigEndian(UInt32(truncatingIfNeeded: sum)) + png.suffix(Self.iendBytes)
    }

    /// A file that is whole already.
    init(whole: [UInt8]) {
        head = whole
        tail = []
        length = whole.count
        salt = 0
        isJPEG = false
    }

    /// The whole file; only for what is short.
    var bytes: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            count = unsafe read(from: 0, into: UnsafeMutableRawBufferPointer(buffer))
        }
    }

    /// Bytes that the padding of a PNG needs at least: length, type and checksum of its chunk.
    static let pngOverhead = 12

    /// Copies the file from `offset` on into a buffer; answers how many bytes, 0 at the end.
    func read(from offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, length - offset)
        guard count > 0 else { return 0 }
        var done = 0
        while done < count {
            let at = offset + done
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<count])
            if at < head.count {
                done += unsafe copy(head, from: at, into: rest)
            } else if at >= length - tail.count {
                done += unsafe copy(tail, from: at - (length - tail.count), into: rest)
            } else {
                done += unsafe pad(from: at - head.count, into: rest)
            }
        }
        return count
    }

    // MARK: -

    private static let iendBytes = 12
    /// A multiple of 8, the width of `noise`.
    private static let pieceBytes = 65_536
    /// The largest comment segment with its marker: the length field counts itself and has 16 bits.
    private static let segment = 65_537
    private static let segmentHead = 4

    private func copy(_ source: [UInt8], from start: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, source.count - start)
        unsafe source.withUnsafeBytes { bytes in
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
        }
        return count
    }

    private func pad(from start: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let whole = length - head.count - tail.count
        let count = min(buffer.count, whole - start)
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        unsafe Self.noise(from: start, into: part, salt)
        guard isJPEG else { return count }
        var segmentStart = start / Self.segment * Self.segment
        while segmentStart < start + count {
            let bytes = min(Self.segment, whole - segmentStart)
            // Too short for a segment: any number of fill bytes may stand before a marker (T.81, B.1.1.2).
            let lead: [UInt8] =
                bytes < Self.segmentHead
                ? Array(repeating: 0xff, count: bytes)
                : [0xff, 0xfe, UInt8((bytes - 2) >> 8), UInt8((bytes - 2) & 0xff)]
            for (index, byte) in lead.enumerated() where (start..<start + count).contains(segmentStart + index) {
                unsafe part[segmentStart + index - start] = byte
            }
            segmentStart += Self.segment
        }
        return count
    }

    /// Bytes that look random and follow from their offset; none is above 0x7f, so that no marker is among them.
    private static func noise(from start: Int, into buffer: UnsafeMutableRawBufferPointer, _ salt: UInt64) {
        var index = 0
        while index < buffer.count {
            let at = start + index
            var word = Chance.mix(salt &+ UInt64(at >> 3)) & 0x7f7f_7f7f_7f7f_7f7f
            if at & 7 == 0, index + 8 <= buffer.count {
                unsafe buffer.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
                index += 8
            } else {
                word >>= UInt64(at & 7) * 8
                unsafe buffer[index] = UInt8(truncatingIfNeeded: word)
                index += 1
            }
        }
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
