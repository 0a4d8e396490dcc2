import Testing

@testable import ImageCache

@Suite struct ByteSetTests {
    /// Every way to insert three ranges of a small line agrees with a set of single bytes.
    @Test func agreesWithSingleBytes() {
        let size: Int64 = 4
        let ranges = (0..<size).flatMap { lower in (lower...size).map { lower..<$0 } }
        for first in ranges {
            for second in ranges {
                for third in ranges {
                    let set = ByteSet([first, second, third])
                    let model = Set(first).union(second).union(third)
                    guard set.count == Int64(model.count) else { Issue.record("\(first) \(second) \(third)"); return }
                    for probe in ranges where set.contains(probe) != probe.allSatisfy(model.contains) {
                        Issue.record("\(first) \(second) \(third) contains \(probe)")
                        return
                    }
                    let gaps = Set(set.gaps(in: 0..<size).flatMap { Array($0) })
                    guard gaps == Set(0..<size).subtracting(model) else { Issue.record("gaps \(set)"); return }
                    for pair in zip(set.ranges, set.ranges.dropFirst()) where pair.0.upperBound >= pair.1.lowerBound {
                        Issue.record("ranges touch: \(set.ranges)")
                        return
                    }
                }
            }
        }
    }

    @Test func firstMissingSkipsWhatIsThere() {
        let set = ByteSet([2..<5, 7..<9])
        #expect(set.firstMissing(from: 0) == 0)
        #expect(set.firstMissing(from: 3) == 5)
        #expect(set.firstMissing(from: 8) == 9)
    }
}
