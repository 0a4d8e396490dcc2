package import Render
internal import System

/// Does the jobs of `Render`, in the process made for them.
///
/// ## Concurrency
///
/// One job at a time keeps its thread busy until it is done.
package enum RenderWorker {
    /// The most pixels of a preview that is decoded: twice those of the largest that the service makes.
    private static let mostPixels = 1 << 20

    /// Does a job.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - descriptor: The file that came with the job.
    /// - Returns: The result.
    package static func perform(_ job: RenderJob, on descriptor: Int32?) -> RenderAnswer {
        do throws(MediaError) {
            switch job {
            case .thumbnails(let preview, let edges): return .files(try thumbnails(of: preview, edges))
            case .film(let frames, let title, let length, let stretches):
                return try film(frames, title, length, stretches)
            case .animation(let format, let frames, let place, let bound):
                return .files([try animation(format, frames, in: place, of: descriptor ?? -1, bound: bound)])
            }
        } catch { return .refused(error) }
    }

    /// Uses each library once.
    package static func warmUp() {
        let pixels = Pixels(width: 16, height: 16)
        guard let frame = JPEG.encode(pixels, quality: 80) else { return }
        _ = try? thumbnails(of: frame, [8])
        _ = try? AnimatedPicture.encode(as: .webP, delays: [10], bound: 1 << 16) { _ in frame }
    }

    /// Returns a preview within each square.
    private static func thumbnails(of preview: [UInt8], _ edges: [Int]) throws(MediaError) -> [[UInt8]] {
        guard let largest = edges.max(), edges.allSatisfy((1...FrameLimits.longestSide).contains) else { return [] }
        let decoded = try JPEG.decode(preview, limit: mostPixels, covering: largest)
        // The smaller thumbnail is made from the larger: a fifth of the time, without a visible difference.
        let pixels = decoded.fitted(within: largest)
        var files: [[UInt8]] = []
        for edge in edges {
            guard let file = pixels.fitted(within: edge).png() else { throw .noMemory }
            files.append(file)
        }
        return files
    }

    // MARK: - Animations

    private static func film(
        _ frames: [RenderJob.Frame], _ title: String, _ length: Int64, _ stretches: [Int64: [UInt8]]
    ) throws(MediaError) -> RenderAnswer {
        let found = try FramePlaces.find(frames.map(\.file), inArchiveOf: length) { bytes(of: $0, in: stretches) }
        switch found {
        case .needs(let ranges): return .needs(ranges)
        case .places(let places):
            let shown = zip(places.frames, frames).map { (size: Int64($0.count), delay: $1.delay) }
            let layout = try FilmLayout(width: places.width, height: places.height, frames: shown, title: title)
            guard let film = Film(pieces: layout.layout, frames: places.frames, archive: length) else {
                throw .animation("its title is too long")
            }
            return .film(film)
        }
    }

    /// Returns bytes of the archive; nil unless one known stretch contains them all.
    private static func bytes(of wanted: Range<Int64>, in stretches: [Int64: [UInt8]]) -> [UInt8]? {
        for (offset, bytes) in stretches where offset <= wanted.lowerBound {
            let (begin, isTooFar) = wanted.lowerBound.subtractingReportingOverflow(offset)
            guard !isTooFar, begin <= bytes.count, wanted.count <= bytes.count - Int(begin) else { continue }
            return Array(bytes[Int(begin)..<Int(begin) + wanted.count])
        }
        return nil
    }

    private static func animation(
        _ format: RenderJob.AnimationFormat, _ frames: [RenderJob.Frame], in place: Range<Int64>, of descriptor: Int32,
        bound: Int
    ) throws(MediaError) -> [UInt8] {
        func bytes(_ wanted: Range<Int64>) throws(MediaError) -> [UInt8] {
            guard wanted.lowerBound >= 0, wanted.upperBound <= place.count else { throw .archive("it ends too early") }
            let start = place.lowerBound + wanted.lowerBound
            guard let bytes = try? Files.read(descriptor, at: start, count: wanted.count), bytes.count == wanted.count
            else { throw .archive("it cannot be read") }
            return bytes
        }
        let found = try FramePlaces.find(frames.map(\.file), inArchiveOf: Int64(place.count)) {
            wanted throws(MediaError) in try bytes(wanted)
        }
        guard case .places(let places) = found else { throw .archive("it ends too early") }
        // The frames make up nearly the whole file.
        guard places.frames.reduce(Int64(0), { $0 + Int64($1.count) }) <= bound else { throw .tooLarge(bound: bound) }
        do {
            return try AnimatedPicture.encode(as: format, delays: frames.map(\.delay), bound: bound) { index in
                try bytes(places.frames[index])
            }
        } catch { throw error as? MediaError ?? .noMemory }
    }
}
