import Digests

/// A picture that many posts of boards show, each in a file of its own: what is drawn once and shared.
struct Model: Sendable {
    /// Its place in ``all``.
    let number: Int
    let format: Format
    let pixels: PixelSize

    /// Frames of the archives of animations, and the milliseconds that each of them is shown.
    static let frames = 6
    static let frameDelay = 80

    /// All models: so many that a page of a listing is not all alike, and so few that drawing them takes no time that anybody notices.
    static let all: [Model] = kinds.enumerated().map { number, kind in
        Model(number: number, format: kind.0, pixels: PixelSize(width: kind.1, height: kind.2))
    }

    /// The numbers of the models by their formats.
    static let numbers = Dictionary(grouping: all, by: \.format).mapValues { $0.map(\.number) }

    /// What the model's pictures show.
    func subject(seed: UInt64) -> PictureSubject {
        PictureSubject(scene: Chance(seed, 0xb1, UInt64(number)).first, label: "\(number + 1)")
    }

    // Append only: originals are found again by the order of these.
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

/// Which file a post of a board has: a model, and a tail that no other post has.
struct ModelFile: Sendable {
    /// Of ``Model/all``.
    let model: Int
    /// Bytes of noise in the tail, and which post of which service and universe it is.
    private let noise: Int
    private let salt: UInt64

    /// What is drawn by lot for a post; a WebP tells its length at its beginning, which is the model's.
    init(model: Int, _ chance: inout Chance) {
        self.model = model
        noise = Model.all[model].format == .webp ? 9 : chance.below(60)
        salt = chance.next()
    }

    /// What stands behind the model's bytes.
    var tail: [UInt8] {
        let format = Model.all[model].format
        return format.unit(Array("rankfs \(salt.padded(16, radix: 16))".utf8) + Format.noise(noise, salt: salt))
            + format.closing
    }
}

/// A model as bytes: what all of its files begin with, and the digest's state behind that.
///
/// Since the digest goes on from there, that of a file takes about a microsecond, however long the file is: a listing tells 200 of
/// them, by MD5 (RFC 1321), which boards name originals by.
struct DrawnModel: Sendable {
    private let body: [UInt8]
    private let state: MD5

    /// Draws a model; nil without memory.
    init?(_ model: Model, seed: UInt64) {
        var chance = Chance(seed, 0xb2, UInt64(model.number))
        let (format, subject) = (model.format, model.subject(seed: seed))
        let drawn: [UInt8]? =
            switch format {
            // Large dots are four times as quick.
            case .jpg, .png, .webp: Scene.paint(subject, model.pixels, dot: 2).file(format, quality: 82)
            case .zip: Archive.file(subject, model.pixels, lengths: Array(repeating: 30_000, count: Model.frames))
            case .gif: PackageResources.film_gif
            case .mp4: PackageResources.film_mp4
            case .webm: PackageResources.film_webm
            case .avif: PackageResources.still_avif
            }
        guard let drawn else { return nil }
        // 0.1 to 1 MB more, even on a logarithmic scale. Of an archive, the length of its comment stands in the tail.
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

    /// Bytes of a post's file.
    func length(_ file: ModelFile) -> Int { body.count + file.tail.count }

    /// A post's file.
    func bytes(_ file: ModelFile) -> [UInt8] { body + file.tail }

    /// The digest of a post's file, 32 lower-case hexadecimal digits.
    func digest(_ file: ModelFile) -> String {
        var state = state
        unsafe file.tail.withUnsafeBytes { unsafe state.add($0) }
        return state.hex()
    }
}
