import Glibc
import ImageCache
import System
import Rankings
import Render

/// An animation laid out as one Matroska file; its frames are read from the archive on request.
///
/// ## Concurrency
///
/// Any thread may call any method at any time.
final class AnimationFile: Sendable {
    let layout: FilmLayout
    /// The range of each frame in the archive.
    private let frames: [Range<Int64>]
    let archive: OpenPicture
    /// The version of the file: layouts differ with the work's title, and with the upload.
    let version: PictureVersion
    /// The length of the archive, in bytes.
    private let length: Int64

    /// How often the renderer may request more of the archive: its end, its directory, headers, and twice for the first frame.
    private static let mostRounds = 6

    /// Takes over the open archive, also when it throws.
    ///
    /// Reads only the archive's directory at its end and the beginning of its first frame.
    init(
        _ archive: OpenPicture, length: Int64, record: AnimationRecord, title: String, renderer: any Rendering
    ) async throws(Failure) {
        self.archive = archive
        self.length = length
        do throws(Failure) {
            let film = try await Self.film(record.renderFrames, title, archive, length, renderer)
            layout = film.layout
            frames = film.frames
            version = PictureVersion(of: [AnyHashable(film.layout), AnyHashable(archive.picture)])
        } catch {
            archive.close()
            throw error
        }
    }

    /// Returns bytes of the Matroska file: exactly `count`, or up to its end.
    func bytes(offset: Int64, count: Int) async throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for part in layout.pieces(covering: offset..<offset + Int64(count)) {
            switch part {
            case .literal(let literal): bytes += literal
            case .frame(let index, let range):
                bytes += try await Self.read(
                    archive, frames[index].lowerBound + range.lowerBound, count: range.count)
            }
        }
        return bytes
    }

    /// Returns the complete archive once it is stored: a read-only file, and the range of the archive in it.
    func wholeArchive() async throws(Failure) -> (file: OpenFile, place: Range<Int64>) {
        let found = try await archive.bytes(offset: 0, count: Int(length))
        guard case .file(let file, let place, let count, _) = found, count == length else {
            throw .damaged("the archive ends before its announced length")
        }
        let open = try file.picture()
        // The cache may have opened the file for writing.
        let descriptor = withExtendedLifetime(open) {
            Descriptors.own.open("/proc/self/fd/\(open.descriptor)", O_RDONLY)
        }
        guard descriptor >= 0 else {
            if let lack = SystemError.last().lackOfDescriptors { throw .exhausted(lack) }
            throw .unusable("a stored archive cannot be opened; check the disk")
        }
        return (OpenFile(owning: descriptor), place..<place + length)
    }

    func close() {
        archive.close()
    }

    // MARK: - Reading the archive

    /// Lays out the film, and reads the parts of the archive that the renderer requests until that is done.
    private static func film(
        _ frames: [RenderJob.Frame], _ title: String, _ archive: OpenPicture, _ length: Int64,
        _ renderer: any Rendering
    ) async throws(Failure) -> Film {
        var stretches: [Int64: [UInt8]] = [:]
        for _ in 0..<mostRounds {
            let job = RenderJob.film(frames: frames, title: title, length: length, stretches: stretches)
            let answer: RenderAnswer
            do throws(MediaError) { answer = try await renderer.perform(job, with: nil) } catch {
                throw .unusable(error.text)
            }
            switch answer {
            case .film(let film): return film
            case .needs(let ranges):
                guard ranges.reduce(0, { $0 + $1.count }) <= RenderJob.longest / 2 else { throw tooMuch }
                for range in ranges {
                    stretches[range.lowerBound] = try await read(archive, range.lowerBound, count: range.count)
                }
            case .files, .refused: throw tooMuch
            }
        }
        throw tooMuch
    }

    private static let tooMuch = Failure.unusable(
        MediaError.archive("finding its frames takes too much of it").text)

    private static func read(_ archive: OpenPicture, _ offset: Int64, count: Int) async throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let found = try await archive.bytes(offset: offset + Int64(bytes.count), count: count - bytes.count)
            guard case .file(let file, let place, let length, _) = found, length > 0 else {
                throw .damaged("the archive ends before its announced length")
            }
            let open = try file.picture()
            defer { withExtendedLifetime(open) {} }
            guard let part = try? Files.read(open.descriptor, at: place, count: length), part.count == length else {
                throw .unusable("a stored archive cannot be read; check the disk")
            }
            bytes += part
        }
        return bytes
    }
}

extension AnimationRecord {
    /// The frames in the form of a job.
    var renderFrames: [RenderJob.Frame] {
        frames.map { RenderJob.Frame(file: $0.file, delay: $0.delay) }
    }
}
