import Digests
import Dispatch
import Synchronization

/// A picture that many posts of boards show, each in a file of its own: what is drawn once and shared.
struct Model: Sendable {
    /// Its place in ``all``.
    let number: Int
    let format: Format
    let pixels: PixelSize
    /// Most pieces of padding.
    let most: Int

    /// Frames of the archives of animations, and the milliseconds that each of them is shown.
    static let frames = 6
    static let frameDelay = 80

    /// All models.
    ///
    /// So many that a page of a listing is not all alike, and so few that drawing them for a first listing takes no time that
    /// anybody notices.
    static let all: [Model] = kinds.enumerated().map { number, kind in
        var chance = Chance(0xb0de, UInt64(number))
        // From 0.2 to 1.8 MB, even on a logarithmic scale.
        let most = kind.0 == .zip || kind.0 == .swf ? 0 : (205_000 << chance.below(4) + chance.below(128_000))
        return Model(
            number: number, format: kind.0, pixels: PixelSize(width: kind.1, height: kind.2), most: most / kind.0.piece)
    }

    /// The numbers of the models by their formats.
    static let numbers = Dictionary(grouping: all, by: \.format).mapValues { $0.map(\.number) }

    /// What the model's pictures show.
    func subject(seed: UInt64) -> PictureSubject {
        var chance = Chance(seed, 0xb1, UInt64(number))
        return PictureSubject(scene: chance.next(), label: "\(number + 1)")
    }

    // Append only: originals are found again by the order of these.
    private static let kinds: [(Format, Int, Int)] = [
        (.jpg, 600, 848), (.jpg, 720, 720), (.jpg, 850, 601), (.jpg, 1000, 1414), (.jpg, 1131, 1600),
        (.jpg, 1200, 1500), (.jpg, 1448, 1024), (.jpg, 1600, 900), (.jpg, 900, 1600), (.jpg, 1280, 1280),
        (.jpg, 1080, 1350), (.jpg, 1500, 844), (.jpg, 1024, 1448), (.jpg, 1684, 700), (.jpg, 880, 1788),
        (.jpg, 1516, 1072), (.png, 700, 700), (.png, 1021, 1448), (.png, 1280, 720), (.png, 960, 1280),
        (.png, 1600, 1130), (.png, 2400, 1350),
        (.gif, 240, 320), (.webp, 900, 1273), (.avif, 400, 300), (.mp4, 320, 240), (.webm, 320, 240),
        (.zip, 480, 640), (.swf, 320, 240),
    ]
}

/// Which file a post of a board has: a model, how much padding, and a tail that no other post has.
struct ModelFile: Sendable {
    /// Of ``Model/all``.
    let model: Int
    /// Pieces of padding, of those of formats that allow for fewer than most.
    let pieces: Int
    /// Bytes of noise in the tail: with the most of them a tail is a few blocks of the digest.
    let noise: Int
    /// Which post of which service and universe it is.
    let salt: UInt64

    /// What is drawn by lot for a post.
    init(model: Int, _ chance: inout Chance) {
        let (format, most) = (Model.all[model].format, Model.all[model].most)
        // What is small by itself has 40 KB at least.
        let share = chance.within(3...16)
        self.model = model
        pieces = format.isFixed ? most : most * share / 16
        noise = chance.below(60)
        salt = chance.next()
    }

    /// What stands behind the padding.
    var tail: [UInt8] {
        let format = Model.all[model].format
        let name = Array("rankfs \(salt.padded(16, radix: 16))".utf8)
        let rest = format.isFixed ? Self.blanks : PictureFile.noise(noise, salt: salt)
        return format.unit(name + rest) + format.closing
    }

    private static let blanks = [UInt8](repeating: 0x20, count: 9)[...]
}

/// A model as bytes: what its files begin with, and the digest's state behind each piece of padding.
///
/// Since the digest goes on from the place before the tail, that of a file takes about a microsecond, however long the file is: a
/// listing tells 200 of them, by MD5 (RFC 1321), which boards name originals by.
struct DrawnModel: Sendable {
    private let model: Model
    private let head: [UInt8]
    private let salt: UInt64
    /// The states before each number of pieces.
    private let states: [MD5]

    /// Draws a model; nil without memory.
    init?(_ model: Model, seed: UInt64) {
        guard var head = Self.head(of: model, seed: seed) else { return nil }
        var chance = Chance(seed, 0xb2, UInt64(model.number))
        let (format, salt) = (model.format, chance.next())
        if format == .webp || format == .swf {
            let tail = ModelFile(model: model.number, &chance).tail.count
            let length = head.count + model.most * format.piece + tail
            head.replaceSubrange(4..<8, with: (format == .webp ? length - 8 : length).little(4))
        }
        var state = MD5()
        unsafe head.withUnsafeBytes { unsafe state.add($0) }
        var states = [state]
        for index in 0..<model.most {
            let piece = PictureFile.piece(format, index, salt: salt)
            unsafe piece.withUnsafeBytes { unsafe state.add($0) }
            states.append(state)
        }
        self.model = model
        self.head = head
        self.salt = salt
        self.states = states
    }

