import HTTP
@testable import Tier
import Rankings
import Synchronization
import TestSupport
import Testing

/// Documents of a store that takes longer than the service, or nearly as long.
@Suite(.timeLimit(.minutes(1))) struct DistanceTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()

    /// Counts requests.
    private actor Service {
        private(set) var asked = 0

        func ask() { asked += 1 }
    }

    /// One of several machines.
    private func machine(_ name: String) throws -> SharedDocument {
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let key = try #require(ObjectKey("documents/a/b"))
        return SharedDocument(key, store: store, leases: Leases(store, owner: name))
    }

    @Test func aDistantStoreCostsWhatTheServiceTakesAndThenNothing() async throws {
        memory.answer(after: .milliseconds(1500), by: clock)
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let leases = Leases(store, owner: "1")
        var waits: [Duration] = []
        for name in ["a", "b", "c", "d"] {
            let document = SharedDocument(try #require(ObjectKey("documents/a/\(name)")), store: store, leases: leases)
            let began = clock.now
            let told = try await clock.passing { [clock] in
                let told = try await document.value("a", isFresh: { _, _ in true }) { () -> String in "asked" }
                return (told, clock.now)
            }
            #expect(told.0 == "asked")
            waits.append(told.1 - began)
            // The lease that came too late is given back, and the answer is stored although the store's clock was unknown.
            try await clock.passing {
                await document.settle()
                // It is read all the same, so that it is used again once it is quick.
                while memory.count("GET documents/a/\(name)") == 0 { await Task.yield() }
                while !memory.keys("leases").isEmpty { await Task.yield() }
            }
            #expect(memory.object("documents/a/\(name)") != nil)
        }
        // Nothing is known of either before they have answered once.
        #expect(waits[0] >= .seconds(1) && waits[0] < .milliseconds(1300))
        #expect(waits[1...] == [.zero, .zero, .zero])
        #expect(store.rests(.read) == nil)
        memory.answer(after: .zero, by: clock)
        let last = SharedDocument(try #require(ObjectKey("documents/a/e")), store: store, leases: leases)
        for _ in 0..<20 where store.late == .zero {
            try await clock.passing { [clock] in
                _ = try await last.value("a", isFresh: { _, _ in false }) { () -> String in "asked" }
                try await TimeSource(clock).sleep(.seconds(1))
                await last.settle()
            }
        }
        #expect(store.late > .zero)
    }

    /// Semantics: "Shared with other machines".
    @Test func aStoreThatTakesLongToWriteDelaysOnce() async throws {
        memory.answer(after: .seconds(3), by: clock) { $0.method == .put }
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let document = SharedDocument(
            try #require(ObjectKey("documents/a/b")), store: store, leases: Leases(store, owner: "1"))
        var waits: [Duration] = []
        for number in 1...8 {
            let began = clock.now
            let told = try await clock.passing { [clock] in
                let told = try await document.value("page/\(number)", isFresh: { _, _ in true }) { () -> String in
                    "asked"
                }
                return (told, clock.now)
            }
            #expect(told.0 == "asked")
            waits.append(told.1 - began)
        }
        #expect(waits[0] <= UsualAnswer.limits.unknown + .milliseconds(50))
        #expect(waits.dropFirst().reduce(.zero, +) < .milliseconds(500))
        // The lease was written after its time; others do not wait for it.
        try await clock.passing {
            while memory.count("PUT leases") == 0 { await Task.yield() }
            while !memory.keys("leases").isEmpty { await Task.yield() }
            await document.settle()
        }
        #expect(memory.count("PUT leases") == 1)
        #expect(memory.object("documents/a/b") != nil)
        #expect(store.state == .works)
    }

    @Test func theAnswerOfADistantStoreServesThePartsThatAreMissingThen() async throws {
        let first = try machine("1")
        try await clock.passing {
            for number in 0..<8 { await first.offer("size/\(number)", Int64(number)) }
            await first.settle()
        }
        memory.answer(after: .milliseconds(1500), by: clock)
        let second = try machine("2")
        let service = Service()
        let told = try await clock.passing { [clock] in
            var told: [Int64] = []
            for number in 0..<8 {
                told.append(
                    try await second.value("size/\(number)", isFresh: { _, _ in true }) { () -> Int64 in
                        await service.ask()
                        try? await TimeSource(clock).sleep(.milliseconds(400))
                        return Int64(number)
                    })
            }
            return told
        }
        #expect(told == Array(0..<8))
        #expect(await service.asked < 8)
    }

    @Test func aStoreWithinTheServicesTimeCostsOneAnswerAndIsShared() async throws {
        let distance = Duration.milliseconds(200)
        memory.answer(after: distance, by: clock)
        let service = Service()
        let machines = try (1...4).map { try machine("\($0)") }
        let began = clock.now
        let first = try await clock.passing { [clock] in
            try await withThrowingTaskGroup(of: ContinuousClock.Instant?.self) { group in
                for document in machines {
                    group.addTask {
                        let moment = Mutex<ContinuousClock.Instant?>(nil)
                        _ = try await document.value("page/1", isFresh: { _, _ in true }) { () -> String in
                            moment.withLock { $0 = clock.now }
                            await service.ask()
                            return "told"
                        }
                        return moment.withLock { $0 }
                    }
                }
                return try await group.compactMap { $0 }.reduce(into: []) { $0.append($1) }.first
            }
        }
        #expect(await service.asked == 1)
        // Look and lease travel side by side: one answer and a moment, in place of three.
        #expect(try #require(first) - began < distance * 2)
        // The lease of a machine that finds the answer is given back.
        let late = try machine("5")
        try await clock.passing {
            for document in machines { await document.settle() }
            _ = try await late.value("page/1", isFresh: { _, _ in true }) { () -> String in
                await service.ask()
                return "again"
            }
            while !memory.keys("leases").isEmpty { await Task.yield() }
        }
        #expect(await service.asked == 1)
    }

    /// The removal of the lease takes as long as the next call.
    @Test func aLeaseThatIsGivenBackIsNotTakenForTheNextOne() async throws {
        let (first, second, service, time) = (try machine("1"), try machine("2"), Service(), TimeSource(clock))
        memory.answer(after: .milliseconds(100), by: clock) { $0.method == .delete }
        @Sendable func two(_ document: SharedDocument) async throws {
            _ = try await document.value("page/2", isFresh: { _, _ in true }) { () async throws(Failure) in
                await service.ask()
                try? await time.sleep(.seconds(2))
                return "two"
            }
        }
        try await clock.passing {
            _ = try await first.value("page/1", isFresh: { _, _ in true }) { "one" }
            await first.settle()
            async let one: Void = two(first)
            try? await time.sleep(.milliseconds(500))
            async let other: Void = two(second)
            _ = try await (one, other)
        }
        #expect(await service.asked == 1)
    }
}
