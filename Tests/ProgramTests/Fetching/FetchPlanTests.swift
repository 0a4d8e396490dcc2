import System
import Glibc
import Testing

@testable import rankfs

/// The decisions of a fetch: the order of its works, its attempts, and its end; the clock is a number here.
@Suite struct FetchPlanTests {
    /// All works that may begin now.
    private func beginAll(_ plan: inout FetchPlan) -> [FetchWork] {
        var begun: [FetchWork] = []
        while let next = plan.begin() { begun.append(next) }
        return begun
    }

    private func record(
        _ outcome: FetchOutcome, _ begun: FetchWork, in plan: inout FetchPlan
    )
        -> [String]
    {
        plan.record(outcome, of: begun)
    }

    private let failed = FetchOutcome.failed(SystemError(code: EIO))

    @Test func worksBeginInTheOrderOfListings() {
        var plan = FetchPlan(paths: ["1", "2"], readers: 4)
        let first = beginAll(&plan)
        #expect(first.map(\.self) == [FetchWork(path: "1", group: "1", isListing: true)], "one listing at a time")
        _ = record(.listed(files: ["a", "c"], directories: ["x", "y"]), first[0], in: &plan)
        let second = beginAll(&plan)
        #expect(second.map(\.path) == ["1/a", "1/c", "1/x"], "a directory in the place of its parent")
        #expect(second.map(\.isListing) == [false, false, true])
        #expect(plan.progress.listingsLeft == 3 && plan.progress.name == "x")
        #expect(record(.skipped, second[0], in: &plan) == [], "a file is left")
        #expect(record(.skipped, second[1], in: &plan) == ["1: 2 there already"])
        _ = record(.listed(files: ["f"], directories: []), second[2], in: &plan)
        let third = beginAll(&plan)
        #expect(third.map(\.path) == ["1/x/f", "1/y"])
        _ = record(.elsewhere("z"), third[1], in: &plan)
        let fourth = beginAll(&plan)
        #expect(fourth.map(\.path) == ["z"])
        _ = record(.listed(files: [""], directories: []), fourth[0], in: &plan)
        #expect(plan.begin() == FetchWork(path: "z", group: "z"), "a file that was named itself")
    }

    /// A kana with its mark as one scalar and as two: two folders, which are equal texts to Swift.
    @Test func namesOfTwoNormalFormsAreTwo() {
        var plan = FetchPlan(paths: ["\u{304C}", "\u{304B}\u{3099}"], readers: 1)
        var lengths: [Int] = []
        while let next = plan.begin() {
            lengths.append(next.path.utf8.count)
            _ = record(.listed(files: [], directories: []), next, in: &plan)
        }
        #expect(lengths == [3, 6])
    }

    @Test(arguments: [["d/a", "d", "d/c"], ["d", "d/a", "d/c", "d"]])
    func eachFileIsReadOnce(_ paths: [String]) {
        var plan = FetchPlan(paths: paths, readers: 1)
        var read: [String] = []
        while let next = plan.begin() {
            switch next {
            case FetchWork(path: "d", group: "d", isListing: true):
                _ = record(.listed(files: ["a", "b", "c"], directories: []), next, in: &plan)
            case let work where work.isListing: _ = record(.listed(files: [""], directories: []), next, in: &plan)
            case let work:
                read.append(work.path)
                _ = record(.skipped, next, in: &plan)
            }
        }
        #expect(read == ["d/a", "d/b", "d/c"])
        #expect(plan.tally.filesDone == 3 && plan.progress.filesKnown == 3)
    }

    @Test func noMoreFilesThanReaders() {
        var plan = FetchPlan(paths: [""], readers: 2)
        let first = beginAll(&plan)
        _ = record(.listed(files: ["a", "b", "c"], directories: []), first[0], in: &plan)
        let begun = beginAll(&plan)
        #expect(begun.map(\.path) == ["a", "b"])
        _ = record(.fetched(5, replaced: true), begun[1], in: &plan)
        #expect(beginAll(&plan).map(\.path) == ["c"])
        #expect(plan.tally.total.bytes == 5)
    }

