import System
package import Rankings
import Sourcing

/// A thumbnail of one file in one size, as the Thumbnail Managing Standard 0.9 describes it.
///
/// It belongs in the user's own store or in a directory's shared store, which spell the file's address differently.
package struct Thumbnail: Hashable, Sendable {
    /// The address of the file, as desktops spell it: absolute, or one of `SharedAddress`.
    package let uri: String
    package let size: ThumbnailSize
    /// The modification time of the file in Unix seconds.
    package let modified: Int64
    /// The file's length in bytes, if known: KIO compares it.
    package let length: Int64?

    package init(uri: String, size: ThumbnailSize, modified: Int64, length: Int64?) {
        self.uri = uri
        self.size = size
        self.modified = modified
        self.length = length
    }

    /// The path of the thumbnail, relative to the directory of thumbnails.
    package var path: String {
        "\(size.directory)/\(Self.name(of: uri))"
    }

    /// Returns the name of every thumbnail of an address.
    static func name(of uri: String) -> String {
        "\(MD5.hex(uri.utf8)).png"
    }

    /// Returns the thumbnail's file, made of a picture of this size as PNG; nil if the picture is not a PNG.
    package func file(of image: [UInt8]) -> [UInt8]? {
        var texts = [(key: Self.uriKey, value: uri), (key: Self.timeKey, value: String(modified))]
        if let length { texts.append((key: Self.lengthKey, value: String(length))) }
        texts.append((key: Self.makerKey, value: Self.maker))
        // Only Qt reads addresses in the user's own store that are not all ASCII.
        return PNG.setting(texts, areInternational: uri.hasPrefix(FileURI.scheme), of: image)
    }

    /// Returns whether a stored file is this thumbnail; the program that made it does not matter.
    package func isValid(_ file: [UInt8]) -> Bool {
        guard let texts = PNG.texts(of: file), texts[Self.uriKey] == uri, texts[Self.timeKey] == String(modified) else {
            return false
        }
        guard let length, let told = texts[Self.lengthKey] else { return true }
        return told == String(length)
    }

    /// Returns whether rankfs wrote a file, and the file still has the name that its address determines.
    ///
    /// The first `longestHeader` bytes of the file are enough.
    static func isOwn(_ beginning: [UInt8], named path: String) -> Bool {
        guard let texts = PNG.texts(of: beginning), texts[makerKey] == maker, let uri = texts[uriKey] else {
            return false
        }
        return ThumbnailSize.allCases.contains { path.hasSuffix("/\($0.directory)/\(name(of: uri))") }
    }

    /// The most bytes before the pixels: an address of PATH_MAX bytes, each encoded as up to three bytes, and some short texts.
    static let longestHeader = 16 << 10

    private static let makerKey = "Software"
    private static let maker = "rankfs"
    private static let uriKey = "Thumb::URI"
    private static let timeKey = "Thumb::MTime"
    private static let lengthKey = "Thumb::Size"
}

/// The sizes of the Thumbnail Managing Standard that desktops request; together they satisfied every desktop tried.
package enum ThumbnailSize: String, CaseIterable, Sendable {
    case normal
    case large

    /// The most pixels of the longest edge.
    package var edge: Int {
        switch self {
        case .normal: 128
        case .large: 256
        }
    }

    /// The rendition under which a picture of this size is stored.
    package var rendition: Rendition {
        switch self {
        case .normal: .normalThumbnail
        case .large: .largeThumbnail
        }
    }

    /// The name of the size's directory.
    package var directory: String { rawValue }
}

/// A picture that needs thumbnails.
package struct ThumbnailJob: Hashable, Sendable {
    /// The picture at the paths.
    package var picture: PictureID
    /// The paths below the mount point under which a desktop may show the picture.
    package var paths: [String]
    /// Further paths of the picture, which may have thumbnails already; none are made for them.
    package var otherPaths: [String]
    /// The spellings of the desktops in use.
    package var spellings: [FileURI.Spelling]
    /// The location of the picture's small preview.
    package var preview: PictureLocation
    /// The modification time that `stat` shows, in Unix seconds.
    package var modified: Int64
    /// The size that `stat` shows, in bytes, if known.
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

    /// Returns the identifier under which the picture's thumbnail of a size is stored.
    func shelved(_ size: ThumbnailSize) -> PictureID {
        PictureID(work: picture.work, page: picture.page, rendition: size.rendition, uploaded: picture.uploaded)
    }
}

// MARK: - Addresses

/// Addresses of files as desktops write them: thumbnails are named by their digest, so each byte counts.
package enum FileURI {
    /// The spelling of an address.
    package enum Spelling: CaseIterable, Sendable {
        /// The spelling of g_filename_to_uri(3).
        case glib
        /// The spelling of QUrl::toEncoded() of Qt 5, and so of nearly all of KDE: it leaves semicolons and brackets.
        case qt
        /// The spelling of QUrl::url(), by which Gwenview names thumbnails.
        case decoded
    }

    static let scheme = "file://"

    /// Returns `file:///home/me/a%20b.jpg` for an absolute path.
    package static func of(_ path: String, _ spelling: Spelling = .glib) -> String {
        switch spelling {
        case .glib: scheme + escaped(path)
        case .qt: scheme + PercentCoding.encode(path, keeping: keptByQt)
        case .decoded: scheme + PercentCoding.encode(path, keeping: keptWhenDecoded)
        }
    }

    /// Percent-encodes all bytes but those that g_filename_to_uri(3) leaves (tried with GLib 2.74).
    package static func escaped(_ path: String) -> String { PercentCoding.encode(path, keeping: kept) }

    private static let kept = PercentCoding.unreserved.union("/!$&'()*+,:=@".utf8)
    private static let keptByQt = kept.union("[];".utf8)
    private static let keptWhenDecoded = keptByQt.union(" ".utf8).union(0x80...0xFF)
}

/// The spellings that programs use for the address of a file in its directory's shared store, `.sh_thumbnails`.
///
/// The Thumbnail Managing Standard 0.9, section 10, requires `./` and the percent-encoded name. libxfce4util before March 2024,
/// and Tumbler with it, uses the encoded name alone, pqiv the plain name. Each compares the text `Thumb::URI` with its own
/// spelling, if at all: therefore each finds a thumbnail of its own.
package enum SharedAddress {
    /// Returns the spellings of a name, each once.
    package static func all(of name: String) -> [String] {
        let encoded = FileURI.escaped(name)
        return name == encoded ? ["./" + encoded, encoded] : ["./" + encoded, encoded, name]
    }

    /// Returns the digest in a thumbnail's name, `<32 digits>.png`; nil for any other name.
    package static func digest(in name: [UInt8]) -> String? {
        guard name.count == 36, name.suffix(4).elementsEqual(".png".utf8), name.prefix(32).allSatisfy(\.isHexDigit)
        else {
            return nil
        }
        return String(decoding: name.prefix(32), as: UTF8.self)
    }
}
