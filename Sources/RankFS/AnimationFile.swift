import Glibc
import ImageCache
import Media
import Rankings

/// An animation whose frames are read from its archive as they are asked for, laid out as one Matroska file.
///
/// ## Concurrency
///
/// Any thread may call any method at any time.
final class AnimationFile: Sendable {
    let layout: Matroska.Layout
    /// Where each frame lies in the archive.
    private let frames: [Range<Int64>]
    private let archive: OpenPicture

    /// Takes over the open archive, also when it throws.
    ///
    /// Reads the archive's directory at its end and the beginning of its first frame, nothing else.
    init(_ archive: OpenPicture, length: Int64, record: AnimationRecord, title: String) async throws(Failure) {
        self.archive = archive
        do throws(Failure) {
            let archived = try await Self.directory(of: archive, length: length)
            var frames: [Range<Int64>] = []
            for frame in record.frames {
                guard let entry = archived.entry(named: frame.file) else {
                    throw .media(.archive("it lacks the frame \(frame.file)"))
                }
                frames.append(try await Self.data(of: entry, archived, archive))
            }
            guard let first = frames.first, let size = try await Self.size(ofFrame: first, archive) else {
                throw .media(.picture("the first frame does not tell its size"))
            }
            self.frames = frames
            do throws(MediaError) {
                layout = try Matroska.Layout(
                    width: size.width, height: size.height,
                    frames: zip(frames, record.frames).map { (size: Int64($0.count), delay: $1.delay) }, title: title)
            } catch { throw .media(error) }
        } catch {
            archive.close()
            throw error
        }
    }

    /// Bytes of the Matroska file: exactly `count`, or up to its end.
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

    /// The JPEG of a frame.
    func frame(_ index: Int) async throws(Failure) -> [UInt8] {
        try await Self.read(archive, frames[index].lowerBound, count: frames[index].count)
    }

    func close() {
        archive.close()
    }

    // MARK: - Reading the archive

    private static func directory(of archive: OpenPicture, length: Int64) async throws(Failure) -> ZipArchive {
        let start = max(0, length - ZipArchive.tailLength)
        let tail = try await read(archive, start, count: Int(length - start))
        let place = try made { () throws(MediaError) in
            try ZipArchive.directoryPlace(inTail: tail, length: length)
        }
        let bytes =
            place.lowerBound >= start
            ? Array(tail[Int(place.lowerBound - start)..<Int(place.upperBound - start)])
            : try await read(archive, place.lowerBound, count: place.count)
        return try made { () throws(MediaError) in try ZipArchive(directory: bytes, at: place) }
    }

    private static func data(
        of entry: ZipArchive.Entry, _ zip: ZipArchive, _ archive: OpenPicture
    ) async throws(Failure) -> Range<Int64> {
        if let range = zip.data(of: entry) { return range }
        let header = try await read(archive, entry.header, count: Int(ZipArchive.localHeaderLength))
        let start = try made { () throws(MediaError) in try zip.dataOffset(of: entry, localHeader: header) }
        return start..<start + entry.size
    }

    private static func made<Value>(_ make: () throws(MediaError) -> Value) throws(Failure) -> Value {
        do throws(MediaError) { return try make() } catch { throw .media(error) }
    }

    /// The pixels of a frame, from as little of it as tells them.
    private static func size(
        ofFrame frame: Range<Int64>, _ archive: OpenPicture
    ) async throws(Failure) -> (width: Int, height: Int)? {
        let beginning = try await read(archive, frame.lowerBound, count: min(frame.count, beginningLength))
        if let size = JPEG.size(of: beginning) { return size }
        return JPEG.size(of: try await read(archive, frame.lowerBound, count: frame.count))
    }

    /// Tables stand in front of a frame's size, 600 bytes as a rule; a thumbnail would fit too.
    private static let beginningLength = 32 << 10

    private static func read(_ archive: OpenPicture, _ offset: Int64, count: Int) async throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            let found: PictureBytes
            do throws(ImageCacheError) {
                found = try await archive.bytes(offset: offset + Int64(bytes.count), count: count - bytes.count)
            } catch { throw .picture(error) }
            guard case .file(let file, let place, let length) = found, length > 0 else {
                throw .picture(.damaged("the archive ends before its announced length"))
            }
            bytes += try copy(file, place, length)
        }
        return bytes
    }

    private static func copy(_ file: StoredFile, _ place: Int64, _ count: Int) throws(Failure) -> [UInt8] {
        var done = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while done < count {
                let got = unsafe pread(
                    file.descriptor, buffer.baseAddress.map { unsafe $0 + done }, count - done, Int(place) + done)
                guard got > 0 else { break }
                done += got
            }
            filled = done
        }
        guard done == count else { throw .picture(.unusable("a stored archive cannot be read; check the disk")) }
        return bytes
    }
}
