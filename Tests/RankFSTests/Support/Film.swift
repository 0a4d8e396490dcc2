import Media
import Rankings

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
        archive = Self.packed(zip(record.frames.map(\.file), frames).map { ($0, $1) })
    }

    var listed: Work {
        var work = Workbench.work(77)
        work.kind = .animation
        return work
    }

    /// Files stored one behind the other (APPNOTE 4.3.7, 4.3.12, 4.3.16).
    static func packed(_ files: [(name: String, bytes: [UInt8])]) -> [UInt8] {
        var bytes: [UInt8] = []
        var directory: [UInt8] = []
        for file in files {
            let header = bytes.count
            let common =
                fields([(0, 2), (0, 2), (0, 4), (0, 4), (file.bytes.count, 4), (file.bytes.count, 4)])
                + fields([(file.name.utf8.count, 2), (0, 2)])
            bytes += [0x50, 0x4B, 3, 4] + fields([(10, 2)]) + common + file.name.utf8 + file.bytes
            directory += [0x50, 0x4B, 1, 2] + fields([(20, 2), (10, 2)]) + common
            directory += fields([(0, 2), (0, 2), (0, 2), (0, 4), (header, 4)]) + file.name.utf8
        }
        let end = fields([
            (0, 2), (0, 2), (files.count, 2), (files.count, 2), (directory.count, 4), (bytes.count, 4), (0, 2),
        ])
        return bytes + directory + [0x50, 0x4B, 5, 6] + end
    }

    private static func fields(_ fields: [(value: Int, bytes: Int)]) -> [UInt8] {
        fields.flatMap { field in (0..<field.bytes).map { UInt8(truncatingIfNeeded: field.value >> (8 * $0)) } }
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
