import Rankings

/// A picture that exists on the image host: what is on it and how many bytes it has.
struct Picture: Sendable {
    let path: String
    let pixels: PixelSize
    let format: PictureFormat
    /// Of the whole file.
    let bytes: Int
    let modified: JapanTime
    let subject: PictureSubject
}

/// What a picture shows; every rendition of a page shows the same.
struct PictureSubject: Sendable {
    /// Decides the scene and its colours.
    let scene: UInt64
    let title: String
    let author: String
    /// `daily 2022-05-01`, or the work's number.
    let place: String
    let rank: Int?
    let page: Int
    let pageCount: Int
}

extension Universe {
    /// The picture at a path, if there is one.
    func picture(at path: String, now: Int64) -> Picture? {
        guard let parsed = PicturePath(path), let record = work(parsed.work, now: now) else { return nil }
        return Picture(record, at: path, parsed: parsed, seed: seed, isLarge: hasLargePictures)
    }
}

extension Picture {
    /// The picture of a work at a path; nil if the work's pictures are elsewhere.
    init?(_ record: WorkRecord, at path: String, parsed: PicturePath, seed: UInt64, isLarge: Bool = false) {
        let page = parsed.page ?? 0
        guard page < record.pages.count, let pixels = parsed.kind.pixels(of: record.pages[page]) else { return nil }
        if case .original(let format) = parsed.kind {
            guard format == record.format else { return nil }
            self.format = format
        } else {
            format = .jpeg
        }
        // Wrong times, hashes and page marks all show here: only the one true path leads to a picture.
        guard PicturePath(record, page: page, kind: parsed.kind).text == path else { return nil }
        self.path = path
        self.pixels = pixels
        bytes = PictureSize.bytes(seed: seed, path: path, kind: parsed.kind, pixels: pixels, isLarge: isLarge)
        modified = record.uploaded
        var chance = Chance(seed, 0xd1, UInt64(bitPattern: record.id.rawValue), UInt64(page))
        subject = PictureSubject(
            scene: chance.next(), title: record.title, author: record.authorName,
            place: record.debut.map { "\($0.mode) \($0.day)" } ?? "No. \(record.id.rawValue)",
            rank: record.debut?.rank, page: page, pageCount: record.pages.count)
    }
}
