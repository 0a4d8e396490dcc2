import Synchronization
import Testing
import TestSupport

@testable import HTTP

/// After a cool-down: one request goes, and what comes of it decides about the others.
@Suite("Probing after a cool-down", .timeLimit(.minutes(1)))
struct ProbeTests {
    private let clock = ManualClock()
    private let stranger = GateTicket(id: 0, closings: 0)

    /// A gate of ten tokens; wall time starts at 1000 and follows the clock.
    private func gate(closedUntil: Int64? = nil, told: Ends = Ends()) -> TokenBucketGate {
        let (clock, start) = (clock, clock.now)
        return TokenBucketGate(
            burst: 10, perSecond: 1, closedUntil: closedUntil,
            now: { 1000 + (clock.now - start).components.seconds }, onClose: { told.add($0) }, time: TimeSource(clock))
    }

    private func pass(
        _ gate: TokenBucketGate, _ priority: GatePriority = .opening, seconds: Int64 = 600
    ) -> Task<Result<GateTicket, HTTPError>, Never> {
        let deadline = clock.now.advanced(by: .seconds(seconds))
        return Task {
            do throws(HTTPError) {
                return .success(try await gate.pass(priority, deadline: deadline))
            } catch {
                return .failure(error)
            }
        }
    }

    /// The ticket of one who passes without waiting.
    private func ticket(_ gate: TokenBucketGate) async throws -> GateTicket {
        try await pass(gate).value.get()
    }

    /// One who waits and one behind; the first goes as the probe when the pause is over.
    private func probe(_ gate: TokenBucketGate, after pause: Int64) async throws -> (GateTicket, Waiting) {
        let others = clock.sleeperCount
        let first = pass(gate)
        await clock.waitForSleepers(others + 1)
        let second = pass(gate)
        await clock.waitForSleepers(others + 2)
        clock.advance(by: .seconds(pause))
        return (try await first.value.get(), second)
    }

    private typealias Waiting = Task<Result<GateTicket, HTTPError>, Never>

    @Test func oneGoesAndAWelcomeLetsTheOthersGo() async throws {
        let gate = gate()
        gate.settle(stranger, .limited(seconds: 30, told: true))
        let (probe, second) = try await probe(gate, after: 30)
        await clock.waitForSleepers(1)
        // Tokens there are plenty of, and time goes by: all the same nobody goes.
        clock.advance(by: .seconds(20))
        let third = pass(gate)
        await clock.waitForSleepers(2)
        gate.settle(probe, .fine)
        _ = try await second.value.get()
        _ = try await third.value.get()
        _ = try await ticket(gate)
    }

