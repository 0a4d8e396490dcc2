import Rankings

/// A picture that exists on the image host: what is on it and how many bytes it has.
struct Picture: Sendable {
    let path: String
    let pixels: PixelSize
    let format: ServedFormat
    /// Of the whole file.
    var bytes: Int
    let modified: JapanTime
    let subject: PictureSubject
    /// The frames, if this is an archive and no picture.
    var frames: [Picture] = []
    /// Whether the host answers 500 for it, always.
    var isBroken = false
    /// The file, if it is not to be drawn from the subject.
    var stored: StoredFile?

    /// A file whose bytes are known without drawing the subject.
    enum StoredFile: Sendable {
        case post(DrawnModel, ServedPostFile)
        case bytes([UInt8], mediaType: String)
    }

    /// What the answer calls it.
    var mediaType: String {
        switch stored {
        case .post(let model, _): return model.model.format.mediaType
        case .bytes(_, let mediaType): return mediaType
        case nil: break
        }
        return frames.isEmpty ? format.mediaType : "application/zip"
    }
}

/// What a picture shows; every rendition of a page shows the same.
struct PictureSubject: Sendable {
    /// Decides the scene and its colours.
    let scene: UInt64
    /// `12` for the twelfth of a ranking; only what ``Canvas`` has signs for is seen.
    var label = ""
    /// Counted from 0.
    var page = 0
    var pageCount = 1
    /// Which frame of an animation is shown; nil for what does not move.
    var frame: Frame?

    /// One of the frames of an animation, counted from 0.
    struct Frame: Sendable {
        let index: Int
        let count: Int
    }
}

extension Universe {
    /// The picture at a path, if there is one.
    func picture(at path: String, now: Int64) -> Picture? {
        guard let parsed = ServedPath(path), let record = work(parsed.work, now: now) else { return nil }
        return Picture(record, at: path, parsed: parsed, seed: seed, isLarge: hasLargePictures)
    }
}

extension Picture {
    /// The picture of a work at a path; nil if the work's pictures are elsewhere.
    init?(_ record: WorkRecord, at path: String, parsed: ServedPath, seed: UInt64, isLarge: Bool = false) {
        let page = parsed.page ?? 0
        guard page < record.pages.count, let pixels = parsed.kind.pixels(of: record.pages[page]) else { return nil }
        if case .original(let format) = parsed.kind {
            guard format == record.format else { return nil }
            self.format = format
        } else {
            format = .jpg
        }
        // Wrong times, hashes and page marks all show here: only the one true path leads to a picture.
        guard ServedPath(record, page: page, kind: parsed.kind).text == path else { return nil }
        self.path = path
        self.pixels = pixels
        modified = record.uploaded
        var chance = Chance(seed, 0xd1, UInt64(bitPattern: record.id.rawValue), UInt64(page))
        var subject = PictureSubject(
            scene: chance.next(), label: record.debut.map { "\($0)" } ?? "", page: page,
            pageCount: record.pages.count)
        guard record.kind == .animation else {
            if case .animation = parsed.kind { return nil }
            self.subject = subject
            bytes = DrawnSize.bytes(seed: seed, path: path, kind: parsed.kind, pixels: pixels, isLarge: isLarge)
            if case .original = parsed.kind { isBroken = record.hasBrokenOriginal }
            return
        }
        let count = Animation(record, seed: seed).delays.count
        switch parsed.kind {
        case .animation:
            frames = (0..<count).map { index in
                subject.frame = PictureSubject.Frame(index: index, count: count)
                let name = "\(path)#\(index)"
                return Picture(
                    path: name, pixels: pixels, format: .jpg,
                    bytes: DrawnSize.bytes(seed: seed, path: name, kind: parsed.kind, pixels: pixels),
                    modified: record.uploaded, subject: subject)
            }
            bytes = Archive.length(frames.map(\.bytes))
        case .original:
            // The first frame at full size.
            subject.frame = PictureSubject.Frame(index: 0, count: count)
            fallthrough
        default:
            bytes = DrawnSize.bytes(seed: seed, path: path, kind: parsed.kind, pixels: pixels, isLarge: isLarge)
        }
        if case .original = parsed.kind { isBroken = record.hasBrokenOriginal }
        self.subject = subject
    }
}
