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

    @Test func onesOwnLeaseIsNoLongerThanItWas() async throws {
        let first = try machine("first")
        #expect(await claim(first) != nil)
        pass(7)
        let again = try #require(await claim(first))
        #expect(again.ends == clock.now + .seconds(3))
        #expect(memory.count("PUT") == 2)
        // One that has ended is written anew, or others would have it as well.
        pass(3)
        let renewed = try #require(await claim(first))
        #expect(renewed.ends == clock.now + .seconds(10))
        #expect(await claim(try machine("other")) == nil)
    }
}
