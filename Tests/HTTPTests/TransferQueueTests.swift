import Testing

@testable import HTTP

@Suite("TransferQueue")
struct TransferQueueTests {
    private let bulk = TransferQueue.Lane(origin: "https://a:443", transferClass: .bulk)
    private let other = TransferQueue.Lane(origin: "https://b:443", transferClass: .bulk)
    private let metadata = TransferQueue.Lane(origin: "https://a:443", transferClass: .metadata)

    private func queue(slots: Int) -> TransferQueue {
        TransferQueue(limits: TransferQueue.Limits(bulk: TransferSlots(all: slots), metadata: 3, multiplexed: 5))
    }

    @Test func firstComeFirstServedAmongEquals() {
        var queue = queue(slots: 2)
        for id in 1...4 { queue.enqueue(id, lane: bulk, priority: .reader, order: id) }
        #expect(queue.next() == [.start(1), .start(2)])
        #expect(queue.next() == [])
        queue.remove(2)
        #expect(queue.next() == [.start(3)])
        #expect(queue.activeCount == 2)
        #expect(queue.waitingCount == 1)
    }

    @Test func readersGoBeforePreloads() {
        var queue = queue(slots: 1)
        queue.enqueue(1, lane: bulk, priority: .reader, order: 1)
        #expect(queue.next() == [.start(1)])
        queue.enqueue(2, lane: bulk, priority: .preload, order: 2)
        queue.enqueue(3, lane: bulk, priority: .reader, order: 3)
        queue.remove(1)
        #expect(queue.next() == [.start(3)])
    }

    @Test(arguments: [(1, 1), (2, 1), (3, 2), (4, 3), (8, 7)])
    func preloadsLeaveSlotsFree(slots: Int, preloads: Int) {
        var queue = queue(slots: slots)
        for id in 1...20 { queue.enqueue(id, lane: bulk, priority: .preload, order: id) }
        #expect(queue.next() == (1...preloads).map { .start($0) })
    }

    @Test(arguments: 1...8)
    func readersNeverWaitForPreloads(slots: Int) {
        var queue = queue(slots: slots)
        for id in 1...20 { queue.enqueue(id, lane: bulk, priority: .preload, order: id) }
        let preloads = queue.next().count
        for id in 101...120 { queue.enqueue(id, lane: bulk, priority: .reader, order: id) }
        let actions = queue.next()
        #expect(
            actions.filter { if case .start = $0 { true } else { false } } == (101...(100 + slots)).map { .start($0) })
        // The youngest preload goes first, and all of them in the end.
        let preempted = actions.compactMap { if case .preempt(let id) = $0 { id } else { nil } }
        #expect(preempted == (1...preloads).reversed())
        #expect(queue.activeCount == slots)
    }

    @Test func preemptedTransfersKeepTheirPlace() {
        var queue = queue(slots: 1)
        for id in 1...2 { queue.enqueue(id, lane: bulk, priority: .preload, order: id) }
        #expect(queue.next() == [.start(1)])
        queue.enqueue(3, lane: bulk, priority: .reader, order: 3)
        #expect(queue.next() == [.preempt(1), .start(3)])
        queue.enqueue(1, lane: bulk, priority: .preload, order: 1)
        queue.remove(3)
        #expect(queue.next() == [.start(1)])
    }

    @Test func aReaderTakesAPreloadOverInTheQueueAndUnderWay() {
        var queue = queue(slots: 4)
        for id in 1...6 { queue.enqueue(id, lane: bulk, priority: .preload, order: id) }
        #expect(queue.next() == [.start(1), .start(2), .start(3)])
        queue.setPriority(5, .reader)
        #expect(queue.next() == [.start(5)])
        queue.remove(5)
        // One that is under way counts as a reader's now, so another preload may go.
        queue.setPriority(1, .reader)
        #expect(queue.next() == [.start(4)])
        // And back: nothing is stopped for it, but nothing new starts.
        queue.setPriority(1, .preload)
        queue.remove(2)
        #expect(queue.next() == [])
    }

    @Test func aLoweredReaderIsPreempted() {
        var queue = queue(slots: 1)
        queue.enqueue(1, lane: bulk, priority: .reader, order: 1)
        #expect(queue.next() == [.start(1)])
        queue.enqueue(2, lane: bulk, priority: .reader, order: 2)
        #expect(queue.next() == [])
        queue.setPriority(1, .preload)
        #expect(queue.next() == [.preempt(1), .start(2)])
    }

    @Test func lanesDoNotWaitForEachOther() {
        var queue = queue(slots: 1)
        queue.enqueue(1, lane: bulk, priority: .reader, order: 1)
        queue.enqueue(2, lane: bulk, priority: .reader, order: 2)
        queue.enqueue(3, lane: other, priority: .preload, order: 3)
        queue.enqueue(4, lane: metadata, priority: .reader, order: 4)
        #expect(Set(queue.next().map { "\($0)" }) == ["start(1)", "start(3)", "start(4)"])
    }

    @Test func multiplexingIsWorthMoreSlots() {
        var queue = queue(slots: 1)
        for id in 1...9 { queue.enqueue(id, lane: metadata, priority: .reader, order: id) }
        #expect(queue.next() == [.start(1), .start(2), .start(3)])
        queue.learnMultiplexing(origin: metadata.origin)
        #expect(queue.next() == [.start(4), .start(5)])
    }

    @Test func cancelledOnesLeaveNoTrace() {
        var queue = queue(slots: 1)
        for id in 1...3 { queue.enqueue(id, lane: bulk, priority: .reader, order: id) }
        queue.remove(1)
        queue.remove(1)
        queue.setPriority(1, .preload)
        #expect(queue.next() == [.start(2)])
        queue.remove(2)
        queue.remove(3)
        #expect(queue.next() == [])
        #expect(queue.activeCount == 0)
        #expect(queue.waitingCount == 0)
    }

    /// Every sequence of a few events keeps the bounds, and no reader waits while a preload runs.
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
                for action in queue.next() {
                    switch action {
                    case .start(let id): #expect(running.insert(id).inserted)
                    case .preempt(let id):
                        #expect(running.remove(id) != nil)
                        #expect(priorities[id] == .preload)
                        queue.enqueue(id, lane: bulk, priority: .preload, order: id)
                    }
                }
                #expect(running.count <= slots)
                #expect(queue.activeCount == running.count)
                let readerWaits = priorities.contains { $0.value == .reader && !running.contains($0.key) }
                #expect(!readerWaits || !running.contains { priorities[$0] == .preload })
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
