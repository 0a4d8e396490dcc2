import Catalog
import System
import Rankings
import Sourcing

/// A thumbnail of one file in one size, as the Thumbnail Managing Standard 0.9 describes it.
///
/// It belongs in the user's own store or in a directory's shared store, which spell the file's address differently.
package struct Thumbnail: Hashable, Sendable {
    /// The address of the file, as desktops spell it: absolute, or one of `SharedThumbnailNames.addresses`.
    let uri: String
    let size: ThumbnailSize
    /// The modification time of the file in Unix seconds.
    let modified: Int64
    /// The file's length in bytes, if known: KIO compares it.
    let length: Int64?

    /// The path of the thumbnail, relative to the directory of thumbnails.
    var path: String {
        "\(size.directory)/\(Self.name(of: uri))"
    }

    /// Returns the name of every thumbnail of an address.
    static func name(of uri: String) -> String {
        "\(MD5.hex(uri.utf8)).png"
    }

    /// Returns the thumbnail's file, made of a picture of this size as PNG; nil if the picture is not a PNG.
    func file(of image: [UInt8]) -> [UInt8]? {
        var texts = [(key: Self.uriKey, value: uri), (key: Self.timeKey, value: String(modified))]
        if let length { texts.append((key: Self.lengthKey, value: String(length))) }
        texts.append((key: Self.makerKey, value: Self.maker))
        // Only Qt reads addresses in the user's own store that are not all ASCII.
        return PNG.setting(texts, areInternational: uri.hasPrefix(FileURI.scheme), of: image)
    }

    /// Returns whether a stored file is this thumbnail; the program that made it does not matter.
    func isValid(_ file: [UInt8]) -> Bool {
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
enum ThumbnailSize: String, CaseIterable, Sendable {
    case normal
    case large

    /// The most pixels of the longest edge.
    var edge: Int { self == .normal ? 128 : 256 }

    /// The rendition under which a picture of this size is stored.
    var rendition: Rendition { self == .normal ? .normalThumbnail : .largeThumbnail }

    /// The name of the size's directory.
    var directory: String { rawValue }
}

/// A picture that needs thumbnails.
package struct ThumbnailJob: Hashable, Sendable {
    /// The picture at the paths.
    var picture: PictureID
    /// The paths below the mount point under which a desktop may show the picture.
    var paths: [String]
    /// Further paths of the picture, which may have thumbnails already; none are made for them.
    var otherPaths: [String] = []
    /// The spellings of the desktops in use.
    var spellings: [FileURI.Spelling] = [.glib, .qt]
    /// The location of the picture's small preview.
    var preview: PictureLocation
    /// The modification time that `stat` shows, in Unix seconds.
    var modified: Int64
    /// The size that `stat` shows, in bytes, if known.
    var length: Int64?
    /// The listing that shows the picture; nil for none whose previews are shared.
    var listing: ListingKey? = nil
    /// The place of its work in the listing; 0 where the listing has no ranks.
    var rank = 0

    /// The place of its name in the directory.
    var namePlace: NamePlace { NamePlace(rank: rank, picture) }

    /// Returns the identifier under which the picture's thumbnail of a size is stored.
    func shelved(_ size: ThumbnailSize) -> PictureID {
        PictureID(work: picture.work, page: picture.page, rendition: size.rendition, uploaded: picture.uploaded)
    }
}

// MARK: - Addresses

/// Addresses of files as desktops write them: thumbnails are named by their digest, so each byte counts.
enum FileURI {
    /// The spelling of an address.
    enum Spelling: CaseIterable, Sendable {
        /// The spelling of g_filename_to_uri(3).
        case glib
        /// The spelling of QUrl::toEncoded() of Qt 5, and so of nearly all of KDE: it leaves semicolons and brackets.
        case qt
        /// The spelling of QUrl::url(), by which Gwenview names thumbnails.
        case decoded
    }

    static let scheme = "file://"

    /// Returns `file:///home/me/a%20b.jpg` for an absolute path.
    static func of(_ path: String, _ spelling: Spelling = .glib) -> String {
        switch spelling {
        case .glib: scheme + escaped(path)
        case .qt: scheme + PercentCoding.encode(path, keeping: keptByQt)
        case .decoded: scheme + PercentCoding.encode(path, keeping: keptWhenDecoded)
        }
    }

    /// Percent-encodes all bytes but those that g_filename_to_uri(3) leaves (tried with GLib 2.74).
    static func escaped(_ path: String) -> String { PercentCoding.encode(path, keeping: kept) }

    private static let kept = PercentCoding.unreserved.union("/!$&'()*+,:=@".utf8)
    private static let keptByQt = kept.union("[];".utf8)
    private static let keptWhenDecoded = keptByQt.union(" ".utf8).union(0x80...0xFF)
}
