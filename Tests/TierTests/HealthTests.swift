import Rankings
import HTTP
@testable import Tier
import Testing

/// When a store is asked, and when it is left alone.
@Suite final class HealthTests {
    private var health = TierHealth()
    private let start = ContinuousClock.now

    private func after(_ seconds: Double) -> ContinuousClock.Instant { start + .seconds(seconds) }

    private func mayAsk(_ use: TierHealth.Use, now: ContinuousClock.Instant) -> Bool { health.mayAsk(use, now: now) }

    private func wasBusy(_ use: TierHealth.Use, now: ContinuousClock.Instant) -> Duration {
        health.wasBusy(use, now: now)
    }

    @Test func aFailureMakesItRestAndOneTriesItOut() {
        #expect(mayAsk(.read, now: start))
        health.failed(.read, .troubled("gone"), now: start)
        #expect(health.state == .rests(reason: "gone"))
        #expect(!mayAsk(.read, now: after(29)))
        #expect(!mayAsk(.write, now: after(29)))
        #expect(mayAsk(.read, now: after(30)))
        // The others wait for what becomes of the first.
        #expect(!mayAsk(.read, now: after(31)))
        health.worked(.read)
        #expect(health.state == .works)
        #expect(mayAsk(.read, now: after(32)))
    }

    @Test func eachFurtherFailureMakesItRestTwiceAsLong() {
        var now = start
        for rest in [30.0, 60, 120, 240, 300, 300] {
            #expect(mayAsk(.read, now: now))
            health.failed(.read, .timedOut, now: now)
            #expect(!mayAsk(.read, now: now + .seconds(rest - 1)))
            now += .seconds(rest)
        }
    }

    @Test(arguments: [Failure.unreachable("it refuses connections"), .answered(status: 500)])
    func oneThatSaysAtOnceThatItIsAwayIsTriedSoon(_ error: Failure) {
        var now = start
        for rest in [2.0, 4, 5, 5] {
            #expect(mayAsk(.picture, now: now))
            health.failed(.picture, error, now: now)
            #expect(!mayAsk(.read, now: now + .seconds(rest - 1)))
            now += .seconds(rest)
        }
        // One that is silent is tried rarely, whatever it was before.
        #expect(mayAsk(.read, now: now))
        health.failed(.read, .timedOut, now: now)
        #expect(!mayAsk(.read, now: now + .seconds(29)))
    }

    @Test func oneThatWasAwayIsBackForAllUses() {
        for use in [TierHealth.Use.write, .read] { health.failed(use, .unreachable("gone"), now: start) }
        #expect(mayAsk(.read, now: after(2)))
        #expect(!mayAsk(.write, now: after(2)))
        health.worked(.read)
        #expect(health.state == .works)
        // One that is full is not.
        health.failed(.write, .full, now: after(3))
        health.failed(.read, .unreachable("gone"), now: after(3))
        health.worked(.read)
        #expect(health.state == .readOnly(reason: Failure.full.cause))
    }

    @Test func whatFailsAtTheSameMomentIsOneFailure() {
        for _ in 0..<8 { _ = mayAsk(.read, now: start) }
        for _ in 0..<8 { health.failed(.read, .troubled("gone"), now: after(2)) }
        #expect(mayAsk(.read, now: after(32)))
    }

    @Test(arguments: [
        Failure.full, .refused("it refused (AccessDenied)"), .unreachable("broken"), .answered(status: 500),
        .unreadable("x"),
    ])
    func whatCannotBeWrittenIsRead(_ error: Failure) {
        health.failed(.write, error, now: start)
        #expect(health.state == .readOnly(reason: error.cause))
        #expect(mayAsk(.read, now: after(1)))
        #expect(!mayAsk(.write, now: after(1)))
        // Reading tells nothing of writing.
        health.worked(.read)
        let rest = [.full, .refused("it refused (AccessDenied)"), .unreadable("x")].contains(error) ? 30.0 : 2
        #expect(!mayAsk(.write, now: after(rest - 1)))
        #expect(mayAsk(.write, now: after(rest)))
        health.worked(.write)
        #expect(health.state == .works)
    }

