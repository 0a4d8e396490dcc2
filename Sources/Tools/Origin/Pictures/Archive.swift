import CZlib

/// The archive of an animation's frames: a ZIP whose entries are stored, not deflated (APPNOTE.TXT, 4.3).
///
/// Its length follows from the frames' lengths, so that HEAD costs nothing; a frame is a range of its bytes.
enum Archive {
    /// The length of the archive for frames of so many bytes each.
    static func length(_ frames: [Int]) -> Int {
        frames.reduce(endBytes) { $0 + $1 + localBytes + centralBytes + 2 * nameBytes }
    }

    /// Draws all frames and puts them together; nil only without memory.
    static func draw(_ picture: Picture) -> DrawnPicture? {
        var file: [UInt8] = []
        file.reserveCapacity(picture.bytes)
        var directory: [UInt8] = []
        for (index, frame) in picture.frames.enumerated() {
            guard let bytes = Painter.draw(frame)?.bytes else { return nil }
            let entry = Entry(name: Animation.name(ofFrame: index), bytes: bytes, offset: file.count)
            file += entry.localHeader + bytes
            directory += entry.centralHeader
        }
        let count = UInt16(picture.frames.count)
        let start = UInt32(file.count)
        file += directory
        file += littleEndian(0x0605_4b50 as UInt32) + littleEndian(0 as UInt16) + littleEndian(0 as UInt16)
        file += littleEndian(count) + littleEndian(count)
        file += littleEndian(UInt32(directory.count)) + littleEndian(start) + littleEndian(0 as UInt16)
        return DrawnPicture(whole: file)
    }

    // MARK: -

    private static let localBytes = 30
    private static let centralBytes = 46
    private static let endBytes = 22
    /// `000000.jpg`.
    private static let nameBytes = 10

    /// One frame in the archive.
    private struct Entry {
        let name: String
        let bytes: [UInt8]
        let offset: Int

        var localHeader: [UInt8] {
            littleEndian(0x0403_4b50 as UInt32) + common + Array(name.utf8)
        }

        var centralHeader: [UInt8] {
            // made by the same version as is needed; no comment, first disk, no attributes
            littleEndian(0x0201_4b50 as UInt32) + littleEndian(version) + common
                + [UInt8](repeating: 0, count: 10) + littleEndian(UInt32(offset)) + Array(name.utf8)
        }

        /// What both headers say: version, flags, method 0, a moment, checksum, lengths; no extra field.
        private var common: [UInt8] {
            let length = littleEndian(UInt32(bytes.count))
            return littleEndian(version) + littleEndian(0 as UInt16) + littleEndian(0 as UInt16)
                + littleEndian(0 as UInt16) + littleEndian(firstDay) + littleEndian(checksum) + length + length
                + littleEndian(UInt16(name.utf8.count)) + littleEndian(0 as UInt16)
        }

        /// 1.0: stored entries need no more.
        private var version: UInt16 { 10 }
        /// 1980-01-01, the first day that the format knows.
        private var firstDay: UInt16 { 0x21 }

        private var checksum: UInt32 {
            let sum = unsafe bytes.withUnsafeBufferPointer { unsafe crc32(0, $0.baseAddress, UInt32($0.count)) }
            return UInt32(truncatingIfNeeded: sum)
        }
    }

    private static func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        Padding.little(Int(number), bytes: Number.bitWidth / 8)
    }
}
