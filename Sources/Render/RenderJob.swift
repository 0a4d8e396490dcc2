internal import System

/// A job of the process that decodes pictures.
package enum RenderJob: Hashable, Sendable {
    /// Makes a small preview into PNG files without texts, each within a square of the edge in pixels.
    case thumbnails(preview: [UInt8], edges: [Int])
    /// Computes the film that an animation's frames, as they lie in their archive, make up: of an archive of `length` bytes, of which
    /// the stretches read so far are known, by their offsets.
    case film(frames: [Frame], title: String, length: Int64, stretches: [Int64: [UInt8]])
    /// Makes the same frames into one file that picture viewers show, of at most `bound` bytes; the archive lies in a range of the file
    /// that comes with the job as a descriptor.
    case animation(AnimationFormat, frames: [Frame], place: Range<Int64>, bound: Int)

    /// The format of the file made from frames.
    package enum AnimationFormat: Int64, Hashable, Sendable {
        case webP = 1
        case gif = 2
    }

    /// A frame of an animation, as its record describes it.
    package struct Frame: Hashable, Sendable {
        /// Its file in the archive.
        package var file: String
        /// The time that it is shown, in milliseconds.
        package var delay: Int

        package init(file: String, delay: Int) {
            self.file = file
            self.delay = delay
        }
    }

    /// The most bytes of a job's message: a preview, or the stretches of an archive.
    package static let longest = 16 << 20

    /// Whether the job may take minutes.
    package var isLong: Bool {
        if case .animation = self { true } else { false }
    }

    /// The longest time that it may take: for each frame of an animation 2 s, some ten times what one of 1920 x 1080 pixels takes.
    var patience: Duration {
        guard case .animation(_, let frames, _, _) = self else { return .seconds(15) }
        return .seconds(min(15 + 2 * frames.count, 600))
    }

    /// The most bytes of an answer's message.
    package var longestAnswer: Int {
        switch self {
        case .thumbnails(_, let edges): edges.reduce(4096) { $0 + $1 * $1 * 4 + 4096 }
        case .film: Film.longestLiterals + (4096 + Film.mostPieces * 32)
        case .animation(_, _, _, let bound): bound + 4096
        }
    }
}

/// The answer of the process.
package enum RenderAnswer: Hashable, Sendable {
    /// The files of the job, in the requested order, or one file.
    case files([[UInt8]])
    case film(Film)
    /// The stretches of the archive that must be known first.
    case needs([Range<Int64>])
    case refused(MediaError)
}

// MARK: - Messages

extension RenderJob {
    private enum Kind: Int64 { case thumbnails = 1, film, animation }

    /// The job as a message.
    package var message: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .thumbnails(let preview, let edges):
            writer.write(Kind.thumbnails.rawValue)
            writer.write(preview)
            writer.write(edges) { $0.write(Int64($1)) }
        case .film(let frames, let title, let length, let stretches):
            writer.write(Kind.film.rawValue)
            Self.write(frames, to: &writer)
            writer.write(title)
            writer.write(length)
            writer.write(stretches.sorted { $0.key < $1.key }) { writer, stretch in
                writer.write(stretch.key)
                writer.write(stretch.value)
            }
        case .animation(let format, let frames, let place, let bound):
            writer.write(Kind.animation.rawValue)
            writer.write(format.rawValue)
            Self.write(frames, to: &writer)
            writer.write(place)
            writer.write(Int64(bound))
        }
        return writer.bytes
    }

    private static func write(_ frames: [Frame], to writer: inout ByteWriter) {
        writer.write(frames) { writer, frame in
            writer.write(frame.file)
            writer.write(Int64(frame.delay))
        }
    }

    /// Reads a message; nil if it is no job.
    package init?(message: [UInt8]) {
        var reader = ByteReader(message)
        switch reader.number().flatMap(Kind.init) {
        case .thumbnails:
            guard let preview = reader.data(), let edges = reader.list({ $0.count() }) else { return nil }
            self = .thumbnails(preview: preview, edges: edges)
        case .film:
            guard let frames = Self.frames(&reader), let title = reader.text(), let length = reader.number(),
                let stretches = reader.list({ reader in
                    reader.number().flatMap { offset in reader.data().map { (offset, $0) } }
                })
            else { return nil }
            self = .film(
                frames: frames, title: title, length: length, stretches: Dictionary(stretches) { _, last in last })
        case .animation:
            guard let format = reader.number().flatMap(AnimationFormat.init), let frames = Self.frames(&reader),
                let place = reader.range(), let bound = reader.count()
            else { return nil }
            self = .animation(format, frames: frames, place: place, bound: bound)
        case nil: return nil
        }
        guard reader.isAtEnd else { return nil }
    }

    private static func frames(_ reader: inout ByteReader) -> [Frame]? {
        reader.list { reader in
            guard let file = reader.text(), let delay = reader.number().flatMap({ Int(exactly: $0) }) else {
                return nil
            }
            return Frame(file: file, delay: delay)
        }
    }
}

