import HTTP
import Rankings
import TestSupport
import Testing

@testable import RankFS

/// What happens to the pictures of a directory one after the other.
extension SeederTests {
    @Test func everyPictureHasItsTurn() async {
        let seeder = seeder()
        let all = jobs(ThumbnailSeeder.screenful + 2)
        #expect(!seeder.isExpected(all[0]))
        async let seeding: Void = seeder.seed("day", all)
        await transport.waitForRequest(at: 0)
        #expect(all.allSatisfy(seeder.isExpected) && !seeder.isExpected(jobs(1, from: 900)[0]))
        let turns = all.map { job in Task { await seeder.waitForTurn(of: job) } }
        await refuse(all.count)
        await seeding
        for turn in turns { await turn.value }
        #expect(all.count(where: seeder.isExpected) == 0)
    }

    @Test(arguments: [true, false]) func aLookThatKnowsOfMoreAddsIt(isDuring: Bool) async {
        let seeder = seeder()
        let all = jobs(ThumbnailSeeder.screenful + 60)
        let known = Array(all.prefix(ThumbnailSeeder.screenful + 40))
        await seeder.add("day", known)
        await transport.waitForRequest(at: 0)
        if isDuring { await seeder.add("day", all) }
        await refuse(known.count)
        if !isDuring { await seeder.add("day", all) }
        await refuse(all.count, from: known.count)
        await seeder.seed("day", all)
        // And one that knows of fewer takes nothing away.
        await seeder.seed("day", known)
        #expect(Set(transport.urls) == Set(all.map(\.preview.url)) && transport.urls.count == all.count)
    }

    /// A window shows a hundred different pictures, however often its file manager looks.
    @Test func whatIsOnItsWayCountsOnce() async {
        let seeder = seeder()
        let all = jobs(ThumbnailSeeder.screenful + 1)
        let first = Array(all.prefix(ThumbnailSeeder.screenful / 2))
        await seeder.add("day", first)
        await transport.waitForRequests(first.count)
        await seeder.add("day", first)
        await seeder.add("day", Array(all.dropFirst(first.count)))
        await transport.waitForRequests(ThumbnailSeeder.screenful)
        #expect(transport.requests.allSatisfy { $0.request.priority == .shown })
        await refuse(all.count)
        #expect(transport.urls.count == all.count)
    }

    /// A page may have come, and its entries been listed, a moment before it is seeded.
    @Test func whatIsAboutToBeSeededIsExpected() async {
        let seeder = seeder()
        let all = jobs(2)
        let (pages, page) = AsyncStream.makeStream(of: (count: Int, jobs: [ThumbnailJob]).self)
        seeder.follow("day", 1, [all[0]]) { _ in
            for await page in pages { return page }
            return nil
        }
        #expect(seeder.isExpected(all[0], at: 0, of: "day") && seeder.isExpected(all[1], at: 1, of: "day"))
        #expect(!seeder.isExpected(jobs(1, from: 900)[0], at: 1, of: "another day"))
        let turn = Task { await seeder.waitForTurn(of: all[1]) }
        page.yield((2, [all[1]]))
        page.finish()
        await refuse(all.count)
        await turn.value
        #expect(!seeder.isExpected(all[1]))
    }

    @Test func nobodyWaitsForWhatIsGivenUp() async {
        let seeder = seeder()
        let all = jobs(ThumbnailSeeder.screenful * 2)
        async let seeding: Void = seeder.seed("day", all)
        let last = Task { await seeder.waitForTurn(of: all[all.count - 1]) }
        for index in 0..<ThumbnailSeeder.screenful { await transport.waitForRequest(at: index).fail(.timedOut) }
        await seeding
        await last.value
        #expect(all.count(where: seeder.isExpected) == 0)
    }

    @Test func aTurnIsWaitedForForTwoSecondsAtMost() async {
        let seeder = seeder()
        let jobs = jobs(1)
        async let seeding: Void = seeder.seed("day", jobs)
        let request = await transport.waitForRequest(at: 0)
        let turn = Task { await seeder.waitForTurn(of: jobs[0]) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(2))
        await turn.value
        #expect(seeder.isExpected(jobs[0]))
        request.respond(body: preview)
        await seeding
    }
}

extension ThumbnailSeeder {
    /// Whether the thumbnails of a picture of no directory are still to be made.
    fileprivate nonisolated func isExpected(_ job: ThumbnailJob) -> Bool { isExpected(job, at: 0, of: "no directory") }
}
