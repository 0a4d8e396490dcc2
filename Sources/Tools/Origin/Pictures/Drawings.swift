import Dispatch
import Glibc
import Synchronization

/// A picture that exists on an image host: what is on it and how many bytes it has.
struct Picture: Sendable {
    /// Its name among all pictures of the service.
    let path: String
    let pixels: PixelSize
    /// Of the whole file; decided before it is drawn, so that HEAD costs nothing.
    var bytes: Int
    /// Unix seconds.
    let modified: Int64
    let content: Content
    /// Whether the host answers 500 for it, always.
    var isBroken = false
    let drawings: Drawings

    /// How its bytes are made.
    enum Content: Sendable {
        case drawn(PictureSubject, Format)
        /// An archive of frames, each of so many bytes.
        case archive(PictureSubject, lengths: [Int])
        case model(DrawnModel, ModelFile)
        case film
    }

    /// What the answer calls it.
    var mediaType: String {
        switch content {
        case .drawn(_, let format): format.mediaType
        case .archive: Format.zip.mediaType
        case .model(_, let file): Model.all[file.model].format.mediaType
        case .film: Format.webm.mediaType
        }
    }

    /// The bytes, drawn now if need be; nil without memory.
    func file() -> PictureFile? {
        switch content {
        case .model(let model, let file): model.file(file)
        case .film: PictureFile(.webm, head: PackageResources.film_webm)
        case .drawn, .archive: drawings.file(of: self)
        }
    }
}

/// What a picture shows; every rendition of a page shows the same.
struct PictureSubject: Hashable, Sendable {
    /// Decides the scene and its colours.
    let scene: UInt64
    /// `12` for the twelfth of a ranking; only what ``Canvas`` has signs for is seen.
    var label = ""
    /// Counted from 0.
    var page = 0
    var pageCount = 1
    /// Which frame of an animation is shown, counted from 0, of how many; nil for what does not move.
    var frame: Int?
    var frames = 1

    /// The same with another frame.
    func at(_ frame: Int, of frames: Int) -> PictureSubject {
        var subject = self
        subject.frame = frame
        subject.frames = frames
        return subject
    }
}

/// Keeps the drawn parts of recent pictures, so that ranges and repeated requests do not draw again.
///
/// ## Concurrency
/// Called from any thread. The table is guarded by its lock; each picture is drawn once, under a lock of its own, and at most two at a
/// time: more would not be faster on the small machines that tests run on, and an original takes tens of megabytes meanwhile.
final class Drawings: Sendable {
    private final class Place: Sendable {
        let file = Mutex<PictureFile?>(nil)
    }

    private let kept = Mutex<(places: [String: Place], cost: Int)>(([:], 0))
    private let turns = DispatchSemaphore(value: 2)

    /// Bytes kept; some 400 pictures of 1200 pixels; all are dropped when there are more.
    private static let budget = 64 << 20

    /// The file of a picture that is drawn; nil only without memory.
    func file(of picture: Picture) -> PictureFile? {
        let place = kept.withLock { kept in
            if kept.cost > Self.budget { kept = ([:], 0) }
            let place = kept.places[picture.path] ?? Place()
            kept.places[picture.path] = place
            return place
        }
        return place.file.withLock { file in
            if let file { return file }
            turns.wait()
            defer { turns.signal() }
            file = Self.draw(picture)
            let cost = file?.cost ?? 0
            kept.withLock { $0.cost += cost }
            return file
        }
    }

    private static func draw(_ picture: Picture) -> PictureFile? {
        switch picture.content {
        case .drawn(let subject, let format):
            return Scene.file(subject, picture.pixels, format, bytes: picture.bytes, path: picture.path)
        case .archive(let subject, let lengths):
            var chance = Chance(subject.scene, text: picture.path)
            return Archive.file(subject, picture.pixels, lengths: lengths, salt: chance.next())
                .map { PictureFile(.zip, head: $0) }
        case .model, .film: return nil
        }
    }
}