extension RenderAnswer {
    private enum Kind: Int64 { case files = 1, film, needs, refused }

    /// The value in place of a frame's index.
    private static let literal: Int64 = -1
    /// The most stretches of an archive in one answer: one for each frame, and one more.
    private static let mostNeeds = Film.mostFrames + 1

    /// The answer as a message.
    package var message: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .files(let files):
            writer.write(Kind.files.rawValue)
            writer.write(files) { $0.write($1) }
        case .film(let film):
            writer.write(Kind.film.rawValue)
            writer.write(film.frames) { $0.write($1) }
            writer.write(film.layout.layout) { writer, piece in
                switch piece {
                case .literal(let bytes):
                    writer.write(Self.literal)
                    writer.write(Array(bytes))
                case .frame(let index, _): writer.write(Int64(index))
                }
            }
        case .needs(let ranges):
            writer.write(Kind.needs.rawValue)
            writer.write(ranges) { $0.write($1) }
        case .refused(let error):
            writer.write(Kind.refused.rawValue)
            let (code, bound, text) = error.written
            writer.write(code)
            writer.write(Int64(bound))
            writer.write(text)
        }
        return writer.bytes
    }

    /// Reads the answer to a job.
    ///
    /// - Returns: Nil if the message is no answer to the job: of another kind, or with ranges outside of the archive.
    package init?(message: [UInt8], to job: RenderJob) {
        var reader = ByteReader(message)
        switch (reader.number().flatMap(Kind.init), job) {
        case (.files, .thumbnails), (.files, .animation):
            let count = if case .thumbnails(_, let edges) = job { edges.count } else { 1 }
            guard let files = reader.list({ $0.data() }), files.count == count else { return nil }
            self = .files(files)
        case (.film, .film(_, _, let length, _)):
            guard let film = Self.film(&reader, archive: length) else { return nil }
            self = .film(film)
        case (.needs, .film(_, _, let length, _)):
            guard let ranges = reader.list({ $0.range() }), (1...Self.mostNeeds).contains(ranges.count),
                ranges.allSatisfy({ !$0.isEmpty && $0.upperBound <= length })
            else { return nil }
            self = .needs(ranges)
        case (.refused, _):
            guard let code = reader.number(), let bound = reader.count(), let text = reader.text(),
                let error = MediaError(code: code, bound: bound, text: text)
            else { return nil }
            self = .refused(error)
        default: return nil
        }
        guard reader.isAtEnd else { return nil }
    }

    private static func film(_ reader: inout ByteReader, archive length: Int64) -> Film? {
        guard let frames = reader.list({ $0.range() }) else { return nil }
        let pieces = reader.list { reader -> FilmLayout.Piece? in
            guard let number = reader.number() else { return nil }
            if number == literal { return reader.data().map { .literal($0[...]) } }
            // An index outside the frames is refused with the film.
            let index = Int(clamping: number)
            return .frame(index: index, range: 0..<(frames.indices.contains(index) ? Int64(frames[index].count) : 0))
        }
        return pieces.flatMap { Film(pieces: $0, frames: frames, archive: length) }
    }
}

extension MediaError {
    /// The most characters of a reason.
    private static let longestText = 200

    /// The error as sent to the other process.
    ///
    /// A render process is never cancelled by message, and cannot report its own end.
    fileprivate var written: (code: Int64, bound: Int, text: String) {
        switch self {
        case .archive(let text): (1, 0, text)
        case .picture(let text): (2, 0, text)
        case .animation(let text): (3, 0, text)
        case .tooLarge(let bound): (4, bound, "")
        case .noMemory, .cancelled, .lost, .unavailable: (5, 0, "")
        }
    }

    fileprivate init?(code: Int64, bound: Int, text: String) {
        let text = String(text.prefix(Self.longestText))
        switch code {
        case 1: self = .archive(text)
        case 2: self = .picture(text)
        case 3: self = .animation(text)
        case 4: self = .tooLarge(bound: bound)
        case 5: self = .noMemory
        default: return nil
        }
    }
}
