internal import Digests

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
