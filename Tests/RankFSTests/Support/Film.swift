import Media
import Rankings
import TestSupport

/// A short animation: an archive as the service makes them, and its record.
struct Film {
    let work = WorkID(rawValue: 77)
    private(set) var frames: [[UInt8]] = []
    private(set) var archive: [UInt8] = []
    let record: AnimationRecord

    init(count: Int) throws {
        struct NoMemory: Error {}
        for index in 0..<count {
            var pixels = Pixels(width: 64, height: 48, filledWith: 90)
            for x in 0..<8 { for y in 0..<8 { pixels.set(x + 8 * index, y + 8, red: 255, green: 200, blue: 10) } }
            guard let frame = JPEG.encode(pixels, quality: 90) else { throw NoMemory() }
            frames.append(frame)
        }
        record = AnimationRecord(
            archive: "77.zip", frames: (0..<count).map { .init(file: "00000\($0).jpg", delay: 40 + $0 * 10) })
        archive = StoredArchive.packed(zip(record.frames.map(\.file), frames).map { ($0, $1) })
    }

    var listed: Work {
        var work = Workbench.work(77)
        work.kind = .animation
        return work
    }
}

extension Workbench {
    /// Puts an animation into the service and its image host.
    func add(_ film: Film) {
        source.set { state in
            state.records[film.work] = film.listed
            state.animations[film.work] = film.record
        }
        host.setFile(film.record.archive, film.archive)
    }
}
