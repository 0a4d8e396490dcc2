/// Zip archives of files stored one behind the other (APPNOTE 4.3.7, 4.3.12, 4.3.16).
package enum StoredArchive {
    package static func packed(_ files: [(name: String, bytes: [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = []
        var directory: [UInt8] = []
        for file in files {
            let header = bytes.count
            let common =
                fields([(0, 2), (0, 2), (0, 4), (0, 4), (file.bytes.count, 4), (file.bytes.count, 4)])
                + fields([(file.name.utf8.count, 2), (0, 2)])
            bytes += [0x50, 0x4B, 3, 4] + fields([(10, 2)]) + common + file.name.utf8 + file.bytes
            directory += [0x50, 0x4B, 1, 2] + fields([(20, 2), (10, 2)]) + common
            directory += fields([(0, 2), (0, 2), (0, 2), (0, 4), (header, 4)]) + file.name.utf8
        }
        let end = fields([
            (0, 2), (0, 2), (files.count, 2), (files.count, 2), (directory.count, 4), (bytes.count, 4), (0, 2),
        ])
        return bytes + directory + [0x50, 0x4B, 5, 6] + end
    }

    private static func fields(_ fields: [(value: Int, bytes: Int)]) -> [UInt8] {
        fields.flatMap { field in (0..<field.bytes).map { UInt8(truncatingIfNeeded: field.value >> (8 * $0)) } }
    }
}
