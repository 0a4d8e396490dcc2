import Testing

@testable import rankfs

/// The decisions of a fetch about what is next and how long to wait; the clock is a number here.
@Suite struct FetchScheduleTests {
    private typealias Schedule = FetchSchedule<String>

    private func files(_ names: [String]) -> Schedule {
        var schedule = Schedule()
        schedule.add(names.map { (.file, $0) }, in: nil)
        return schedule
    }

    /// Everything that may begin now.
    private func beginAll(_ schedule: inout Schedule, now: Int64) -> [Schedule.Piece] {
        var begun: [Schedule.Piece] = []
        while case .begin(let piece) = schedule.next(now: now) { begun.append(piece) }
        return begun
    }

    private func wait(_ schedule: inout Schedule, now: Int64) -> Int64? {
        guard case .wait(let until) = schedule.next(now: now) else { return nil }
        return until
    }

    @Test func workBeginsInTheOrderOfListings() {
        var schedule = Schedule()
        schedule.add([(.listing, "1"), (.listing, "2")], in: nil)
        let first = beginAll(&schedule, now: 0)
        #expect(first.map(\.work) == ["1"], "one listing at a time")
        schedule.add([(.file, "1a"), (.listing, "1b"), (.file, "1c")], in: first[0])
        schedule.succeeded(first[0].id)
        let second = beginAll(&schedule, now: 0)
        #expect(second.map(\.work) == ["1a", "1b", "1c"])
        schedule.add([(.file, "1b1")], in: second[1])
        second.forEach { schedule.succeeded($0.id) }
        let third = beginAll(&schedule, now: 0)
        #expect(third.map(\.work) == ["1b1", "2"])
        third.forEach { schedule.succeeded($0.id) }
        guard case .finished = schedule.next(now: 0) else {
            Issue.record("not finished")
            return
        }
    }

    @Test func manyFilesHoldListingsBack() {
        var schedule = files((0..<Schedule.mostFiles).map(String.init))
        schedule.add([(.listing, "next")], in: nil)
        let begun = beginAll(&schedule, now: 0)
        #expect(begun.count == Schedule.mostFiles + 1 && begun.last?.work == "next")
        var full = Schedule()
        full.add([(.listing, "first")], in: nil)
        full.add((0..<Schedule.mostFiles).map { (.file, String($0)) }, in: nil)
        guard case .begin(let piece) = full.next(now: 0) else {
            Issue.record("nothing begins")
            return
        }
        #expect(piece.kind == .file)
    }

    @Test func aCoolDownLetsOneProbeThroughAtATime() {
        var schedule = files(["a", "b", "c", "d"])
        let running = beginAll(&schedule, now: 100)
        #expect(running.count == 4)
        // All four meet the same refusal: one closing, no attempt counted.
        for piece in running {
            #expect(schedule.failed(piece.id, unreachable: false, closedUntil: 130, now: 100) == .again)
        }
        #expect(schedule.coolDown == 131)
        var now: Int64 = 100
        var probes = 0
        // However many cool-downs follow: one probe each, and nobody is given up.
        for _ in 0..<20 {
            now = wait(&schedule, now: now) ?? 0
            #expect(beginAll(&schedule, now: now - 1).isEmpty)
            let probe = beginAll(&schedule, now: now)
            #expect(probe.map(\.work) == ["a"])
            probes += 1
            #expect(schedule.failed(probe[0].id, unreachable: false, closedUntil: now + 60, now: now) == .again)
        }
        #expect(probes == 20)
        now = wait(&schedule, now: now) ?? 0
        let probe = beginAll(&schedule, now: now)
        #expect(probe.count == 1)
        #expect(wait(&schedule, now: now + 1000) == nil, "the others wait for the probe, however long")
        schedule.succeeded(probe[0].id)
        #expect(beginAll(&schedule, now: now).map(\.work) == ["b", "c", "d"])
        #expect(schedule.coolDown == nil)
    }

    @Test func whatBeganBeforeTheClosingDoesNotOpenTheGate() {
        var schedule = files(["a", "b", "c"])
        guard case .begin(let a) = schedule.next(now: 0), case .begin(let b) = schedule.next(now: 0) else { return }
        #expect(schedule.failed(a.id, unreachable: false, closedUntil: 50, now: 0) == .again)
        schedule.succeeded(b.id)
        #expect(beginAll(&schedule, now: 40).isEmpty)
    }

    @Test func aProbeThatIsOvertakenByAnotherCoolDownBlocksNobody() {
        var schedule = files(["a", "b", "c"])
        guard case .begin(let a) = schedule.next(now: 0), case .begin(let b) = schedule.next(now: 0) else { return }
        #expect(schedule.failed(a.id, unreachable: false, closedUntil: 10, now: 0) == .again)
        let probe = beginAll(&schedule, now: 11)
        #expect(probe.count == 1)
        #expect(schedule.failed(b.id, unreachable: false, closedUntil: 30, now: 12) == .again)
        schedule.succeeded(probe[0].id)
        #expect(beginAll(&schedule, now: 12).isEmpty)
        #expect(beginAll(&schedule, now: 31).count == 1)
    }

