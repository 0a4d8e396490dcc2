import Glibc
import HTTP
@testable import Tier
import Rankings
import Sourcing
import Synchronization
import TestSupport
import Testing

/// Whose answers are shared with whom.
@Suite(.timeLimit(.minutes(1))) struct SourceTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let user = UserID(rawValue: 7)
    private let day: Day
    private let service: ToldSource

    init() {
        // By the store's clock.
        day = SourceDescription.likePixiv.days(of: .daily).newest(at: 1_700_000_000)
        service = ToldSource(newest: day)
    }

    private struct Machine: Sendable {
        let source: TieredSource
        let shared: SharedDocuments
        let own: SharedDocuments

        /// Ends it, so that all is on the store.
        func close() async {
            await shared.close()
            await own.close()
        }
    }

    /// One that shares what is told to signed-in users with the same user's machines, or does not.
    private func machine(sharesOwn: Bool = false) throws -> Machine {
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let leases = Leases(store, owner: "machine")
        let shared = SharedDocuments(store, leases: leases, service: "pixiv")
        let own = SharedDocuments(store, leases: leases, service: "pixiv-user-7")
        return Machine(
            source: TieredSource(source: service) { $0 == .everybody ? shared : sharesOwn ? own : nil }, shared: shared,
            own: own)
    }

    private var deadline: ContinuousClock.Instant { clock.now + .seconds(15) }

    /// Asks for a day and for the newest one, and for an author's works.
    private func ask(_ machine: Machine) async throws {
        try await clock.passing { [deadline] in
            for day in [day, nil] {
                _ = try await machine.source.page(of: .ranking(.daily, day), 1, deadline: deadline)
            }
            _ = try await machine.source.page(of: .author(UserID(rawValue: 3)), 1, deadline: deadline)
            await machine.close()
        }
    }

    /// The same user's own machines share on request; otherwise the store is not asked either: others' answers are not one's own.
    @Test(
        arguments: [
            (.signedOut, true, ["pixiv"]), (.signedOut, false, ["pixiv"]),
            (.signedIn(UserID(rawValue: 7)), true, ["pixiv-user-7"]), (.signedIn(UserID(rawValue: 7)), false, []),
        ] as [(SignIn, Bool, Set<Substring>)])
    func answersReachWhoeverIsToldTheSame(_ signIn: SignIn, sharesOwn: Bool, services: Set<Substring>) async throws {
        service.set { $0.signIn = signIn }
        try await ask(machine(sharesOwn: sharesOwn))
        let keys = memory.keys("documents")
        #expect(keys.count == 3 * services.count && Set(keys.map { $0.split(separator: "/")[1] }) == services)
        #expect(memory.log.isEmpty == services.isEmpty)
    }

    /// A month of the largest board has a hundred pages, which were one object of 13 MB, written with each of them; the first ten,
    /// which many machines open at the same moment, are one object, so that each of them waits for one.
    @Test func theFirstPagesOfADayAreOneObjectAndLaterOnesAPageEach() async throws {
        let machine = try machine()
        try await clock.passing { [deadline, day] in
            for page in 1...60 {
                _ = try await machine.source.page(of: .ranking(.daily, day), page, deadline: deadline)
            }
            await machine.close()
        }
        #expect(memory.keys("documents/pixiv/days/daily/").count == 51)
        for page in 11...60 { #expect(memory.count("PUT documents/pixiv/days/daily/\(day)-\(page)") == 1) }
        let other = try self.machine()
        let asked = service.asked
        let read = memory.count("GET documents/")
        try await clock.passing { [deadline, day] in
            for page in 1...10 {
                _ = try await other.source.page(of: .ranking(.daily, day), page, deadline: deadline)
            }
            await other.close()
        }
        #expect(service.asked == asked)
        #expect(memory.count("GET documents/") == read + 1)
    }

    @Test(arguments: [Int.max, .min, 1_000_000])
    func aNewestDayThatCannotBeIsNone(_ ordinal: Int) async throws {
        let machine = try machine()
        let document = try #require(machine.shared.document(["newest", RankingMode.daily.rawValue]))
        let found = try await clock.passing { [deadline] in
            _ = try await document.value("day", isFresh: { _, _ in true }) { () -> Int in ordinal }
            await document.settle()
            while !memory.keys("leases").isEmpty { await Task.yield() }
            return try await machine.source.page(of: .ranking(.daily, nil), 1, deadline: deadline)
        }
        #expect(found.day == day)
        #expect(service.asked == 1)
    }

    @Test(arguments: [SignIn.signedOut, .signedIn(UserID(rawValue: 7))])
    func whoSignsInOrOutMeanwhileKeepsTheAnswer(_ before: SignIn) async throws {
        let after = before == .signedOut ? SignIn.signedIn(user) : .signedOut
        for day in [day, nil] {
            service.set { state in
                state.signIn = before
                state.meanwhile = { [service] in service.set { $0.signIn = after } }
            }
            let machine = try machine(sharesOwn: true)
            try await clock.passing { [deadline] in
                _ = try await machine.source.page(of: .ranking(.daily, day), 1, deadline: deadline)
                await machine.close()
            }
        }
        #expect(memory.keys("documents").isEmpty)
    }

    @Test func theServiceHasItsOwnTime() async throws {
        // Another machine has each lease, and brings nothing.
        let dead = Leases(TierStore(try memory.store(), time: TimeSource(clock)) { _ in }, owner: "dead")
        for name in ["days/daily/\(day)", "newest/daily", "authors/3-1"] {
            let key = try #require(ObjectKey("documents/pixiv/\(name)"))
            guard case .held = await dead.claim(key, seconds: 10) else {
                Issue.record("no lease")
                return
            }
        }
        let began = clock.now
        let machine = try machine()
        for day in [day, nil] {
            let asked = service.asked
            let left = try await clock.passing { [deadline] in
                _ = try await machine.source.page(of: .ranking(.daily, day), 1, deadline: deadline)
                return service.state.withLock { $0.deadlines.last.map { $0 - deadline } }
            }
            // Its reader has been waiting since.
            #expect(service.state.withLock { $0.waited.last } == left)
            if day != nil {
                #expect(service.asked == asked + 1)
                #expect(try #require(left) >= SharedDocument.Times.answers.patience)
            }
        }
        #expect(clock.now - began < SharedDocument.Times.answers.longestPatience * 2)
    }

    @Test func whoIsToldTheNewestDayAsksOnceWithoutAStoreToo() async throws {
        memory.fail { _ in .status(500, "") }
        let machine = try machine()
        let page = try await machine.source.page(of: .ranking(.daily, nil), 1, deadline: deadline)
        #expect(page.day == day)
        #expect(service.asked == 1)
    }

    @Test func whatIsForgottenIsRemovedAndNothingBesideIt() async throws {
        let folder = TemporaryFolder()
        let tier = try Tier(
            memory.store(), service: "pixiv-rating", pictures: "pixiv", directory: folder.path, sharesPrivate: false,
            maySpend: { true }, owner: "machine", time: TimeSource(clock)
        ) { _ in }
        let picture = PictureID(work: WorkID(rawValue: 97), page: 0, rendition: .regular, uploaded: 5)
        let days = "documents/pixiv-rating/days/daily/"
        let kept = [
            "pictures/pixiv/61/97_p0_regular_50", "\(days)\(Day(ordinal: day.ordinal + 1))",
            "documents/pixiv/days/daily/\(day)",
        ]
        let meant = ["pictures/pixiv/61/97_p0_regular_5", "\(days)\(day)", "\(days)\(day)-11"]
        for key in kept + meant { memory.add(key, [1]) }
        memory.fail { request in
            guard request.url.contains("?encoding-type=url&list-type") else { return nil }
            // A list by a beginning has more than is meant.
            let entries = (kept + meant).map { "<Contents><Key>\($0)</Key><Size>1</Size></Contents>" }.joined()
            return .status(200, "<ListBucketResult>\(entries)</ListBucketResult>")
        }
        #expect(try await tier.forget([picture]) == 1)
        #expect(try await tier.forget(.ranking(.daily, day), of: service) == 2)
        #expect(memory.keys("") == kept.sorted())
        memory.fail { _ in .status(403, "<Code>AccessDenied</Code>") }
        let error = await #expect(throws: Failure.self) { try await tier.forget([picture]) }
        guard case .declined(EKEYREJECTED, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await clock.passing { await tier.close() }
    }

    @Test func aPictureThatIsNotThereIsAskedForOnceInTenMinutes() async throws {
        let picture = PictureID(work: WorkID(rawValue: 1), page: 0, rendition: .regular, uploaded: 5)
        let asked = Mutex(0)
        let answers = try await clock.passing { [memory, day] in
            var answers: [PictureSize] = []
            for seconds in [0 as Int64, 10, AnswerAge.changing] {
                memory.pass(seconds)
                let machine = try machine()
                let sizes = TierDays { _ in machine.shared }
                // It is no size that a listing can show.
                #expect(await sizes.known(of: [picture], in: .ranking(.daily, day)) == [0])
                answers.append(
                    await sizes.size(of: picture, in: .ranking(.daily, day)) {
                        asked.withLock { $0 += 1 }
                        return asked.withLock { $0 } == 1 ? .failed(.notFound) : .size(7)
                    })
                await machine.close()
            }
            return answers
        }
        #expect(answers == [.failed(.notFound), .failed(.notFound), .size(7)])
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func sizesOfWhatOneIsShownAreOnesOwn() async throws {
        let store = try memory.store()
        let folder = TemporaryFolder()
        let tier = try Tier(
            store, service: "pixiv", pictures: "pixiv", directory: folder.path, sharesPrivate: false,
            maySpend: { true }, owner: "machine", time: TimeSource(clock)
        ) { _ in }
        let sizes = tier.days(of: service.description, signIn: { [service] in service.signIn })
        let picture = PictureID(work: WorkID(rawValue: 1), page: 0, rendition: .regular, uploaded: 5)
        service.set { $0.signIn = .signedIn(user) }
        _ = await sizes.size(of: picture, in: .ranking(.daily, day)) { .size(5) }
        #expect(memory.log.isEmpty)
        try await clock.passing { await tier.close() }
    }
}
