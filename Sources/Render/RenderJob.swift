/// A job of the process that decodes pictures.
package enum RenderJob: Hashable, Sendable {
    /// Makes a small preview into PNG files without texts, each within a square of the edge in pixels.
    case thumbnails(preview: [UInt8], edges: [Int])
    /// Computes the film that an animation's frames, as they lie in their archive, make up.
    case film(FilmRequest)
    /// Makes the same frames into one file that picture viewers show; the archive comes as a descriptor.
    case animation(AnimationRequest)

    /// An animation with an archive of which some stretches are known.
    package struct FilmRequest: Hashable, Sendable {
        package var frames: [Frame]
        package var title: String
        /// The bytes of the whole archive.
        package var length: Int64
        /// The stretches that were read so far.
        package var stretches: [Stretch] = []

        package init(frames: [Frame], title: String, length: Int64) {
            self.frames = frames
            self.title = title
            self.length = length
        }
    }

    /// The format of the file made from frames.
    package enum AnimationFormat: Int64, Hashable, Sendable {
        case webP = 1
        case gif = 2
    }

    package struct AnimationRequest: Hashable, Sendable {
        package var format: AnimationFormat
        package var frames: [Frame]
        /// The range of the archive in the file that comes with the job.
        package var place: Range<Int64>
        /// The most bytes of the result.
        package var bound: Int

        package init(_ format: AnimationFormat, frames: [Frame], place: Range<Int64>, bound: Int) {
            self.format = format
            self.frames = frames
            self.place = place
            self.bound = bound
        }
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

    /// Bytes of an archive, counted from its beginning.
    package struct Stretch: Hashable, Sendable {
        package var offset: Int64
        package var bytes: [UInt8]

        package init(offset: Int64, bytes: [UInt8]) {
            self.offset = offset
            self.bytes = bytes
        }
    }

    /// The most bytes of a job's message: a preview, or the stretches of an archive.
    package static let longest = 16 << 20

    /// Whether the job may take minutes.
    package var isLong: Bool {
        if case .animation = self { true } else { false }
    }

    /// The most bytes of an answer's message.
    package var longestAnswer: Int {
        switch self {
        case .thumbnails(_, let edges): edges.reduce(4096) { $0 + $1 * $1 * 4 + 4096 }
        case .film: Film.longestLiterals + (4096 + Film.mostPieces * 32)
        case .animation(let request): request.bound + 4096
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

// MARK: - Coding

extension RenderJob {
    /// The job as a message.
    package var message: [UInt8] {
        var writer = MessageWriter()
        switch self {
        case .thumbnails(let preview, let edges):
            writer.write(Kind.thumbnails.rawValue)
            writer.write(preview)
            writer.write(edges) { $0.write(Int64($1)) }
        case .film(let request):
            writer.write(Kind.film.rawValue)
            Self.write(request.frames, to: &writer)
            writer.write(request.title)
            writer.write(request.length)
            writer.write(request.stretches) { writer, stretch in
                writer.write(stretch.offset)
                writer.write(stretch.bytes)
            }
        case .animation(let request):
            writer.write(Kind.animation.rawValue)
            writer.write(request.format.rawValue)
            Self.write(request.frames, to: &writer)
            writer.write(request.place)
            writer.write(Int64(request.bound))
        }
        return writer.bytes
    }

    /// Reads a message; nil if it is no job.
    package init?(message: [UInt8]) {
        var reader = MessageReader(message)
        guard let job = try? Self.read(&reader) else { return nil }
        self = job
    }

    // MARK: -

    private enum Kind: Int64 {
        case thumbnails = 1
        case film = 2
        case animation = 3
    }

    private static func write(_ frames: [Frame], to writer: inout MessageWriter) {
        writer.write(frames) { writer, frame in
            writer.write(frame.file)
            writer.write(Int64(frame.delay))
        }
    }

    private static func read(_ reader: inout MessageReader) throws(MediaError) -> RenderJob {
        guard let kind = Kind(rawValue: try reader.number()) else { throw .nonsense }
        let job: RenderJob
        switch kind {
        case .thumbnails:
            job = .thumbnails(
                preview: try reader.data(),
                edges: try reader.list { (reader) throws(MediaError) in try reader.count() })
        case .film:
            var request = FilmRequest(
                frames: try frames(&reader), title: try reader.text(), length: try reader.number())
            request.stretches = try reader.list { (reader) throws(MediaError) in
                Stretch(offset: try reader.number(), bytes: try reader.data())
            }
            job = .film(request)
        case .animation:
            guard let format = AnimationFormat(rawValue: try reader.number()) else { throw .nonsense }
            job = .animation(
                AnimationRequest(
                    format, frames: try frames(&reader), place: try reader.range(), bound: try reader.count()))
        }
        try reader.end()
        return job
    }

    private static func frames(_ reader: inout MessageReader) throws(MediaError) -> [Frame] {
        try reader.list { (reader) throws(MediaError) in
            Frame(file: try reader.text(), delay: try reader.signed())
        }
    }
}

extension MessageReader {
    /// A number of either sign.
    fileprivate mutating func signed() throws(MediaError) -> Int {
        guard let number = Int(exactly: try number()) else { throw .nonsense }
        return number
    }
}

// MARK: - Coding

extension RenderAnswer {
    /// The answer as a message.
    package var message: [UInt8] {
        var writer = MessageWriter()
        switch self {
        case .files(let files):
            writer.write(Kind.files.rawValue)
            writer.write(files) { $0.write($1) }
        case .film(let film):
            writer.write(Kind.film.rawValue)
            writer.write(film.layout.layout) { writer, piece in
                switch piece {
                case .literal(let bytes):
                    writer.write(Self.literal)
                    writer.write(bytes)
                case .frame(let index, _): writer.write(Int64(index))
                }
            }
            writer.write(film.frames) { $0.write($1) }
        case .needs(let ranges):
            writer.write(Kind.needs.rawValue)
            writer.write(ranges) { $0.write($1) }
        case .refused(let error):
            writer.write(Kind.refused.rawValue)
            let (code, bound, text) = error.written
            writer.write(code.rawValue)
            writer.write(Int64(bound))
            writer.write(text)
        }
        return writer.bytes
    }

    /// Reads the answer to a job.
    ///
    /// - Returns: Nil if the message is no answer to the job: of another kind, or with ranges outside of the archive.
    package init?(message: [UInt8], to job: RenderJob) {
        var reader = MessageReader(message)
        guard let answer = try? Self.read(&reader, to: job) else { return nil }
        self = answer
    }

    // MARK: -

    private enum Kind: Int64 {
        case files = 1
        case film = 2
        case needs = 3
        case refused = 4
    }

    /// The value in place of a frame's index.
    private static let literal: Int64 = -1
    /// The most stretches of an archive in one answer: one for each frame, and one more.
    private static let mostNeeds = Film.mostFrames + 1

    private static func read(
        _ reader: inout MessageReader, to job: RenderJob
    ) throws(MediaError) -> RenderAnswer {
        guard let kind = Kind(rawValue: try reader.number()) else { throw .nonsense }
        let answer: RenderAnswer
        switch (kind, job) {
        case (.files, .thumbnails(_, let edges)): answer = try files(&reader, count: edges.count)
        case (.files, .animation): answer = try files(&reader, count: 1)
        case (.film, .film(let request)): answer = try film(&reader, archive: request.length)
        case (.needs, .film(let request)):
            let ranges = try reader.list { (reader) throws(MediaError) in try reader.range() }
            guard (1...mostNeeds).contains(ranges.count),
                ranges.allSatisfy({ !$0.isEmpty && $0.upperBound <= request.length })
            else { throw .nonsense }
            answer = .needs(ranges)
        case (.refused, _):
            let (code, bound, text) = (try reader.number(), try reader.count(), try reader.text())
            guard let error = MediaError(code: code, bound: bound, text: text) else { throw .nonsense }
            answer = .refused(error)
        default: throw .nonsense
        }
        try reader.end()
        return answer
    }

    private static func files(
        _ reader: inout MessageReader, count: Int
    ) throws(MediaError) -> RenderAnswer {
        let files = try reader.list { (reader) throws(MediaError) in try reader.data() }
        guard files.count == count else { throw .nonsense }
        return .files(files)
    }

    private static func film(
        _ reader: inout MessageReader, archive length: Int64
    ) throws(MediaError) -> RenderAnswer {
        enum Written {
            case literal([UInt8])
            case frame(Int)
        }
        let written = try reader.list { (reader) throws(MediaError) -> Written in
            let index = try reader.number()
            if index == literal { return .literal(try reader.data()) }
            return .frame(Int(clamping: index))
        }
        let frames = try reader.list { (reader) throws(MediaError) in try reader.range() }
        let pieces: [FilmLayout.Piece] = written.map { piece in
            switch piece {
            case .literal(let bytes): .literal(bytes)
            // An index outside the frames is refused with the film.
            case .frame(let index):
                .frame(index: index, size: frames.indices.contains(index) ? Int64(frames[index].count) : 0)
            }
        }
        guard let film = Film(pieces: pieces, frames: frames, archive: length) else { throw .nonsense }
        return .film(film)
    }
}

extension MediaError {
    fileprivate enum Code: Int64 {
        case archive = 1
        case picture = 2
        case animation = 3
        case tooLarge = 4
        case noMemory = 5
    }

    /// The error as sent to the other process.
    ///
    /// A render process is never cancelled by message, and cannot report its own end.
    fileprivate var written: (code: Code, bound: Int, text: String) {
        switch self {
        case .archive(let text): (.archive, 0, text)
        case .picture(let text): (.picture, 0, text)
        case .animation(let text): (.animation, 0, text)
        case .tooLarge(let bound): (.tooLarge, bound, "")
        case .noMemory, .cancelled, .lost, .unavailable: (.noMemory, 0, "")
        }
    }

    fileprivate init?(code: Int64, bound: Int, text: String) {
        let text = String(text.prefix(Self.longestText))
        switch Code(rawValue: code) {
        case .archive: self = .archive(text)
        case .picture: self = .picture(text)
        case .animation: self = .animation(text)
        case .tooLarge: self = .tooLarge(bound: bound)
        case .noMemory: self = .noMemory
        case nil: return nil
        }
    }

    /// The most characters of a reason.
    private static let longestText = 200
}

// MARK: - Coding

/// Writes numbers, texts and bytes one after the other: numbers in eight bytes, lowest first, all else after its length.
struct MessageWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ number: Int64) {
        for index in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    mutating func write(_ data: [UInt8]) {
        write(Int64(data.count))
        bytes += data
    }

    mutating func write(_ text: String) {
        write(Array(text.utf8))
    }

    mutating func write(_ range: Range<Int64>) {
        write(range.lowerBound)
        write(range.upperBound)
    }

    mutating func write<Element>(_ list: [Element], _ write: (inout MessageWriter, Element) -> Void) {
        self.write(Int64(list.count))
        for element in list { write(&self, element) }
    }
}

/// Reads these values back from an untrusted message.
struct MessageReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    mutating func number() throws(MediaError) -> Int64 {
        guard rest.count >= 8 else { throw .nonsense }
        let number = rest.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        rest = rest.dropFirst(8)
        return Int64(bitPattern: number)
    }

    /// Reads a number that is a length, a size or a place in memory.
    mutating func count() throws(MediaError) -> Int {
        guard let count = Int(exactly: try number()), count >= 0 else { throw .nonsense }
        return count
    }

    mutating func data() throws(MediaError) -> [UInt8] {
        let count = try count()
        guard count <= rest.count else { throw .nonsense }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    mutating func text() throws(MediaError) -> String {
        String(decoding: try data(), as: UTF8.self)
    }

    mutating func range() throws(MediaError) -> Range<Int64> {
        let (begin, end) = (try number(), try number())
        guard begin >= 0, begin <= end else { throw .nonsense }
        return begin..<end
    }

    mutating func list<Element>(
        _ element: (inout MessageReader) throws(MediaError) -> Element
    ) throws(MediaError) -> [Element] {
        let count = try count()
        // Each element takes at least eight bytes.
        guard count <= rest.count / 8 else { throw .nonsense }
        var list: [Element] = []
        for _ in 0..<count { list.append(try element(&self)) }
        return list
    }

    /// Throws if bytes follow the values that were read.
    func end() throws(MediaError) {
        guard rest.isEmpty else { throw .nonsense }
    }
}
