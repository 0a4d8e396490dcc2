import Render

/// The blocks of an animated GIF file, each frame in 256 colours of its own.
///
/// Source: W3C, "Graphics Interchange Format, Version 89a".
struct GIFContainer: AnimationContainer {
    private var bytes: [UInt8]
    /// Milliseconds of all frames so far, and the hundredths written for them: rounding errors pass on to the next frame.
    private var elapsed = 0
    private var written = 0

    /// Makes a file without frames that repeats without end.
    init(width: Int, height: Int) {
        bytes = Array("GIF89a".utf8)
        bytes.append(littleEndian: width, bytes: 2)
        bytes.append(littleEndian: height, bytes: 2)
        // No global colour table, no background, square pixels; then the number of repetitions: without end.
        bytes += [0x70, 0, 0, 0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
    }

    var length: Int { bytes.count }

    mutating func append(_ pixels: Pixels, _ area: PixelArea, delay: Int) throws(MediaError) {
        elapsed += delay
        let hundredths = max(Self.shortest, (elapsed + 5) / 10 - written)
        written += hundredths
        // The frame is kept under the next; no part of it is transparent.
        bytes += [0x21, 0xF9, 4, 0x04]
        bytes.append(littleEndian: hundredths, bytes: 2)
        bytes += [0, 0, 0x2C]
        for number in [area.x, area.y, area.width, area.height] { bytes.append(littleEndian: number, bytes: 2) }
        let picture = IndexedPicture(pixels, area)
        bytes.append(0x87)
        bytes += picture.colours + Array(repeating: 0, count: 3 * IndexedPicture.most - picture.colours.count)
        Self.compress(picture.indices, to: &bytes)
    }

    consuming func finished() -> [UInt8] {
        bytes.append(0x3B)
        return bytes
    }

    // MARK: -

    /// The shortest delay, in hundredths of a second: viewers show shorter frames for a tenth.
    private static let shortest = 2
    /// Bits of an index.
    private static let indexBits = 8
    private static let clear = 1 << indexBits
    private static let end = clear + 1
    private static let mostCodes = 1 << 12
    /// Places of the table of strings: four times the number of strings, which keeps searches short.
    private static let places = 1 << 14

    /// Compresses indices (appendix F): a code for each longest string that came before, in sub-blocks of 255 bytes.
    private static func compress(_ indices: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(UInt8(indexBits))
        var block: [UInt8] = []
        block.reserveCapacity(255)
        var (pending, bits, width) = (0, 0, indexBits + 1)
        func write(_ code: Int) {
            pending |= code << bits
            bits += width
            while bits >= 8 { writeByte() }
        }
        func writeByte() {
            block.append(UInt8(truncatingIfNeeded: pending))
            (pending, bits) = (pending >> 8, max(0, bits - 8))
            if block.count == 255 { writeBlock() }
        }
        func writeBlock() {
            guard !block.isEmpty else { return }
            bytes.append(UInt8(block.count))
            bytes += block
            block.removeAll(keepingCapacity: true)
        }
        // A string is the code of all but its last index, and that index; 0 marks a free place.
        var strings = [UInt32](repeating: 0, count: places)
        var codes = [UInt16](repeating: 0, count: places)
        var next = end + 1
        write(clear)
        var prefix = Int(indices.first ?? 0)
        for index in indices.dropFirst() {
            let string = UInt32(prefix << indexBits | Int(index)) + 1
            var place = Int((string &* 0x9E37_79B1) >> 18)
            while strings[place] != 0, strings[place] != string { place = (place + 1) % places }
            if strings[place] == string {
                prefix = Int(codes[place])
                continue
            }
            write(prefix)
            prefix = Int(index)
            if next < mostCodes {
                (strings[place], codes[place]) = (string, UInt16(next))
                // The decoder learns each string one code later.
                if next == 1 << width { width += 1 }
                next += 1
            } else {
                write(clear)
                strings = [UInt32](repeating: 0, count: places)
                (next, width) = (end + 1, indexBits + 1)
            }
        }
        write(prefix)
        write(end)
        if bits > 0 { writeByte() }
        writeBlock()
        bytes.append(0)
    }
}