    @Test func aRefusedProbeClosesAgainAndTheNextIsAProbeToo() async throws {
        let gate = gate()
        gate.settle(stranger, .limited(seconds: 30, told: true))
        let (first, waiting) = try await probe(gate, after: 30)
        await clock.waitForSleepers(1)
        gate.settle(first, .limited(seconds: 60, told: true))
        await clock.waitForSleepers(1)
        #expect(gate.state.closedUntil == 1090)
        let behind = pass(gate)
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(60))
        let second = try await waiting.value.get()
        await clock.waitForSleepers(1)
        gate.settle(second, .fine)
        _ = try await behind.value.get()
    }

    @Test func withoutAVerdictTheNextWaiterIsTheProbe() async throws {
        let gate = gate()
        gate.settle(stranger, .limited(seconds: 30, told: true))
        let (first, waiting) = try await probe(gate, after: 30)
        await clock.waitForSleepers(1)
        let behind = pass(gate)
        await clock.waitForSleepers(2)
        gate.settle(first, .unknown)
        let second = try await waiting.value.get()
        #expect(second != first)
        await clock.waitForSleepers(1)
        // The first has had its say.
        gate.settle(first, .unknown)
        await clock.waitForSleepers(1)
        gate.settle(second, .fine)
        _ = try await behind.value.get()
    }

    @Test func whoWaitsForTheProbeStillHasADeadlineAndCanLeave() async throws {
        let gate = gate()
        gate.settle(stranger, .limited(seconds: 30, told: true))
        let (first, waiting) = try await probe(gate, after: 30)
        let short = pass(gate, seconds: 5)
        await clock.waitForSleepers(2)
        waiting.cancel()
        #expect(await waiting.value == .failure(.cancelled))
        clock.advance(by: .seconds(5))
        #expect(await short.value == .failure(.timedOut))
        gate.settle(first, .unknown)
        _ = try await ticket(gate)
    }

    @Test func aReaderIsTheProbeBeforeAPreload() async throws {
        let gate = gate()
        gate.settle(stranger, .limited(seconds: 30, told: true))
        let preload = pass(gate, .unasked)
        await clock.waitForSleepers(1)
        let (first, reader) = try await probe(gate, after: 30)
        gate.settle(first, .unknown)
        _ = try await reader.value.get()
        preload.cancel()
        #expect(await preload.value == .failure(.cancelled))
    }

    @Test func usualPausesDoubleUpToAnHourAndAWelcomeBeginsAnew() async throws {
        let told = Ends()
        let gate = gate(told: told)
        var ticket = try await ticket(gate)
        var wall: Int64 = 1000
        var expected: [Int64] = []
        for pause in [120, 240, 480, 960, 1920, 3600, 3600, 3600] as [Int64] {
            gate.settle(ticket, .limited(seconds: 120, told: false))
            expected.append(wall + pause)
            #expect(told.all == expected)
            let next = pass(gate, seconds: 10_000)
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(pause))
            wall += pause
            ticket = try await next.value.get()
        }
        gate.settle(ticket, .fine)
        gate.settle(try await self.ticket(gate), .limited(seconds: 120, told: false))
        #expect(told.all.last == wall + 120)
    }

    @Test func aToldPauseIsObeyedAsToldBetweenUsualOnes() async throws {
        let told = Ends()
        let gate = gate(told: told)
        var ticket = try await ticket(gate)
        var wall: Int64 = 1000
        for (seconds, isTold, pause) in [(120, false, 120), (7, true, 7), (120, false, 240)] as [(Int64, Bool, Int64)] {
            gate.settle(ticket, .limited(seconds: seconds, told: isTold))
            #expect(told.all.last == wall + pause)
            let next = pass(gate, seconds: 10_000)
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(pause))
            wall += pause
            ticket = try await next.value.get()
        }
    }

    @Test func manyUnderWayTogetherAreRefusedOnce() async throws {
        let told = Ends()
        let gate = gate(told: told)
        var tickets: [GateTicket] = []
        for _ in 0..<5 { tickets.append(try await ticket(gate)) }
        for ticket in tickets.dropLast() { gate.settle(ticket, .limited(seconds: 120, told: false)) }
        #expect(told.all == [1120])
        // A welcome from before the refusal is no welcome after it.
        gate.settle(tickets[4], .fine)
        #expect(gate.state.closedUntil == 1120)
        let (probe, second) = try await probe(gate, after: 120)
        gate.settle(tickets[4], .fine)
        gate.settle(tickets[3], .unknown)
        await clock.waitForSleepers(1)
        gate.settle(probe, .fine)
        _ = try await second.value.get()
    }

    /// A hundred want to ask all the time, and the service always refuses: one request for each step.
    @Test func aStormCostsOneRequestAStep() async throws {
        let told = Ends()
        let gate = gate(told: told)
        gate.settle(try await ticket(gate), .limited(seconds: 120, told: false))
        var waiting: [Waiting] = []
        for count in 1...100 {
            waiting.append(pass(gate, seconds: 100_000))
            await clock.waitForSleepers(count)
        }
        var passed = 0
        for pause in [120, 240, 480, 960, 1920, 3600] as [Int64] {
            await clock.waitForSleepers(waiting.count - passed)
            clock.advance(by: .seconds(pause))
            let probe = try await waiting[passed].value.get()
            passed += 1
            // All others have found out that they must wait.
            await clock.waitForSleepers(waiting.count - passed)
            gate.settle(probe, .limited(seconds: 120, told: false))
        }
        #expect(told.all.count == 7)
        for task in waiting[passed...] { task.cancel() }
        for task in waiting[passed...] { #expect(await task.value == .failure(.cancelled)) }
    }

    @Test func aRestartWithinACoolDownProbesToo() async throws {
        let gate = gate(closedUntil: 1010)
        let (probe, second) = try await probe(gate, after: 10)
        await clock.waitForSleepers(1)
        gate.settle(probe, .fine)
        _ = try await second.value.get()
    }
}

private final class Ends: Sendable {
    private let values = Mutex<[Int64]>([])
    var all: [Int64] { values.withLock { $0 } }
    func add(_ value: Int64) { values.withLock { $0.append(value) } }
}
