import Synchronization
import Testing
import TestSupport

@testable import HTTP

@Suite("TokenBucketGate", .timeLimit(.minutes(1)))
struct GateTests {
    private let clock = ManualClock()

    /// A gate of one token, then one a second; wall time starts at 1000 and follows the clock.
    private func gate(
        burst: Int = 1, closedUntil: Int64? = nil, onClose: @escaping @Sendable (Int64) -> Void = { _ in }
    ) -> TokenBucketGate {
        let (clock, start) = (clock, clock.now)
        return TokenBucketGate(
            burst: burst, perSecond: 1, closedUntil: closedUntil,
            now: { 1000 + (clock.now - start).components.seconds }, onClose: onClose, time: TimeSource(clock))
    }

    private func pass(
        _ gate: TokenBucketGate, _ priority: GatePriority = .opening, seconds: Int64 = 60
    ) -> Task<HTTPError?, Never> {
        let deadline = clock.now.advanced(by: .seconds(seconds))
        return Task {
            do throws(HTTPError) {
                _ = try await gate.pass(priority, deadline: deadline)
                return nil
            } catch {
                return error
            }
        }
    }

    @Test func aBurstThenASteadyRate() async {
        let gate = gate(burst: 3)
        for _ in 0..<3 { #expect(await pass(gate).value == nil) }
        let fourth = pass(gate)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(999))
        #expect(gate.state.tokens < 1)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(2))
        #expect(await fourth.value == nil)
        clock.advance(by: .seconds(100))
        #expect(gate.state.tokens == 3)
    }

    @Test func whatCannotBeInTimeIsToldAtOnce() async {
        let gate = gate()
        #expect(await pass(gate).value == nil)
        #expect(await pass(gate, seconds: 0).value == .timedOut)
        let waiting = pass(gate, seconds: 2)
        await clock.waitForSleepers(1)
        // Its turn would be in two seconds.
        #expect(await pass(gate, seconds: 1).value == .timedOut)
        waiting.cancel()
        #expect(await waiting.value == .cancelled)
    }

