import Testing

@testable import HTTP

/// A service whose interface is asked, at one request a second once its burst is spent; wall time starts at 1000.
private final class Service {
    private let start = ContinuousClock.now
    private var passed = Duration.zero
    private var lastID = 0
    var host: HostState

    init(burst: Int = 10, closedUntil: Int64? = nil) {
        host = HostState(
            HostLimits(connections: 16), rate: RequestRate(burst: burst, perSecond: 1, closedUntil: closedUntil))
    }

    private var now: ContinuousClock.Instant { start + passed }
    private var wall: Int64 { 1000 + passed.components.seconds }

    /// One more request that waits, for so many seconds at most.
    func join(_ priority: TransferPriority = .reader, seconds: Int64 = 600) -> Int {
        lastID += 1
        host.join(
            lastID,
            HostState.Entry(
                priority: priority, transferClass: .metadata, deadline: now + .seconds(seconds), isPaced: true))
        return lastID
    }

    /// What happens now, after some time.
    func next(after seconds: Double = 0) -> [HostState.Action] {
        passed += .seconds(seconds)
        return host.next(now: now, wall: wall)
    }

    /// The ids of those that go now.
    func gone(after seconds: Double = 0) -> [Int] {
        next(after: seconds).compactMap { if case .send(let id) = $0 { id } else { nil } }
    }

    /// A request that goes at once.
    func go() throws -> Int {
        let id = join()
        try #require(gone() == [id])
        return id
    }

    /// How many of so many requests go now; the others leave.
    func count(_ priority: TransferPriority, of many: Int, after seconds: Double = 0) -> Int {
        passed += .seconds(seconds)
        let ids = (0..<many).map { _ in join(priority) }
        let gone = gone()
        for id in ids where !host.leave(id) { host.end(id, now: now, wall: wall) }
        return gone.count
    }

    func judge(_ id: Int, _ verdict: AnswerVerdict) -> Int64? { host.judge(id, verdict, wall: wall) }

    func raise(_ id: Int, to priority: TransferPriority = .reader, seconds: Int64) {
        host.setPriority(id, priority, deadline: now + .seconds(seconds))
    }

    func leave(_ id: Int) -> Bool { host.leave(id) }

    func giveBack(_ id: Int) { host.giveBack(id, wall: wall) }

    var tokens: Double { state.tokens }
    var closedUntil: Int64? { state.closedUntil }

    private var state: (tokens: Double, closedUntil: Int64?) {
        var line = host.service ?? ServiceLine(RequestRate(burst: 1, perSecond: 1))
        return line.state(now: now, wall: wall)
    }

    /// Seconds until the host is looked at again.
    func wake() -> Double? {
        host.wake(now: now, wall: wall).map { ($0 - now) / .seconds(1) }
    }
}

@Suite("The rate of a service")
struct ServiceRateTests {
    @Test func aBurstThenASteadyRate() {
        let service = Service(burst: 3)
        let ids = (0..<4).map { _ in service.join() }
        #expect(service.gone() == Array(ids[..<3]))
        #expect(service.wake() == 1)
        #expect(service.gone(after: 0.999) == [] && service.tokens < 1)
        #expect(service.gone(after: 0.002) == [ids[3]])
        #expect(service.gone(after: 100) == [] && service.tokens == 3)
        #expect(service.wake() == nil)
    }

