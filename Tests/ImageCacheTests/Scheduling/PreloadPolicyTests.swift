import HTTP
import Testing

@testable import ImageCache

@Suite struct PreloadPolicyTests {
    let start = ContinuousClock.now

    /// Reads pictures whole, one after the other, with a pause before each; returns what each planned.
    func walk(
        _ places: [Int], pause: Duration, wasThere: Bool = true, directory: UInt64 = 1, isBulk: Bool = false,
        policy: inout PreloadPolicy
    ) -> [PreloadPolicy.Decision] {
        var now = start
        return places.map { place in
            now += pause
            var decision = policy.passed(
                place, in: directory, opened: now, wasThere: wasThere, isComplete: wasThere, isBulk: isBulk)
            now += .milliseconds(400)
            if decision == .nothing || decision == .drop {
                decision = policy.completed(place, in: directory)
            }
            policy.finished(place, in: directory, now: now)
            return decision
        }
    }

    @Test func theNextTwoInTheDirectionOfTheWalk() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        #expect(
            walk([1, 2, 3, 2, 1], pause: .seconds(1), policy: &policy) == [
                .plan([2, 3]), .plan([3, 4]), .plan([4, 5]), .plan([1, 0]), .plan([0, -1]),
            ])
    }

    @Test func twoMoreAfterTwoThatWereStillOnTheirWay() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        let second = Duration.seconds(1)
        #expect(
            walk([1, 2, 3, 2], pause: second, wasThere: false, policy: &policy)
                == [.plan([2, 3]), .plan([3, 4]), .plan([4, 5, 6, 7]), .plan([1, 0, -1, -2])])
        #expect(walk([1], pause: second, policy: &policy) == [.plan([0, -1, -2, -3])], "they stay")
        #expect(walk([50], pause: second, policy: &policy) == [.plan([51, 52])], "until it jumps")
        // Nothing was planned in this direction.
        var back = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        #expect(walk([9, 8, 9, 8, 9], pause: second, wasThere: false, policy: &back).last == .plan([10, 11]))
        var none = PreloadPolicy(ordinary: 0, slots: TransferSlots(all: 16))
        #expect(walk([1, 2, 3], pause: second, wasThere: false, policy: &none).last == .nothing)
    }

    @Test func nothingBeforeThePictureItselfIsComplete() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        #expect(policy.passed(5, in: 1, opened: start, wasThere: false, isComplete: false) == .nothing)
        #expect(policy.completed(4, in: 1) == .nothing)
        #expect(policy.completed(5, in: 1) == .plan([6, 7]))
        #expect(policy.completed(5, in: 1) == .nothing)
    }

    @Test func aLongWalkLooksAsFarAheadAsItHasCome() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        let widths = walk(Array(1...40), pause: .milliseconds(5), wasThere: false, policy: &policy).map(width)
        #expect(widths.prefix(9) == [2, 4, 8, 12, 12, 12, 12, 12, 12])
        #expect(widths[13] == 13 && widths[15] == 15)
        #expect(policy.widest == 16)
        #expect(widths.max() == policy.widest && widths.last == policy.widest)
    }

    @Test func aQuickStepOntoAPreloadedPictureIsNoBulkWalkYet() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        let steps = walk([1, 2, 3, 4], pause: .milliseconds(5), policy: &policy)
        #expect(steps.map(width) == [2, 2, 4, 8])
    }

    @Test func whoIsKnownToLookAtNothingNeedNotShowIt() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        let first = policy.passed(1, in: 1, opened: start, wasThere: false, isComplete: false, isBulk: true)
        #expect(first == .plan([2, 3]), "one file that is copied alone costs no more than one that is looked at")
        policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        #expect(
            walk(Array(1...12), pause: .milliseconds(5), isBulk: true, policy: &policy).map(width)
                == [2, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12])
        #expect(walk([13, 14], pause: .seconds(9), isBulk: true, policy: &policy).map(width) == [2, 2])
        #expect(walk([90], pause: .milliseconds(5), isBulk: true, policy: &policy).map(width) == [2])
    }

    @Test(arguments: [(true, PreloadPolicy.pauseOfACopy), (false, PreloadPolicy.pauseOfABulkWalk)])
    func aBulkWalkThatNobodyGoesOnWithIsOver(isBulk: Bool, pause: Duration) {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        for place in 1...2 {
            #expect(policy.rested(now: start + .seconds(9)) == [], "an ordinary walk rests at each picture")
            _ = policy.passed(
                place, in: 1, opened: start, wasThere: false, isComplete: true, isBulk: isBulk)
            #expect(policy.rested(now: start + .seconds(9)) == [], "the last byte has not been read")
            policy.finished(place, in: 1, now: start)
        }
        #expect(policy.width(of: 1) == (isBulk ? 12 : 4))
        #expect(policy.rested(now: start + pause) == [])
        #expect(policy.rested(now: start + pause + .milliseconds(1)) == [1])
        #expect(policy.width(of: 1) == 2)
        #expect(policy.rested(now: start + .seconds(9)) == [])
    }

    @Test func aJumpDropsWhatWasPlanned() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        _ = walk([1, 2], pause: .seconds(1), policy: &policy)
        #expect(policy.passed(90, in: 1, opened: start, wasThere: false, isComplete: false) == .drop)
        #expect(policy.completed(90, in: 1) == .plan([91, 92]))
    }

    @Test func aSmallPictureAmongThoseThatAreLookedAtIsLookedAtToo() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        func pass(_ index: Int, isSmall: Bool = true, isBulk: Bool = false) -> PreloadPolicy.Decision {
            policy.passed(
                index, in: 1, opened: start, wasThere: true, isComplete: true, isBulk: isBulk, isSmall: isSmall)
        }
        policy.looked(at: 1, in: 1)
        let behindALook = [pass(2), pass(3)]
        #expect(behindALook == [.nothing, .plan([4, 5])])
        policy.looked(at: 5, in: 1)
        let large = pass(6, isSmall: false)
        #expect(large == .plan([7, 8]))
        // A viewer that finds out the type of a picture before it reads it.
        policy.looked(at: 7, in: 1)
        let same = pass(7)
        #expect(same == .plan([8, 9]))
        // Another directory's look, and programs that copy.
        policy.looked(at: 7, in: 2)
        let other = pass(8)
        policy.looked(at: 8, in: 1)
        let copied = pass(9, isBulk: true)
        #expect(other == .plan([9, 10]) && copied == .plan([10, 11]))
    }

    @Test func walksInTwoDirectoriesAreSeparate() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        _ = walk([1, 2, 3], pause: .milliseconds(5), directory: 1, policy: &policy)
        #expect(walk([7, 6], pause: .seconds(1), directory: 2, policy: &policy) == [.plan([8, 9]), .plan([5, 4])])
        #expect(policy.width(of: 1) == 4)
        #expect(policy.width(of: 2) == 2)
    }

    @Test func walksRememberedAreBounded() {
        var policy = PreloadPolicy(ordinary: 2, slots: TransferSlots(all: 16))
        for directory in 0..<1000 { _ = walk([1], pause: .seconds(1), directory: UInt64(directory), policy: &policy) }
        #expect(policy.completed(1, in: 0) == .nothing)
    }

    private func width(_ decision: PreloadPolicy.Decision) -> Int {
        if case .plan(let places) = decision { places.count } else { 0 }
    }
}
