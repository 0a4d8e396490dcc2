import HTTP
import TestSupport
import Testing

@testable import HTTP

@Suite("The state of a host")
struct HostStateTests {
    private let start = ContinuousClock.now
    private let wall: Int64 = 1_000_000

    private func after(_ seconds: Int64) -> (now: ContinuousClock.Instant, wall: Int64) {
        (start + .seconds(seconds), wall + seconds)
    }

    /// A host that many wait for, each for so many seconds.
    private func host(_ count: Int, patience: Int64 = 60, closedUntil: Int64? = nil) -> HostState {
        var host = HostState(pause: closedUntil.map { HostPause(end: $0) })
        for id in 0..<count { host.join(id, priority: .reader, deadline: start + .seconds(patience)) }
        return host
    }

    private func next(_ host: inout HostState, _ seconds: Int64 = 0) -> [HostState.Action] {
        host.next(now: after(seconds).now, wall: after(seconds).wall)
    }

    private func settle(_ host: inout HostState, _ id: Int, _ verdict: AnswerVerdict, _ seconds: Int64 = 0) -> Int64? {
        host.settle(id, verdict, now: after(seconds).now, wall: after(seconds).wall)
    }

    @Test func aBurstBeginsWithAFewAndGrowsWithGoodAnswers() {
        var host = host(200)
        #expect(next(&host) == (0..<4).map { .send($0) })
        #expect(next(&host) == [])
        #expect(settle(&host, 1, .unknown) == nil)
        #expect(next(&host) == [.send(4)])
        // The place of the good answer, and 32 more.
        #expect(settle(&host, 0, .fine) == nil)
        #expect(next(&host) == (5..<38).map { .send($0) })
        // What is requested at once is of the same burst; the next one begins with fewer, and a late one with few.
        for id in 2..<38 { host.end(id, now: start, wall: wall) }
        #expect(next(&host) == (38..<74).map { .send($0) })
        for id in 38..<74 { host.end(id, now: start, wall: wall) }
        #expect(next(&host, 5) == (74..<80).map { .send($0) })
        for id in 74..<80 { host.end(id, now: start, wall: wall) }
        #expect(next(&host, 6) == (80..<84).map { .send($0) })
    }

    /// A walk requests a few sizes, waits for a page, then requests the others: no request is due for about the time of an answer.
    @Test(arguments: [(0, 10, 36), (0, 11, 6), (80, 80, 36), (80, 81, 6), (900, 200, 36), (900, 201, 6)])
    func aBurstOutlastsAMomentWithoutRequests(_ answerTime: Int, _ moment: Int, _ count: Int) {
        var host = host(4)
        #expect(next(&host).count == 4)
        let answered = start + .milliseconds(answerTime)
        #expect(host.settle(0, .fine, now: answered, wall: wall) == nil)
        for id in 0..<4 { host.end(id, now: answered, wall: wall) }
        for id in 4..<200 { host.join(id, priority: .reader, deadline: start + .seconds(60)) }
        #expect(host.next(now: answered + .milliseconds(moment), wall: wall).count == count)
    }

