/// A picture that many posts show, each in a file of its own: what is drawn once and shared.
struct PostModel: Sendable {
    /// Its place in ``all``.
    let number: Int
    let format: ServedFormat
    let pixels: PixelSize
    /// Most pieces of padding.
    let mostPieces: Int

    /// All models.
    ///
    /// So many that a page of a listing is not all alike, and so few that drawing them for a first listing takes no time that
    /// anybody notices.
    static let all: [PostModel] = kinds.enumerated().map { number, kind in
        var chance = Chance(0xb0de, UInt64(number))
        // From 0.2 to 1.8 MB, even on a logarithmic scale.
        let most = kind.0 == .zip || kind.0 == .swf ? 0 : 800 << chance.below(4) + chance.below(500)
        return PostModel(
            number: number, format: kind.0, pixels: PixelSize(width: kind.1, height: kind.2), mostPieces: most)
    }

    /// The numbers of the models of a format.
    static func numbers(_ format: ServedFormat) -> [Int] {
        byFormat[format] ?? []
    }

    private static let byFormat = Dictionary(grouping: all, by: \.format).mapValues { $0.map(\.number) }

    /// The models of JPEGs that are too small for a sample on Danbooru.
    static let small = all.filter { $0.format == .jpg && $0.pixels.width <= 850 }.map(\.number)

    /// What the model's pictures show.
    func subject(seed: UInt64) -> PictureSubject {
        var chance = Chance(seed, 0xb1, UInt64(number))
        return PictureSubject(scene: chance.next(), label: "\(number + 1)")
    }

    // Append only: originals are found again by the order of these.
    private static let kinds: [(ServedFormat, Int, Int)] = [
        (.jpg, 600, 848), (.jpg, 720, 720), (.jpg, 850, 601), (.jpg, 1000, 1414), (.jpg, 1131, 1600),
        (.jpg, 1200, 1500), (.jpg, 1448, 1024), (.jpg, 1600, 900), (.jpg, 900, 1600), (.jpg, 1280, 1280),
        (.jpg, 1080, 1350), (.jpg, 1500, 844), (.jpg, 1024, 1448), (.jpg, 1684, 700), (.jpg, 880, 1788),
        (.jpg, 1516, 1072), (.png, 700, 700), (.png, 1021, 1448), (.png, 1280, 720), (.png, 960, 1280),
        (.png, 1600, 1130), (.png, 2400, 1350),
        (.gif, 240, 320), (.webp, 900, 1273), (.avif, 400, 300), (.mp4, 320, 240), (.webm, 320, 240),
        (.zip, 480, 640), (.swf, 320, 240),
    ]
}
