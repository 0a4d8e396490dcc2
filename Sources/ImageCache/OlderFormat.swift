internal import CLinux
internal import System
internal import Glibc
internal import Rankings

/// The name of a picture in the first format: XXH3 of its key, 128 bits, as 32 hexadecimal digits.
struct OlderName: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    var name: String { XXH3.hex(high) + XXH3.hex(low) }
    var path: String { "\(name.prefix(2))/\(name)" }
}

extension OlderName {
    init(_ picture: PictureID) {
        let hash = XXH3.hash128(picture.key)
        self.init(high: hash.high, low: hash.low)
    }

    /// Decodes `name`; nil for any other text.
    init?(_ name: some Sequence<UInt8>) {
        var reader = NameReader(name)
        guard let high = reader.hash(), let low = reader.hash(), reader.isAtEnd else { return nil }
        self.init(high: high, low: low)
    }
}

/// The first format, which is converted in place.
///
/// A picture's file was named by a hash of its key and had a footer after the bytes; pins and last uses were rows of a database.
///
/// A picture is converted by renaming its file to the name in the footer and cutting it: a kill between the two leaves a file
/// that ``PictureStore/open(_:verify:)`` cuts. The database is removed when nothing is left to convert.
enum OlderFormat {
    static let version = "v1"
    private static let index = "index.sqlite"
    /// The bytes of the footer after a picture's: magic 8, length 8, hash 8, key 1 + 88 at most, check 8, rounded up.
    static let footerSize: Int64 = 128
    /// `RANKFSP1`.
    private static let magic: Int64 = 0x3150_5346_4B4E_4152

    /// The known data of a picture before its file is read.
    struct Row: Sendable {
        /// The picture's length in bytes.
        var length: Int64
        /// The picture's place in the order of use.
        var used: Int64 = 0
        var isPinned = false
    }

    /// Turns the first format's directory into the present one, which needs no room on the disk.
    ///
    /// Pictures that an older rankfs has stored since then are moved there.
    static func takeOver(in top: Int32) {
        guard unsafe renameat(top, version, top, PictureStore.version) != 0, errno == ENOTEMPTY || errno == EEXIST,
            let from = try? Files.open(version, in: top, O_RDONLY | O_DIRECTORY)
        else { return }
        defer { close(from) }
        for folder in Files.names(in: from) {
            let target = "../\(PictureStore.version)/\(folder)"
            guard let source = try? Files.open(folder, in: from, O_RDONLY | O_DIRECTORY) else { continue }
            defer { close(source) }
            (try? Files.openDirectory(target, in: from)).map { _ = close($0.descriptor) }
            for name in Files.names(in: source) {
                try? Files.rename(name, in: source, to: "\(target)/\(name)", in: from)
            }
            unsafe _ = unlinkat(from, folder, AT_REMOVEDIR)
        }
        unsafe _ = unlinkat(top, version, AT_REMOVEDIR)
    }

    /// Gives unfinished downloads their present names; their states do not change.
    static func convertPartials(in partial: Int32) {
        for name in Files.names(in: partial) {
            guard let older = OlderName(name.utf8),
                let state = try? Files.open("\(name).state", in: partial, O_RDONLY | O_NONBLOCK)
            else { continue }
            defer { close(state) }
            // Magic number and length come before the key.
            guard var reader = ByteReader(sealed: (try? Files.read(state, at: 0, count: 512)) ?? []),
                reader.number() != nil, reader.number() != nil,
                let picture = reader.shortText().flatMap({ PictureID(name: $0.utf8) }), OlderName(picture) == older
            else { continue }
            for suffix in [".state", ""] {
                try? Files.rename(name + suffix, in: partial, to: picture.key + suffix, in: partial)
            }
        }
    }

    /// The known data of pictures that are to be converted.
    static func rows(_ names: [OlderName], below version: Int32, in directory: String) -> [OlderName: Row] {
        let known = names.isEmpty ? [:] : rows(in: directory)
        return Dictionary(
            uniqueKeysWithValues: Set(names).map { name in
                (name, known[name] ?? Row(length: length(of: name, below: version)))
            })
    }

    /// The rows of the database; empty if there is none that can be read.
    static func rows(in directory: String) -> [OlderName: Row] {
        var rows: [OlderName: Row] = [:]
        guard let connection = try? Connection(path: "\(directory)/\(index)", isReadOnly: true) else { return [:] }
        defer { connection.close() }
        try? connection.rows("SELECT high, low, length, used, pinned FROM pictures") { row in
            let name = OlderName(high: UInt64(bitPattern: row.int64(0)), low: UInt64(bitPattern: row.int64(1)))
            rows[name] = Row(
                length: min(max(0, row.int64(2)), StoredPicture.longest), used: row.int64(3),
                isPinned: row.int64(4) != 0)
        }
        return rows
    }

    /// The length of a picture in bytes, determined from its file.
    static func length(of name: OlderName, below version: Int32) -> Int64 {
        var status = stat()
        guard unsafe fstatat(version, name.path, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return 0 }
        return min(max(0, Int64(status.st_size) - footerSize), StoredPicture.longest)
    }

    /// Converts a picture.
    ///
    /// - Returns: The stored picture; nil if there was no such file, or a broken one that has been removed.
    /// - Throws: The disk's error; the picture is then unchanged.
    static func convert(_ name: OlderName, isPinned: Bool, _ store: PictureStore) throws(SystemError) -> StoredPicture?
    {
        let version = store.root.version
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try Files.open(name.path, in: version, O_RDONLY | O_NONBLOCK)
        } catch {
            guard error.code == ENOENT else { throw error }
            return nil
        }
        defer { close(descriptor) }
        let size = try Files.size(descriptor)
        let bytes = try Files.read(descriptor, at: max(0, size - footerSize), count: Int(footerSize))
        guard let picture = picture(footer: bytes), picture.length == size - footerSize, OlderName(picture.key) == name
        else {
            Files.remove(name.path, in: version)
            return nil
        }
        // Before the rename, since the new name no longer leads to the row.
        if isPinned { try store.write(pins: [picture.key: true]) }
        try Files.rename(name.path, in: version, to: picture.path, in: version)
        try? PictureStore.cut(picture, below: version)
        return picture
    }

    /// The picture that the last bytes of a file describe; nil if they are no footer.
    static func picture(footer bytes: [UInt8]) -> StoredPicture? {
        guard bytes.count == footerSize, var reader = ByteReader(sealed: bytes), reader.number() == magic,
            let length = reader.number(), (0...StoredPicture.longest).contains(length), let hash = reader.number(),
            let key = reader.shortText().flatMap({ PictureID(name: $0.utf8) })
        else { return nil }
        return StoredPicture(key: key, length: length, hash: UInt64(bitPattern: hash))
    }

    /// Removes the database and its set-aside copies.
    static func removeIndex(in top: Int32) {
        for name in Files.names(in: top) where name.hasPrefix(index) { Files.remove(name, in: top) }
    }
}