    @Test(arguments: [400, 411, 413])
    func oneThatIsNotTakenTellsNothingOfOthers(_ status: Int) {
        health.failed(.write, Failure(status: status, body: []), now: start)
        #expect(health.state == .works)
        #expect(mayAsk(.write, now: start))
    }

    @Test func whoWritesTriesBothOutAndReadersGoOn() {
        health.failed(.write, .full, now: start)
        health.failed(.read, .timedOut, now: start)
        #expect(mayAsk(.write, now: after(30)))
        #expect(!mayAsk(.read, now: after(30)))
        health.failed(.write, .unreadable("gone"), now: after(32))
        // That tells nothing of reading: a reader tries.
        #expect(mayAsk(.read, now: after(32)))
        health.worked(.read)
        #expect(health.state == .readOnly(reason: "gone"))
        #expect(!mayAsk(.write, now: after(33)))
    }

    @Test func aTrialThatNobodyWantsAnyMoreIsNone() {
        health.failed(.read, .timedOut, now: start)
        #expect(mayAsk(.read, now: after(30)))
        health.failed(.read, .cancelled, now: after(31))
        #expect(mayAsk(.read, now: after(31)))
    }

    @Test func oneLateWriteEndsNoOther() {
        for _ in 0..<2 { health.failed(.write, .timedOut, now: start) }
        health.worked(.write)
        for _ in 0..<2 { health.failed(.write, .timedOut, now: start) }
        #expect(health.state == .works)
        health.failed(.write, .timedOut, now: start)
        #expect(health.state == .readOnly(reason: Failure.timedOut.cause))
        // The trial after the rest is proof enough.
        #expect(mayAsk(.write, now: after(30)))
        health.failed(.write, .timedOut, now: after(31))
        #expect(!mayAsk(.write, now: after(90)))
        #expect(mayAsk(.write, now: after(91)))
    }

    /// Semantics: "Shared with other machines".
    @Test func aLateLeaseEndsLeasesAlone() {
        var now = start
        for rest in [5.0, 10, 20, 40, 80, 160, 300, 300] {
            #expect(mayAsk(.lease, now: now))
            health.failed(.lease, .timedOut, now: now)
            #expect(health.state == .works)
            // What others bring in their time says nothing of it.
            #expect(mayAsk(.write, now: now) && mayAsk(.read, now: now))
            health.worked(.write)
            #expect(!mayAsk(.lease, now: now + .seconds(rest - 1)))
            now += .seconds(rest)
        }
        #expect(mayAsk(.lease, now: now))
        health.worked(.lease)
        #expect(mayAsk(.lease, now: now))
        // A full store takes no lease either.
        health.failed(.lease, .full, now: now)
        #expect(health.state == .readOnly(reason: Failure.full.cause))
        #expect(!mayAsk(.lease, now: now))
    }

    /// A store that hangs and then refuses, as one that restarts.
    @Test(arguments: [Failure.answered(status: 500), .unreachable("it refuses connections"), .full, .refused("403")])
    func aLeaseThatFailsAsATrialIsTriedAgain(_ error: Failure) {
        health.failed(.lease, .timedOut, now: start)
        #expect(mayAsk(.lease, now: start + .seconds(5)), "the trial")
        health.failed(.lease, error, now: start + .seconds(5))
        let later = start + .seconds(600)
        #expect(mayAsk(.write, now: later))
        health.worked(.write)
        #expect(mayAsk(.lease, now: later))
    }

