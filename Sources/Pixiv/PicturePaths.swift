package import Rankings
import Sourcing

/// The parsed path of a work's picture on the image host: the only trusted part of a URL in an answer.
///
/// The form is
/// `[c/<size>/]<img-original|img-master|custom-thumb>/img/YYYY/MM/DD/hh/mm/ss/<id>[-<32 hex>][_p<N>][_<kind>1200].<ext>`. Any
/// other form is refused, so that no answer can lead a request to another host or path.
package struct PicturePath: Hashable, Sendable {
    /// The host's folders of pictures.
    package enum Folder: String, Sendable {
        case master = "img-master"
        case original = "img-original"
        case custom = "custom-thumb"
    }

    package let folder: Folder
    package let work: WorkID
    /// The page, from 0; nil where the name has no page, as for animations.
    package let page: Int?
    package let fileExtension: String
    /// Upload time in Unix seconds, from the path, which is in Japan Standard Time.
    package let uploaded: Int64

    /// The folders of the upload time, `2022/04/30/00/00/15/`.
    private let folders: String
    /// The number, `97973029`, followed in newer works by a hash.
    private let stem: String
    /// The part after the page: `_master1200`, `_ugoira0` or nothing.
    private let ending: String

    /// The compact form stored in a work's record: `2022/04/30/00/00/15/97973029_p0`, always of page 0.
    package var reference: String {
        folders + stem + (page == nil ? "" : "_p0")
    }

    /// The reference of the author's file with its format, `2022/04/30/00/00/15/97973029_p0.png`; nil for any other folder.
    package var originalReference: String? {
        folder == .original ? reference + ending + "." + fileExtension : nil
    }

    /// The path of a page's original, from the host's root; nil where the reference does not contain the format.
    package func originalPath(page: Int) -> String? {
        guard folder == .original else { return nil }
        return name(ofPage: page).map { "/img-original/img/\(folders)\($0)\(ending).\(fileExtension)" }
    }

    /// References of the possible originals of the work, likeliest first; for an animation, those of its first frame.
    func originalCandidates(ofAnimation isAnimation: Bool) -> [String] {
        // Only the picture of an animation has no page, and some pictures of animations have one.
        let name = isAnimation || page == nil ? stem + "_ugoira0" : stem + "_p0"
        return Self.formats.map { "\(folders)\(name).\($0)" }
    }

    /// The formats of authors' files, most frequent first: of 500 works of a day, 313 were jpg and 187 png.
    private static let formats = ["jpg", "png", "gif"]

    /// Parses a URL; scheme and host are ignored, as requests never follow them.
    package init?(url: String) {
        guard var parts = PathParts.behindHost(url) else { return nil }
        if parts.first == "c" {
            guard let size = parts.dropFirst().first, !size.isEmpty,
                size.utf8.allSatisfy({ $0.isDigit || $0.isLetter && $0 & 0x20 != 0 || $0 == UInt8(ascii: "_") })
            else { return nil }
            parts = parts.dropFirst(2)
        }
        guard parts.count == 9, let folder = parts.popFirst().flatMap({ Folder(rawValue: String($0)) }),
            parts.popFirst() == "img", let name = parts.popLast()
        else { return nil }
        self.init(folder: folder, folders: Array(parts), name: name)
    }

    /// Parses the compact form of a record, or the reference of an original.
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

    /// The path of a page's 1200-pixel rendition, from the host's root; nil for a further page of a work without pages.
    package func regularPath(page: Int) -> String? {
        name(ofPage: page).map { "/img-master/img/\(folders)\($0)_master1200.jpg" }
    }

    /// The path of a page's 480-pixel preview.
    package func smallPath(page: Int) -> String? {
        name(ofPage: page).map { "/c/480x960/img-master/img/\(folders)\($0)_master1200.jpg" }
    }

    private func name(ofPage wanted: Int) -> String? {
        if page == nil { return wanted == 0 ? stem : nil }
        return (0...PixivLimits.pages).contains(wanted) ? "\(stem)_p\(wanted)" : nil
    }

    private init?(folder: Folder, folders: [Substring], name: Substring) {
        guard let uploaded = PathParts.uploaded(folders) else { return nil }
        let dot = PathParts.split(name, at: ".")
        guard dot.count == 2, Self.formats.contains(String(dot[1])) else { return nil }
        var parts = PathParts.split(dot[0], at: "_")[...]
        guard let stem = parts.popFirst(), let work = PathParts.work(ofStem: stem) else { return nil }
        var page: Int?
        if let text = parts.first, text.first == "p" {
            guard let number = Digits.number(text.dropFirst().utf8), number <= PixivLimits.pages else { return nil }
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
        case .original: page == nil && ending.hasPrefix("ugoira") && Digits.number(ending.dropFirst(6).utf8) != nil
        }
    }
}

// MARK: - Archive path

/// The parsed path of an animation's archive of frames on the image host.
///
/// The form is
/// `img-zip-ugoira/img/YYYY/MM/DD/hh/mm/ss/<id>[-<32 hex>]_ugoira<width>x<height>.zip`.
struct ArchivePath: Hashable, Sendable {
    let work: WorkID
    /// Upload time in Unix seconds.
    let uploaded: Int64
    /// The compact form stored in records: `2022/04/30/00/00/15/97973029_ugoira1920x1080.zip`.
    let reference: String

