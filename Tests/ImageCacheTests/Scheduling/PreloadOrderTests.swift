import HTTP
import Rankings
import TestSupport
import Testing

@testable import ImageCache

/// Walks that go by modification time.
@Suite(.timeLimit(.minutes(1))) struct PreloadOrderTests {
    typealias Decision = PreloadPolicy.Decision

    /// An order in which the picture at place `t` by time is at place `t * factor` by name, modulo a prime.
    static func order(_ count: Int, factor: Int) -> PictureOrder {
        let indices = (0..<count).map { Int32($0 * factor % count) }
        var places = [Int32](repeating: 0, count: count)
        for (place, index) in indices.enumerated() { places[Int(index)] = Int32(place) }
        return PictureOrder(.byTime, places: places, indices: indices)
    }

    /// Neighbours by time are 21 places apart by name, neighbours by name 37 or 60 by time.
    static let spread = order(97, factor: 21)

    static func byTime(_ places: some Sequence<Int>) -> [Int] { places.compactMap { spread.index(at: $0) } }

    /// A policy and the time that its walks take.
    struct Walker {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        var now = ContinuousClock.now

        /// Reads pictures whole, one after the other, with a pause before each; returns what each planned.
        mutating func walk(
            _ indices: [Int], _ order: PictureOrder? = spread, byName: PictureOrder? = nil,
            pause: Duration = .seconds(1), wasThere: Bool = true, isBulk: Bool = false
        ) -> [Decision] {
            indices.map { index in
                now += pause
                var decision = policy.passed(
                    index, in: 1, orders: [byName, order].compactMap(\.self), opened: now, wasThere: wasThere,
                    isComplete: wasThere, isBulk: isBulk)
                now += .milliseconds(400)
                if decision == .nothing || decision == .drop { decision = policy.completed(index, in: 1) }
                policy.finished(index, in: 1, now: now)
                return decision
            }
        }
    }

    // MARK: - The state machine

    @Test func theSecondPictureByTimeTellsTheOrder() {
        var walker = Walker()
        let first = Self.byTime([30])[0]
        #expect(
            walker.walk(Self.byTime([30, 31, 32, 31])) == [
                .plan([first + 1, first + 2] + Self.byTime([31])), .plan(Self.byTime([32, 33])),
                .plan(Self.byTime([33, 34])),
                .plan(Self.byTime([30, 29])),
            ])
    }

    @Test func theVeryNextByTimeIsPlannedUntilAStepTellsTheOrder() {
        var walker = Walker()
        let (here, there) = (Self.byTime([30])[0], Self.byTime([60])[0])
        // Somebody opens one here and one there.
        #expect(
            walker.walk([here, there]) == [
                .plan([here + 1, here + 2] + Self.byTime([31])), .plan([there + 1, there + 2] + Self.byTime([61])),
            ])
        #expect(walker.walk([there + 1, here]) == [.plan([there + 2, there + 3]), .plan([here + 1, here + 2])])
        // What is planned already, or nothing behind the last, or no order.
        var others = Walker()
        #expect(others.walk([5], Self.order(97, factor: 1)) == [.plan([6, 7])])
        #expect(others.walk(Self.byTime([96])).first == .plan([Self.byTime([96])[0] + 1, Self.byTime([96])[0] + 2]))
        #expect(others.walk([50], nil) == [.plan([51, 52])])
        // Who copies goes by name, or by inode number, which is the same.
        let now = ContinuousClock.now
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        let plan = policy.passed(
            here, in: 1, orders: [Self.spread], opened: now, wasThere: false, isComplete: false, isBulk: true)
        #expect(plan == .plan([here + 1, here + 2]))
    }

    // Favourites, search results and related works are listed otherwise than by name.

    static let named: PictureOrder = {
        let order = Self.order(97, factor: 35)
        let places = (0..<97).map { Int32(order.place(of: $0) ?? 0) }
        return PictureOrder(.byName, places: places, indices: (0..<97).map { Int32(order.index(at: $0) ?? 0) })
    }()

    static func byName(_ places: some Sequence<Int>) -> [Int] { places.compactMap { named.index(at: $0) } }

    @Test func aViewerGoesByNameWhateverTheListing() {
        var walker = Walker()
        let plans = walker.walk(Self.byName([30, 31, 32, 31]), byName: Self.named)
        let next = Self.spread.place(of: Self.byName([30])[0]).flatMap { Self.spread.index(at: $0 + 1) }
        #expect(plans[0] == .plan(Self.byName([31, 32]) + (next.map { [$0] } ?? [])))
        #expect(Array(plans.dropFirst()) == [[32, 33], [33, 34], [30, 29]].map { .plan(Self.byName($0)) })
        #expect(walker.walk(Self.byName([80]), byName: Self.named) == [.plan(Self.byName([81, 82]))], "a jump")
    }

    @Test func oneThatGoesAsListedOrByTimeShowsItWithAStep() {
        var (listed, timed) = (Walker(), Walker())
        #expect(
            listed.walk([30, 31, 32], byName: Self.named).dropFirst() == [.plan([32, 33]), .plan([33, 34])])
        #expect(
            timed.walk(Self.byTime([30, 29, 28]), byName: Self.named).dropFirst()
                == [.plan(Self.byTime([28, 27])), .plan(Self.byTime([27, 26]))])
    }

    /// `tar` goes as listed, `rsync` by name.
    @Test func aCopyBeginsAsListedAndShowsItsOrderWithItsSecondPicture() {
        let quick = Duration.milliseconds(5)
        var (tar, rsync) = (Walker(), Walker())
        let asListed = tar.walk([30, 31], byName: Self.named, pause: quick, isBulk: true)
        #expect(asListed == [.plan([31, 32]), .plan(Array(32...43))])
        let plans = rsync.walk(Self.byName(30...32), byName: Self.named, pause: quick, isBulk: true)
        #expect(plans.last == .plan(Self.byName(33...44)))
    }

    @Test func aStepByNameTurnsBack() {
        var walker = Walker()
        let here = Self.byTime([31])[0]
        let plans = walker.walk(Self.byTime([30, 31]) + [here + 1, here + 2, here + 1])
        #expect(plans[2] == .plan([here + 2, here + 3]))
        #expect(plans[3] == .plan([here + 3, here + 4]))
        #expect(plans[4] == .plan([here, here - 1]))
        // Forgotten with the order: a jump by name goes on upwards.
        #expect(walker.walk([5]) == [.plan([6, 7])])
    }

    /// A viewer that reads two ahead and one behind by itself, as gThumb does.
    @Test func aViewerThatReadsAheadKeepsItsOrder() {
        var walker = Walker()
        let plans = walker.walk(Self.byTime([30, 31, 32, 29, 33, 34, 35]))
        #expect(plans[2] == .plan(Self.byTime([33, 34])))
        #expect(Array(plans.suffix(3)) == [34...35, 35...36, 36...37].map { .plan(Self.byTime($0)) })
    }

    @Test func aBulkWalkByTimeWidensToo() {
        var walker = Walker()
        let plans = walker.walk(
            Self.byTime(20...26), pause: .milliseconds(5), wasThere: false)
        let ahead = [22...23, 23...26, 24...31, 25...36, 26...37, 27...38]
        #expect(Array(plans.dropFirst()) == ahead.map { .plan(Self.byTime($0)) })
        #expect(walker.policy.width(of: 1) == 12)
        // A pause closes the window, as by name.
        #expect(walker.walk(Self.byTime([27])) == [.plan(Self.byTime([28, 29]))])
    }

    @Test func aPictureWithoutAPlaceByTimeIsReachedByName() {
        var walker = Walker()
        #expect(walker.walk(Self.byTime([30, 31]) + [200]).last == .plan([201, 202]))
        #expect(walker.walk([5], nil) == [.plan([6, 7])])
    }

    @Test func aListingThatGrewIsFollowedInItsNewOrder() {
        var walker = Walker()
        _ = walker.walk(Self.byTime([30, 31]))
        let grown = Self.order(101, factor: 21)
        let here = Self.byTime([31])[0]
        let place = grown.place(of: here) ?? 0
        let next = grown.index(at: place + 1) ?? 0
        #expect(
            walker.walk([next], grown) == [
                .plan([2, 3].compactMap { grown.index(at: place + $0) })
            ])
    }

    /// Every third picture after every beginning, in every order of eleven pictures that a factor makes.
    @Test func everyStepFollowsTheRules() {
        var (turns, stays, returns) = (0, 0, 0)
        for factor in 2..<11 {
            let order = Self.order(11, factor: factor)
            func place(_ index: Int) -> Int { order.place(of: index) ?? -1 }
            func plan(_ from: Int, _ step: Int, isByTime: Bool) -> Decision {
                .plan(
                    [1, 2].compactMap { isByTime ? order.index(at: place(from) + step * $0) : from + step * $0 })
            }
            for one in 0..<11 {
                for two in 0..<11 where two != one {
                    var walker = Walker()
                    let plans = walker.walk([one, two], order)
                    let (byName, byTime) = (two - one, place(two) - place(one))
                    let isByTime = abs(byName) > 2 && abs(byTime) == 1
                    let step = isByTime ? byTime : abs(byName) <= 2 ? byName.signum() : 1
                    let ruled = [plan(one, 1, isByTime: false), plan(two, step, isByTime: isByTime)]
                    #expect(plans.map(Self.withoutNextByTime) == ruled)
                    guard isByTime else { continue }
                    turns += 1
                    for three in 0..<11 where three != two {
                        var walker = walker
                        let (thenByName, thenByTime) = (three - two, place(three) - place(two))
                        let staysByTime = abs(thenByTime) == 1 || abs(thenByName) != 1
                        let move = staysByTime ? thenByTime : thenByName
                        let step = abs(move) <= 2 ? move.signum() : byTime
                        #expect(
                            walker.walk([three], order) == [plan(three, step, isByTime: staysByTime)])
                        if staysByTime { stays += 1 } else { returns += 1 }
                    }
                }
            }
        }
        #expect(turns > 100 && stays > 100 && returns > 100, "\(turns) \(stays) \(returns)")
    }

    /// Windows have 2, 4, 8 or more places; a third one is the very next by time, as long as nothing tells the order.
    private static func withoutNextByTime(_ decision: Decision) -> Decision {
        if case .plan(let places) = decision, places.count == 3 { .plan(Array(places.prefix(2))) } else { decision }
    }

    /// No order by time disturbs a walk by steps that are near by name, slow or in bulk, but for the very next by time behind the
    /// first plan.
    @Test(arguments: [Duration.milliseconds(5), .seconds(1)], [true, false])
    func nearStepsByNameAreNeverDisturbed(pause: Duration, wasThere: Bool) {
        for number in 0..<4096 {
            var (rest, index) = (number, 50)
            let indices = (0..<6).map { _ in
                defer { rest /= 4 }
                index += [-2, -1, 1, 2][rest % 4]
                return index
            }
            var (plain, timed) = (Walker(), Walker())
            let expected = plain.walk(indices, nil, pause: pause, wasThere: wasThere)
            let plans = timed.walk(indices, pause: pause, wasThere: wasThere)
            #expect(plans.dropFirst() == expected.dropFirst())
            let first = [indices[0] + 1, indices[0] + 2]
            let next = Self.spread.place(of: indices[0]).flatMap { Self.spread.index(at: $0 + 1) }
            #expect(plans[0] == .plan(first + (next.map { [$0] } ?? [])))
        }
    }

    // MARK: - The cache

    static func neighbours(_ index: Int) -> Neighbours {
        Neighbours(directory: 1, index: index, orders: [spread]) { place in
            (0..<97).contains(place) ? Sample.picture(Int64(place), size: Int64(PreloadTests.size)) : nil
        }
    }

    /// Reads a picture whose download is the request of this number.
    func read(_ index: Int, request: Int, _ bench: Bench) async throws {
        bench.clock.advance(by: .seconds(1))
        let bytes = PreloadTests.bytes(index)
        let picture = Sample.picture(Int64(index), size: Int64(bytes.count))
        let open = try bench.open(picture, neighbours: Self.neighbours(index))
        #expect(try await bench.read(open, bytes.count, at: request, bytes).content == bytes)
        open.close()
    }

    @Test func theTurnForgetsTheQueueByName() async throws {
        // One connection for preloads: the second by name waits for the first.
        let bench = try Bench(preload: 2, connections: 1)
        let places = Self.byTime(30...33)
        try await read(places[0], request: 0, bench)
        let byName = await bench.transport.waitForRequest(at: 1)
        try await read(places[1], request: 2, bench)
        // It gave its connection to the reader, and goes on now.
        #expect(byName.isCancelled)
        await bench.transport.waitForRequest(at: 3).answer(PreloadTests.bytes(places[0] + 1))
        await bench.transport.waitForRequest(at: 4).answer(PreloadTests.bytes(places[2]))
        await bench.transport.waitForRequest(at: 5).answer(PreloadTests.bytes(places[3]))
        await bench.settle()
        #expect(
            PreloadTests.numbers(bench) == [places[0], places[0] + 1, places[1], places[0] + 1, places[2], places[3]])
    }
}
