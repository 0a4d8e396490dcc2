import HTTP
@testable import Tier
import TestSupport
import Testing

/// Which machine has a lease, and until when.
@Suite(.timeLimit(.minutes(1))) struct LeaseTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let work: ObjectKey

    init() throws { work = try #require(ObjectKey("documents/a/b")) }

    private func machine(_ name: String) throws -> Leases {
        Leases(TierStore(try memory.store(), time: TimeSource(clock)) { _ in }, owner: name)
    }

    /// Lets time pass for the store and for its machines.
    private func pass(_ seconds: Int64) {
        memory.pass(seconds)
        clock.advance(by: .seconds(seconds))
    }

    private func claim(_ leases: Leases) async -> Leases.Lease? {
        if case .held(let lease) = await leases.claim(work, seconds: 10) { lease } else { nil }
    }

    @Test func aLeaseOfAStoreWithoutTimesEnds() async throws {
        memory.tellsTimes(false)
        let (dead, next) = (try machine("dead"), try machine("next"))
        #expect(await claim(dead) != nil)
        pass(100)
        // Nobody knows for how long it has been there.
        #expect(await claim(next) == nil)
        pass(10)
        #expect(await claim(next) == nil)
        pass(1)
        #expect(await claim(next) != nil)
        // Another lease is another one.
        let third = try machine("third")
        #expect(await claim(third) == nil)
        #expect(await claim(dead) == nil)
    }

    @Test func onesOwnLeaseBeginsAnew() async throws {
        let first = try machine("first")
        #expect(await claim(first) != nil)
        pass(7)
        let again = try #require(await claim(first))
        #expect(again.ends == clock.now + .seconds(10))
        // One that has ended is written anew, or others would have it as well.
        pass(10)
        let renewed = try #require(await claim(first))
        #expect(renewed.ends == clock.now + .seconds(10))
        #expect(await claim(try machine("other")) == nil)
    }

    /// SeaweedFS does so with many writes of one key at the same moment.
    @Test func whatIsDeclinedLateIsSeenBesideIt() async throws {
        let first = try machine("first")
        let lease = try #require(await claim(first))
        memory.answer(after: .milliseconds(1900), by: clock) { $0.method == .put }
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let began = clock.now
        let isAnothers = try await clock.passing { [self] in await isTaken(Leases(store, owner: "second")) }
        #expect(isAnothers == true)
        #expect(clock.now - began < .milliseconds(1500))
        #expect(store.takesLeases)
        // The store carries it out once the lease is free: nobody waits for that. Only a lease that is there is withdrawn.
        await first.release(lease)
        try await clock.passing { [memory] in while memory.count("DELETE") < 2 { await Task.yield() } }
        #expect(memory.keys("leases").isEmpty)
        #expect(clock.now - began < .seconds(9))
    }

    /// Claims a lease that the store grants after a second, and gives it up at once.
    private func machineThatGivesUp() async throws -> Leases {
        memory.answer(after: .seconds(1), by: clock) { $0.method == .put }
        let leases = try machine("first")
        let asking = Task { await claim(leases) }
        // The answer, and the time for it.
        await clock.waitForSleepers(2)
        asking.cancel()
        #expect(await asking.value == nil)
        return leases
    }

    @Test func aRequestThatIsGivenUpEndsAtOnceAndLeavesNoLease() async throws {
        _ = try await machineThatGivesUp()
        #expect(memory.keys("leases").isEmpty)
        try await clock.passing { [memory] in while memory.count("DELETE") < 1 { await Task.yield() } }
        #expect(memory.keys("leases").isEmpty)
    }

    @Test func aLeaseThatIsTakenOverMeanwhileIsNotWithdrawn() async throws {
        let leases = try await machineThatGivesUp()
        // The late write, and the withdrawal, which comes a second after it and looks at the lease.
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        while memory.keys("leases").isEmpty { await Task.yield() }
        memory.answer(after: .zero, by: clock) { _ in false }
        #expect(await claim(leases) != nil)
        let looks = memory.count("GET")
        try await clock.passing { [memory] in while memory.count("GET") == looks { await Task.yield() } }
        #expect(await isTaken(try machine("second")) == true)
    }

    /// Its machines would otherwise wait for a holder that does not exist.
    @Test func aStoreThatDeclinesWhatIsAbsentIsWorkedWithoutLeases() async throws {
        memory.fail { $0.method == .put ? .status(409, "") : nil }
        let leases = try machine("first")
        // It may have ended between the two answers.
        #expect(await isTaken(leases) == true)
        clock.advance(by: .milliseconds(500))
        #expect(await isTaken(leases) == nil)
        // Once it is there it counts anew.
        memory.fail(nil)
        #expect(await claim(leases) != nil)
        #expect(await isTaken(try machine("second")) == true)
    }

    /// Whether another machine has the lease; nil if this one works without it.
    private func isTaken(_ leases: Leases) async -> Bool? {
        switch await leases.claim(work, seconds: 10) {
        case .taken: true
        case .held: false
        case .awaited, .unknown: nil
        }
    }
}