    /// The path from the host's root.
    var path: String { "/img-zip-ugoira/img/\(reference)" }

    init?(url: String) {
        guard let reference = PathParts.reference(below: "img-zip-ugoira", in: url) else { return nil }
        self.init(reference: reference)
    }

    init?(reference: String) {
        guard let (folders, name) = PathParts.ofReference(reference), let uploaded = PathParts.uploaded(folders),
            name.hasSuffix(Self.ending)
        else { return nil }
        let parts = PathParts.split(name.dropLast(Self.ending.utf8.count), at: "_")
        guard parts.count == 2, let work = PathParts.work(ofStem: parts[0]), parts[1].hasPrefix(Self.kind) else {
            return nil
        }
        let size = PathParts.split(parts[1].dropFirst(Self.kind.utf8.count), at: "x")
        guard size.count == 2, size.allSatisfy({ $0.utf8.count <= 4 && Digits.number($0.utf8) != nil }) else {
            return nil
        }
        self.work = work
        self.uploaded = uploaded
        self.reference = reference
    }

    private static let ending = ".zip"
    private static let kind = "ugoira"
}

// MARK: - Avatar path

/// The parsed path of an author's picture on the image host.
///
/// The form is `user-profile/img/YYYY/MM/DD/hh/mm/ss/<number>_<32 hex>[_<edge>].<ext>`, as in all recorded answers; the number is
/// not the author's. The placeholder for authors without a picture is at another path and is refused.
struct AvatarPath: Hashable, Sendable {
    /// Upload time in Unix seconds.
    let uploaded: Int64
    let fileExtension: String
    /// The form stored in records: the path after `user-profile/img/`.
    let reference: String

    /// The path from the host's root.
    var path: String { "/user-profile/img/\(reference)" }

    init?(url: String) {
        guard let reference = PathParts.reference(below: "user-profile", in: url) else { return nil }
        self.init(reference: reference)
    }

    init?(reference: String) {
        guard let (folders, name) = PathParts.ofReference(reference), let uploaded = PathParts.uploaded(folders) else {
            return nil
        }
        let halves = PathParts.split(name, at: ".")
        guard halves.count == 2, ["jpg", "png", "gif"].contains(halves[1]) else { return nil }
        let parts = PathParts.split(halves[0], at: "_")
        guard parts.count == 2 || parts.count == 3 && Digits.number(parts[2].utf8) != nil,
            Digits.number(parts[0].utf8) != nil, parts[1].isMD5
        else { return nil }
        self.uploaded = uploaded
        self.fileExtension = String(halves[1])
        self.reference = reference
    }
}

// MARK: - Path parts

/// Shared parsing of the image host's paths: folders that spell a time, numbers and hashes.
enum PathParts {
    /// The most bytes of a URL that is accepted; the longest seen has 160.
    static let longestURL = 300

    /// The parts of a text between separators, by bytes: all parts that are accepted are ASCII.
    static func split(_ text: some StringProtocol, at separator: Unicode.Scalar) -> [Substring] {
        let separator = UInt8(ascii: separator)
        return Substring(text).utf8.split(separator: separator, omittingEmptySubsequences: false).map(Substring.init)
    }

    /// The parts after the host; scheme and host are ignored, as requests never follow them.
    static func behindHost(_ url: String) -> ArraySlice<Substring>? {
        guard url.utf8.count <= longestURL, url.hasPrefix("https://") || url.hasPrefix("http://") else { return nil }
        // Drops `https:`, the empty part between the slashes, and the host.
        return split(url, at: "/")[...].dropFirst(3)
    }

    /// The part of a URL's path after `<folder>/img/`; nil for a URL of another folder.
    static func reference(below folder: String, in url: String) -> String? {
        guard let parts = behindHost(url), parts.starts(with: [folder[...], "img"]) else { return nil }
        return parts.dropFirst(2).joined(separator: "/")
    }

    /// The parts of the compact form stored in records: six folders and a name.
    static func ofReference(_ reference: String) -> (folders: [Substring], name: Substring)? {
        guard reference.utf8.count <= longestURL else { return nil }
        var parts = split(reference, at: "/")[...]
        guard parts.count == 7, let name = parts.popLast() else { return nil }
        return (Array(parts), name)
    }

    /// Unix seconds of the time in folders such as `2022/04/30/00/00/15`, which is Japan Standard Time.
    static func uploaded(_ folders: [Substring]) -> Int64? {
        let widths = [4, 2, 2, 2, 2, 2]
        let time = folders.compactMap { Digits.number($0.utf8) }
        guard time.count == widths.count, zip(folders, widths).allSatisfy({ $0.utf8.count == $1 }),
            let day = Day(year: time[0], month: time[1], day: time[2]), time[3] < 24, time[4] < 60, time[5] < 60
        else { return nil }
        return PixivRankings.calendar.begins(day) + Int64(time[3] * 3600 + time[4] * 60 + time[5])
    }

    /// The work of a stem: a number, in newer works followed by a dash and a hash.
    static func work(ofStem stem: Substring) -> WorkID? {
        let parts = split(stem, at: "-")
        guard let id = Digits.number(parts[0].utf8), id > 0, parts[0].first != "0" else { return nil }
        if parts.count > 1 {
            guard parts.count == 2, parts[1].isMD5 else { return nil }
        }
        return WorkID(rawValue: Int64(id))
    }
}