    @Test func whatNobodyAskedForLeavesHalfOfABurst() async {
        let gate = gate(burst: 12)
        for _ in 0..<6 { #expect(await pass(gate, .unasked).value == nil) }
        let seventh = pass(gate, .unasked)
        await clock.waitForSleepers(1)
        for _ in 0..<6 { #expect(await pass(gate).value == nil) }
        // Half of what comes back goes to it: nobody is kept from all of it for a reader who is not there.
        clock.advance(by: .milliseconds(1001))
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(1001))
        #expect(await seventh.value == nil)
        #expect(gate.state.tokens < 1.1)
    }

    @Test func whatNobodyAskedForDelaysNobody() async {
        let gate = gate(burst: 12)
        for _ in 0..<6 { #expect(await pass(gate, .unasked).value == nil) }
        let waiting = (0..<20).map { _ in pass(gate, .unasked, seconds: 600) }
        await clock.waitForSleepers(20)
        #expect(await pass(gate, seconds: 0).value == nil)
        for task in waiting { task.cancel() }
    }

    @Test func aPersonsPagesGoBeforeAnyWalks() async {
        let gate = gate(burst: 8)
        for _ in 0..<4 { #expect(await pass(gate, .unasked).value == nil) }
        let walk = pass(gate, .unasked)
        await clock.waitForSleepers(1)
        for _ in 0..<4 { #expect(await pass(gate, .continuation).value == nil) }
        let further = pass(gate, .continuation)
        await clock.waitForSleepers(2)
        let opening = pass(gate)
        await clock.waitForSleepers(3)
        // Whoever came first, what somebody opens is before further pages, and those before a walk.
        clock.advance(by: .milliseconds(1001))
        #expect(await opening.value == nil)
        await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(1001))
        #expect(await further.value == nil)
        await clock.waitForSleepers(1)
        clock.advance(by: .milliseconds(1001))
        #expect(await walk.value == nil)
    }

    /// Requests that go now of so many, of a bucket of 40 and one a second.
    private func go(
        _ bucket: inout TokenBucket, _ priority: GatePriority, _ count: Int, at now: ContinuousClock.Instant
    ) -> Int {
        (0..<count).count { id in
            bucket.join(id, priority: priority, deadline: now.advanced(by: .seconds(600)))
            if case .go = bucket.poll(id, now: now, wall: 0) { return true }
            bucket.leave(id)
            return false
        }
    }

    @Test func aWalkTakesHalfOfABurstAtOnceAndThenEverythingThatComesBack() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(burst: 40, perSecond: 1, closedUntil: nil, now: start)
        let atOnce = go(&bucket, .unasked, 99, at: start)
        #expect(atOnce == 20)
        let later = (1...60).map { go(&bucket, .unasked, 99, at: start.advanced(by: .seconds($0))) }
        #expect((59...60).contains(later.reduce(0, +)) && later.allSatisfy { $0 <= 1 })
        let kept = go(&bucket, .continuation, 99, at: start.advanced(by: .seconds(60)))
        #expect(kept == 20, "all that was kept for a person is there whatever was walked")
    }

    @Test func whatIsLeftToPeopleComesBackWhileProgramsGoOn() {
        let start = ContinuousClock.now
        var bucket = TokenBucket(burst: 40, perSecond: 1, closedUntil: nil, now: start)
        let first = (go(&bucket, .unasked, 99, at: start), go(&bucket, .opening, 99, at: start))
        #expect(first == (20, 20))
        // Half of what comes back, until twenty are there again.
        let walked = (1...40).map { go(&bucket, .unasked, 99, at: start.advanced(by: .seconds($0))) }.reduce(0, +)
        #expect((19...21).contains(walked))
        let left = go(&bucket, .opening, 99, at: start.advanced(by: .seconds(40)))
        #expect((19...21).contains(left))
    }

    @Test func aCancelledWaiterTakesNoToken() async {
        let gate = gate()
        #expect(await pass(gate).value == nil)
        let first = pass(gate)
        await clock.waitForSleepers(1)
        first.cancel()
        #expect(await first.value == .cancelled)
        let second = pass(gate)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await second.value == nil)
    }

    @Test func coolDownsCloseAreToldAndAreCapped() async {
        let told = Told()
        let gate = gate(burst: 5) { told.add($0) }
        let ticket = GateTicket(id: 0, closings: 0)
        gate.settle(ticket, .limited(seconds: 30, told: true))
        gate.settle(ticket, .limited(seconds: 10, told: true))
        gate.settle(ticket, .limited(seconds: -1, told: true))
        #expect(gate.state.closedUntil == 1030)
        #expect(await pass(gate, seconds: 29).value == .timedOut)
        let waiting = pass(gate, seconds: 31)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(30))
        #expect(await waiting.value == nil)
        gate.settle(ticket, .limited(seconds: 1_000_000, told: true))
        #expect(gate.state.closedUntil == 4630)
        #expect(told.all == [1030, 4630])
    }

    @Test func aCoolDownSurvivesARestartButNotAClockSetBack() {
        #expect(gate(closedUntil: 1010).state.closedUntil == 1010)
        #expect(gate(closedUntil: 900).state.closedUntil == nil)
        #expect(gate(closedUntil: 9_000_000).state.closedUntil == 4600)
    }

    @Test func theMoreUrgentGoFirstThenFirstComeFirstServed() {
        let now = ContinuousClock.now
        let late = now.advanced(by: .seconds(600))
        var bucket = TokenBucket(burst: 1, perSecond: 1, closedUntil: nil, now: now)
        bucket.join(1, priority: .unasked, deadline: late)
        bucket.join(2, priority: .opening, deadline: late)
        bucket.join(3, priority: .opening, deadline: late)
        let go = { (id: Int) in TokenBucket.Decision.go(GateTicket(id: id, closings: 0)) }
        func poll(_ id: Int, after seconds: Int64 = 0) -> TokenBucket.Decision {
            bucket.poll(id, now: now.advanced(by: .seconds(seconds)), wall: 0)
        }
        #expect(poll(1) == .wait(.seconds(1)))
        #expect(poll(3) == .wait(.seconds(1)))
        #expect(poll(2) == go(2))
        #expect(poll(1, after: 1) != go(1))
        #expect(poll(3, after: 1) == go(3))
        #expect(poll(1, after: 2) == go(1))
        #expect(poll(1, after: 2) == .tooLate)
    }
}

private final class Told: Sendable {
    private let values = Mutex<[Int64]>([])
    var all: [Int64] { values.withLock { $0 } }
    func add(_ value: Int64) { values.withLock { $0.append(value) } }
}
