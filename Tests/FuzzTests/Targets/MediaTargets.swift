@testable import Media
@testable import Render
@testable import RankFS

/// Pictures and archives, read by libraries in C.
extension FuzzTarget {
    static let media: [FuzzTarget] = [
        FuzzTarget(name: "zip", longest: 4096, seeds: []) { bytes in
            let length = Int64(bytes.count)
            let tail = Array(bytes.suffix(Int(ZipArchive.tailLength)))
            guard let place = try? ZipArchive.directoryPlace(inTail: tail, length: length) else { return }
            try hold(place.lowerBound >= 0 && place.upperBound <= length, "the directory lies outside")
            let directory = Array(bytes[Int(place.lowerBound)..<Int(place.upperBound)])
            guard let archive = try? ZipArchive(directory: directory, at: place) else { return }
            var end: Int64 = 0
            for entry in archive.entries {
                try hold(entry.header >= end && entry.end <= place.lowerBound, "files overlap or lie outside")
                end = entry.end
                if let data = archive.data(of: entry) {
                    try hold(data.lowerBound > entry.header && data.upperBound <= entry.end, "data lie outside")
                    _ = JPEG.size(of: Array(bytes[Int(data.lowerBound)..<Int(data.upperBound)]))
                }
                let header = Array(bytes[Int(entry.header)...].prefix(Int(ZipArchive.localHeaderLength)))
                if let begin = try? archive.dataOffset(of: entry, localHeader: header) {
                    try hold(begin > entry.header && begin + entry.size <= entry.end, "data lie outside")
                }
            }
            try holdFilm(archive, delays: bytes)
        },
        FuzzTarget(name: "jpeg", longest: 16_384, seeds: []) { bytes in
            _ = JPEG.size(of: bytes)
            // As previews are read (ThumbnailMaker), with fewer pixels so that more is tried in a minute.
            guard let decoded = try? JPEG.decode(bytes, limit: mostPixels, covering: 256) else { return }
            try hold(decoded.width > 0 && decoded.height > 0, "a picture without pixels")
            try hold(decoded.bytes.count == decoded.height * decoded.stride, "rows are missing")
            for edge in [256, 128] {
                let small = decoded.fitted(within: edge)
                try hold(max(small.width, small.height) <= edge, "a thumbnail is larger than its square")
                guard let png = small.png() else { throw BrokenProperty(description: "no PNG was made") }
                try hold(PNG.texts(of: png) == [:], "a new PNG has texts")
            }
        },
        FuzzTarget(name: "webp", longest: 8192, seeds: ["FuzzTests/Corpus/jpeg"]) { bytes in
            // Two frames of one animation, cut apart where the second picture begins.
            let start = bytes.indices.dropFirst(2).last { bytes[$0...].starts(with: [0xFF, 0xD8, 0xFF]) } ?? 0
            let frames = [Array(bytes[..<start]), Array(bytes[start...])].filter { !$0.isEmpty }
            let delays = frames.indices.map { Int(bytes[$0]) * 100 - 1000 }
            let bound = 64 << 10
            for frame in frames {
                // Compressing many pixels only takes time.
                if let size = JPEG.size(of: frame), size.width * size.height > 4096 { return }
            }
            for (format, beginning) in [(RenderJob.AnimationFormat.webP, "RIFF"), (.gif, "GIF89a")] {
                let file = try? AnimatedPicture.encode(as: format, delays: delays, bound: bound) { frames[$0] }
                if let file {
                    try hold(
                        file.count <= bound && file.starts(with: beginning.utf8), "no animation, or too large a one")
                }
            }
        },
        FuzzTarget(name: "png", longest: 2048, seeds: []) { bytes in
            let thumbnail = Thumbnail(uri: "file:///home/あ.jpg", size: .normal, modified: 1_651_244_415, length: 7)
            _ = thumbnail.isValid(bytes)
            _ = Thumbnail.isOwn(bytes, named: "/t/normal/a.png")
            guard let file = thumbnail.file(of: bytes) else { return }
            try hold(thumbnail.isValid(file), "a thumbnail that is not valid")
            try hold(file.count <= bytes.count + 512, "texts of nobody")
        },
        FuzzTarget(name: "answer", longest: 4096, seeds: []) { bytes in
            let film = RenderJob.film(
                frames: [.init(file: "0.jpg", delay: 40)], title: "", length: 1000, stretches: [:])
            for job in [film, .thumbnails(preview: [], edges: [256, 128])] {
                switch RenderAnswer(message: bytes, to: job) {
                case .film(let film):
                    try hold(film.frames.allSatisfy { $0.upperBound <= 1000 }, "a frame outside of the archive")
                    let parts = film.layout.pieces(covering: 0..<Int64.max)
                    try hold(
                        parts.reduce(0) { $0 + $1.length } == film.layout.length, "a film is not as long as it says")
                case .needs(let ranges): try hold(ranges.allSatisfy { $0.upperBound <= 1000 }, "more than there is")
                case .files(let files): try hold(files.count == 2, "not as many files as asked for")
                case .refused, nil: break
                }
            }
            _ = RenderJob(message: bytes)
            _ = Protection(greeting: bytes)
        },
    ]

    private static let mostPixels = 1 << 18

    /// A film of an archive's files has every byte once, in whatever pieces it is read.
    private static func holdFilm(_ archive: ZipArchive, delays: [UInt8]) throws {
        let frames = archive.entries.enumerated().map { index, entry in
            (size: entry.size, delay: Int(delays[index % delays.count]) * 3 - 100)
        }
        guard let film = try? FilmLayout(width: 640, height: 480, frames: frames, title: "あ") else { return }
        let whole = film.pieces(covering: 0..<film.length)
        try hold(whole.reduce(0) { $0 + $1.length } == film.length, "a film is not as long as it says")
        for start in stride(from: 0, to: film.length, by: Int(max(1, film.length / 7))) {
            let end = min(start + 100, film.length)
            let part = film.pieces(covering: start..<end)
            try hold(part.reduce(0) { $0 + $1.length } == end - start, "a part of a film is not as long as asked")
        }
        _ = film.pieces(covering: film.length..<Int64.max)
    }
}