    /// A host that begins to refuse after it gave a picture refuses few sizes.
    @Test func aPictureAllowsTwoMoreRequests() {
        var host = HostState()
        for id in 0..<4 { host.join(id, priority: .reader, transferClass: .bulk, deadline: start + .seconds(60)) }
        #expect(next(&host).count == 4)
        for id in 0..<2 { #expect(settle(&host, id, .fine) == nil) }
        for id in 0..<4 { host.end(id, now: start, wall: wall) }
        for id in 4..<200 { host.join(id, priority: .reader, deadline: start + .seconds(60)) }
        #expect(next(&host).count == 8)
    }

    /// A host that accepts some and refuses the rest is asked for more with care.
    @Test func afterARefusalABurstGrowsSlowly() {
        var host = host(60)
        #expect(next(&host).count == 4)
        #expect(settle(&host, 0, .limited(seconds: 1, told: true)) == wall + 1)
        for id in 1..<4 { _ = settle(&host, id, .unknown) }
        #expect(next(&host, 1) == [.send(4)])
        #expect(settle(&host, 4, .fine, 1) == nil)
        #expect(next(&host, 1) == (5..<11).map { .send($0) })
        for id in 5..<11 { #expect(settle(&host, id, .fine, 1) == nil) }
        #expect(next(&host, 1) == (11..<29).map { .send($0) })
    }

    /// What hangs is no sign of a host that wants to be left alone.
    @Test func whatHangsHoldsNobodyUp() {
        var host = host(10)
        #expect(next(&host).count == 4)
        #expect(host.wake(now: start, wall: wall) == start + .seconds(1))
        #expect(next(&host, 1) == (4..<8).map { .send($0) })
        #expect(next(&host, 1) == [])
        #expect(next(&host, 2) == [.send(8), .send(9)])
        #expect(host.wake(now: after(2).now, wall: wall) == nil)
    }

    /// What was sent again counts from then on, and nobody is looked at for one who left.
    @Test func whatWasSentAgainCountsAnew() {
        var host = host(4, patience: 600)
        #expect(next(&host).count == 4)
        #expect(settle(&host, 0, .limited(seconds: 1, told: true)) == wall + 1)
        for id in 1..<4 { _ = settle(&host, id, .unknown) }
        for id in 0..<4 { host.join(id, priority: .reader, deadline: start + .seconds(600)) }
        #expect(next(&host, 1) == [.send(0)])
        #expect(settle(&host, 0, .fine, 1) == nil)
        #expect(next(&host, 1) == [.send(1), .send(2), .send(3)])
        for id in 1..<4 { #expect(settle(&host, id, .fine, 1) == nil) }
        host.join(9, priority: .reader, deadline: start + .seconds(3))
        host.leave(9)
        for id in 10..<40 { host.join(id, priority: .reader, deadline: start + .seconds(600)) }
        #expect(next(&host, 2).count == 12)
        #expect(host.wake(now: after(2).now, wall: after(2).wall) == start + .seconds(3))
        #expect(next(&host, 3).count == 12)
    }

    /// A picture that will be read next does not wait for the sizes of a whole listing.
    @Test func ofWhatNobodyWaitsForBodiesGoFirst() {
        var host = HostState()
        let deadline = start + .seconds(60)
        for id in 0..<4 { host.join(id, priority: .preload, deadline: deadline) }
        for id in 4..<6 { host.join(id, priority: .preload, transferClass: .bulk, deadline: deadline) }
        for id in 6..<8 { host.join(id, priority: .reader, deadline: deadline) }
        host.join(8, priority: .reader, transferClass: .bulk, deadline: deadline)
        #expect(next(&host) == [6, 7, 8, 4].map { .send($0) })
        host.setPriority(3, .reader)
        host.setPriority(5, .reader)
        for id in [6, 7, 8, 4] { _ = settle(&host, id, .unknown) }
        #expect(next(&host) == [3, 5, 0, 1].map { .send($0) })
    }

    /// Downloads have time; who reads what they bring has less.
    @Test func aReaderWaitsForNoLongPause() {
        var host = host(0, closedUntil: wall + 20)
        let deadline = start + .seconds(600)
        for (id, longest) in [(0, 15), (1, 20), (2, 21)] as [(Int, Int64)] {
            host.join(
                id,
                .init(priority: .reader, transferClass: .bulk, deadline: deadline, longestPause: .seconds(longest)))
        }
        host.join(3, .init(priority: .preload, transferClass: .bulk, deadline: deadline, longestPause: .seconds(15)))
        #expect(next(&host) == [.refuse(0, seconds: 20), .refuse(1, seconds: 20)])
        host.setPriority(3, .reader)
        #expect(next(&host, 2) == [.refuse(3, seconds: 18)])
        #expect(next(&host, 20) == [.send(2)])
        _ = settle(&host, 2, .fine, 20)
        host.join(4, .init(priority: .reader, transferClass: .bulk, deadline: deadline, longestPause: .seconds(15)))
        #expect(next(&host, 20) == [.send(4)])
        #expect(settle(&host, 4, .limited(seconds: 60, told: true), 20) == wall + 80)
        host.join(5, .init(priority: .reader, transferClass: .bulk, deadline: deadline, longestPause: .seconds(15)))
        #expect(next(&host, 65) == [.refuse(5, seconds: 15)])
    }

    @Test func aProbeThatIsRefusedClosesForLonger() {
        var host = host(1)
        var now: Int64 = 0
        var pauses: [Int64] = []
        for id in 0..<16 {
            if id > 0 { host.join(id, priority: .reader, deadline: after(now + 100_000).now) }
            #expect(next(&host, now) == [.send(id)])
            let end = settle(&host, id, .limited(seconds: 5, told: false), now)
            pauses.append((end ?? 0) - wall - now)
            now = (end ?? 0) - wall
        }
        #expect(pauses.prefix(5) == [5, 10, 20, 40, 80])
        #expect(pauses.suffix(5).allSatisfy { $0 == 3600 })
    }

    @Test func aProbeWithoutAnAnswerIsFollowedByAnother() {
        var host = host(2, closedUntil: wall - 1)
        #expect(next(&host) == [.send(0)])
        #expect(settle(&host, 0, .unknown) == nil)
        #expect(next(&host) == [.send(1)])
        #expect(!host.isIdle)
    }

    /// The clock was set back while the probe was under way: the cool-down that is over then lasts longer than the next one.
    @Test func aRefusedProbeOfAClockThatWasSetBackIsFollowedByAnother() {
        var host = host(2, closedUntil: wall)
        #expect(next(&host) == [.send(0)])
        #expect(host.settle(0, .limited(seconds: 10, told: true), now: start, wall: wall - 30) == nil)
        #expect(host.next(now: start, wall: wall - 30) == [])
        #expect(next(&host) == [.send(1)])
    }

    /// A clock that was nine hours ahead before it was set right, or a file of such a time.
    @Test func aCoolDownOfAClockThatWasSetBackEndsAfterTheLongestOne() {
        var host = host(1, patience: 10_000, closedUntil: wall + 9 * 3600)
        #expect(next(&host) == [])
        #expect(host.closedUntil(wall: wall + 60) == wall + CoolDown.longest)
        #expect(next(&host, CoolDown.longest - 1) == [])
        #expect(next(&host, CoolDown.longest) == [.send(0)])
    }

    @Test func aClockThatIsSetBackMakesNoCoolDownLonger() {
        var host = host(6, patience: 10_000)
        #expect(next(&host).count == 4)
        #expect(settle(&host, 0, .limited(seconds: 5, told: true)) == wall + 5)
        let back = wall - 600
        #expect(host.next(now: start, wall: back) == [])
        #expect(host.closedUntil(wall: back + 4) == back + 5)
        #expect(host.next(now: start, wall: back + 5) == [.send(4)])
    }

    @Test func whoseTimeIsUpEnds() {
        var host = host(6, patience: 5)
        #expect(next(&host).count == 4)
        #expect(host.wake(now: start, wall: wall) == start + .seconds(1))
        #expect(next(&host, 5) == [.late(4), .late(5)])
        #expect(host.wake(now: after(5).now, wall: after(5).wall) == nil)
    }

    @Test(arguments: [Int64.min, -1, 0, .max])
    func clocksAndFilesMayHoldAnything(_ number: Int64) {
        var host = HostState(
            pause: HostPause(
                end: number,
                front: number == 0 ? nil : FrontStop(refusal: .block, step: Int(truncatingIfNeeded: number), mark: "")))
        for wall in [Int64.min, -1, 0, .max] {
            _ = host.closedUntil(wall: wall)
            host.join(1, priority: .reader, deadline: start)
            _ = host.next(now: start - .seconds(1), wall: wall)
            _ = host.pause(wall: wall)?.began
            _ = host.turnAway(1, .challenge, mark: "", hasOtherWay: number == 0, wall: wall)
            _ = host.settle(1, .limited(seconds: number, told: true), now: start, wall: wall)
            _ = host.wake(now: start, wall: wall)
            _ = host.leave(1)
        }
    }
}

@Suite("The slots of a host")
struct HostSlotTests {
    private let start = ContinuousClock.now

    /// A host without a rate limit.
    private func host(bodies: Int = 8, small: Int? = 3, isSecure: Bool = true) -> HostState {
        HostState(HostLimits(connections: bodies, smallAnswers: small), isSecure: isSecure, burst: HostState.most)
    }

    private func join(
        _ host: inout HostState, _ id: Int, _ priority: TransferPriority = .reader, _ kind: TransferClass = .bulk
    ) {
        host.join(id, priority: priority, transferClass: kind, deadline: start + .seconds(60))
    }

    private func end(_ host: inout HostState, _ id: Int) {
        if !host.leave(id) { host.end(id, now: start, wall: 0) }
    }

    private func next(_ host: inout HostState) -> [Int] {
        host.next(now: start, wall: 0).map { if case .send(let id) = $0 { id } else { -1 } }
    }

    /// Where a service lets one client have few, small answers are as few, over one connection too.
    @Test(arguments: [(4, 4, 4), (0, 1, 1), (999, 32, 32), (nil, 32, 200)] as [(Int?, Int, Int)])
    func smallAnswersMayBeFew(asked: Int?, apart: Int, together: Int) {
        for (isMultiplexed, count) in [(false, apart), (true, together)] {
            var host = host(small: asked)
            host.learn(isMultiplexed: isMultiplexed)
            for id in 1...300 { join(&host, id, .reader, .metadata) }
            #expect(next(&host).count == count)
        }
    }

    /// The first burst to a host with TLS waits for one connection, not for an answer.
    @Test(arguments: [(true, 100), (false, 32)])
    func withoutAnAnswerTheSchemeCounts(isSecure: Bool, slots: Int) {
        var host = host(small: nil, isSecure: isSecure)
        for id in 1...300 { join(&host, id, .reader, .metadata) }
        #expect(next(&host).count == slots)
        host.learn(isMultiplexed: true)
        #expect(next(&host).count == 200 - slots)
    }

    /// Readers, then what a person has before them, then the rest; the last slot is left to readers.
    @Test func shownOnesGoBeforePreloads() {
        var host = host()
        for (id, priority) in [(1, TransferPriority.preload), (2, .shown), (3, .reader), (4, .shown)] {
            join(&host, id, priority, .metadata)
        }
        #expect(next(&host) == [3, 2, 4])
        end(&host, 3)
        #expect(next(&host) == [])
        host.setPriority(4, .reader)
        #expect(next(&host) == [1])
        host.setPriority(2, .preload)
        end(&host, 2)
        join(&host, 5, .shown, .metadata)
        #expect(next(&host) == [5])
    }

    /// Which bodies go ahead of readers is not decided here; small answers leave a slot to readers.
    @Test func smallAnswersWithoutAReaderLeaveOneSlot() {
        var host = host(bodies: 2)
        for id in 1...9 { join(&host, id, .preload) }
        #expect(next(&host) == [1, 2])
        for id in 11...19 { join(&host, id, .preload, .metadata) }
        #expect(next(&host) == [11, 12])
        join(&host, 20, .reader, .metadata)
        #expect(next(&host) == [20])
        host.setPriority(11, .reader)
        #expect(next(&host) == [])
        end(&host, 12)
        #expect(next(&host) == [13])
        host.setPriority(11, .preload)
        end(&host, 20)
        #expect(next(&host) == [])
    }

    /// The interface has a rate and cool-downs of its own, and goes before what its answers lead to.
    @Test func theInterfaceGoesFirstWhateverTheHostAskedFor() {
        var host = HostState(HostLimits(connections: 1, smallAnswers: 3), pause: HostPause(end: 100))
        for id in 1...5 {
            host.join(
                id, priority: .reader, deadline: start + .seconds(600), isPaced: id > 1)
        }
        #expect(next(&host) == [2, 3, 4])
        end(&host, 2)
        #expect(next(&host) == [5])
        #expect(host.closedUntil(wall: 0) == 100, "their answers say nothing of others")
    }

    @Test func bodiesAndSmallAnswersDoNotWaitForEachOther() {
        var host = host(bodies: 1)
        join(&host, 1)
        join(&host, 2)
        join(&host, 3, .reader, .metadata)
        #expect(next(&host) == [1, 3])
    }

    /// Every sequence of a few events keeps the bounds; no slot is idle while a request waits, and readers go first.
    @Test func boundsHoldForAnyOrderOfEvents() {
        var random = Random(seed: 7)
        for _ in 0..<300 {
            let slots = Int.random(in: 1...5, using: &random)
            var host = host(bodies: slots)
            var priorities: [Int: TransferPriority] = [:]
            var running: Set<Int> = []
            for id in 1...40 {
                let priority: TransferPriority = Bool.random(using: &random) ? .reader : .preload
                let chosen = priorities.keys.sorted().randomElement(using: &random)
                switch (Int.random(in: 0...3, using: &random), chosen) {
                case (0, _), (1, _):
                    priorities[id] = priority
                    join(&host, id, priority)
                case (2, let victim?):
                    priorities[victim] = nil
                    running.remove(victim)
                    end(&host, victim)
                case (_, let chosen?):
                    priorities[chosen] = priority
                    host.setPriority(chosen, priority)
                default: continue
                }
                for id in next(&host) {
                    #expect(running.insert(id).inserted)
                    let waiting = priorities.filter { !running.contains($0.key) }
                    #expect(priorities[id] == .reader || !waiting.values.contains(.reader))
                    #expect(waiting.allSatisfy { $0.value != priorities[id] || $0.key > id })
                }
                #expect(running.count == min(slots, priorities.count))
                #expect(host.counts == (active: running.count, queued: priorities.count - running.count))
            }
        }
    }
}

extension HostState {
    /// A host with TLS and so many slots for bodies.
    fileprivate init(pause: HostPause? = nil) { self.init(HostLimits(connections: 16), pause: pause) }

    fileprivate mutating func join(
        _ id: Int, priority: TransferPriority, transferClass: TransferClass = .metadata,
        deadline: ContinuousClock.Instant, isPaced: Bool = false
    ) {
        join(id, Entry(priority: priority, transferClass: transferClass, deadline: deadline, isPaced: isPaced))
    }
}
