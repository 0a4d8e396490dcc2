package import Render

/// Writes the elements of a Matroska file around frames of which only the lengths are known.
///
/// The order is header, seek head, description, tracks, cues, clusters: lengths are known in advance, so the cues can come first,
/// and a player that reads over a network seeks without having read the end.
struct MatroskaWriter {
    let width: Int
    let height: Int
    let frames: [(size: Int64, delay: Int)]
    let title: String?

    /// The whole file.
    func pieces() -> [FilmLayout.Piece] {
        let clusters = clusters()
        let info = info(duration: clusters.last.map { $0.end } ?? 0)
        let tracks = tracks()
        // Positions count from the segment's first byte; these elements have the same length for all values.
        let infoPlace = Int64(seekHead(info: 0, tracks: 0, cues: 0).count)
        let tracksPlace = infoPlace + Int64(info.count)
        let cuesPlace = tracksPlace + Int64(tracks.count)
        let clustersPlace = cuesPlace + Int64(cues(clusters, from: 0).count)
        let front =
            seekHead(info: infoPlace, tracks: tracksPlace, cues: cuesPlace) + info + tracks
            + cues(clusters, from: clustersPlace)
        let size = Int64(front.count) + clusters.reduce(0) { $0 + $1.length }

        var pieces: [FilmLayout.Piece] = []
        var literal = header() + EBML.head(ID.segment, size: size) + front
        for cluster in clusters {
            literal += cluster.head
            for index in cluster.frames {
                let group = group(index, at: cluster.begins[index - cluster.frames.lowerBound])
                pieces.append(.literal((literal + group.head)[...]))
                pieces.append(.frame(index: index, range: 0..<frames[index].size))
                literal = group.tail
            }
        }
        return pieces + [.literal(literal[...])]
    }

    // MARK: - Clusters

    /// Frames that share a base of time.
    private struct Cluster {
        let frames: Range<Int>
        /// The begin of each frame, in milliseconds from the cluster's begin.
        let begins: [Int]
        /// The begin of the cluster, in milliseconds from the beginning of the animation.
        let begin: Int
        let end: Int
        /// The cluster's identifier, length and time.
        let head: [UInt8]
        /// Bytes of the whole cluster.
        let length: Int64
    }

    /// The longest time from a cluster's begin to the begin of a frame, in milliseconds.
    ///
    /// RFC 9559, 25.1 advises 5 seconds; times within a cluster have 16 bits with a sign.
    private static let longestCluster = 5000

    private func clusters() -> [Cluster] {
        var clusters: [Cluster] = []
        var first = 0
        var begins: [Int] = []
        var begin = 0
        var now = 0
        for (index, frame) in frames.enumerated() {
            if now - begin >= Self.longestCluster {
                clusters.append(cluster(first..<index, begins, begin: begin, end: now))
                (first, begins, begin) = (index, [], now)
            }
            begins.append(now - begin)
            now += FrameLimits.shown(frame.delay)
        }
        clusters.append(cluster(first..<frames.count, begins, begin: begin, end: now))
        return clusters
    }

    private func cluster(_ range: Range<Int>, _ begins: [Int], begin: Int, end: Int) -> Cluster {
        let time = EBML.element(ID.timestamp, number: UInt64(begin))
        let body = range.reduce(Int64(time.count)) { sum, index in
            let group = group(index, at: 0)
            return sum + Int64(group.head.count) + frames[index].size + Int64(group.tail.count)
        }
        let head = EBML.head(ID.cluster, size: body)
        return Cluster(
            frames: range, begins: begins, begin: begin, end: end, head: head + time,
            length: Int64(head.count) + body)
    }

    /// The bytes before and after a frame that begins `time` milliseconds after its cluster.
    ///
    /// A group without references is a key frame; only groups state how long a frame is shown, which for the last frame follows
    /// from nothing else. The lengths do not depend on the time.
    private func group(_ index: Int, at time: Int) -> (head: [UInt8], tail: [UInt8]) {
        let tail = EBML.element(ID.blockDuration, number: UInt64(FrameLimits.shown(frames[index].delay)))
        // Track, time, flags (RFC 9559, 10.1).
        let start = EBML.size(1) + [UInt8(truncatingIfNeeded: time >> 8), UInt8(truncatingIfNeeded: time), 0]
        let block = EBML.head(ID.block, size: Int64(start.count) + frames[index].size) + start
        let size = Int64(block.count) + frames[index].size + Int64(tail.count)
        return (EBML.head(ID.blockGroup, size: size) + block, tail)
    }

    // MARK: - Elements before the clusters

    private func header() -> [UInt8] {
        EBML.element(
            ID.header,
            EBML.element(ID.version, number: 1) + EBML.element(ID.readVersion, number: 1)
                + EBML.element(ID.longestIdentifier, number: 4) + EBML.element(ID.longestSize, number: 8)
                + EBML.element(ID.docType, text: "matroska") + EBML.element(ID.docTypeVersion, number: 4)
                + EBML.element(ID.docTypeReadVersion, number: 2))
    }

