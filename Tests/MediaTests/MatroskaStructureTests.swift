import Render
import Testing

@testable import Media

/// The elements of a file, walked through by their lengths.
@Suite struct MatroskaStructureTests {
    private struct Element {
        let id: Int
        let place: Int
        let body: Range<Int>
    }

    private struct Malformed: Error {}

    /// Elements that contain elements.
    private static let containers: Set<Int> = [
        0x1A45_DFA3, 0x1853_8067, 0x114D_9B74, 0x4DBB, 0x1549_A966, 0x1654_AE6B, 0xAE, 0xE0, 0x1C53_BB6B, 0xBB, 0xB7,
        0x1F43_B675, 0xA0,
    ]

    private func elements(_ bytes: [UInt8], _ range: Range<Int>) throws -> [Element] {
        var found: [Element] = []
        var at = range.lowerBound
        while at < range.upperBound {
            let idWidth = bytes[at].leadingZeroBitCount + 1
            let id = bytes[at..<at + idWidth].reduce(0) { $0 << 8 | Int($1) }
            let sizeAt = at + idWidth
            let width = bytes[sizeAt].leadingZeroBitCount + 1
            let size = bytes[sizeAt..<sizeAt + width].reduce(0) { $0 << 8 | Int($1) } & ((1 << (7 * width)) - 1)
            let body = sizeAt + width..<sizeAt + width + size
            guard body.upperBound <= range.upperBound else { throw Malformed() }
            found.append(Element(id: id, place: at, body: body))
            if Self.containers.contains(id) { found += try elements(bytes, body) }
            at = body.upperBound
        }
        return found
    }

    private func number(_ element: Element, _ bytes: [UInt8]) -> Int {
        bytes[element.body].reduce(0) { $0 << 8 | Int($1) }
    }

    @Test func everyLengthAndEveryPositionIsTrue() throws {
        // sizes of 1 to 3 bytes of length, clusters of one frame and of many
        let frames: [(size: Int64, delay: Int)] = (0..<90).map { (index: Int) in
            let delay = index % 7 == 0 ? 5000 : 400
            return (size: Int64(1 + index * index * 3), delay: delay)
        }
        let layout = try FilmLayout(width: 640, height: 480, frames: frames)
        let bytes = layout.layout.flatMap { piece -> [UInt8] in
            if case .literal(let bytes) = piece { return Array(bytes) }
            return Array(repeating: 0, count: Int(piece.length))
        }
        let all = try elements(bytes, bytes.indices)
        let segment = try #require(all.first { $0.id == 0x1853_8067 })
        #expect(segment.body.upperBound == bytes.count)

        let wanted = all.filter { $0.id == 0x53AB }.map { number($0, bytes) }
        let told = all.filter { $0.id == 0x53AC }.map { segment.body.lowerBound + number($0, bytes) }
        #expect(wanted == [0x1549_A966, 0x1654_AE6B, 0x1C53_BB6B])
        #expect(told == wanted.map { id in all.first { $0.id == id }?.place })

        let clusters = all.filter { $0.id == 0x1F43_B675 }
        #expect(clusters.count > 10)
        let times = all.filter { $0.id == 0xE7 }.map { number($0, bytes) }
        // A point for each frame: when it begins, in which cluster, and where in it.
        let groups = all.filter { $0.id == 0xA0 }
        let points = zip(
            all.filter { $0.id == 0xF1 }.map { segment.body.lowerBound + number($0, bytes) },
            all.filter { $0.id == 0xF0 }.map { number($0, bytes) })
        let sought = try points.map { cluster, within in
            try #require(clusters.first { $0.place == cluster }).body.lowerBound + within
        }
        #expect(sought == groups.map(\.place))
        let shown = frames.map(\.delay).reduce(into: [0]) { $0.append(($0.last ?? 0) + $1) }.dropLast()
        #expect(all.filter { $0.id == 0xB3 }.map { number($0, bytes) } == Array(shown))
        #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 >= 5000 })

        let blocks = all.filter { $0.id == 0xA1 }
        #expect(blocks.map { Int64($0.body.count) } == frames.map { $0.size + 4 })
        #expect(all.filter { $0.id == 0x9B }.map { number($0, bytes) } == frames.map(\.delay))
        var begins: [Int] = []
        for (cluster, time) in zip(clusters, times) {
            for block in blocks where cluster.body.contains(block.place) {
                let at = block.body.lowerBound + 1
                begins.append(time + Int(bytes[at]) * 256 + Int(bytes[at + 1]))
            }
        }
        var now = 0
        for (begin, frame) in zip(begins, frames) {
            #expect(begin == now)
            now += frame.delay
        }
        #expect(begins.count == frames.count)
    }

    /// Only an animation whose frames are all shown equally long has a rate.
    @Test func theRateIsToldOnlyIfThereIsOne() throws {
        func rates(_ delays: [Int]) throws -> Int {
            let layout = try FilmLayout(width: 1, height: 1, frames: delays.map { (0x10, $0) })
            guard case .literal(let front) = layout.layout[0] else { return -1 }
            return front.ranges(of: [0x23, 0xE3, 0x83]).count
        }
        #expect(try rates([70, 70]) == 1)
        #expect(try rates([70, 71]) == 0)
        #expect(try rates([0, 10]) == 1)
    }
}
