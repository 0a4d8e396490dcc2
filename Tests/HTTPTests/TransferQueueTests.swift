import Testing

@testable import HTTP

@Suite("TransferQueue")
struct TransferQueueTests {
    private let bulk = TransferQueue.Lane(origin: "https://a:443", transferClass: .bulk)
    private let other = TransferQueue.Lane(origin: "https://b:443", transferClass: .bulk)
    private let metadata = TransferQueue.Lane(origin: "https://a:443", transferClass: .metadata)

    private func queue(slots: Int) -> TransferQueue {
        TransferQueue(limits: TransferQueue.Limits(bulk: slots, metadata: 3, multiplexed: 5))
    }

    @Test func firstComeFirstServedAmongEquals() {
        var queue = queue(slots: 2)
        for id in 1...4 { queue.enqueue(id, lane: bulk, priority: .reader, order: id) }
        #expect(queue.next() == [1, 2])
        #expect(queue.next() == [])
        queue.remove(2)
        #expect(queue.next() == [3])
        #expect(queue.activeCount == 2)
        #expect(queue.waitingCount == 1)
    }

    /// Where a service lets one asker have few, small answers are as few, over one connection too.
    @Test(arguments: [(4, 4, 4), (0, 1, 1), (999, 32, 32), (nil, 32, 128)] as [(Int?, Int, Int)])
    func smallAnswersMayBeFew(asked: Int?, apart: Int, together: Int) {
        let limits = CurlTransport.Configuration(
            connections: 16, smallAnswers: asked, userAgent: "a", proxy: nil, hosts: [], trustedOrigins: [],
            connectTimeout: .seconds(1), stallTimeout: .seconds(1)
        ).limits
        #expect(limits.bulk == 16 && limits.metadata == apart && limits.multiplexed == together)
        var queue = TransferQueue(limits: limits)
        queue.learn(metadata.origin, multiplexes: true)
        for id in 1...200 { queue.enqueue(id, lane: metadata, priority: .reader, order: id) }
        #expect(queue.next().count == together)
    }

    /// Readers, then what a person has before them, then the rest; the last slot is left to readers.
    @Test func whatIsSeenGoesBeforeWhatIsNot() {
        var queue = queue(slots: 2)
        queue.learn(metadata.origin, multiplexes: false)
        for (id, priority) in [(1, TransferPriority.preload), (2, .shown), (3, .reader), (4, .shown)] {
            queue.enqueue(id, lane: metadata, priority: priority, order: id)
        }
        #expect(queue.next() == [3, 2, 4])
        queue.remove(3)
        #expect(queue.next() == [])
        queue.setPriority(4, .reader)
        #expect(queue.next() == [1])
        queue.setPriority(2, .preload)
        queue.remove(2)
        queue.enqueue(5, lane: metadata, priority: .shown, order: 5)
        #expect(queue.next() == [5])
    }

    @Test func readersGoBeforePreloads() {
        var queue = queue(slots: 1)
        queue.enqueue(1, lane: bulk, priority: .reader, order: 1)
        #expect(queue.next() == [1])
        queue.enqueue(2, lane: bulk, priority: .preload, order: 2)
        queue.enqueue(3, lane: bulk, priority: .reader, order: 3)
        queue.remove(1)
        #expect(queue.next() == [3])
    }

    /// Which bodies nobody waits for may go is not decided here; small answers leave a slot to who waits.
    @Test func smallAnswersThatNobodyWaitsForLeaveOneSlot() {
        var queue = queue(slots: 2)
        queue.learn(metadata.origin, multiplexes: false)
        for id in 1...9 { queue.enqueue(id, lane: bulk, priority: .preload, order: id) }
        #expect(queue.next() == [1, 2])
        for id in 11...19 { queue.enqueue(id, lane: metadata, priority: .preload, order: id) }
        #expect(queue.next() == [11, 12])
        queue.enqueue(20, lane: metadata, priority: .reader, order: 20)
        #expect(queue.next() == [20])
        queue.setPriority(11, .reader)
        #expect(queue.next() == [])
        queue.remove(12)
        #expect(queue.next() == [13])
        queue.setPriority(11, .preload)
        queue.remove(20)
        #expect(queue.next() == [])
    }

    @Test func oneThatGoesOnKeepsItsPlace() {
        var queue = queue(slots: 1)
        for id in 1...3 { queue.enqueue(id, lane: bulk, priority: .reader, order: id) }
        #expect(queue.next() == [1])
        queue.remove(1)
        queue.enqueue(1, lane: bulk, priority: .reader, order: 1)
        #expect(queue.next() == [1])
    }