    @Test func listingsAndFilesWaitForThemselvesOnly() {
        var schedule = Schedule()
        schedule.add([(.listing, "day"), (.file, "picture")], in: nil)
        let begun = beginAll(&schedule, now: 0)
        #expect(schedule.failed(begun[0].id, unreachable: false, closedUntil: 99, now: 0) == .again)
        schedule.succeeded(begun[1].id)
        schedule.add([(.file, "other")], in: nil)
        #expect(beginAll(&schedule, now: 1).map(\.work) == ["other"])
    }

    @Test func aBadPictureIsGivenUpAfterLongerAndLongerPauses() {
        var schedule = files(["bad", "good"])
        var now: Int64 = 0
        var pauses: [Int64] = []
        for attempt in 1...Schedule.attempts {
            guard let piece = beginAll(&schedule, now: now).first(where: { $0.work == "bad" }) else {
                Issue.record("attempt \(attempt) does not begin")
                return
            }
            let verdict = schedule.failed(piece.id, unreachable: false, closedUntil: nil, now: now)
            #expect(verdict == (attempt == Schedule.attempts ? .givenUp : .again))
            guard verdict == .again else { break }
            let until = wait(&schedule, now: now) ?? 0
            pauses.append(until - now)
            now = until
        }
        #expect(pauses == [2, 4, 8, 16, 32, 60, 60])
        #expect(!schedule.isOutage && schedule.left == 1, "the good one began at the first call and runs")
    }

    @Test func anUnreachableServiceIsAskedByOneReader() {
        var schedule = files((0..<40).map(String.init))
        var now: Int64 = 0
        var asked = 0
        for piece in [schedule.next(now: 0), schedule.next(now: 0), schedule.next(now: 0)] {
            guard case .begin(let piece) = piece else { continue }
            #expect(schedule.failed(piece.id, unreachable: true, closedUntil: nil, now: now) == .again)
        }
        while !schedule.isOutage, let until = wait(&schedule, now: now) {
            now = max(until, now)
            let begun = beginAll(&schedule, now: now)
            #expect(begun.count == 1)
            asked += 1
            _ = schedule.failed(begun[0].id, unreachable: true, closedUntil: nil, now: now)
        }
        #expect(schedule.isOutage)
        #expect(asked <= Schedule.attempts * Schedule.outage + 3 && now < 3600, "\(asked) in \(now) s")
        #expect(schedule.abandon().count == schedule.left + 40 - Schedule.outage)
        guard case .finished = schedule.next(now: now) else {
            Issue.record("not finished")
            return
        }
    }

    @Test func failuresInARowMeanTheHost() {
        var schedule = files(["a", "b", "c", "d", "e"])
        for _ in 0..<Schedule.failuresOfAll {
            guard case .begin(let piece) = schedule.next(now: 0) else {
                Issue.record("nothing begins")
                return
            }
            _ = schedule.failed(piece.id, unreachable: false, closedUntil: nil, now: 0)
        }
        #expect(beginAll(&schedule, now: 1).isEmpty)
        #expect(beginAll(&schedule, now: 2).count == 1)
    }

    /// Whatever happens in whatever order: no work is lost or done twice, gates never let two through, and it ends.
    @Test(arguments: 0..<200) func everyCourseEnds(_ seed: Int) {
        var state = UInt64(seed) &* 2_862_933_555_777_941_757 &+ 3_037_000_493
        func random(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var schedule = Schedule()
        schedule.add((0..<6).map { (random(2) == 0 ? .listing : .file, "\($0)") }, in: nil)
        var expected = 6
        var (now, ended, steps) = (Int64(0), 0, 0)
        var running: [Schedule.Piece] = []
        while steps < 20_000 {
            steps += 1
            let decision = running.count < 4 ? schedule.next(now: now) : .wait(until: nil)
            if case .finished = decision { break }
            if case .begin(let piece) = decision {
                #expect(!running.contains { $0.id == piece.id })
                running.append(piece)
                #expect(running.count { $0.kind == .listing } <= 1)
                continue
            }
            if case .wait(let until?) = decision, running.isEmpty || random(3) == 0 {
                now = max(now, until)
                continue
            }
            guard !running.isEmpty else {
                Issue.record("seed \(seed): waits for nothing")
                break
            }
            let piece = running.remove(at: random(running.count))
            switch random(5) {
            case 0:
                let end = now + Int64(random(90)) + 1
                #expect(schedule.failed(piece.id, unreachable: false, closedUntil: end, now: now) == .again)
            case 1, 2:
                let unreachable = random(2) == 0
                if schedule.failed(piece.id, unreachable: unreachable, closedUntil: nil, now: now) == .givenUp {
                    ended += 1
                }
            default:
                if piece.kind == .listing, expected < 40 {
                    schedule.add([(.file, "f"), (.listing, "l"), (.file, "g")], in: piece)
                    expected += 3
                }
                schedule.succeeded(piece.id)
                ended += 1
            }
            if schedule.isOutage {
                ended += schedule.abandon().count
            }
        }
        #expect(ended == expected && schedule.left == 0 && steps < 20_000, "seed \(seed)")
    }
}
