import Dispatch
import Rankings
import Synchronization

/// One of the files that a board makes from an original, or the original itself.
struct BoardRendition: Sendable {
    /// The folder of its paths, which Danbooru's answers name it by.
    let name: String
    let format: Format
    let pixels: PixelSize
    let weight: Weight

    /// Danbooru's samples have this width.
    static let sampleWidth = 850
}

/// The pictures of boards, and how they are found by the digest of the original.
extension Universe {
    /// Whether Danbooru has a sample of a post: of still pictures that are wider, and of animations.
    func hasSample(_ post: Post) -> Bool {
        post.format == .zip || post.format.isStill && post.pages[0].width > BoardRendition.sampleWidth
    }

    /// Whether Moebooru makes a sample: of every PNG, of pictures far larger, and of large files.
    func hasWide(_ post: Post) -> Bool {
        guard post.format != .png else { return true }
        guard post.format.isStill, let length = original(post)?.length else { return false }
        let side = max(post.pages[0].width, post.pages[0].height)
        return side > 1875 || side > 1500 && length > 512 << 10
    }

    /// The files of a post, those made from it first; all that a recorded one may have.
    func renditions(of post: Post, isRecorded: Bool = false) -> [BoardRendition] {
        let (size, format) = (post.pages[0], post.format)
        func made(_ name: String, _ pixels: PixelSize, _ weight: Weight, _ format: Format = .jpg) -> BoardRendition {
            BoardRendition(name: name, format: format, pixels: pixels, weight: weight)
        }
        let whole: Weight = size.width * size.height > 2_000_000 ? .original(.jpg) : .regular
        var all: [BoardRendition] = []
        if service == .danbooru {
            all = [
                made("180x180", size.fitted(into: 180), .square), made("360x360", size.fitted(into: 360), .preview),
                made("720x720", size.fitted(into: 720), .preview, .webp),
            ]
            let sample = PixelSize(width: BoardRendition.sampleWidth, height: .max >> 16)
            if isRecorded || hasSample(post) {
                all.append(made("sample", size.fitted(into: sample), .regular, format == .zip ? .webm : .jpg))
            }
            if format == .webp || format == .avif { all.append(made("full", size, whole)) }
        } else {
            all = [made("preview", size.fitted(into: 300), .preview)]
            if isRecorded || hasWide(post) { all.append(made("sample", size.fitted(into: 1500), .regular)) }
            if isRecorded || format == .png { all.append(made("jpeg", size.fitted(into: 3500), whole)) }
        }
        return all + [made(service == .danbooru ? "original" : "image", size, whole, format)]
    }

    /// The bytes of a post's original and their digest; nil without memory.
    func original(_ post: Post) -> (model: DrawnModel, length: Int, digest: String)? {
        guard let file = post.file, let model = models.drawn(file.model) else { return nil }
        return (model, model.file(file).length, model.digest(file))
    }

    /// Bytes of a rendition, decided before it is drawn, so that a listing can tell them.
    func bytes(_ rendition: BoardRendition, of post: Post) -> Int {
        let bytes = rendition.weight.bytes(seed: seed, path: key(rendition, post), rendition.pixels)
        // WebP files are in units of two bytes, and are larger.
        return rendition.format == .webp ? 2 * (30_000 + bytes / 2) : bytes
    }

    private func key(_ rendition: BoardRendition, _ post: Post) -> String {
        "\(service.rawValue) \(post.id) \(rendition.name)"
    }

    /// A file of a post; nil without memory.
    func picture(_ rendition: BoardRendition, of post: Post) -> Picture? {
        guard let file = post.file else { return nil }
        let content: Picture.Content
        var length = bytes(rendition, of: post)
        if rendition.name == "original" || rendition.name == "image" {
            guard let (model, bytes, _) = original(post) else { return nil }
            (content, length) = (.model(model, file), bytes)
        } else if rendition.format == .webm {
            (content, length) = (.film, PackageResources.film_webm.count)
        } else {
            content = .drawn(Model.all[file.model].subject(seed: seed), rendition.format)
        }
        return Picture(
            path: key(rendition, post), pixels: rendition.pixels, bytes: length, modified: post.seconds,
            content: content, drawings: drawings)
    }

    /// The 32 digits before the ending of a path's last part that is one, and nothing else in that part but what stands before `-` or `_`.
    static func digest(in name: some StringProtocol) -> String? {
        let stem = name.prefix { $0 != "." }.split { $0 == "-" || $0 == "_" }.last ?? ""
        let isHex = stem.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return isHex && stem.utf8.count == 32 ? String(stem) : nil
    }

    // MARK: - Digests

    /// Digests remembered; about 20 MB.
    private static let mostDigests = 200_000
    /// Days that a processor looks through at a time, and how many such parts there are.
    private static let daysAtOnce = 100
    private static let parts = 4

    /// Remembers whose a digest is.
    func learn(_ digest: String, _ id: Int64?) {
        digests.withLock { digests in
            if digests.count >= Self.mostDigests { digests.removeAll() }
            digests.updateValue(id, forKey: digest)
        }
    }

    /// The post whose original has a digest, if it exists at a moment in Unix seconds.
    ///
    /// For a digest that was not told lately, as from before a restart, all days are looked through, the newest first: some seconds
    /// for one that no post has.
    func post(digest: String, now: Int64) -> Post? {
        if let id = digests.withLock({ $0[digest] }) { return id.flatMap { post($0, now: now) } }
        let id = search(digest, now: now)
        learn(digest, id)
        return id.flatMap { post($0, now: now) }
    }

    private func search(_ digest: String, now: Int64) -> Int64? {
        models.prepare(Set(Model.all.indices))
        let drawn = Model.all.indices.map { models.drawn($0) }
        var end = newest(at: now).ordinal - service.firstDay.ordinal + 1
        while end > 0 {
            let (begin, limit) = (max(0, end - Self.daysAtOnce * Self.parts), end)
            let found = Mutex<Int64?>(nil)
            DispatchQueue.concurrentPerform(iterations: Self.parts) { part in
                let first = min(limit, begin + part * Self.daysAtOnce)
                for day in first..<min(limit, first + Self.daysAtOnce) {
                    for number in 0..<service.posts(onDay: day) {
                        let slot = Slot(day: day, number: number)
                        let file = models.file(slot, service)
                        guard drawn[file.model]?.digest(file) == digest else { continue }
                        found.withLock { $0 = slot.id(service) }
                        return
                    }
                }
            }
            if let id = found.withLock({ $0 }) { return id }
            end = begin
        }
        return nil
    }
}