/// Pauses that the service requested of one machine, and that others keep.
@Suite(.timeLimit(.minutes(1))) struct PauseTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()

    private struct Machine {
        let pauses: SharedPauses
        let document: SharedDocument
        let queue: RequestQueue

        /// The seconds until the end of the interface's pause.
        var left: Int64? { queue.service.closedUntil }
    }

    private func machine(secret: ObjectSecret? = nil) throws -> Machine {
        let store = TierStore(try memory.store(secret: secret), time: TimeSource(clock), chance: { 0.5 }) { _ in }
        let key = try #require(ObjectKey("leases/pauses/pixiv"))
        #expect(ObjectKind(key) == .lease)
        let document = SharedDocument(key, store: store, leases: Leases(store, owner: "machine"))
        let start = clock.now
        var rules = RequestQueue.Rules(wallClock: { [clock] in (clock.now - start).components.seconds })
        rules.time = TimeSource(clock)
        let machine = Machine(
            pauses: SharedPauses(document, store: store), document: document, queue: RequestQueue(memory, rules: rules))
        machine.pauses.follow(machine.queue)
        return machine
    }

    /// Stores a pause.
    private func store(_ machine: Machine, seconds: Int64) async throws {
        let before = memory.count("PUT leases/pauses")
        try await clock.passing {
            machine.pauses.store("api.example", .interface, seconds: seconds)
            while memory.count("PUT leases/pauses") == before { await Task.yield() }
            await machine.document.settle()
        }
    }

    /// Reads the pauses, whatever their interval.
    private func read(_ machine: Machine) async {
        await machine.pauses.read(every: .zero)?.value
    }

    @Test func aPauseOfOneMachineIsOneOfAll() async throws {
        let (first, second) = (try machine(), try machine())
        try await store(first, seconds: 30)
        memory.pass(10)
        await read(second)
        // By the store's clock, and a moment more, so that not all go on at once.
        #expect(try (20...24).contains(#require(second.left)))
        #expect(second.queue.pauses.isEmpty)
        // It is known; nothing is begun anew, nor by the machine that stored it.
        let end = second.left
        await read(second)
        await read(first)
        #expect(second.left == end && first.left == nil)
        // One that has ended is none.
        let third = try machine()
        memory.pass(21)
        await read(third)
        #expect(third.left == nil)
    }

    @Test func whoWaitsLearnsThatThePauseGoesOn() async throws {
        let (first, second) = (try machine(), try machine())
        try await store(first, seconds: 30)
        await read(second)
        let end = try #require(second.left)
        memory.pass(30)
        try await store(first, seconds: 60)
        try await clock.passing(by: .milliseconds(500)) {
            while second.left.map({ $0 <= end }) ?? true { await Task.yield() }
        }
        #expect(try #require(second.left) > end)
    }

    @Test func theIntervalLimitsTheReads() async throws {
        let machine = try machine()
        await read(machine)
        #expect(machine.pauses.read(every: .seconds(1)) == nil)
        #expect(memory.count("GET leases/pauses") == 1)
    }

    @Test func nobodyStopsOthersForLong() async throws {
        let (stranger, machine) = (try machine(), try machine())
        try await clock.passing {
            await stranger.document.offer("interface/api.example", Int64.max)
            await stranger.document.offer("interface/other.example", Int64.min)
            await stranger.document.offer("nonsense", 60 as Int64)
            await stranger.document.settle()
        }
        await read(machine)
        #expect(try #require(machine.left) <= SharedPauses.longest * 5 / 4 + 2)
    }

    @Test func withASecretAPauseOfStrangersIsNone() async throws {
        let secret = try #require(ObjectSecret(Array("a secret of 128 bits".utf8)))
        try await store(try machine(), seconds: 60)
        let machine = try machine(secret: secret)
        await read(machine)
        #expect(machine.left == nil)
        try await store(try self.machine(secret: secret), seconds: 60)
        await read(machine)
        #expect(machine.left != nil)
    }
}
