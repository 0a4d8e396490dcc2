import Rankings

/// A picture made from a page of a work on pixiv.
enum PageRendition: Hashable, Sendable {
    /// At most 1200 pixels on its long side.
    case regular
    /// Fitted into a box; `size` is the word in the path, such as `480x960`.
    case preview(size: String)
    /// Cut square; `custom` if the author chose the cut.
    case square(size: String, custom: Bool)
    case original
    /// The archive of an animation's frames, `600x600` or `1920x1080`.
    case archive(size: String)

    /// The sizes that clients request.
    private static let boxes: [String: (Int, Int)] = [
        "480x960": (480, 960), "240x480": (240, 480), "540x540_70": (540, 540), "600x600": (600, 600),
        "600x1200_90": (600, 1200), "360x360_70": (360, 360), "250x250_80_a2": (250, 250), "128x128": (128, 128),
        "48x48": (48, 48), "1920x1080": (1920, 1080),
    ]

    /// All renditions.
    static let all: [PageRendition] =
        [.regular, .original, .archive(size: "600x600"), .archive(size: "1920x1080")]
        + boxes.keys.flatMap {
            [.preview(size: $0), .square(size: $0, custom: false), .square(size: $0, custom: true)]
        }

    /// The size in pixels of this picture of a page; nil for a size that the host does not have.
    func pixels(of page: PixelSize) -> PixelSize? {
        switch self {
        case .original: return page
        case .regular: return page.fitted(into: 1200)
        case .preview(let size), .archive(let size), .square(let size, _):
            guard let (width, height) = Self.boxes[size] else { return nil }
            let box = PixelSize(width: width, height: height)
            if case .square = self { return box }
            return page.fitted(into: box)
        }
    }

    /// The path of the picture of a page.
    func path(_ work: Post, _ page: Int) -> String {
        let time = Moment.path(work.seconds)
        let name = work.hash.map { "\(work.id)-\($0)" } ?? "\(work.id)"
        let marked = name + (work.flags.contains(.unmarked) ? "" : "_p\(page)")
        switch self {
        case .regular: return "/img-master/img/\(time)/\(marked)_master1200.jpg"
        case .preview(let size): return "/c/\(size)/img-master/img/\(time)/\(marked)_master1200.jpg"
        case .square(let size, let custom):
            let (folder, word) = custom ? ("custom-thumb", "custom") : ("img-master", "square")
            return "/c/\(size)/\(folder)/img/\(time)/\(marked)_\(word)1200.jpg"
        case .archive(let size): return "/img-zip-ugoira/img/\(time)/\(name)_ugoira\(size).zip"
        case .original:
            // The first frame of an animation.
            let file = work.kind == .animation ? "\(name)_ugoira0" : "\(name)_p\(page)"
            return "/img-original/img/\(time)/\(file).\(work.format.rawValue)"
        }
    }

    /// The address in answers.
    func url(_ work: Post, _ page: Int) -> String { "https://i.pximg.net" + path(work, page) }
}

/// The parsed path of a work's picture, with the identifying parts:
/// `/[c/<size>/]<folder>/img/YYYY/MM/DD/hh/mm/ss/<id>[-<32 hex>][_p<N>]…`, where the time is that of the upload in Japan.
struct PagePath: Sendable {
    let seconds: Int64
    let work: Int64
    let hash: String?
    /// The page, counted from 0; nil for names without `_p<N>`: old animations.
    let page: Int?
    let format: Format
    /// Whether the path is of an archive of frames, or of the first frame.
    let isAnimation: Bool

    /// Parses a path; nil if it is no path of a work's picture.
    init?(_ path: some StringProtocol) {
        let parts = path.split(separator: "/" as Character)
        guard (9...11).contains(parts.count),
            let seconds = Moment.seconds(path: parts.suffix(7).dropLast().joined(separator: "/")),
            let name = parts.last, let work = Int64(name.prefix(while: \.isNumber)), let dot = name.lastIndex(of: "."),
            let format = Format(rawValue: String(name[name.index(after: dot)...]))
        else { return nil }
        self.seconds = seconds
        self.work = work
        self.format = format
        let words = name[..<dot].split(separator: "_" as Character)
        hash = words[0].split(separator: "-" as Character).dropFirst().first.map { String($0) }
        page = words.dropFirst().first.flatMap { $0.first == "p" ? Int($0.dropFirst()) : nil }
        isAnimation = words.count > 1 && words[1].hasPrefix("ugoira")
    }
}

