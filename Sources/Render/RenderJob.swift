/// What the process that decodes pictures is asked for.
package enum RenderJob: Hashable, Sendable {
    /// A small preview as PNG files without texts, each within a square of so many pixels.
    case thumbnails(preview: [UInt8], edges: [Int])
    /// How an animation's frames, as they lie in their archive, make up a film.
    case film(FilmRequest)
    /// The same frames as one file that picture viewers show; the archive comes as a descriptor.
    case animation(AnimationRequest)

    /// An animation whose archive is known as far as some stretches of it.
    package struct FilmRequest: Hashable, Sendable {
        package var frames: [Frame]
        package var title: String
        /// Bytes of the whole archive.
        package var length: Int64
        /// What was read of it so far.
        package var stretches: [Stretch] = []

        package init(frames: [Frame], title: String, length: Int64) {
            self.frames = frames
            self.title = title
            self.length = length
        }
    }

    /// What frames are made into.
    package enum AnimationFormat: Int64, Hashable, Sendable {
        case webP = 1
        case gif = 2
    }

    package struct AnimationRequest: Hashable, Sendable {
        package var format: AnimationFormat
        package var frames: [Frame]
        /// Where the archive lies in the file that comes with it.
        package var place: Range<Int64>
        /// Most bytes of the result.
        package var bound: Int

        package init(_ format: AnimationFormat, frames: [Frame], place: Range<Int64>, bound: Int) {
            self.format = format
            self.frames = frames
            self.place = place
            self.bound = bound
        }
    }

    /// A frame of an animation, as its record tells.
    package struct Frame: Hashable, Sendable {
        /// Its file in the archive.
        package var file: String
        /// Milliseconds that it is shown.
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

    /// Most bytes of a job on its way: a preview, or the stretches of an archive.
    package static let longest = 16 << 20

    /// Whether it may take minutes.
    package var isLong: Bool {
        if case .animation = self { true } else { false }
    }

    /// Most bytes of an answer on its way.
    package var longestAnswer: Int {
        switch self {
        case .thumbnails(_, let edges): edges.reduce(4096) { $0 + $1 * $1 * 4 + 4096 }
        case .film: Film.longestLiterals + (4096 + Film.mostPieces * 32)
        case .animation(let request): request.bound + 4096
        }
    }
}

/// What the process answers.
package enum RenderAnswer: Hashable, Sendable {
    /// Files in the order in which they were asked for, or one.
    case files([[UInt8]])
    case film(Film)
    /// These stretches of the archive must be known first.
    case needs([Range<Int64>])
    case refused(MediaError)
}
