import Digests
package import Rankings

/// A thumbnail of one file in one size, as the Thumbnail Managing Standard 0.9 describes it: in the user's own store or in a
/// directory's shared one, which differ in how they spell the file's address.
package struct Thumbnail: Hashable, Sendable {
    /// The address of the file, as desktops spell it: absolute, or one of `SharedAddress`.
    package let uri: String
    package let size: ThumbnailSize
    /// When the file was modified last, in Unix seconds.
    package let modified: Int64
    /// The file's length in bytes, if known: KIO compares it.
    package let length: Int64?

    package init(uri: String, size: ThumbnailSize, modified: Int64, length: Int64?) {
        self.uri = uri
        self.size = size
        self.modified = modified
        self.length = length
    }

    /// Where it belongs, below the directory of thumbnails.
    package var path: String {
        "\(size.directory)/\(Self.name(of: uri))"
    }

    /// The name of every thumbnail of an address.
    static func name(of uri: String) -> String {
        "\(MD5.hex(uri.utf8)).png"
    }

    /// The file, made of a picture of this size as PNG; nil if it is none.
    package func file(of image: [UInt8]) -> [UInt8]? {
        var texts = [(key: Self.uriKey, value: uri), (key: Self.timeKey, value: String(modified))]
        if let length { texts.append((key: Self.lengthKey, value: String(length))) }
        texts.append((key: Self.makerKey, value: Self.maker))
        // Addresses in the home are all ASCII but for those that Qt reads.
        return PNG.setting(texts, areInternational: uri.hasPrefix(FileURI.scheme), of: image)
    }

    /// Whether a stored file is this thumbnail, whoever made it.
    package func isValid(_ file: [UInt8]) -> Bool {
        guard let texts = PNG.texts(of: file), texts[Self.uriKey] == uri, texts[Self.timeKey] == String(modified) else {
            return false
        }
        guard let length, let told = texts[Self.lengthKey] else { return true }
        return told == String(length)
    }

    /// Whether a file, of which the first `longestHeader` bytes are enough, was written by rankfs and still bears the name
    /// that its address gives it.
    static func isOwn(_ beginning: [UInt8], named path: String) -> Bool {
        guard let texts = PNG.texts(of: beginning), texts[makerKey] == maker, let uri = texts[uriKey] else {
            return false
        }
        return ThumbnailSize.allCases.contains { path.hasSuffix("/\($0.directory)/\(name(of: uri))") }
    }

    /// Bytes in front of the pixels at most: an address of PATH_MAX bytes, each of which may take three, and what is short.
    static let longestHeader = 16 << 10

    private static let makerKey = "Software"
    private static let maker = "rankfs"
    private static let uriKey = "Thumb::URI"
    private static let timeKey = "Thumb::MTime"
    private static let lengthKey = "Thumb::Size"
}

/// The sizes of the Thumbnail Managing Standard that desktops ask for; together they satisfied every one tried.
package enum ThumbnailSize: String, CaseIterable, Sendable {
    case normal
    case large

    /// Pixels of the longest edge at most.
    package var edge: Int {
        switch self {
        case .normal: 128
        case .large: 256
        }
    }

    /// What a picture of this size is kept as.
    package var rendition: Rendition {
        switch self {
        case .normal: .normalThumbnail
        case .large: .largeThumbnail
        }
    }

    /// The name of the directory.
    package var directory: String { rawValue }
}

/// A picture that thumbnails are wanted of.
package struct ThumbnailJob: Hashable, Sendable {
    /// The picture that the paths show.
    package var picture: PictureID
    /// The paths below the mount point under which a desktop may see it.
    package var paths: [String]
    /// Further paths of it, of which thumbnails may be there already; none are made.
    package var otherPaths: [String]
    /// How desktops that look now write their addresses.
    package var spellings: [FileURI.Spelling]
    /// Where its small preview is.
    package var preview: PictureLocation
    /// What `stat` shows as its modification time, in Unix seconds.
    package var modified: Int64
    /// What `stat` shows as its size, in bytes, if known.
    package var length: Int64?

    package init(
        picture: PictureID, paths: [String], otherPaths: [String] = [], spellings: [FileURI.Spelling] = [.glib, .qt],
        preview: PictureLocation, modified: Int64, length: Int64?
    ) {
        self.picture = picture
        self.paths = paths
        self.otherPaths = otherPaths
        self.spellings = spellings
        self.preview = preview
        self.modified = modified
        self.length = length
    }

    /// What its thumbnail of a size is kept as.
    func shelved(_ size: ThumbnailSize) -> PictureID {
        PictureID(work: picture.work, page: picture.page, rendition: size.rendition, uploaded: picture.uploaded)
    }
}

// MARK: - Addresses

/// Addresses of files as desktops write them: thumbnails are named by their digest, so each byte counts.
package enum FileURI {
    /// How an address is written.
    package enum Spelling: CaseIterable, Sendable {
        /// As g_filename_to_uri(3) writes it.
        case glib
        /// As QUrl::toEncoded() of Qt 5, and so nearly all of KDE, writes it: it leaves semicolons and brackets.
        case qt
        /// As QUrl::url() does, by which Gwenview names thumbnails.
        case decoded
    }

    static let scheme = "file://"

    /// `file:///home/me/a%20b.jpg` of an absolute path.
    package static func of(_ path: String, _ spelling: Spelling = .glib) -> String {
        switch spelling {
        case .glib: scheme + escaped(path)
        case .qt: scheme + escaped(path) { kept.contains($0) || keptByQt.contains($0) }
        case .decoded:
            scheme
                + escaped(path) { $0 >= 0x80 || $0 == UInt8(ascii: " ") || kept.contains($0) || keptByQt.contains($0) }
        }
    }

    /// Percent-encodes all bytes but those that g_filename_to_uri(3) leaves (tried with GLib 2.74).
    package static func escaped(_ path: String) -> String {
        escaped(path) { kept.contains($0) }
    }

    private static func escaped(_ path: String, except isKept: (UInt8) -> Bool) -> String {
        var bytes: [UInt8] = []
        for byte in path.utf8 {
            if isKept(byte) {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let digits = Array("0123456789ABCDEF".utf8)
    private static let kept = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/!$&'()*+,:=@~-._".utf8)
    private static let keptByQt = Set("[];".utf8)
}

/// How programs spell the address of a file in its directory's shared store, `.sh_thumbnails`.
///
/// The Thumbnail Managing Standard 0.9, section 10, asks for `./` and the percent-encoded name. libxfce4util before March 2024,
/// and Tumbler with it, takes the encoded name alone, pqiv the name as it is. Each compares the text `Thumb::URI` with its own
/// spelling, if at all: so each finds a thumbnail of its own.
package enum SharedAddress {
    /// The spellings of a name, each once.
    package static func all(of name: String) -> [String] {
        let encoded = FileURI.escaped(name)
        return name == encoded ? ["./" + encoded, encoded] : ["./" + encoded, encoded, name]
    }

    /// The digest in a thumbnail's name, `<32 digits>.png`; nil for any other name.
    package static func digest(in name: [UInt8]) -> String? {
        guard name.count == 36, name.suffix(4).elementsEqual(".png".utf8), name.prefix(32).allSatisfy(isDigit) else {
            return nil
        }
        return String(decoding: name.prefix(32), as: UTF8.self)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
    }
}