    @Test func nobodyFailsBeforeItsDeadline() throws {
        let service = Service(burst: 1)
        _ = try service.go()
        let waiting = (0..<3).map { _ in service.join(seconds: 60) }
        // As it looks now, its turn would be in four seconds.
        let impatient = service.join(seconds: 2)
        #expect(service.next() == [] && service.wake() == 1)
        for id in waiting { #expect(service.leave(id)) }
        #expect(service.next(after: 1.001) == [.send(impatient)])
    }

    @Test func whoHadNoTurnInTimeLearnsWhenThereIsOne() throws {
        let service = Service(burst: 1)
        _ = try service.go()
        for _ in 0..<3 { _ = service.join(seconds: 60) }
        let last = service.join(seconds: 2)
        #expect(service.gone(after: 1.5).count == 1)
        // Half a token is there, and two are ahead of it: after what has gone meanwhile.
        #expect(service.next(after: 0.4) == [])
        let told = service.next(after: 0.1)
        #expect(told.contains { if case .crowded(last, let seconds) = $0 { (1...3).contains(seconds) } else { false } })
    }

    @Test func whatAProgramWaitsForGoesBeforeWhatNobodyWaitsFor() {
        let service = Service(burst: 2)
        let ahead = (0..<9).map { _ in service.join(.preload) }
        #expect(service.gone() == [ahead[0]])
        let walk = (0..<2).map { _ in service.join(.walk, seconds: 30) }
        service.host.setPriority(ahead[5], .walk)
        // They leave half of a burst as the others do.
        #expect(service.gone() == [])
        for id in [walk[0], walk[1], ahead[5], ahead[1]] { #expect(service.gone(after: 1.001) == [id]) }
    }

    @Test func whoBeginsToWaitKeepsThePlaceOfWhoWaited() throws {
        let service = Service(burst: 1)
        _ = try service.go()
        let first = service.join(.walk, seconds: 1)
        let second = service.join(.walk)
        service.raise(first, to: .walk, seconds: 60)
        #expect(service.gone(after: 2) == [first])
        #expect(service.gone(after: 2) == [second])
    }

    @Test func aPersonsPagesGoBeforeAnyWalks() {
        let service = Service(burst: 8)
        for _ in 0..<4 { _ = service.join(.preload) }
        #expect(service.gone().count == 4)
        let walk = service.join(.preload)
        for _ in 0..<4 { _ = service.join(.shown) }
        #expect(service.gone().count == 4)
        let further = service.join(.shown)
        let opening = service.join()
        // Whoever came first, what somebody opens is before further pages, and those before a walk.
        for id in [opening, further, walk] { #expect(service.gone(after: 1.001) == [id]) }
    }

    @Test func aWalkTakesHalfOfABurstAtOnceAndThenEverythingThatComesBack() {
        let service = Service(burst: 40)
        let atOnce = service.count(.preload, of: 99)
        #expect(atOnce == 20)
        let later = (1...60).map { _ in service.count(.preload, of: 99, after: 1) }
        #expect((59...60).contains(later.reduce(0, +)) && later.allSatisfy { $0 <= 1 })
        let kept = service.count(.shown, of: 99)
        #expect(kept == 20, "all that was kept for a person is there whatever was walked")
    }

    @Test func whatIsLeftToPeopleComesBackWhileProgramsGoOn() {
        let service = Service(burst: 40)
        let first = (service.count(.preload, of: 99), service.count(.reader, of: 99))
        #expect(first == (20, 20))
        // Half of what comes back, until twenty are there again.
        let walked = (1...40).map { _ in service.count(.preload, of: 99, after: 1) }.reduce(0, +)
        #expect((19...21).contains(walked))
        let left = service.count(.reader, of: 99)
        #expect((19...21).contains(left))
    }

    @Test func whatAPersonComesToWaitForGoesBeforeOthersWithATimeOfItsOwn() throws {
        let service = Service(burst: 1)
        _ = try service.go()
        let walk = (0..<3).map { _ in service.join(.preload) }
        #expect(service.gone() == [])
        service.raise(walk[2], seconds: 5)
        service.raise(walk[1], seconds: 1)
        #expect(service.next() == [])
        #expect(service.next(after: 1) == [.crowded(walk[1], seconds: 2), .send(walk[2])])
    }

    @Test func whatDoesNotReachTheServiceCostsNothing() throws {
        let service = Service(burst: 2)
        let id = try service.go()
        service.giveBack(id)
        service.giveBack(id)
        #expect(service.tokens == 2)
    }

    @Test func coolDownsCloseAndAreCapped() throws {
        let service = Service(burst: 5)
        let ids = try (0..<4).map { _ in try service.go() }
        let ends = zip(ids, [30, 10, -1]).map { service.judge($0, .limited(seconds: $1, told: true)) }
        #expect(ends == [1030, nil, nil] && service.closedUntil == 1030)
        #expect(service.judge(ids[0], .limited(seconds: 90, told: true)) == nil, "it has had its say")
        let impatient = service.join(seconds: 29)
        let patient = service.join(seconds: 31)
        #expect(service.next() == [.refuse(impatient, seconds: 30)])
        #expect(service.wake() == 30)
        #expect(service.gone(after: 30) == [patient])
        #expect(service.judge(patient, .limited(seconds: 1_000_000, told: true)) == 4630)
    }

    @Test(arguments: [(1010, 1010), (900, nil), (9_000_000, 4600)] as [(Int64, Int64?)])
    func aCoolDownSurvivesARestartButNotAClockSetBack(_ stored: Int64, _ end: Int64?) {
        let service = Service(closedUntil: stored)
        _ = service.join()
        #expect(service.closedUntil == end)
    }
}

/// After a cool-down: one request goes, and what comes of it decides about the others.
@Suite("Probing after a cool-down")
struct ServiceProbeTests {
    /// A service that has asked for a pause; a request that goes as the probe when that is over, and one behind.
    private func probe(_ verdict: AnswerVerdict = .limited(seconds: 30, told: true)) throws -> (Service, Int, Int) {
        let service = Service()
        let end = service.judge(try service.go(), verdict)
        let ids = (service.join(), service.join())
        #expect(service.next() == [])
        #expect(service.gone(after: Double((end ?? 0) - 1000)) == [ids.0])
        return (service, ids.0, ids.1)
    }

    @Test func oneGoesAndAWelcomeLetsTheOthersGo() throws {
        let (service, probe, second) = try probe()
        // Tokens there are plenty of, and time goes by: all the same nobody goes.
        let third = service.join()
        #expect(service.next(after: 20) == [] && service.wake() == 550)
        #expect(service.judge(probe, .fine) == nil)
        #expect(service.gone() == [second, third])
        _ = try service.go()
    }

    @Test func withoutAVerdictTheNextWaiterIsTheProbe() throws {
        let (service, first, second) = try probe()
        let behind = service.join()
        #expect(service.judge(first, .unknown) == nil)
        #expect(service.gone() == [second])
        // The first has had its say.
        #expect(service.judge(first, .unknown) == nil)
        #expect(service.gone() == [])
        #expect(service.judge(second, .fine) == nil)
        #expect(service.gone() == [behind])
    }

    @Test func whoWaitsForTheProbeStillHasADeadlineAndCanLeave() throws {
        let (service, first, second) = try probe()
        let short = service.join(seconds: 5)
        #expect(service.leave(second))
        #expect(service.next(after: 5) == [.late(short)])
        #expect(service.judge(first, .unknown) == nil)
        _ = try service.go()
    }

    @Test func aReaderIsTheProbeBeforeAPreload() throws {
        let service = Service()
        _ = service.judge(try service.go(), .limited(seconds: 30, told: true))
        _ = service.join(.preload)
        let reader = service.join()
        #expect(service.gone(after: 30) == [reader])
    }

    @Test func usualPausesDoubleUpToAnHourAndAWelcomeBeginsAnew() throws {
        let service = Service()
        var (id, wall) = (try service.go(), Int64(1000))
        // One that is told is obeyed as told, and doubles nothing.
        for pause in [120, 7, 240, 480, 960, 1920, 3600, 3600, 3600] as [Int64] {
            let isTold = pause == 7
            #expect(service.judge(id, .limited(seconds: isTold ? pause : 120, told: isTold)) == wall + pause)
            id = service.join(seconds: 10_000)
            #expect(service.gone(after: Double(pause)) == [id])
            wall += pause
        }
        #expect(service.judge(id, .fine) == nil)
        #expect(service.judge(try service.go(), .limited(seconds: 120, told: false)) == wall + 120)
    }

    @Test func manyUnderWayTogetherAreRefusedOnce() throws {
        let service = Service()
        let ids = try (0..<5).map { _ in try service.go() }
        let ends = ids.prefix(3).map { service.judge($0, .limited(seconds: 120, told: false)) }
        #expect(ends == [1120, nil, nil])
        // A welcome from before the refusal is no welcome after it.
        #expect(service.judge(ids[3], .fine) == nil && service.closedUntil == 1120)
        let (probe, second) = (service.join(), service.join())
        #expect(service.gone(after: 120) == [probe])
        #expect(service.judge(ids[4], .unknown) == nil)
        #expect(service.gone() == [])
        #expect(service.judge(probe, .fine) == nil)
        #expect(service.gone() == [second])
    }
}
