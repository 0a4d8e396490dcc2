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

    /// Takes a message back; nil for what is none.
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

    private static func read(_ reader: inout MessageReader) throws(MessageReader.Nonsense) -> RenderJob {
        guard let kind = Kind(rawValue: try reader.number()) else { throw MessageReader.Nonsense() }
        let job: RenderJob
        switch kind {
        case .thumbnails:
            job = .thumbnails(
                preview: try reader.data(),
                edges: try reader.list { (reader) throws(MessageReader.Nonsense) in try reader.count() })
        case .film:
            var request = FilmRequest(
                frames: try frames(&reader), title: try reader.text(), length: try reader.number())
            request.stretches = try reader.list { (reader) throws(MessageReader.Nonsense) in
                Stretch(offset: try reader.number(), bytes: try reader.data())
            }
            job = .film(request)
        case .animation:
            guard let format = AnimationFormat(rawValue: try reader.number()) else { throw MessageReader.Nonsense() }
            job = .animation(
                AnimationRequest(
                    format, frames: try frames(&reader), place: try reader.range(), bound: try reader.count()))
        }
        try reader.end()
        return job
    }

    private static func frames(_ reader: inout MessageReader) throws(MessageReader.Nonsense) -> [Frame] {
        try reader.list { (reader) throws(MessageReader.Nonsense) in
            Frame(file: try reader.text(), delay: try reader.signed())
        }
    }
}

extension MessageReader {
    /// A number of either sign.
    fileprivate mutating func signed() throws(Nonsense) -> Int {
        guard let number = Int(exactly: try number()) else { throw Nonsense() }
        return number
    }
}
