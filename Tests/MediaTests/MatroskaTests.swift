import Render
import Testing

@testable import Media

@Suite struct MatroskaTests {
    /// The whole file, whose frames are of recognizable bytes.
    private func file(_ layout: FilmLayout) -> [UInt8] {
        layout.layout.flatMap { piece -> [UInt8] in
            switch piece {
            case .literal(let bytes): Array(bytes)
            case .frame(let index, let range): frame(index, range.upperBound)
            }
        }
    }

    private func frame(_ index: Int, _ size: Int64) -> [UInt8] {
        (0..<Int(size)).map { UInt8(truncatingIfNeeded: index * 31 + $0) }
    }

    @Test func everyRangeIsTheSliceOfTheWhole() throws {
        let sizes: [Int64] = [1, 40, 7]
        let layout = try FilmLayout(
            width: 4, height: 3, frames: zip(sizes, [70, 6000, 0]).map { ($0, $1) }, title: "題")
        let whole = file(layout)
        #expect(Int64(whole.count) == layout.length)
        var wrong = 0
        for from in 0...whole.count {
            for to in from...whole.count {
                let bytes = layout.pieces(covering: Int64(from)..<Int64(to)).flatMap { part -> ArraySlice<UInt8> in
                    switch part {
                    case .literal(let bytes): bytes
                    case .frame(let index, let range): frame(index, sizes[index])[range]
                    }
                }
                if !bytes.elementsEqual(whole[from..<to]) { wrong += 1 }
            }
        }
        #expect(wrong == 0)
    }

    @Test func rangesOutsideAreCut() throws {
        let layout = try FilmLayout(width: 4, height: 3, frames: [(5, 70), (6, 70)])
        let end = layout.length
        #expect(layout.pieces(covering: end..<end + 10).isEmpty)
        #expect(layout.pieces(covering: 5..<5).isEmpty)
        let all = layout.pieces(covering: 0..<Int64.max)
        #expect(all.reduce(0) { $0 + $1.length } == end)
        #expect(all.count == layout.layout.count)
    }

    @Test func hugeFramesAreLaidOut() throws {
        let size: Int64 = 0xffff_ffff
        let layout = try FilmLayout(
            width: 1, height: 1, frames: Array(repeating: (size, 600_000), count: FrameLimits.count))
        #expect(layout.length > size * Int64(FrameLimits.count))
        #expect(layout.pieces(covering: layout.length - 1..<layout.length).count == 1)
    }

    @Test func whatNoFileCanHoldIsRefused() {
        func refused(_ width: Int, _ height: Int, _ frames: [(size: Int64, delay: Int)]) -> Bool {
            (try? FilmLayout(width: width, height: height, frames: frames)) == nil
        }
        #expect(!refused(1, 65_535, [(1, 1)]))
        #expect(refused(0, 1, [(1, 1)]))
        #expect(refused(1, 65_536, [(1, 1)]))
        #expect(refused(1, 1, []))
        #expect(refused(1, 1, [(0, 1)]))
        #expect(refused(1, 1, [(-1, 1)]))
        #expect(refused(1, 1, [(Int64.max, 1)]))
        #expect(refused(1, 1, Array(repeating: (1, 1), count: FrameLimits.count + 1)))
    }

    @Test func delaysThatNoPlayerCanShowAreMended() {
        #expect(FrameLimits.shown(0) == 10)
        #expect(FrameLimits.shown(.min) == 10)
        #expect(FrameLimits.shown(11) == 11)
        #expect(FrameLimits.shown(.max) == 600_000)
    }
}