    @Test func threeLostInARowAreAnOutage() {
        var plan = FetchPlan(paths: ["1", "2"], readers: 8)
        let first = beginAll(&plan)
        _ = record(.listed(files: (0..<12).map(String.init), directories: ["d"]), first[0], in: &plan)
        let begun = beginAll(&plan)
        #expect(begun.count == 8)
        _ = record(failed, begun[0], in: &plan)
        _ = record(failed, begun[1], in: &plan)
        #expect(record(.withheld, begun[2], in: &plan) == [])
        _ = record(failed, begun[3], in: &plan)
        _ = record(failed, begun[4], in: &plan)
        #expect(!plan.isOutage && plan.tally.untried == 0)
        let lines = record(failed, begun[5], in: &plan)
        #expect(plan.isOutage && lines.last?.hasPrefix("nothing gets through") == true)
        #expect(plan.tally.untried == 6 && plan.tally.losses.count == 5, "four files and two listings")
        #expect(plan.begin() == nil)
        #expect(record(.skipped, begun[6], in: &plan) == [] && plan.begin() == nil)
    }

    @Test func aListingThatComesAfterAnOutageIsLeftToo() {
        var plan = FetchPlan(paths: ["1", "2"], readers: 5)
        let first = beginAll(&plan)
        _ = record(.listed(files: ["a", "b", "c"], directories: []), first[0], in: &plan)
        let begun = beginAll(&plan)
        for file in begun.prefix(3) { _ = record(failed, file, in: &plan) }
        #expect(plan.isOutage && plan.tally.untried == 0)
        _ = record(.listed(files: ["a", "b"], directories: []), begun[3], in: &plan)
        #expect(plan.begin() == nil && plan.tally.untried == 2)
    }

    @Test func aListingIsLostForItsReason() {
        let day = "ranking/daily/2024-05-01"
        var plan = FetchPlan(paths: ["1", day, "3"], readers: 1)
        for outcome in [FetchOutcome.withheld, .missing, failed] {
            if let next = plan.begin() { _ = record(outcome, next, in: &plan) }
        }
        #expect(plan.tally.losses.map(\.path) == ["1", day, "3"] && plan.tally.listings == 3)
        let reasons = plan.tally.losses.map(\.reason)
        #expect(reasons[0] == "only signed-in users see it; sign in with `rankfs login`" && plan.begin() == nil)
        #expect(reasons[1] == "there is nothing; the day may not be published yet")
        var others = FetchPlan(paths: ["1", "users/1"], readers: 1, isOthers: true)
        for outcome in [FetchOutcome.withheld, .missing] {
            if let next = others.begin() { _ = record(outcome, next, in: &others) }
        }
        #expect(
            others.tally.losses.map(\.reason) == [
                "only the mount's owner sees it; ask for share=all", "there is nothing of that name",
            ])
    }

    @Test func attemptsComeAfterLongerAndLongerPauses() {
        var attempts = FetchAttempts()
        var pauses: [Int64] = []
        while let pause = attempts.pause(closedUntil: nil, now: 0) {
            #expect(!pause.isCoolDown)
            pauses.append(pause.seconds)
        }
        #expect(pauses == [2, 4, 8, 16, 32, 60, 60] && pauses.count + 1 == FetchAttempts.most)
    }

    @Test func aCoolDownIsNoAttempt() {
        var attempts = FetchAttempts()
        for _ in 0..<6 { _ = attempts.pause(closedUntil: 9, now: 10) }
        for _ in 0..<20 {
            let pause = attempts.pause(closedUntil: 130, now: 100)
            #expect(pause?.isCoolDown == true && pause?.seconds == 31, "the mount is ready first")
        }
        #expect(attempts.pause(closedUntil: nil, now: 131)?.seconds == 2)
    }
}