    private func seekHead(info: Int64, tracks: Int64, cues: Int64) -> [UInt8] {
        let seeks = [(ID.info, info), (ID.tracks, tracks), (ID.cues, cues)].flatMap { id, place in
            EBML.element(
                ID.seek,
                EBML.element(ID.seekID, EBML.identifier(id)) + EBML.element(ID.seekPosition, wide: place))
        }
        return EBML.element(ID.seekHead, seeks)
    }

    private func info(duration: Int) -> [UInt8] {
        var body = EBML.element(ID.timestampScale, number: Self.millisecond)
        body += EBML.element(ID.duration, float: Double(duration))
        if let title, !title.isEmpty { body += EBML.element(ID.title, text: title) }
        return EBML.element(
            ID.info, body + EBML.element(ID.muxingApp, text: "rankfs") + EBML.element(ID.writingApp, text: "rankfs"))
    }

    private func tracks() -> [UInt8] {
        var body = EBML.element(ID.trackNumber, number: 1) + EBML.element(ID.trackUID, number: 1)
        body += EBML.element(ID.trackType, number: Self.video) + EBML.element(ID.flagLacing, number: 0)
        body += EBML.element(ID.language, text: "und") + EBML.element(ID.codecID, text: "V_MJPEG")
        let delays = Set(frames.map { FrameLimits.shown($0.delay) })
        if delays.count == 1, let delay = delays.first {
            body += EBML.element(ID.defaultDuration, number: UInt64(delay) * Self.millisecond)
        }
        let video =
            EBML.element(ID.flagInterlaced, number: Self.progressive)
            + EBML.element(ID.pixelWidth, number: UInt64(width)) + EBML.element(ID.pixelHeight, number: UInt64(height))
        return EBML.element(ID.tracks, EBML.element(ID.trackEntry, body + EBML.element(ID.video, video)))
    }

    /// The cues: one point for each frame, of clusters the first of which begins at `place`.
    ///
    /// Any frame can be sought, and mpv discards an index of three points or fewer.
    private func cues(_ clusters: [Cluster], from place: Int64) -> [UInt8] {
        var place = place
        var points: [UInt8] = []
        for cluster in clusters {
            // Counted from the first byte after the cluster's length (RFC 9559, 5.1.5.1.2.3).
            var within = Int64(EBML.element(ID.timestamp, number: UInt64(cluster.begin)).count)
            for (index, begin) in zip(cluster.frames, cluster.begins) {
                let positions =
                    EBML.element(ID.cueTrack, number: 1) + EBML.element(ID.cueClusterPosition, wide: place)
                    + EBML.element(ID.cueRelativePosition, number: UInt64(within))
                points += EBML.element(
                    ID.cuePoint,
                    EBML.element(ID.cueTime, number: UInt64(cluster.begin + begin))
                        + EBML.element(ID.cueTrackPositions, positions))
                let group = group(index, at: begin)
                within += Int64(group.head.count) + frames[index].size + Int64(group.tail.count)
            }
            place += cluster.length
        }
        return EBML.element(ID.cues, points)
    }

    /// A millisecond in nanoseconds, the unit of the time scale and of the default duration.
    private static let millisecond: UInt64 = 1_000_000
    /// TrackType 1 (RFC 9559, 5.1.4.1.3).
    private static let video: UInt64 = 1
    /// FlagInterlaced 2 (RFC 9559, 5.1.4.1.28.1).
    private static let progressive: UInt64 = 2

    /// Identifiers of elements: RFC 8794, 11.2 and RFC 9559, 5.1.
    private enum ID {
        static let header: UInt32 = 0x1A45_DFA3
        static let version: UInt32 = 0x4286
        static let readVersion: UInt32 = 0x42F7
        static let longestIdentifier: UInt32 = 0x42F2
        static let longestSize: UInt32 = 0x42F3
        static let docType: UInt32 = 0x4282
        static let docTypeVersion: UInt32 = 0x4287
        static let docTypeReadVersion: UInt32 = 0x4285
        static let segment: UInt32 = 0x1853_8067
        static let seekHead: UInt32 = 0x114D_9B74
        static let seek: UInt32 = 0x4DBB
        static let seekID: UInt32 = 0x53AB
        static let seekPosition: UInt32 = 0x53AC
        static let info: UInt32 = 0x1549_A966
        static let timestampScale: UInt32 = 0x2A_D7B1
        static let duration: UInt32 = 0x4489
        static let title: UInt32 = 0x7BA9
        static let muxingApp: UInt32 = 0x4D80
        static let writingApp: UInt32 = 0x5741
        static let tracks: UInt32 = 0x1654_AE6B
        static let trackEntry: UInt32 = 0xAE
        static let trackNumber: UInt32 = 0xD7
        static let trackUID: UInt32 = 0x73C5
        static let trackType: UInt32 = 0x83
        static let flagLacing: UInt32 = 0x9C
        static let defaultDuration: UInt32 = 0x23_E383
        static let language: UInt32 = 0x22_B59C
        static let codecID: UInt32 = 0x86
        static let video: UInt32 = 0xE0
        static let flagInterlaced: UInt32 = 0x9A
        static let pixelWidth: UInt32 = 0xB0
        static let pixelHeight: UInt32 = 0xBA
        static let cues: UInt32 = 0x1C53_BB6B
        static let cuePoint: UInt32 = 0xBB
        static let cueTime: UInt32 = 0xB3
        static let cueTrackPositions: UInt32 = 0xB7
        static let cueTrack: UInt32 = 0xF7
        static let cueClusterPosition: UInt32 = 0xF1
        static let cueRelativePosition: UInt32 = 0xF0
        static let cluster: UInt32 = 0x1F43_B675
        static let timestamp: UInt32 = 0xE7
        static let blockGroup: UInt32 = 0xA0
        static let block: UInt32 = 0xA1
        static let blockDuration: UInt32 = 0x9B
    }
}

