import Dispatch
import Rankings
import Synchronization

/// A file that a board makes from an original, or the original itself.
struct BoardRendition: Sendable {
    /// The folder in its paths, which is also its name in Danbooru's answers.
    let name: String
    let format: Format
    let pixels: PixelSize
    let weight: Weight

    /// The width of Danbooru's samples in pixels.
    static let sampleWidth = 850
}

/// The pictures of boards, and the search for a picture by the digest of the original.
extension Universe {
    /// Whether Danbooru has a sample of a post: for still pictures wider than a sample, and for animations.
    func hasSample(_ post: Post) -> Bool {
        post.format == .zip || post.format.isStill && post.pages[0].width > BoardRendition.sampleWidth
    }

    /// Whether Moebooru makes a sample: for every PNG, and for other still pictures with a side over 1500 pixels.
    private func hasWide(_ post: Post) -> Bool {
        post.format == .png || post.format.isStill && max(post.pages[0].width, post.pages[0].height) > 1500
    }

    /// The files of a post, the original last; for a recorded post all possible ones.
    func renditions(of post: Post) -> [BoardRendition] {
        let (size, format, isRecorded) = (post.pages[0], post.format, post.recorded != nil)
        func made(_ name: String, _ pixels: PixelSize, _ weight: Weight, _ format: Format = .jpg) -> BoardRendition {
            BoardRendition(name: name, format: format, pixels: pixels, weight: weight)
        }
        let whole = size.width * size.height > 2_000_000 ? Weight.original(.jpg, size) : .regular
        guard service == .danbooru else {
            return [made("preview", size.fitted(into: 300), .preview)]
                + (isRecorded || hasWide(post) ? [made("sample", size.fitted(into: 1500), .regular)] : [])
                + (isRecorded || format == .png ? [made("jpeg", size.fitted(into: 3500), whole)] : [])
                + [made("image", size, whole, format)]
        }
        let sample = size.fitted(into: PixelSize(width: BoardRendition.sampleWidth, height: .max >> 16))
        // WebP files are larger.
        let webp = Weight(median: 110_000, sigma: 0.2, bounds: 80_000...180_000)
        return [
            made("180x180", size.fitted(into: 180), .square), made("360x360", size.fitted(into: 360), .preview),
            made("720x720", size.fitted(into: 720), webp, .webp),
        ]
            + (isRecorded || hasSample(post) ? [made("sample", sample, .regular, format == .zip ? .webm : .jpg)] : [])
            + (format == .webp || format == .avif ? [made("full", size, whole)] : [])
            + [made("original", size, whole, format)]
    }

    /// A drawn model; nil if memory is short.
    func drawn(_ model: Int) -> DrawnModel? {
        models.value("\(model)") { DrawnModel(Model.all[model], seed: seed) }
    }

    /// Draws the models of posts on all processors, the largest first, so that a large one does not finish long after the others.
    func prepareModels(of posts: some Sequence<Post>) {
        let wanted = Set(posts.compactMap(\.file?.model)).sorted {
            Model.all[$0].pixels.width * Model.all[$0].pixels.height > Model.all[$1].pixels.width
                * Model.all[$1].pixels.height
        }
        DispatchQueue.concurrentPerform(iterations: wanted.count) { _ = drawn(wanted[$0]) }
    }

    /// The drawn model, the length in bytes and the digest of a post's original; nil if memory is short.
    func original(_ post: Post) -> (model: DrawnModel, length: Int, digest: String)? {
        guard let file = post.file, let model = drawn(file.model) else { return nil }
        return (model, model.length(file), model.digest(file))
    }

    /// The length of a rendition in bytes, decided before it is drawn so that a listing can declare it; the recorded one if any.
    func bytes(_ rendition: BoardRendition, of post: Post) -> Int {
        let told = post.recorded?["\(rendition.name)_file_size"].number(in: 1...64 << 20)
        // WebP files have an even length.
        return told.map { Int($0) } ?? rendition.weight.bytes(seed, key(rendition, post)) & ~1
    }

