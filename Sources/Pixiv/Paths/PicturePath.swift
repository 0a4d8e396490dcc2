package import Rankings

/// Where the image host keeps a work's picture, taken apart: the one thing believed of a URL in an answer.
///
/// The form is
/// `[c/<size>/]<img-original|img-master|custom-thumb>/img/YYYY/MM/DD/hh/mm/ss/<id>[-<32 hex>][_p<N>][_<kind>1200].<ext>`. Anything
/// else is refused, so that no answer can lead a request to another host or path.
package struct PicturePath: Hashable, Sendable {
    /// Which of the host's folders.
    package enum Folder: String, Sendable {
        case master = "img-master"
        case original = "img-original"
        case custom = "custom-thumb"
    }

    package let folder: Folder
    package let work: WorkID
    /// The page, from 0; nil where the name has none, as for animations.
    package let page: Int?
    package let fileExtension: String
    /// Upload time in Unix seconds: the path's, which is in Japan Standard Time.
    package let uploaded: Int64

    /// The folders of the upload time, `2022/04/30/00/00/15/`.
    private let folders: String
    /// The number, `97973029`, with the hash that newer works have behind it.
    private let stem: String
    /// Behind the page: `_master1200`, `_ugoira0` or nothing.
    private let ending: String

    /// The compact part that is kept in a work's record: `2022/04/30/00/00/15/97973029_p0`, always of page 0.
    package var reference: String {
        folders + stem + (page == nil ? "" : "_p0")
    }

    /// The reference of the author's file, which tells its format: `2022/04/30/00/00/15/97973029_p0.png`; nil for any other folder.
    package var originalReference: String? {
        folder == .original ? reference + ending + "." + fileExtension : nil
    }

    /// The path of a page's original, from the host's root; nil where the reference does not tell the format.
    package func originalPath(page: Int) -> String? {
        guard folder == .original else { return nil }
        return name(ofPage: page).map { "/img-original/img/\(folders)\($0)\(ending).\(fileExtension)" }
    }

    /// References of the originals that the work may have, likeliest first; of an animation those of its first frame.
    func originalCandidates(ofAnimation isAnimation: Bool) -> [String] {
        // Only the picture of an animation has no page, and not even all of those.
        let name = isAnimation || page == nil ? stem + "_ugoira0" : stem + "_p0"
        return Self.formats.map { "\(folders)\(name).\($0)" }
    }

    /// What authors' files are, the most frequent first: of 500 works of a day, 313 were jpg and 187 png.
    private static let formats = ["jpg", "png", "gif"]

    /// Takes a URL apart; scheme and host are passed over, as requests never follow them.
    package init?(url: String) {
        guard var parts = PathParts.behindHost(url) else { return nil }
        if parts.first == "c" {
            guard let size = parts.dropFirst().first, !size.isEmpty, size.utf8.allSatisfy(Self.isSizeByte) else {
                return nil
            }
            parts = parts.dropFirst(2)
        }
        guard parts.count == 9, let folder = parts.popFirst().flatMap({ Folder(rawValue: String($0)) }),
            parts.popFirst() == "img", let name = parts.popLast()
        else { return nil }
        self.init(folder: folder, folders: Array(parts), name: name)
    }

    /// Takes the compact part of a record apart, or the reference of an original.
    package init?(reference: String) {
        guard let (parts, name) = PathParts.ofReference(reference) else { return nil }
        if name.contains(".") {
            self.init(folder: .original, folders: parts, name: name)
            guard originalReference == reference else { return nil }
        } else {
            self.init(folder: .master, folders: parts, name: name + "_master1200.jpg")
            guard self.reference == reference else { return nil }
        }
    }

    /// The 1200-pixel rendition of a page, from the host's root; nil for a further page of a work that has none.
    package func regularPath(page: Int) -> String? {
        name(ofPage: page).map { "/img-master/img/\(folders)\($0)_master1200.jpg" }
    }

    /// The 480-pixel preview of a page.
    package func smallPath(page: Int) -> String? {
        name(ofPage: page).map { "/c/480x960/img-master/img/\(folders)\($0)_master1200.jpg" }
    }

    private func name(ofPage wanted: Int) -> String? {
        if page == nil { return wanted == 0 ? stem : nil }
        return (0...PixivLimits.pages).contains(wanted) ? "\(stem)_p\(wanted)" : nil
    }

    private init?(folder: Folder, folders: [Substring], name: Substring) {
        guard let uploaded = PathParts.uploaded(folders) else { return nil }
        let dot = name.split(separator: ".", omittingEmptySubsequences: false)
        guard dot.count == 2, Self.formats.contains(String(dot[1])) else { return nil }
        var parts = dot[0].split(separator: "_", omittingEmptySubsequences: false)[...]
        guard let stem = parts.popFirst(), let work = PathParts.work(ofStem: stem) else { return nil }
        var page: Int?
        if let text = parts.first, text.first == "p" {
            guard let number = PathParts.decimal(text.dropFirst()), number <= PixivLimits.pages else { return nil }
            page = number
            parts.removeFirst()
        }
        guard Self.isEnding(parts, folder: folder, page: page) else { return nil }
        self.folder = folder
        self.work = work
        self.page = page
        self.fileExtension = String(dot[1])
        self.uploaded = uploaded
        self.folders = folders.joined(separator: "/") + "/"
        self.stem = String(stem)
        self.ending = parts.map { "_" + $0 }.joined()
    }

    private static func isEnding(_ parts: ArraySlice<Substring>, folder: Folder, page: Int?) -> Bool {
        guard let ending = parts.first else { return folder == .original && page != nil }
        guard parts.count == 1 else { return false }
        return switch folder {
        case .master: ending == "master1200" || ending == "square1200"
        case .custom: ending == "custom1200"
        // The first frame of an animation in full size.
        case .original: page == nil && ending.hasPrefix("ugoira") && PathParts.decimal(ending.dropFirst(6)) != nil
        }
    }

    private static func isSizeByte(_ byte: UInt8) -> Bool {
        PathParts.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "_")
    }
}
