import CCairo
import CNettle
import Media

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
        let isFixed = PostPadding.isFixed(format)
        if isFixed {
            let rest =
                model.mostPieces * PostPadding.piece + PostPadding.unit(format, Self.emptyPayload).count
                + PostPadding.closing(format).count
            Self.tellLength(head.count + rest, in: &head, of: format)
        }
        self.head = head
        var state = rankfs_md5_start()
        unsafe rankfs_md5_update(&state, head, head.count)
        var states = isFixed ? [] : [state]
        for index in 0..<model.mostPieces {
            let piece = PostPadding.piece(format, index: index, salt: salt)
            unsafe rankfs_md5_update(&state, piece, piece.count)
            if !isFixed, states.count <= Self.levels, index + 1 == Self.pieces(model, level: states.count) {
                states.append(state)
            }
        }
        self.states = isFixed ? [state] : states
    }

    /// The bytes of a post's file.
    func bytes(_ choice: ServedPostFile) -> [UInt8] {
        var bytes = head
        let tail = choice.tail(model.format)
        bytes.reserveCapacity(length(choice))
        for index in 0..<pieces(choice) {
            bytes += PostPadding.piece(model.format, index: index, salt: salt)
        }
        return bytes + tail
    }

    /// Bytes of a post's file.
    func length(_ choice: ServedPostFile) -> Int {
        head.count + pieces(choice) * PostPadding.piece + choice.tail(model.format).count
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
        let picture = Picture(
            path: "model \(model.number)", pixels: model.pixels, format: .jpeg, bytes: .max,
            modified: JapanTime(seconds: 0), subject: model.subject(seed: seed))
        switch model.format {
        case .jpg: return jpeg(picture).map { Array($0[..<($0.count - PostPadding.closing(.jpg).count)]) }
        case .png: return QuickPNG.file(picture).map { Array($0[..<($0.count - PostPadding.closing(.png).count)]) }
        case .webp: return jpeg(picture).flatMap { try? StillWebP.encode(jpeg: $0) }
        case .zip: return archive(picture)
        case .gif: return PackageResources.film_gif.dropLast(PostPadding.closing(.gif).count)
        case .mp4: return PackageResources.film_mp4
        case .webm: return PackageResources.film_webm
        case .avif: return PackageResources.still_avif
        case .swf: return flash
        }
    }

    private static func jpeg(_ picture: Picture) -> [UInt8]? {
        // Drawn at half the size, which is four times as quick.
        let half = PixelSize(width: (picture.pixels.width + 1) / 2, height: (picture.pixels.height + 1) / 2)
        let small = Picture(
            path: picture.path, pixels: half, format: .jpeg, bytes: picture.bytes, modified: picture.modified,
            subject: picture.subject)
        guard let canvas = Painter.canvas(small, plain: false)?.enlarged(to: picture.pixels) else { return nil }
        return Painter.compress(canvas, quality: quality)
    }

    private static let quality = 82

    /// An animation's archive up to the length of its comment.
    private static func archive(_ picture: Picture) -> [UInt8]? {
        var archive = picture
        archive.bytes = PostModel.frames * frameBytes
        archive.frames = (0..<PostModel.frames).map { index in
            var subject = picture.subject
            subject.frame = PictureSubject.Frame(index: index, count: PostModel.frames)
            return Picture(
                path: "\(picture.path)#\(index)", pixels: picture.pixels, format: .jpeg, bytes: frameBytes,
                modified: picture.modified, subject: subject)
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
        head.replaceSubrange(4..<8, with: PostPadding.little(format == .webp ? length - 8 : length, bytes: 4))
    }
}

extension PostModel {
    /// Frames of the archives of animations.
    static let frames = 6
    /// Milliseconds that each of these frames is shown.
    static let frameDelay = 80
}
