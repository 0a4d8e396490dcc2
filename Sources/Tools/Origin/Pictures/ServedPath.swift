import Rankings

/// The path of a picture on the image host, taken apart.
///
/// `/[c/<size>/]<img-original|img-master|custom-thumb>/img/YYYY/MM/DD/hh/mm/ss/<id>[-<32 hex>]_p<N>…`, where the time is that of
/// the upload in Japan.
struct ServedPath: Hashable, Sendable {
    /// Which of the pictures made from a page is meant.
    enum Kind: Hashable, Sendable {
        /// At most 1200 pixels on its long side.
        case regular
        /// Fits into a box; `size` is the path's own word, such as `480x960`.
        case preview(size: String)
        /// Cut square; `custom` for one cut by the author.
        case square(size: String, custom: Bool)
        case original(ServedFormat)
        /// The archive of an animation's frames, `600x600` or `1920x1080`.
        case animation(size: String)
    }

    var time: JapanTime
    var work: WorkID
    var hash: String?
    /// Nil for names without `_p<N>`: old animations.
    var page: Int?
    var kind: Kind

    /// Takes a path without host and query apart; nil for anything that is no such path.
    init?(_ path: some StringProtocol) {
        var parts: [String] = path.split(separator: "/" as Character, omittingEmptySubsequences: false).map {
            String($0)
        }
        guard parts.count > 1, parts.removeFirst().isEmpty else { return nil }
        var size: String?
        if parts.count > 2, parts[0] == "c" {
            size = parts[1]
            parts.removeFirst(2)
        }
        guard parts.count == 9, parts[1] == "img", let time = JapanTime(path: parts[2...7].joined(separator: "/"))
        else { return nil }
        self.time = time
        var name = parts[8][...]
        guard let dot = name.lastIndex(of: ".") else { return nil }
        let fileExtension = String(name[name.index(after: dot)...])
        name = name[..<dot]
        guard let kind = Self.kind(directory: parts[0], size: size, name: &name, fileExtension: fileExtension) else {
            return nil
        }
        self.kind = kind
        page = nil
        if let mark = name.lastIndex(of: "_") {
            let word = name[name.index(after: mark)...]
            name = name[..<mark]
            if word != Self.frame {
                guard word.first == "p", let number = Int(word.dropFirst()), number >= 0 else { return nil }
                page = number
            }
        }
        if let dash = name.firstIndex(of: "-") {
            hash = String(name[name.index(after: dash)...])
            name = name[..<dash]
        } else {
            hash = nil
        }
        guard let number = Int64(name) else { return nil }
        work = WorkID(rawValue: number)
    }

    /// The path of a page's picture.
    init(_ record: WorkRecord, page: Int, kind: Kind) {
        time = record.uploaded
        work = record.id
        hash = record.hash
        self.page = record.hasPageMark ? page : nil
        switch kind {
        case .original where record.kind == .animation, .animation: self.page = nil
        default: break
        }
        self.kind = kind
    }

    /// The path, from its slash.
    var text: String {
        var name = "\(work.rawValue)"
        if let hash { name += "-\(hash)" }
        if let page { name += "_p\(page)" }
        switch kind {
        case .regular:
            return "/img-master/img/\(time.path)/\(name)_master1200.jpg"
        case .preview(let size):
            return "/c/\(size)/img-master/img/\(time.path)/\(name)_master1200.jpg"
        case .square(let size, let custom):
            let word = custom ? "custom" : "square"
            return "/c/\(size)/\(custom ? "custom-thumb" : "img-master")/img/\(time.path)/\(name)_\(word)1200.jpg"
        case .animation(let size):
            return "/img-zip-ugoira/img/\(time.path)/\(name)_ugoira\(size).zip"
        case .original(let format):
            return "/img-original/img/\(time.path)/\(name)\(page == nil ? "_" + Self.frame : "").\(format.rawValue)"
        }
    }

    /// The address, as answers give it.
    var url: String {
        "https://i.pximg.net" + text
    }

    // MARK: -

    /// The name of an animation's first frame, its original.
    private static let frame = "ugoira0"

    private static func kind(
        directory: String, size: String?, name: inout Substring, fileExtension: String
    ) -> Kind? {
        func ends(with suffix: String) -> Bool {
            guard name.hasSuffix(suffix), fileExtension == "jpg" else { return false }
            name = name.dropLast(suffix.count)
            return true
        }
        switch (directory, size) {
        case ("img-original", nil):
            return ServedFormat(rawValue: fileExtension).map(Kind.original)
        case ("img-zip-ugoira", nil):
            guard fileExtension == "zip",
                let size = ServedPath.Kind.archiveSizes.first(where: { name.hasSuffix("_ugoira" + $0) })
            else { return nil }
            name = name.dropLast("_ugoira".count + size.count)
            return .animation(size: size)
        case ("img-master", nil):
            return ends(with: "_master1200") ? .regular : nil
        case ("img-master", let size?):
            if ends(with: "_master1200") { return .preview(size: size) }
            return ends(with: "_square1200") ? .square(size: size, custom: false) : nil
        case ("custom-thumb", let size?):
            return ends(with: "_custom1200") ? .square(size: size, custom: true) : nil
        default:
            return nil
        }
    }
}

extension ServedPath.Kind {
    /// The pixels of this picture of a page; nil for a size that the host does not have.
    func pixels(of page: PixelSize) -> PixelSize? {
        switch self {
        case .original:
            return page
        case .animation(let size):
            let box = size == Self.archiveSizes[0] ? PixelSize(width: 600, height: 600) : Self.largeFrame
            return page.fitted(into: box)
        case .regular:
            return page.fitted(into: PixelSize(width: 1200, height: 1200))
        case .preview(let size):
            return Self.boxes[size].map { page.fitted(into: $0) }
        case .square(let size, _):
            return Self.boxes[size]
        }
    }

    /// The boxes that the frames of archives fit into.
    static let archiveSizes = ["600x600", "1920x1080"]
    private static let largeFrame = PixelSize(width: 1920, height: 1080)

    /// The sizes that clients ask for.
    private static let boxes: [String: PixelSize] = [
        "480x960": PixelSize(width: 480, height: 960), "240x480": PixelSize(width: 240, height: 480),
        "540x540_70": PixelSize(width: 540, height: 540), "600x600": PixelSize(width: 600, height: 600),
        "600x1200_90": PixelSize(width: 600, height: 1200),
        "360x360_70": PixelSize(width: 360, height: 360), "250x250_80_a2": PixelSize(width: 250, height: 250),
        "128x128": PixelSize(width: 128, height: 128), "48x48": PixelSize(width: 48, height: 48),
    ]
}

extension PixelSize {
    /// The same shape made small enough for a box; never larger than it was.
    func fitted(into box: PixelSize) -> PixelSize {
        let scale = min(1, Double(box.width) / Double(width), Double(box.height) / Double(height))
        return PixelSize(
            width: max(1, Int((Double(width) * scale).rounded())),
            height: max(1, Int((Double(height) * scale).rounded())))
    }
}