// MARK: - Layout

/// An animation of JPEG frames as a Matroska file (RFC 9559), which contains the JPEG files unchanged.
///
/// Its bytes follow from the frames' lengths alone: it has no date and no random identifier.
extension FilmLayout {
    /// The longest file in a zip archive without extensions; the sum of all frames stays far below EBML's 2^56.
    private static let longestFrame: Int64 = 0xffff_ffff

    /// Lays a file out.
    ///
    /// - Parameters:
    ///   - width: The width of every frame, in pixels.
    ///   - height: The height of every frame, in pixels.
    ///   - frames: The lengths in bytes, and the milliseconds that each frame is shown, corrected by `FrameLimits.shown`.
    ///   - title: The name that players show; none if nil or empty.
    /// - Throws: `.animation` for sizes and counts that no such file can have.
    package init(
        width: Int, height: Int, frames: [(size: Int64, delay: Int)], title: String? = nil
    ) throws(MediaError) {
        guard (1...FrameLimits.longestSide).contains(width), (1...FrameLimits.longestSide).contains(height) else {
            throw .animation("\(width) x \(height) pixels are no size of a picture")
        }
        guard (1...FrameLimits.count).contains(frames.count) else {
            throw .animation("it has \(frames.count) frames, and 1 to \(FrameLimits.count) are possible")
        }
        guard frames.allSatisfy({ (1...Self.longestFrame).contains($0.size) }) else {
            throw .animation("a frame is empty or larger than 4 GiB")
        }
        self.init(MatroskaWriter(width: width, height: height, frames: frames, title: title).pieces())
    }
}

// MARK: - EBML

/// EBML elements as bytes (RFC 8794): an identifier, a length, a body.
enum EBML {
    /// An element with this body.
    static func element(_ id: UInt32, _ body: [UInt8]) -> [UInt8] {
        head(id, size: Int64(body.count)) + body
    }

    /// An unsigned number in as many bytes as it needs.
    static func element(_ id: UInt32, number: UInt64) -> [UInt8] {
        let bytes = bigEndian(number)
        let leading = bytes.prefix { $0 == 0 }.count
        return element(id, Array(bytes.dropFirst(min(leading, bytes.count - 1))))
    }

    /// An unsigned number in 8 bytes: the element's length is known before the number is.
    static func element(_ id: UInt32, wide number: Int64) -> [UInt8] {
        element(id, bigEndian(UInt64(number)))
    }

    /// A float of 8 bytes.
    static func element(_ id: UInt32, float: Double) -> [UInt8] {
        element(id, bigEndian(float.bitPattern))
    }

    static func element(_ id: UInt32, text: String) -> [UInt8] {
        element(id, Array(text.utf8))
    }

    /// Identifier and length of an element, before its body of `size` bytes.
    static func head(_ id: UInt32, size: Int64) -> [UInt8] {
        identifier(id) + self.size(size)
    }

    /// An identifier, which contains its length marker: its leading zero bytes do not belong to it (RFC 8794, 5).
    static func identifier(_ id: UInt32) -> [UInt8] {
        Array(bigEndian(UInt64(id)).drop { $0 == 0 })
    }

    /// A length in as few bytes as it needs; below 2^56 - 1.
    ///
    /// The highest bit set gives the number of bytes (RFC 8794, 6).
    static func size(_ size: Int64) -> [UInt8] {
        // All bits set would mean that the length is unknown.
        var width = 1
        while width < 8, size >= (1 << (7 * width)) - 1 { width += 1 }
        return Array(bigEndian(UInt64(size) | 1 << (7 * width)).suffix(width))
    }

    // MARK: -

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }
}

// MARK: - Little endian

/// Numbers in zip and RIFF files, lowest byte first.
extension [UInt8] {
    /// The number in `bytes` (1 to 4) bytes at `offset`; nil if some of them are missing.
    func littleEndian(at offset: Int, bytes: Int) -> Int? {
        guard offset >= 0, offset <= count - bytes else { return nil }
        return self[offset..<offset + bytes].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Appends a number in `bytes` bytes.
    mutating func append(littleEndian number: Int, bytes: Int) {
        for index in 0..<bytes { append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }
}
