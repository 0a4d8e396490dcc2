import Rankings
import System
import Testing

@testable import Catalog

/// Full records, profiles, animations, followed authors: asked once, stored, served offline.
@Suite(.timeLimit(.minutes(1))) struct TextTests {
    let bench = Bench()
    let work = WorkID(rawValue: 77)
    let author = UserID(rawValue: 11)

    @Test func aHundredAskersCostOneQuestion() async throws {
        bench.source.set { $0.isHeld = true }
        let catalog = try bench.open()
        let askers = (0..<100).map { _ in Task { try await catalog.records.details(of: work, pages: ["p0.jpg"]) } }
        await bench.source.waitForCalls(1)
        bench.source.releaseAll()
        var texts: Set<StoredText> = []
        for asker in askers { texts.insert(try await asker.value) }
        #expect(texts.count == 1)
        #expect(texts.first?.text.contains("\"pages\": [\n    \"p0.jpg\"\n  ]") == true)
        #expect(bench.source.calls == [.details(work)])
        _ = try await catalog.records.details(of: work, pages: [])
        #expect(bench.source.calls.count == 1)
        await catalog.close()
        bench.source.set { $0.failure = .unreachable("no route") }
        bench.now += 86_400 * 400
        let restarted = try bench.open()
        #expect(try await restarted.records.details(of: work, pages: []) == texts.first)
        await #expect(throws: Failure.unreachable("no route")) {
            try await restarted.records.details(of: WorkID(rawValue: 78), pages: [])
        }
    }

    @Test func aProfileTellsTheAvatarToo() async throws {
        let catalog = try bench.open()
        #expect(try await catalog.records.profile(of: author).text.contains("\"name\": \"Ann\""))
        #expect(try await catalog.records.avatar(of: author).text == "face/11")
        #expect(bench.source.calls == [.profile(author)])
        let restarted = try await bench.reopen()
        #expect(try await restarted.records.avatar(of: author).text == "face/11")
        #expect(bench.source.calls.count == 1)
    }

    @Test func theTimeOfAProfileIsThatOfItsLastChange() async throws {
        let catalog = try bench.open()
        let first = try await catalog.records.profile(of: author)
        #expect(first.changed == Bench.start)
        bench.now += 6 * 3600
        let same = try await catalog.records.profile(of: author)
        #expect(bench.source.calls.count == 2)
        #expect(same.text == first.text && same.changed == first.changed)
        bench.now += 60
        #expect(try await catalog.records.profile(of: author).changed == first.changed, "from the database")
        bench.now += 6 * 3600
        bench.source.set { $0.profiles[author] = AuthorProfile(id: author, name: "Bea") }
        let other = try await catalog.records.profile(of: author)
        #expect(other.text != first.text && other.changed == bench.now)
        let restarted = try await bench.reopen()
        #expect(try await restarted.records.profile(of: author) == other)
    }

    @Test func offlineAStaleProfileIsServedWithoutAskingEachTime() async throws {
        let catalog = try bench.open()
        let first = try await catalog.records.profile(of: author)
        bench.now += 7 * 3600
        bench.source.set { $0.failure = .timedOut }
        for _ in 0..<5 { #expect(try await catalog.records.profile(of: author) == first) }
        #expect(bench.source.calls.count == 2)
        bench.now += 300
        bench.source.set { $0.failure = nil }
        #expect(try await catalog.records.profile(of: author).fetched == bench.now)
        #expect(bench.source.calls.count == 3)
    }

    // MARK: - Animations

    private let record = AnimationRecord(
        archive: "img/a b.zip", frames: [.init(file: "000000.jpg", delay: 40), .init(file: "a b.jpg", delay: 1)])

    @Test(arguments: [
        "", "\n", "a.zip", "a.zip\n", "a.zip\nframe", "a.zip\n 40\n", "a.zip\n000000.jpg\n", "a.zip\n000000.jpg 4x\n",
        "a.zip\n000000.jpg 40\n000001.jpg\n", "a.zip\n000000.jpg 40\ngarbage",
    ])
    func whatIsGarbledIsNoAnimation(text: String) {
        #expect(AnimationRecord(stored: text) == nil)
    }

    @Test func aGarbledAnimationIsAskedForAgain() async throws {
        bench.source.set { $0.animations[work] = record }
        let first = try bench.open()
        #expect(try await first.records.animation(of: work) == record)
        #expect(try await first.records.animation(of: work) == record)
        #expect(bench.source.calls == [.animation(work)])
        await first.close()
        let connection = try Connection(path: bench.database)
        try connection.execute("UPDATE texts SET text = 'img/a.zip' || char(10) || '000000.jp'")
        connection.close()
        let catalog = try bench.open()
        #expect(try await catalog.records.animation(of: work) == record)
        #expect(bench.source.calls.count == 2)
        bench.source.set { $0.failure = .unreachable("no route") }
        #expect(try await catalog.records.animation(of: work) == record)
    }

    // MARK: - Authors

    @Test func aNameMeansAnAuthorIfNobodyElseHasIt() async throws {
        bench.source.set { state in
            state.entries = 3
            for (rank, author, name) in [(1, 7, "Ann"), (2, 8, "Bea"), (3, 9, "Bea")] {
                var work = FakeSource.work(
                    Int64(Bench.day.ordinal) * 1000 + Int64(rank), title: "T", author: UserID(rawValue: Int64(author)))
                work.authorName = name
                state.records[work.id] = work
            }
        }
        let catalog = try bench.open()
        #expect(await catalog.records.author(named: "Ann") == nil)
        _ = try await catalog.listings.open(Bench.key)
        #expect(await catalog.records.author(named: "Ann") == UserID(rawValue: 7))
        #expect(await catalog.records.author(named: "Bea") == nil, "two have it")
        #expect(await catalog.records.author(named: "ann") == nil)
        #expect(await catalog.records.author(named: "' OR 1") == nil)
    }
}
