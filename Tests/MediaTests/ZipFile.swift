import Render

@testable import Media

/// A zip archive made by hand, so that each field can be wrong.
struct ZipFile {
    struct File {
        var name: String
        var bytes: [UInt8]
        var localExtra = 0
        var directoryExtra = 0
        var flags = 0
        var method = 0
        /// A descriptor behind the data, as programs write that cannot go back.
        var hasDescriptor = false
    }

    private(set) var bytes: [UInt8] = []
    /// Where the data of each file lies.
    private(set) var data: [Range<Int64>] = []
    private(set) var directory: Range<Int64> = 0..<0

    init(_ files: [File], comment: [UInt8] = []) {
        var entries: [UInt8] = []
        for file in files {
            let header = bytes.count
            let flags = file.flags | (file.hasDescriptor ? 0x08 : 0)
            let told = file.hasDescriptor ? 0 : file.bytes.count
            bytes += [0x50, 0x4b, 3, 4]
            for (number, size) in [
                (10, 2), (flags, 2), (file.method, 2), (0, 4), (0, 4), (told, 4), (told, 4), (file.name.utf8.count, 2),
                (file.localExtra, 2),
            ] { bytes.append(littleEndian: number, bytes: size) }
            bytes += Array(file.name.utf8) + [UInt8](repeating: 0xee, count: file.localExtra)
            data.append(Int64(bytes.count)..<Int64(bytes.count + file.bytes.count))
            bytes += file.bytes
            if file.hasDescriptor { bytes += [0x50, 0x4b, 7, 8] + [UInt8](repeating: 1, count: 12) }
            entries += [0x50, 0x4b, 1, 2]
            for (number, size) in [
                (20, 2), (10, 2), (flags, 2), (file.method, 2), (0, 4), (0, 4), (file.bytes.count, 4),
                (file.bytes.count, 4), (file.name.utf8.count, 2), (file.directoryExtra, 2), (0, 2), (0, 2), (0, 2),
                (0, 4), (header, 4),
            ] { entries.append(littleEndian: number, bytes: size) }
            entries += Array(file.name.utf8) + [UInt8](repeating: 0xdd, count: file.directoryExtra)
        }
        directory = Int64(bytes.count)..<Int64(bytes.count + entries.count)
        bytes += entries + [0x50, 0x4b, 5, 6]
        for (number, size) in [
            (0, 2), (0, 2), (files.count, 2), (files.count, 2), (entries.count, 4), (Int(directory.lowerBound), 4),
            (comment.count, 2),
        ] { bytes.append(littleEndian: number, bytes: size) }
        bytes += comment
    }

    /// Frames as the service names them.
    static func frames(_ count: Int, localExtra: Int = 0) -> [File] {
        (0..<count).map { index in
            let digits = String(index)
            let name = String(repeating: "0", count: 6 - digits.count) + digits + ".jpg"
            return File(
                name: name, bytes: (0..<(20 + index % 100 * 7)).map { UInt8(truncatingIfNeeded: index + $0) },
                localExtra: localExtra)
        }
    }
}

extension [UInt8] {
    /// Reads the layout as a file system does: the tail, then the directory.
    func archive() throws(MediaError) -> ZipArchive {
        let tail = Array(suffix(Int(ZipArchive.tailLength)))
        let place = try ZipArchive.directoryPlace(inTail: tail, length: Int64(count))
        return try ZipArchive(directory: Array(self[place]), at: place)
    }

    /// The bytes of a file by its local header.
    func read(_ entry: ZipArchive.Entry, in archive: ZipArchive) throws(MediaError) -> Range<Int64> {
        let header = Array(self[Int(entry.header)..<Swift.min(count, Int(entry.header) + 30)])
        let begin = try archive.dataOffset(of: entry, localHeader: header)
        return begin..<begin + entry.size
    }

    subscript(range: Range<Int64>) -> ArraySlice<UInt8> {
        self[Int(range.lowerBound)..<Int(range.upperBound)]
    }
}
