package import Render

/// The layout of a zip archive that stores its files without compression.
///
/// The type only computes the layout: the caller reads the archive's tail, then its directory, then the files. For any bytes the
/// result is a layout within the archive or an error, and memory is bounded.
///
/// Source: APPNOTE 6.3.10, sections 4.3.7 (local header), 4.3.12 (directory), 4.3.16 (end record).
package struct ZipArchive: Hashable, Sendable {
    /// A file of the archive.
    package struct Entry: Hashable, Sendable {
        package let name: String
        /// The begin of its local header, in bytes from the beginning of the archive.
        package let header: Int64
        /// Its length, in bytes.
        package let size: Int64
        /// The bytes of its name, as the archive writes it.
        let nameLength: Int64
        /// Whether a record that repeats the lengths follows the data (4.3.9); the local header then lacks them.
        let hasDescriptor: Bool
        /// The begin of the next header or of the directory.
        fileprivate(set) var end: Int64
    }

    /// The files in the order of their bytes in the archive.
    package let entries: [Entry]

    /// Bytes at the end of an archive that surely contain its end record: the longest comment is 65,535 bytes.
    package static let tailLength: Int64 = 65_535 + 22
    /// Bytes of a local header before its name, which `dataOffset` needs.
    package static let localHeaderLength: Int64 = 30
    /// The largest directory that is read, in bytes: more than 500 for each frame, where 56 are usual.
    package static let longestDirectory: Int64 = 1 << 20

    /// Finds the directory.
    ///
    /// - Parameters:
    ///   - tail: The last `tailLength` bytes of the archive, or fewer if it is shorter.
    ///   - length: The bytes of the whole archive.
    /// - Returns: The range in bytes from the beginning of the archive, at most `longestDirectory` long.
    /// - Throws: `.archive` if there is no directory, or too large a one.
    package static func directoryPlace(inTail tail: [UInt8], length: Int64) throws(MediaError) -> Range<Int64> {
        guard tail.count <= length, tail.count <= tailLength else {
            throw .archive("the tail is longer than the archive")
        }
        // A comment may contain the signature of the record, but its length then does not lead to the end.
        var offset = tail.count - endLength
        while offset >= 0 {
            if tail.littleEndian(at: offset, bytes: 4) == endSignature,
                tail.littleEndian(at: offset + 20, bytes: 2) == tail.count - endLength - offset
            {
                return try place(
                    endRecord: Array(tail[offset..<offset + endLength]), at: length - Int64(tail.count - offset))
            }
            offset -= 1
        }
        throw .archive("it has no end record")
    }

    /// Reads the layout from a directory.
    ///
    /// - Parameters:
    ///   - directory: The bytes of the directory.
    ///   - place: Their range, from `directoryPlace`; all files are before it.
    /// - Throws: `.archive` unless all files are stored without compression, one after the other.
    package init(directory: [UInt8], at place: Range<Int64>) throws(MediaError) {
        guard directory.count == place.count, place.lowerBound >= 0, directory.count <= Self.longestDirectory else {
            throw .archive("its directory is not of the length told")
        }
        var entries: [Entry] = []
        var offset = 0
        while offset < directory.count {
            guard entries.count < FrameLimits.count else {
                throw .archive("it has more than \(FrameLimits.count) files")
            }
            let (entry, length) = try Self.entry(directory, at: offset)
            entries.append(entry)
            offset += length
        }
        entries.sort { $0.header < $1.header }
        for index in entries.indices {
            let end = index + 1 < entries.count ? entries[index + 1].header : place.lowerBound
            guard
                end - entries[index].size >= entries[index].header + Self.localHeaderLength + entries[index].nameLength
            else { throw .archive("files overlap or lie outside") }
            entries[index].end = end
        }
        guard Set(entries.map(\.name)).count == entries.count else { throw .archive("two files have one name") }
        self.entries = entries
    }

    /// The file of this name, if there is one.
    package func entry(named name: String) -> Entry? {
        entries.first { $0.name == name }
    }

    /// The range of a file's bytes as far as the directory determines it, without reading the local header.
    ///
    /// A local header has a name of the directory's length and extra fields of an unknown one, and nothing but a descriptor can
    /// stand between the data and the next header: so the data ends where the next header begins.
    ///
    /// - Returns: Nil where a descriptor or more than the longest extra field stands between; use `dataOffset` then.
    package func data(of entry: Entry) -> Range<Int64>? {
        let begin = entry.end - entry.size
        let extra = begin - (entry.header + Self.localHeaderLength + entry.nameLength)
        guard !entry.hasDescriptor, extra >= 0, extra <= Self.longestExtra else { return nil }
        return begin..<entry.end
    }

    /// The begin of a file's bytes, from its local header.
    ///
    /// - Parameters:
    ///   - entry: A file of this archive.
    ///   - localHeader: The `localHeaderLength` bytes from `entry.header` on; further bytes are ignored.
    /// - Returns: The offset from the beginning of the archive, where `entry.size` bytes begin.
    /// - Throws: `.archive` if the header is of another file.
    package func dataOffset(of entry: Entry, localHeader: [UInt8]) throws(MediaError) -> Int64 {
        guard localHeader.littleEndian(at: 0, bytes: 4) == Self.localSignature,
            localHeader.littleEndian(at: 8, bytes: 2) == Self.stored,
            let flags = localHeader.littleEndian(at: 6, bytes: 2), flags & Self.encryptedFlags == 0,
            let size = localHeader.littleEndian(at: 22, bytes: 4),
            let name = localHeader.littleEndian(at: 26, bytes: 2), name == Int(entry.nameLength),
            let extra = localHeader.littleEndian(at: 28, bytes: 2),
            size == Int(entry.size) || flags & Self.descriptorFlag != 0
        else { throw .archive("a file's header differs from the directory") }
        let begin = entry.header + Self.localHeaderLength + entry.nameLength + Int64(extra)
        guard begin + entry.size <= entry.end else { throw .archive("files overlap or lie outside") }
        return begin
    }

    // MARK: -

    private static let localSignature = 0x0403_4b50
    private static let entrySignature = 0x0201_4b50
    private static let endSignature = 0x0605_4b50
    private static let entryLength = 46
    private static let endLength = 22
    private static let longestExtra: Int64 = 65_535
    /// The method without compression (4.4.5).
    private static let stored = 0
    /// Bits 0, 6 and 13 (4.4.4): encrypted, strongly encrypted, a directory with masked values.
    private static let encryptedFlags = 0x2041
    /// Bit 3 (4.4.4).
    private static let descriptorFlag = 0x08
    /// The placeholder for a value in a zip64 record (4.4.8, 4.4.16).
    private static let elsewhere = 0xffff_ffff
    /// The longest name of a frame, in bytes: the limit of file systems.
    private static let longestName = 255

    private static func place(endRecord: [UInt8], at offset: Int64) throws(MediaError) -> Range<Int64> {
        guard endRecord.littleEndian(at: 4, bytes: 4) == 0,
            let here = endRecord.littleEndian(at: 8, bytes: 2), let count = endRecord.littleEndian(at: 10, bytes: 2),
            here == count
        else { throw .archive("it is one of several parts") }
        guard count <= FrameLimits.count else { throw .archive("it has more than \(FrameLimits.count) files") }
        guard let size = endRecord.littleEndian(at: 12, bytes: 4), let begin = endRecord.littleEndian(at: 16, bytes: 4),
            begin != elsewhere, size <= Int(longestDirectory), Int64(begin + size) <= offset,
            size >= count * entryLength
        else { throw .archive("its directory lies outside or is too large") }
        return Int64(begin)..<Int64(begin + size)
    }

    private static func entry(_ directory: [UInt8], at offset: Int) throws(MediaError) -> (Entry, length: Int) {
        guard directory.littleEndian(at: offset, bytes: 4) == entrySignature,
            let flags = directory.littleEndian(at: offset + 8, bytes: 2),
            let method = directory.littleEndian(at: offset + 10, bytes: 2),
            let packed = directory.littleEndian(at: offset + 20, bytes: 4),
            let size = directory.littleEndian(at: offset + 24, bytes: 4),
            let name = directory.littleEndian(at: offset + 28, bytes: 2),
            let extra = directory.littleEndian(at: offset + 30, bytes: 2),
            let comment = directory.littleEndian(at: offset + 32, bytes: 2),
            let disk = directory.littleEndian(at: offset + 34, bytes: 2),
            let header = directory.littleEndian(at: offset + 42, bytes: 4),
            offset + entryLength + name + extra + comment <= directory.count
        else { throw .archive("its directory is damaged") }
        guard method == stored, packed == size, flags & encryptedFlags == 0 else {
            throw .archive("its files are compressed or encrypted")
        }
        guard size != elsewhere, header != elsewhere, disk == 0 else { throw .archive("it is larger than 4 GiB") }
        guard (1...longestName).contains(name) else { throw .archive("a file's name is too long or empty") }
        let text = directory[offset + entryLength..<offset + entryLength + name]
        let entry = Entry(
            name: String(decoding: text, as: UTF8.self), header: Int64(header), size: Int64(size),
            nameLength: Int64(name), hasDescriptor: flags & descriptorFlag != 0, end: 0)
        return (entry, entryLength + name + extra + comment)
    }
}
