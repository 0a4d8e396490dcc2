import Dispatch
import Glibc
import Synchronization

/// A picture that exists on an image host.
struct Picture: Sendable {
    let format: Format
    let pixels: PixelSize
    /// The length of the whole file; decided before it is drawn, so that HEAD costs nothing.
    let bytes: Int
    /// The date of modification in Unix seconds.
    let modified: Int64
    /// Whether the host always answers 500 for it.
    var isBroken = false
    /// The file, drawn on demand; nil if memory is short.
    let file: @Sendable () -> [UInt8]?
}

/// A store of values that take long to make, so that ranges and repeated requests do not make them again.
///
/// ## Concurrency
/// Called from any thread. The table is guarded by its lock; each value is made once, under a lock of its own, and at most two at a
/// time: more would not be faster on the small machines that tests run on, and an original takes tens of megabytes meanwhile.
final class Kept<Value: Sendable>: Sendable {
    private final class Place: Sendable {
        let value = Mutex<Value?>(nil)
    }

    private let kept = Mutex<(places: [String: Place], cost: Int)>(([:], 0))
    private let turns = DispatchSemaphore(value: 2)
    private let budget: Int

    /// Creates an empty store; all values are dropped when they cost more than the budget.
    init(budget: Int = .max) {
        self.budget = budget
    }

    /// The value of a key; nil only if it cannot be made.
    func value(_ key: String, cost: (Value) -> Int = { _ in 0 }, make: () -> Value?) -> Value? {
        let place = kept.withLock { kept in
            if kept.cost > budget { kept = ([:], 0) }
            let place = kept.places[key] ?? Place()
            kept.places[key] = place
            return place
        }
        return place.value.withLock { value in
            if let value { return value }
            turns.wait()
            value = make()
            turns.signal()
            let added = value.map(cost) ?? 0
            kept.withLock { $0.cost += added }
            return value
        }
    }
}

/// The distribution of the file sizes of a kind of rendition.
///
/// Log-normal, like the sizes observed on pixiv: of the 500 first pages of a day, 49 % were under 1 MB and 20 over 10 MB.
struct Weight: Sendable {
    let median: Double
    let sigma: Double
    let bounds: ClosedRange<Int>

    /// Renditions of 1200 pixels, and the same with the sizes of originals for benchmarks: 1.5 MB on average.
    static let regular = Weight(median: 320_000, sigma: 0.5, bounds: 100_000...900_000)
    static let large = Weight(median: 1_050_000, sigma: 0.85, bounds: 100_000...12_000_000)
    /// Previews of 240 pixels and more, squares, and smaller squares.
    static let preview = Weight(median: 42_000, sigma: 0.35, bounds: 20_000...80_000)
    static let square = Weight(median: 20_000, sigma: 0.35, bounds: 8_000...60_000)
    static let tiny = Weight(median: 5_000, sigma: 0.2, bounds: 3_000...9_000)

    /// Originals; the size of the flattest drawing is the lower bound.
    static func original(_ format: Format, _ pixels: PixelSize) -> Weight {
        let area = Double(pixels.width * pixels.height)
        let least = max(300_000, Int(area * (format == .png ? 0.35 : 0.12)))
        let (median, sigma) = format == .png ? (area * 0.6, 0.7) : (area * 0.22, 0.8)
        return Weight(median: median, sigma: sigma, bounds: least...max(12_000_000, least))
    }

    /// One frame: the size of the flattest drawing, and a little more.
    static func frame(_ pixels: PixelSize) -> Weight {
        let least = max(10_000, pixels.width * pixels.height * 7 / 200)
        return Weight(median: Double(least) + 4_000, sigma: 0.2, bounds: least...least + 8_000)
    }

    /// The length of a picture in bytes: a pure function of the seed and its path.
    func bytes(_ seed: UInt64, _ path: String) -> Int {
        var chance = Chance(seed ^ 0x51, text: path)
        // Box and Muller's transformation of two even draws.
        let radius = (-2 * log(1 - chance.unit())).squareRoot()
        let normal = radius * cos(2 * Double.pi * chance.unit())
        return min(max(Int(median * exp(sigma * normal)), bounds.lowerBound), bounds.upperBound)
    }
}

/// The archive of an animation's frames: a ZIP whose entries are stored, not deflated (APPNOTE.TXT, 4.3).
///
/// The length follows from the frames' lengths, so that HEAD costs nothing; a frame is a range of the bytes.
enum Archive {
    /// The name of a frame, counted from 0: `000000.jpg`.
    static func name(_ frame: Int) -> String { frame.padded(6) + ".jpg" }

    /// The length of the archive for frames of the given lengths in bytes: two headers with names for each, and the end.
    static func length(_ lengths: [Int]) -> Int {
        lengths.reduce(22) { $0 + $1 + 30 + 46 + 2 * name(0).utf8.count }
    }

    /// Draws all frames and joins them; nil only if memory is short.
    static func file(_ subject: PictureSubject, _ pixels: PixelSize, lengths: [Int]) -> [UInt8]? {
        var (file, directory): ([UInt8], [UInt8]) = ([], [])
        for (index, length) in lengths.enumerated() {
            let drawn = Scene.file(subject.at(index, of: lengths.count), pixels, .jpg, upTo: length)
            guard let frame = drawn.flatMap({ Format.jpg.padded($0, to: length, salt: UInt64(index)) }) else {
                return nil
            }
            // Version 1.0, no flags, method 0, the first day of the format's calendar, checksum, lengths; no extra field.
            let common =
                10.little(2) + 0.little(6) + 0x21.little(2) + Int(Format.checksum(frame)).little(4)
                + length.little(4) + length.little(4) + name(index).utf8.count.little(2) + 0.little(2)
            // Made by the same version as is needed; no comment, first disk, no attributes.
            directory += 0x0201_4b50.little(4) + 10.little(2) + common + 0.little(10) + file.count.little(4)
            directory += name(index).utf8
            file += 0x0403_4b50.little(4) + common + name(index).utf8 + frame
        }
        let count = lengths.count.little(2)
        let end = 0x0605_4b50.little(4) + 0.little(4) + count + count + directory.count.little(4)
        return file + directory + end + file.count.little(4) + 0.little(2)
    }
}
