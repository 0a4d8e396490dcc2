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

    /// Takes the answer to a job back.
    ///
    /// - Returns: Nil for what is no answer to it: of another kind, or naming what lies outside of the archive.
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

    /// Stands where a frame's index would.
    private static let literal: Int64 = -1
    /// Most stretches of an archive that can be asked for at once: one for each frame, and one more.
    private static let mostNeeds = Film.mostFrames + 1

    private static func read(
        _ reader: inout MessageReader, to job: RenderJob
    ) throws(MessageReader.Nonsense) -> RenderAnswer {
        guard let kind = Kind(rawValue: try reader.number()) else { throw MessageReader.Nonsense() }
        let answer: RenderAnswer
        switch (kind, job) {
        case (.files, .thumbnails(_, let edges)): answer = try files(&reader, count: edges.count)
        case (.files, .animation): answer = try files(&reader, count: 1)
        case (.film, .film(let request)): answer = try film(&reader, archive: request.length)
        case (.needs, .film(let request)):
            let ranges = try reader.list { (reader) throws(MessageReader.Nonsense) in try reader.range() }
            guard (1...mostNeeds).contains(ranges.count),
                ranges.allSatisfy({ !$0.isEmpty && $0.upperBound <= request.length })
            else { throw MessageReader.Nonsense() }
            answer = .needs(ranges)
        case (.refused, _):
            let (code, bound, text) = (try reader.number(), try reader.count(), try reader.text())
            guard let error = MediaError(code: code, bound: bound, text: text) else { throw MessageReader.Nonsense() }
            answer = .refused(error)
        default: throw MessageReader.Nonsense()
        }
        try reader.end()
        return answer
    }

    private static func files(
        _ reader: inout MessageReader, count: Int
    ) throws(MessageReader.Nonsense) -> RenderAnswer {
        let files = try reader.list { (reader) throws(MessageReader.Nonsense) in try reader.data() }
        guard files.count == count else { throw MessageReader.Nonsense() }
        return .files(files)
    }

    private static func film(
        _ reader: inout MessageReader, archive length: Int64
    ) throws(MessageReader.Nonsense) -> RenderAnswer {
        enum Written {
            case literal([UInt8])
            case frame(Int)
        }
        let written = try reader.list { (reader) throws(MessageReader.Nonsense) -> Written in
            let index = try reader.number()
            if index == literal { return .literal(try reader.data()) }
            return .frame(Int(clamping: index))
        }
        let frames = try reader.list { (reader) throws(MessageReader.Nonsense) in try reader.range() }
        let pieces: [FilmLayout.Piece] = written.map { piece in
            switch piece {
            case .literal(let bytes): .literal(bytes)
            // An index outside is refused with the film.
            case .frame(let index):
                .frame(index: index, size: frames.indices.contains(index) ? Int64(frames[index].count) : 0)
            }
        }
        guard let film = Film(pieces: pieces, frames: frames, archive: length) else { throw MessageReader.Nonsense() }
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

    /// What the other process is told; it is never asked to give up, and does not tell of its own end.
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

    /// Characters of a reason.
    private static let longestText = 200
}
