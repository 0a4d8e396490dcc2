import Testing

@testable import HTTP

@Suite("WaitingLine")
struct WaitingLineTests {
    @Test func ranksGoFirstThenNumbers() {
        var line = WaitingLine(ranks: 2)
        for (id, rank, number) in [(1, 1, 1), (2, 0, 2), (3, 1, 0), (4, 0, 3)] {
            line.insert(id, rank: rank, number: number)
        }
        #expect(line.ids == [2, 4, 3, 1])
        #expect(line.first() == 2)
        let left = [line.remove(2), line.remove(2), line.remove(9)]
        #expect(left == [true, false, false])
        line.insert(4, rank: 1, number: 4)
        #expect(line.first() == 3)
        #expect(line.ids == [3, 1, 4] && line.count == 3 && !line.isEmpty)
    }

    /// Held against a list that is sorted anew each time.
    @Test(arguments: 0..<20) func whateverComesAndGoesTheOrderHolds(seed: Int) {
        var random = SplitMix(state: UInt64(seed))
        var line = WaitingLine(ranks: 3)
        var known: [Int: (rank: Int, number: Int)] = [:]
        for step in 0..<2000 {
            switch Int.random(in: 0...3, using: &random) {
            case 0, 1:
                let id = Int.random(in: 0..<60, using: &random)
                let place = (
                    rank: Int.random(in: 0..<3, using: &random), number: step - Int.random(in: 0...9, using: &random)
                )
                // Numbers are nobody else's.
                guard !known.values.contains(where: { $0.number == place.number }) else { continue }
                known[id] = place
                line.insert(id, rank: place.rank, number: place.number)
            case 2:
                let id = Int.random(in: 0..<60, using: &random)
                let (isThere, isRemoved) = (known.removeValue(forKey: id) != nil, line.remove(id))
                #expect(isRemoved == isThere)
            default:
                guard let id = line.first() else { continue }
                line.remove(id)
                let least = known.min { ($0.value.rank, $0.value.number) < ($1.value.rank, $1.value.number) }
                #expect(least?.key == id)
                known[id] = nil
            }
            #expect(line.count == known.count)
        }
        let order = known.sorted { ($0.value.rank, $0.value.number) < ($1.value.rank, $1.value.number) }.map(\.key)
        #expect(line.ids == order)
    }
}
