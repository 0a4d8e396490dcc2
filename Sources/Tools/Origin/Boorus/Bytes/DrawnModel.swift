import CNettle

/// A model as bytes: the head that the files of its posts share, and the digest's state at some places behind it.
///
/// Each file is the head, some pieces of padding and a tail of its own. Since the digest goes on from the last place before the
/// tail, that of a file takes about a microsecond, however long the file is: a listing tells 200 of them.
struct DrawnModel: Sendable {
    let model: PostModel
    /// The file up to its padding.
    let head: [UInt8]
    private let salt: UInt64
    /// The states after the head and after each level's pieces.
    private let states: [md5_ctx]

    /// How many lengths of padding there are.
    static let levels = 16

    /// Draws a model; nil without memory.
    init?(_ model: PostModel, seed: UInt64) {
        guard var head = Self.head(of: model, seed: seed) else { return nil }
        self.model = model
        var chance = Chance(seed, 0xb2, UInt64(model.number))
        salt = chance.next()
        let format = model.format
        let isFixed = Padding.isFixed(format)
        if isFixed {
            let rest =
                model.mostPieces * Padding.piece + Padding.unit(format, Self.emptyPayload).count
                + Padding.closing(format).count
            Self.tellLength(head.count + rest, in: &head, of: format)
        }
        self.head = head
        var state = rankfs_md5_start()
        unsafe rankfs_md5_update(&state, head, head.count)
        var states = isFixed ? [] : [state]
        for index in 0..<model.mostPieces {
            let piece = Padding.piece(format, index: index, salt: salt)
            unsafe rankfs_md5_update(&state, piece, piece.count)
            if !isFixed, states.count <= Self.levels, index + 1 == Self.pieces(model, level: states.count) {
                states.append(state)
            }
        }
        self.states = isFixed ? [state] : states
    }

    /// A post's file.
    func file(_ choice: ServedPostFile) -> DrawnPicture {
        DrawnPicture(model.format, head: head, pieces: pieces(choice), tail: choice.tail(model.format), salt: salt)
    }

    /// Bytes of a post's file.
    func length(_ choice: ServedPostFile) -> Int {
        head.count + pieces(choice) * Padding.piece + choice.tail(model.format).count
    }

    /// The digest of a post's file.
    func digest(_ choice: ServedPostFile) -> OriginDigest {
        OriginDigest(states[min(choice.level, states.count - 1)], then: choice.tail(model.format))
    }

    /// A payload as long as those of fixed formats.
    static let emptyPayload = [UInt8](repeating: 0x20, count: 32)

    // MARK: -

    private func pieces(_ choice: ServedPostFile) -> Int {
        states.count == 1 ? model.mostPieces : Self.pieces(model, level: min(choice.level, states.count - 1))
    }

    private static func pieces(_ model: PostModel, level: Int) -> Int {
        model.mostPieces * level / levels
    }

    private static func head(of model: PostModel, seed: UInt64) -> [UInt8]? {
        let format = model.format
        let file: [UInt8]? =
            switch format {
            // Large dots are four times as quick.
            case .jpg, .png, .webp:
                Painter.canvas(model.subject(seed: seed), model.pixels, dot: 2).file(format, quality: quality)
            case .zip: archive(model.subject(seed: seed), model.pixels)
            case .gif: PackageResources.film_gif
            case .mp4: PackageResources.film_mp4
            case .webm: PackageResources.film_webm
            case .avif: PackageResources.still_avif
            case .swf: flash
            }
        return file?.dropLast(format == .swf ? 0 : Padding.closing(format).count)
    }

    private static let quality = 82

    /// An animation's archive up to the length of its comment.
    private static func archive(_ subject: PictureSubject, _ pixels: PixelSize) -> [UInt8]? {
        var archive = Picture(
            path: "archive \(subject.label)", pixels: pixels, format: .jpg, bytes: PostModel.frames * frameBytes,
            modified: JapanTime(seconds: 0), subject: subject)
        archive.frames = (0..<PostModel.frames).map { index in
            var subject = subject
            subject.frame = PictureSubject.Frame(index: index, count: PostModel.frames)
            return Picture(
                path: "\(archive.path)#\(index)", pixels: pixels, format: .jpg, bytes: frameBytes,
                modified: archive.modified, subject: subject)
        }
        return Archive.draw(archive)?.bytes.dropLast(2)
    }

    /// Bytes of a frame.
    private static let frameBytes = 30_000

    /// A film of one empty frame, 320 x 240, in version 5 (SWF File Format Specification, chapter 2).
    private static let flash: [UInt8] =
        Array("FWS".utf8) + [5, 0, 0, 0, 0] + [0x70, 0x00, 0x0c, 0x80, 0x00, 0x00, 0x96, 0x00] + [0, 12, 1, 0]
        + [0x43, 0x02, 0x33, 0x66, 0x99]

    /// Writes a file's length where its head tells it.
    private static func tellLength(_ length: Int, in head: inout [UInt8], of format: ServedFormat) {
        guard format != .zip else { return }
        head.replaceSubrange(4..<8, with: Padding.little(format == .webp ? length - 8 : length, bytes: 4))
    }
}

extension PostModel {
    /// Frames of the archives of animations.
    static let frames = 6
    /// Milliseconds that each of these frames is shown.
    static let frameDelay = 80
}
