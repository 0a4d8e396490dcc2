import Testing

@testable import Render

/// Which job runs where, and what follows from failures.
@Suite struct PlanTests {
    private let start = ContinuousClock.now

    private func plan(_ change: (inout RenderPlan.Limits) -> Void = { _ in }) -> RenderPlan {
        var limits = RenderPlan.Limits()
        change(&limits)
        return RenderPlan(limits)
    }

    @Test func nothingIsStartedBeforeItIsNeeded() {
        var plan = plan()
        #expect(plan.tick(now: start).isEmpty)
        #expect(plan.submit(1, isLong: false, now: start) == [.run(job: 1, worker: 0, isNew: true)])
    }

    @Test func aProcessIsUsedAgainAndEndsWhenItHasNothingToDo() {
        var plan = plan { $0.idle = .seconds(5) }
        _ = plan.submit(1, isLong: false, now: start)
        #expect(plan.finished(0, .answered, now: start) == [.wake(after: .seconds(5))])
        #expect(plan.submit(2, isLong: false, now: start + .seconds(3)) == [.run(job: 2, worker: 0, isNew: false)])
        // The moment that was asked for comes all the same, and asks for the next one.
        #expect(plan.tick(now: start + .seconds(5)).isEmpty)
        #expect(plan.finished(0, .answered, now: start + .seconds(6)) == [.wake(after: .seconds(5))])
        #expect(plan.tick(now: start + .seconds(11)) == [.end(worker: 0)])
        #expect(plan.submit(3, isLong: false, now: start + .seconds(12)) == [.run(job: 3, worker: 1, isNew: true)])
    }

    @Test func soManyAtOnceAndTheRestInOrder() {
        var plan = plan()
        var actions: [RenderPlan.Action] = []
        for job in 1...5 { actions += plan.submit(job, isLong: false, now: start) }
        #expect(actions == [.run(job: 1, worker: 0, isNew: true), .run(job: 2, worker: 1, isNew: true)])
        #expect(plan.finished(1, .answered, now: start).first == .run(job: 3, worker: 1, isNew: false))
        #expect(plan.finished(0, .answered, now: start).first == .run(job: 4, worker: 0, isNew: false))
    }

    @Test func thumbnailsPassByAnimations() {
        var plan = plan()
        #expect(plan.submit(1, isLong: true, now: start) == [.run(job: 1, worker: 0, isNew: true)])
        #expect(plan.submit(2, isLong: true, now: start).isEmpty)
        #expect(plan.submit(3, isLong: false, now: start) == [.run(job: 3, worker: 1, isNew: true)])
        // After an animation the process ends, and the next one has a new one.
        #expect(plan.finished(0, .answered, now: start) == [.end(worker: 0), .run(job: 2, worker: 2, isNew: true)])
    }

    @Test func aProcessEndsAfterSoManyJobs() {
        var plan = plan { $0.jobsEach = 3 }
        for job in 1...2 {
            _ = plan.submit(job, isLong: false, now: start)
            #expect(!plan.finished(0, .answered, now: start).contains(.end(worker: 0)))
        }
        _ = plan.submit(3, isLong: false, now: start)
        #expect(plan.finished(0, .answered, now: start).contains(.end(worker: 0)))
    }

    /// A day of damaged previews costs a process each, and less and less often.
    @Test func lossesInARowAreWaitedFor() {
        var plan = plan()
        var now = start
        var rests: [Duration] = []
        for job in 1...14 {
            var actions = plan.submit(job, isLong: false, now: now)
            if case .wake(let rest)? = actions.first {
                rests.append(rest)
                now += rest
                actions = plan.tick(now: now)
            }
            guard case .run(job, let worker, true)? = actions.first else {
                Issue.record("\(job): \(actions)")
                return
            }
            #expect(plan.finished(worker, .lost, now: now).isEmpty)
        }
        #expect(rests.first == .milliseconds(10) && rests.last == .seconds(1))
        #expect(rests == rests.sorted() && rests.count == 14 - 4)
        // One that answers ends the waiting.
        now += .seconds(1)
        guard case .run(20, let worker, _)? = plan.submit(20, isLong: false, now: now).first else {
            Issue.record("not run")
            return
        }
        _ = plan.finished(worker, .answered, now: now)
        _ = plan.submit(21, isLong: false, now: now)
        _ = plan.finished(worker, .lost, now: now)
        guard case .run(22, _, true)? = plan.submit(22, isLong: false, now: now).first else {
            Issue.record("a single loss is waited for")
            return
        }
    }

    @Test func whatCannotBeStartedIsSaidAtOnceAndTriedAgainLater() {
        var plan = plan()
        let error = MediaError.unavailable("it is missing")
        _ = plan.submit(1, isLong: false, now: start)
        #expect(plan.finished(0, .notStarted(error), now: start).isEmpty)
        #expect(plan.submit(2, isLong: false, now: start + .milliseconds(999)) == [.refuse(job: 2, error)])
        guard case .run(3, 1, true)? = plan.submit(3, isLong: false, now: start + .seconds(1)).first else {
            Issue.record("not tried again")
            return
        }
        _ = plan.finished(1, .notStarted(error), now: start + .seconds(1))
        #expect(plan.submit(4, isLong: false, now: start + .milliseconds(2999)) == [.refuse(job: 4, error)])
        var now = start
        for job in 5...20 {
            now += .seconds(60)
            guard case .run(job, let worker, true)? = plan.submit(job, isLong: false, now: now).first else {
                Issue.record("waits longer than a minute")
                return
            }
            _ = plan.finished(worker, .notStarted(error), now: now)
        }
    }

    @Test func tooManyWaitingAreRefused() {
        var plan = plan { $0.mostWaiting = 3 }
        var refused: [Int] = []
        for job in 1...9 {
            for case .refuse(let job, _) in plan.submit(job, isLong: false, now: start) { refused.append(job) }
        }
        #expect(refused == [6, 7, 8, 9])
    }

    @Test func closingRefusesWhatWaitsAndEndsWhatIdles() {
        var plan = plan()
        for job in 1...3 { _ = plan.submit(job, isLong: false, now: start) }
        _ = plan.finished(0, .answered, now: start)
        _ = plan.finished(1, .answered, now: start)
        for job in 4...5 { _ = plan.submit(job, isLong: false, now: start) }
        #expect(plan.close() == [.refuse(job: 5, .cancelled)])
        #expect(plan.finished(0, .answered, now: start) == [.end(worker: 0)])
        #expect(plan.submit(6, isLong: false, now: start) == [.refuse(job: 6, .cancelled)])
        // A process that is not known has nothing to tell.
        #expect(plan.finished(77, .lost, now: start).isEmpty)
    }
}