/// The pictures of pixiv's image hosts.
extension Universe {
    /// The picture at a path of a work's page; only the exact path leads to it.
    func picture(at path: String, _ find: (PagePath) -> Post?) -> Picture? {
        guard let parsed = PagePath(path), let work = find(parsed) else { return nil }
        let page = parsed.page ?? 0
        guard work.pages.indices.contains(page),
            let rendition = PageRendition.all.first(where: { $0.path(work, page) == path })
        else { return nil }
        return picture(rendition, of: work, page)
    }

    /// A picture of a page; nil if the work has no such picture.
    func picture(_ rendition: PageRendition, of work: Post, _ page: Int) -> Picture? {
        guard let pixels = rendition.pixels(of: work.pages[page]) else { return nil }
        let (path, frames) = (rendition.path(work, page), work.kind == .animation ? delays(of: work).count : 0)
        let scene = Chance(seed, 0xd1, UInt64(bitPattern: work.id), UInt64(page)).first
        let rank = Mode.place(work.slot).map { "\($0.rank)" } ?? ""
        var subject = PictureSubject(scene: scene, label: rank, page: page, pageCount: work.pages.count)
        let weight: Weight
        switch rendition {
        case .regular: weight = isLarge ? .large : .regular
        case .preview: weight = .preview
        case .square: weight = pixels.width <= 128 ? .tiny : .square
        case .original:
            weight = .original(work.format, pixels)
            if frames > 0 { subject = subject.at(0, of: frames) }
        case .archive:
            guard frames > 0 else { return nil }
            let lengths = (0..<frames).map { Weight.frame(pixels).bytes(seed, "\(path)#\($0)") }
            return Picture(format: .zip, pixels: pixels, bytes: Archive.length(lengths), modified: work.seconds) {
                [drawings, subject] in
                drawings.value(path, cost: \.count) { Archive.file(subject, pixels, lengths: lengths) }
            }
        }
        var picture = drawn(
            subject, path, pixels, rendition == .original ? work.format : .jpg, bytes: weight.bytes(seed, path),
            modified: work.seconds)
        picture.isBroken = rendition == .original && work.flags.contains(.broken)
        return picture
    }

    /// A picture outside any work: a portrait, or a placeholder for a withheld entry.
    func fixture(at path: String) -> Picture? {
        let parts = path.split(separator: "/" as Character).map { String($0) }
        if parts.count == 3, parts[..<2] == ["common", "images"], parts[2].hasSuffix(".png") {
            let side = parts[2].hasSuffix("_360.png") ? 360 : 100
            return fixture(path, side, .png, bytes: 60_000, service.begin(of: service.firstDay))
        }
        guard parts.first == "user-profile", let author = Int64(parts.last?.prefix(while: \.isNumber) ?? ""),
            slots(of: author) != nil, let seconds = portraitSeconds(of: author),
            let side = [50, 170].first(where: { portrait(of: author, side: $0) == "https://i.pximg.net" + path })
        else { return nil }
        return fixture(path, side, .jpg, bytes: 6_000 + side * 20, seconds)
    }

    // MARK: - Drawing

    /// A picture that is drawn when its bytes are needed; `path` is unique within the service.
    func drawn(
        _ subject: PictureSubject, _ path: String, _ pixels: PixelSize, _ format: Format, bytes: Int, modified: Int64
    ) -> Picture {
        Picture(format: format, pixels: pixels, bytes: bytes, modified: modified) { [drawings] in
            let salt = Chance(subject.scene, text: path).first
            return drawings.value(path, cost: \.count) { Scene.file(subject, pixels, format, upTo: bytes) }
                .flatMap { format.padded($0, to: bytes, salt: salt) }
        }
    }

    /// A small square picture outside any work.
    func fixture(_ path: String, _ side: Int, _ format: Format, bytes: Int, _ seconds: Int64) -> Picture {
        drawn(
            PictureSubject(scene: Chance(seed, text: path).first), path, PixelSize(width: side, height: side), format,
            bytes: bytes, modified: seconds)
    }
}
