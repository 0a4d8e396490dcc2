import System

/// A picture that many posts of boards share, each in its own file: it is drawn once.
struct Model: Sendable {
    /// The index in ``all``.
    let number: Int
    let format: Format
    let pixels: PixelSize

    /// Frames of the archives of animations, and the milliseconds of each.
    static let frames = 6
    static let frameDelay = 80

    /// All models: enough that the posts of a listing page differ, and few enough that drawing them takes no noticeable time.
    static let all: [Model] = kinds.enumerated().map { number, kind in
        Model(number: number, format: kind.0, pixels: PixelSize(width: kind.1, height: kind.2))
    }

    /// The numbers of the models by their formats.
    static let numbers = Dictionary(grouping: all, by: \.format).mapValues { $0.map(\.number) }

    /// The content of the model's pictures.
    func subject(seed: UInt64) -> PictureSubject {
        PictureSubject(scene: Chance(seed, 0xb1, UInt64(number)).first, label: "\(number + 1)")
    }

    // Append only: originals are found again by the order of the models.
    private static let kinds: [(Format, Int, Int)] = [
        (.jpg, 600, 848), (.jpg, 720, 720), (.jpg, 850, 601), (.jpg, 1000, 1414), (.jpg, 1131, 1600),
        (.jpg, 1200, 1500), (.jpg, 1448, 1024), (.jpg, 1600, 900), (.jpg, 900, 1600), (.jpg, 1280, 1280),
        (.jpg, 1080, 1350), (.jpg, 1500, 844), (.jpg, 1024, 1448), (.jpg, 1684, 700), (.jpg, 880, 1788),
        (.jpg, 1516, 1072), (.png, 700, 700), (.png, 1021, 1448), (.png, 1280, 720), (.png, 960, 1280),
        (.png, 1600, 1130), (.png, 2400, 1350),
        (.gif, 240, 320), (.webp, 900, 1273), (.avif, 400, 300), (.mp4, 320, 240), (.webm, 320, 240),
        (.zip, 480, 640),
    ]
}

/// The file of a board's post: a model, and a unique tail.
struct ModelFile: Sendable {
    /// The index in ``Model/all``.
    let model: Int
    /// Bytes of noise in the tail, and a salt that identifies the post, its service and its universe.
    private let noise: Int
    private let salt: UInt64

    /// Draws a tail at random; a WebP declares its length at its beginning, in the model, so that all its tails are equally long.
    init(model: Int, _ chance: inout Chance) {
        self.model = model
        noise = Model.all[model].format == .webp ? 9 : chance.below(60)
        salt = chance.next()
    }

    /// The bytes after those of the model.
    var tail: [UInt8] {
        let format = Model.all[model].format
        return format.unit(Array("rankfs \(salt.padded(16, radix: 16))".utf8) + Format.noise(noise, salt: salt))
            + format.closing
    }
}

/// A drawn model: the common beginning of all of its files, and the digest's state after these bytes.
///
/// The digest of a file continues from this state and takes about a microsecond for any length of file: a listing contains 200
/// digests, by MD5 (RFC 1321), and boards name originals by them.
struct DrawnModel: Sendable {
    private let body: [UInt8]
    private let state: MD5

    /// Draws a model; nil if memory is short.
    init?(_ model: Model, seed: UInt64) {
        var chance = Chance(seed, 0xb2, UInt64(model.number))
        let (format, subject) = (model.format, model.subject(seed: seed))
        let drawn: [UInt8]? =
            switch format {
            // Larger dots are drawn four times as quickly.
            case .jpg, .png, .webp: Scene.paint(subject, model.pixels, dot: 2).file(format, quality: 82)
            case .zip: Archive.file(subject, model.pixels, lengths: Array(repeating: 30_000, count: Model.frames))
            case .gif: PackageResources.film_gif
            case .mp4: PackageResources.film_mp4
            case .webm: PackageResources.film_webm
            case .avif: PackageResources.still_avif
            }
        guard let drawn else { return nil }
        // Adds 0.1 to 1 MB, evenly on a logarithmic scale. The length of an archive's comment is part of the tail.
        let length = drawn.count + (120_000 << chance.below(4) + chance.below(64_000)) & ~1
        guard
            var body = format == .zip ? Array(drawn.dropLast(2)) : format.padded(drawn, to: length, salt: chance.next())
        else { return nil }
        body.removeLast(format.closing.count)
        if format == .webp {
            let tail = ModelFile(model: model.number, &chance).tail
            body.replaceSubrange(4..<8, with: (body.count + tail.count - 8).little(4))
        }
        var state = MD5()
        unsafe body.withUnsafeBytes { unsafe state.add($0) }
        self.body = body
        self.state = state
    }

    /// The length of a post's file in bytes.
    func length(_ file: ModelFile) -> Int { body.count + file.tail.count }

    /// The bytes of a post's file.
    func bytes(_ file: ModelFile) -> [UInt8] { body + file.tail }

    /// The digest of a post's file, 32 lower-case hexadecimal digits.
    func digest(_ file: ModelFile) -> String {
        var state = state
        unsafe file.tail.withUnsafeBytes { unsafe state.add($0) }
        return state.hex()
    }
}