    @Test func aRaisedOneGoesByItsNumber() {
        var queue = queue(slots: 1)
        queue.enqueue(1, lane: bulk, priority: .reader, order: 1)
        #expect(queue.next() == [1])
        for id in 2...4 { queue.enqueue(id, lane: bulk, priority: .preload, order: id) }
        queue.enqueue(5, lane: bulk, priority: .reader, order: 5)
        queue.setPriority(4, .reader)
        queue.setPriority(3, .reader)
        queue.setPriority(3, .preload)
        var order: [Int] = []
        for _ in 2...5 {
            queue.remove(order.last ?? 1)
            order += queue.next()
        }
        #expect(order == [4, 5, 2, 3])
    }

    @Test func lanesDoNotWaitForEachOther() {
        var queue = queue(slots: 1)
        queue.enqueue(1, lane: bulk, priority: .reader, order: 1)
        queue.enqueue(2, lane: bulk, priority: .reader, order: 2)
        queue.enqueue(3, lane: other, priority: .preload, order: 3)
        queue.enqueue(4, lane: metadata, priority: .reader, order: 4)
        #expect(Set(queue.next()) == [1, 3, 4])
    }

    @Test func multiplexingIsWorthMoreSlots() {
        var queue = queue(slots: 1)
        for id in 1...9 { queue.enqueue(id, lane: metadata, priority: .reader, order: id) }
        queue.learn(metadata.origin, multiplexes: false)
        #expect(queue.next() == [1, 2, 3])
        queue.learn(metadata.origin, multiplexes: true)
        #expect(queue.next() == [4, 5])
    }

    /// The first burst to an origin with TLS waits for one connection, not for an answer.
    @Test(arguments: [("https://c:443", 5), ("http://c:80", 3)])
    func whoHasNotAnsweredIsTakenAtItsScheme(origin: String, slots: Int) {
        var queue = queue(slots: 1)
        let lane = TransferQueue.Lane(origin: origin, transferClass: .metadata)
        for id in 1...9 { queue.enqueue(id, lane: lane, priority: .reader, order: id) }
        #expect(queue.next().count == slots)
    }

    @Test func cancelledOnesLeaveNoTrace() {
        var queue = queue(slots: 1)
        for id in 1...3 { queue.enqueue(id, lane: bulk, priority: .reader, order: id) }
        queue.remove(1)
        queue.remove(1)
        queue.setPriority(1, .preload)
        #expect(queue.next() == [2])
        queue.remove(2)
        queue.remove(3)
        #expect(queue.next() == [])
        #expect(queue.activeCount == 0)
        #expect(queue.waitingCount == 0)
    }

    /// Every sequence of a few events keeps the bounds; no slot is idle while somebody waits, and readers go first.
    @Test func boundsHoldForAnyOrderOfEvents() {
        var random = SplitMix(state: 7)
        for _ in 0..<300 {
            let slots = Int.random(in: 1...5, using: &random)
            var queue = queue(slots: slots)
            var priorities: [Int: TransferPriority] = [:]
            var running: Set<Int> = []
            for id in 1...40 {
                switch Int.random(in: 0...3, using: &random) {
                case 0, 1:
                    priorities[id] = Bool.random(using: &random) ? .reader : .preload
                    queue.enqueue(id, lane: bulk, priority: priorities[id] ?? .reader, order: id)
                case 2:
                    guard let victim = priorities.keys.sorted().randomElement(using: &random) else { continue }
                    priorities[victim] = nil
                    running.remove(victim)
                    queue.remove(victim)
                default:
                    guard let chosen = priorities.keys.sorted().randomElement(using: &random) else { continue }
                    priorities[chosen] = Bool.random(using: &random) ? .reader : .preload
                    queue.setPriority(chosen, priorities[chosen] ?? .reader)
                }
                for id in queue.next() {
                    #expect(running.insert(id).inserted)
                    let waiting = priorities.filter { !running.contains($0.key) }
                    #expect(priorities[id] == .reader || !waiting.values.contains(.reader))
                    #expect(waiting.allSatisfy { $0.value != priorities[id] || $0.key > id })
                }
                #expect(running.count == min(slots, priorities.count))
                #expect(queue.activeCount == running.count)
                #expect(queue.waitingCount == priorities.count - running.count)
            }
        }
    }
}

/// A small generator with a known seed, so that a failure can be repeated.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
