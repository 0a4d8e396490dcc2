import TestSupport
import Testing

@testable import HTTP

@Suite("WaitingLine")
struct WaitingLineTests {
    @Test func theLeastKeyIsFirst() {
        var line = WaitingLine<Int>()
        for (id, key) in [(1, 11), (2, 2), (3, 10), (4, 3)] { line.insert(id, key) }
        #expect(line.first?.id == 2)
        let left = [line.remove(2), line.remove(2), line.remove(9)]
        #expect(left == [true, false, false])
        line.insert(4, 14)
        #expect(line.first.map { [$0.id, $0.key] } == [3, 10])
        #expect(line.count == 3)
        line.insert(1, 10)
        #expect(line.first?.id == 1, "the lower id of equal keys")
    }

    /// Held against a list that is sorted anew each time.
    @Test(arguments: 0..<20) func whateverComesAndGoesTheOrderHolds(seed: Int) {
        var random = Random(seed: UInt64(seed))
        var line = WaitingLine<Int>()
        var known: [Int: Int] = [:]
        for step in 0..<2000 {
            switch Int.random(in: 0...3, using: &random) {
            case 0, 1:
                let id = Int.random(in: 0..<60, using: &random)
                let key = Int.random(in: 0..<3, using: &random) * 10_000 + step - Int.random(in: 0...9, using: &random)
                // Keys are unique.
                guard !known.values.contains(key) else { continue }
                known[id] = key
                line.insert(id, key)
            case 2:
                let id = Int.random(in: 0..<60, using: &random)
                let (isThere, isRemoved) = (known.removeValue(forKey: id) != nil, line.remove(id))
                #expect(isRemoved == isThere)
            default:
                guard let id = line.first?.id else { continue }
                line.remove(id)
                #expect(known.min { $0.value < $1.value }?.key == id)
                known[id] = nil
            }
            #expect(line.count == known.count)
        }
    }
}