    private func key(_ rendition: BoardRendition, _ post: Post) -> String {
        "\(service.rawValue) \(post.id) \(rendition.name)"
    }

    /// A file of a post; nil if memory is short.
    func picture(_ rendition: BoardRendition, of post: Post) -> Picture? {
        guard let file = post.file else { return nil }
        if rendition.name == "original" || rendition.name == "image" {
            guard let (model, length, _) = original(post) else { return nil }
            return Picture(format: post.format, pixels: rendition.pixels, bytes: length, modified: post.seconds) {
                model.bytes(file)
            }
        }
        if rendition.format == .webm {
            let film = PackageResources.film_webm
            return Picture(format: .webm, pixels: rendition.pixels, bytes: film.count, modified: post.seconds) { film }
        }
        return drawn(
            Model.all[file.model].subject(seed: seed), key(rendition, post), rendition.pixels, rendition.format,
            bytes: bytes(rendition, of: post), modified: post.seconds)
    }

    /// The digest of 32 hexadecimal digits in a file name: before the extension, alone or after a prefix that ends in `-` or `_`.
    static func digest(in name: some StringProtocol) -> String? {
        let stem = name.prefix { $0 != "." }.split { $0 == "-" || $0 == "_" }.last ?? ""
        let isHex = stem.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        return isHex && stem.utf8.count == 32 ? String(stem) : nil
    }

    // MARK: - Digests

    /// Digests remembered at most; about 20 MB.
    private static let mostDigests = 200_000

    /// Remembers the post of a digest; nil for a digest that no post has.
    func learn(_ digest: String, _ id: Int64?) {
        digests.withLock { digests in
            if digests.count >= Self.mostDigests { digests.removeAll() }
            digests.updateValue(id, forKey: digest)
        }
    }

    /// The post whose original has a digest, if it exists at a moment in Unix seconds.
    ///
    /// For a digest that was not sent recently, as after a restart, all days are searched, the newest first: this takes some
    /// seconds for a digest that no post has.
    func post(digest: String, now: Int64) -> Post? {
        if let recorded { return recorded.first { original($0)?.digest == digest } }
        if let id = digests.withLock({ $0[digest] }) { return id.flatMap { post($0, now: now) } }
        let drawn = Model.all.indices.map { self.drawn($0) }
        let days = (0...max(0, newest(at: now).ordinal - service.firstDay.ordinal)).reversed()
        let slots = days.lazy.flatMap { day in
            (0..<self.service.posts(onDay: day)).lazy.map { Slot(day: day, number: $0) }
        }
        let id = slots.first { slot in
            let file = modelFile(slot)
            return drawn[file.model]?.digest(file) == digest
        }?.id(service)
        learn(digest, id)
        return id.flatMap { post($0, now: now) }
    }

    /// The file of a post.
    func modelFile(_ slot: Slot) -> ModelFile {
        var chance = chance(service.salt ^ 0xf11e, slot.id(service))
        let drawn = format(chance.below(1000))
        let numbers = Landmarks.models(slot, service) ?? Model.numbers[drawn] ?? [0]
        return ModelFile(model: chance.pick(numbers), &chance)
    }

    /// The format of a random draw from 0 to 999.
    ///
    /// On Danbooru, of the 200 best of a day 128 were JPEG, 61 PNG, 10 MP4 and 1 an archive (reference, 3.2).
    private func format(_ draw: Int) -> Format {
        let shares: [(Int, Format)] =
            service == .danbooru
            ? [(635, .jpg), (930, .png), (970, .mp4), (978, .webm), (985, .zip), (992, .gif), (998, .webp)]
            : [(640, .jpg), (990, .png), (1000, .gif)]
        return shares.first { draw < $0.0 }?.1 ?? .avif
    }
}