    @Test func slowPicturesEndPicturesAlone() {
        for _ in 0..<2 { health.wasSlow(now: start) }
        health.wasQuick()
        for _ in 0..<3 { health.wasSlow(now: start) }
        guard case .picturesRest = health.state else {
            Issue.record("\(health.state)")
            return
        }
        #expect(!mayAsk(.picture, now: after(29)))
        #expect(mayAsk(.read, now: after(29)))
        #expect(mayAsk(.write, now: after(29)))
        // One picture tries, and the next rest is longer.
        #expect(mayAsk(.picture, now: after(30)))
        #expect(!mayAsk(.picture, now: after(30)))
        health.wasSlow(now: after(31))
        #expect(!mayAsk(.picture, now: after(90)))
        #expect(mayAsk(.picture, now: after(91)))
        // One that is not there ends the rest for all; the next slow one begins another.
        health.worked(.picture)
        #expect(health.state == .works)
        for _ in 0..<2 { #expect(mayAsk(.picture, now: after(92))) }
        health.wasSlow(now: after(92))
        #expect(!mayAsk(.picture, now: after(93)))
        health.wasQuick()
        #expect(health.state == .works)
    }

    /// Semantics: "Shared with other machines".
    ///
    /// If it rested, all of its machines would ask the service at the same moment.
    @Test func oneWithTooManyRequestsIsAskedLessOften() {
        let pauses = (0..<7).map { wasBusy(.read, now: after(Double($0) / 2)) }
        #expect(pauses == [100, 200, 400, 800, 1600, 3000, 3000].map { .milliseconds($0) })
        health.failed(.read, .answered(status: 503), now: after(7))
        #expect(health.state == .works)
        #expect(health.isBusy(now: after(5)) && !health.isBusy(now: after(7)))
        health.worked(.read)
        #expect(wasBusy(.read, now: after(7)) == .milliseconds(1500))
        health.failed(.read, .answered(status: 503), now: after(14))
        #expect(health.state == .works)
        // Nothing has succeeded for longer than a reader waits.
        health.failed(.read, .answered(status: 503), now: after(15))
        #expect(health.state == .rests(reason: Failure.answered(status: 503).cause))
        #expect(mayAsk(.read, now: after(45)))
        health.failed(.read, .answered(status: 503), now: after(46))
        #expect(!mayAsk(.read, now: after(105)))
    }

    @Test func oneThatRefusesWritesForTooManyRequestsIsRead() {
        _ = wasBusy(.write, now: start)
        health.worked(.read)
        health.failed(.write, .answered(status: 503), now: after(8))
        #expect(health.state == .readOnly(reason: Failure.answered(status: 503).cause))
        #expect(mayAsk(.read, now: after(9)))
    }

    @Test func threeLiesInARowAreNoAccident() {
        health.lied(now: start)
        health.lied(now: start)
        health.toldTheTruth()
        health.lied(now: start)
        health.lied(now: start)
        #expect(health.state == .works)
        health.lied(now: start)
        #expect(health.state == .rests(reason: "its objects are damaged"))
        // What was under way then says nothing of the others.
        for use in [TierHealth.Use.read, .picture, .write, .lease] { health.worked(use) }
        #expect(!mayAsk(.read, now: after(29)))
        #expect(mayAsk(.read, now: after(30)))
        health.worked(.read)
        #expect(health.state == .works)
        health.lied(now: after(31))
        #expect(!mayAsk(.read, now: after(32)))
    }

    @Test func aReasonThatIsASentenceIsPartOfOne() {
        health.failed(.read, .broken("store: the connection ended."), now: start)
        #expect(health.state == .rests(reason: "store: the connection ended"))
    }

    /// Semantics: "Shared with other machines".
    @Test func picturesAloneMayBeTooMany() {
        _ = wasBusy(.picture, now: start)
        for use in [TierHealth.Use.read, .write, .lease] { health.worked(use) }
        health.failed(.picture, .answered(status: 503), now: after(7))
        #expect(health.state == .works)
        health.failed(.picture, .answered(status: 503), now: after(8))
        #expect(health.state == .picturesRest(reason: Failure.answered(status: 503).cause))
        #expect(!mayAsk(.picture, now: after(37)) && mayAsk(.read, now: after(37)))
        #expect(mayAsk(.picture, now: after(38)))
        health.worked(.picture)
        #expect(health.state == .works)
    }
}