    /// A post's file.
    func file(_ choice: ModelFile) -> PictureFile {
        PictureFile(model.format, head: head, pieces: choice.pieces, tail: choice.tail, salt: salt)
    }

    /// The digest of a post's file, 32 lower-case hexadecimal digits.
    func digest(_ choice: ModelFile) -> String {
        var state = states[min(choice.pieces, states.count - 1)]
        unsafe choice.tail.withUnsafeBytes { unsafe state.add($0) }
        return state.hex()
    }

    /// The file up to its padding.
    private static func head(of model: Model, seed: UInt64) -> [UInt8]? {
        let (format, subject) = (model.format, model.subject(seed: seed))
        let file: [UInt8]? =
            switch format {
            // Large dots are four times as quick.
            case .jpg, .png, .webp: Scene.paint(subject, model.pixels, dot: 2).file(format, quality: 82)
            case .zip: Archive.file(subject, model.pixels, lengths: Array(repeating: 30_000, count: frames), salt: seed)
            case .gif: PackageResources.film_gif
            case .mp4: PackageResources.film_mp4
            case .webm: PackageResources.film_webm
            case .avif: PackageResources.still_avif
            case .swf: flash
            }
        // Of an archive, the length of its comment stands in the tail.
        return file?.dropLast(format == .swf ? 0 : format == .zip ? 2 : format.closing.count)
    }

    private static let frames = Model.frames

    /// A film of one empty frame, 320 x 240, in version 5 (SWF File Format Specification, chapter 2).
    private static let flash: [UInt8] =
        Array("FWS".utf8) + [5, 0, 0, 0, 0] + [0x70, 0x00, 0x0c, 0x80, 0x00, 0x00, 0x96, 0x00] + [0, 12, 1, 0]
        + [0x43, 0x02, 0x33, 0x66, 0x99]
}

/// The models of a universe, drawn when they are first needed.
///
/// ## Concurrency
/// Called from any thread. Each model is drawn under a lock of its own, once.
final class Models: Sendable {
    private final class Place: Sendable {
        let drawn = Mutex<DrawnModel?>(nil)
    }

    private let seed: UInt64
    private let places = Model.all.map { _ in Place() }

    init(seed: UInt64) {
        self.seed = seed
    }

    /// A model; nil without memory.
    func drawn(_ number: Int) -> DrawnModel? {
        places[number].drawn.withLock { drawn in
            if drawn == nil { drawn = DrawnModel(Model.all[number], seed: seed) }
            return drawn
        }
    }

    /// Draws those that are wanted now on all processors.
    func prepare(_ numbers: Set<Int>) {
        func size(_ number: Int) -> Int { Model.all[number].pixels.width * Model.all[number].pixels.height }
        // The largest first: nobody waits for one that was left for last.
        let wanted = numbers.sorted { (size($0), $0) > (size($1), $1) }
        DispatchQueue.concurrentPerform(iterations: wanted.count) { _ = drawn(wanted[$0]) }
    }

    /// Which file a post has.
    func file(_ slot: Slot, _ service: Service) -> ModelFile {
        var chance = Chance(seed, service.salt ^ 0xf11e, UInt64(bitPattern: slot.id(service)))
        let drawn = format(slot, service, &chance)
        var model = chance.pick(Model.numbers[drawn] ?? [0])
        if let (format, place, rank) = Landmarks.file(slot, service), let models = Model.numbers[format] {
            // JPEGs that are no smaller than samples, one after the other.
            model = place.map { models[$0] } ?? (format == .jpg ? 3 + rank % 13 : models[models.count - 1])
        }
        return ModelFile(model: model, &chance)
    }

    /// Danbooru: of the 200 best of a day 128 were JPEG, 61 PNG, 10 MP4 and 1 an archive (reference, 3.2).
    private func format(_ slot: Slot, _ service: Service, _ chance: inout Chance) -> Format {
        let draw = chance.below(1000)
        // Flash ended in 2020.
        let hasFlash = slot.day <= 4500
        guard service == .danbooru else {
            return draw < 640 ? .jpg : draw < 990 ? .png : draw < 996 || !hasFlash ? .gif : .swf
        }
        let shares: [(Int, Format)] = [
            (635, .jpg), (930, .png), (970, .mp4), (978, .webm), (985, .zip), (992, .gif), (996, .webp), (998, .avif),
        ]
        return shares.first { draw < $0.0 }?.1 ?? (hasFlash ? .swf : .webp)
    }
}