/// How large the files of a kind of rendition are.
///
/// Log-normal, like the sizes that pixiv was seen to have: of the 500 first pages of a day, 49 % were under 1 MB and 20 over 10 MB.
enum Weight: Sendable {
    /// Renditions of 1200 pixels, and these where benchmarks ask for the sizes of originals: 1.5 MB on average.
    case regular, large
    /// Previews of 240 pixels and more.
    case preview
    case square
    case original(Format)
    case frame

    /// The bytes of a picture: a pure function of the seed, its path and its pixels.
    func bytes(seed: UInt64, path: String, _ pixels: PixelSize) -> Int {
        var chance = Chance(seed ^ 0x51, text: path)
        let area = Double(pixels.width * pixels.height)
        let (median, sigma, bounds) = distribution(area, isTiny: pixels.width <= 128)
        // One frame: what the flattest drawing needs, and a little more for each.
        if case .frame = self { return bounds.lowerBound + chance.below(8_000) }
        // Box and Muller's transformation of two even draws.
        let radius = (-2 * log(1 - chance.unit())).squareRoot()
        let normal = radius * cos(2 * Double.pi * chance.unit())
        return min(max(Int(median * exp(sigma * normal)), bounds.lowerBound), bounds.upperBound)
    }

    private func distribution(_ area: Double, isTiny: Bool) -> (Double, Double, ClosedRange<Int>) {
        switch self {
        case .regular: return (320_000, 0.5, 100_000...900_000)
        case .large: return (1_050_000, 0.85, 100_000...12_000_000)
        case .preview: return (42_000, 0.35, 20_000...80_000)
        case .square: return isTiny ? (5_000, 0.2, 3_000...9_000) : (20_000, 0.35, 8_000...60_000)
        case .original(let format):
            // What the flattest drawing needs sets the floor.
            let least = max(300_000, Int(area * (format == .png ? 0.35 : 0.12)))
            let most = max(12_000_000, least)
            return format == .png ? (area * 0.6, 0.7, least...most) : (area * 0.22, 0.8, least...most)
        case .frame: return (0, 0, max(10_000, Int(area * 0.035))...Int.max)
        }
    }
}

/// The archive of an animation's frames: a ZIP whose entries are stored, not deflated (APPNOTE.TXT, 4.3).
///
/// Its length follows from the frames' lengths, so that HEAD costs nothing; a frame is a range of its bytes.
enum Archive {
    /// The name of a frame, counted from 0: `000000.jpg`.
    static func name(_ frame: Int) -> String { frame.padded(6) + ".jpg" }

    /// The length of the archive for frames of so many bytes each: two headers with names for each, and the end.
    static func length(_ lengths: [Int]) -> Int {
        lengths.reduce(22) { $0 + $1 + 30 + 46 + 2 * name(0).utf8.count }
    }

    /// Draws all frames and puts them together; nil only without memory.
    static func file(_ subject: PictureSubject, _ pixels: PixelSize, lengths: [Int], salt: UInt64) -> [UInt8]? {
        var file: [UInt8] = []
        var directory: [UInt8] = []
        for (index, length) in lengths.enumerated() {
            let frame = Scene.file(
                subject.at(index, of: lengths.count), pixels, .jpg, bytes: length, path: "\(salt)#\(index)")
            guard let frame else { return nil }
            var bytes: [UInt8] = []
            frame.append(0..<frame.length, to: &bytes)
            // Version 1.0, no flags, method 0, the first day that the format knows, checksum, lengths; no extra field.
            let common =
                10.little(2) + 0.little(6) + 0x21.little(2) + Int(Format.checksum(bytes)).little(4)
                + length.little(4) + length.little(4) + name(index).utf8.count.little(2) + 0.little(2)
            // Made by the same version as is needed; no comment, first disk, no attributes.
            directory += 0x0201_4b50.little(4) + 10.little(2) + common + 0.little(10) + file.count.little(4)
            directory += name(index).utf8
            file += 0x0403_4b50.little(4) + common
            file += name(index).utf8
            file += bytes
        }
        let count = lengths.count.little(2)
        let end = 0x0605_4b50.little(4) + 0.little(4) + count + count + directory.count.little(4)
        return file + directory + end + file.count.little(4) + 0.little(2)
    }
}
