import Catalog
import Foundation
import HTTP
import Rankings
import Sourcing
import Synchronization
import System
import TestSupport
import Testing
@testable import Tier

/// A fleet that opens one day, simulated: the program's own documents, leases and pauses, by a clock that the test moves, on a
/// store and a service in memory that have the latencies and limits of real ones.
///
/// `SIMULATED_MACHINES` and `SIMULATED_SECONDS` choose the number of machines and the time within which they come
/// (`make fleet`). One simulation at a time: each waits until nothing else in the process runs.
@Suite(.serialized, .timeLimit(.minutes(30))) struct FleetSimulationTests {
    /// The figures of a run.
    struct Figures {
        var pages = 0
        var sizes = 0
        var gets = 0
        var puts = 0
        var tooMany = 0
        var waits: [Duration] = []
    }

    /// The pages of the day.
    static let pages = 10
    /// The pictures of the day for which a size is asked: a tenth of those of a real one.
    static let pictures = 49

    @Test func aHundredMachinesCostTheServiceWhatOneDoes() async throws {
        let figures = try await Simulation(machines: 100, within: .seconds(1)).run()
        #expect(figures.pages == Self.pages)
        #expect(figures.sizes == Self.pictures)
    }

    /// With one answer a second for each machine.
    ///
    /// A machine that finds no turn for 12 s asks the service itself. Which ones do is chance: most runs have 49 to 70 sizes, one in twenty
    /// some hundreds. If all did, they would be 1,000 pages and 4,900 sizes.
    @Test func soTheyDoAtAStoreWithTooManyRequests() async throws {
        let figures = try await Simulation(machines: 100, within: .seconds(1), limits: (100, 60)).run()
        #expect(figures.tooMany > 100)
        #expect(figures.pages <= Self.pages * 10)
        #expect(figures.sizes <= Self.pictures * 10)
    }

    @Test(.enabled(if: ProcessInfo.processInfo.environment["SIMULATED_MACHINES"] != nil))
    func aFleetOfAnySize() async throws {
        let environment = ProcessInfo.processInfo.environment
        let machines = try #require(environment["SIMULATED_MACHINES"].flatMap { Int($0) })
        let seconds = environment["SIMULATED_SECONDS"].flatMap { Int($0) } ?? 1
        let figures = try await Simulation(machines: machines, within: .seconds(seconds)).run()
        let waits = figures.waits.sorted()
        func wait(_ part: Double) -> Duration { waits[min(waits.count - 1, Int(Double(waits.count) * part))] }
        print(
            """
            machines \(machines), within \(seconds) s: service \(figures.pages) pages, \(figures.sizes) sizes; store \
            \(figures.gets) GET, \(figures.puts) PUT and DELETE, \(figures.tooMany) 503; wait \(wait(0.5)) median, \
            \(wait(0.95)) p95, \(wait(1)) longest
            """)
    }
}

/// One run.
private final class Simulation: Sendable {
    /// The times of the service's answers, and the store's.
    static let latency = (
        page: Duration.milliseconds(300), size: Duration.milliseconds(60), store: Duration.milliseconds(20)
    )
    /// The requests a second that a prefix of Amazon's store answers (Amazon S3 User Guide, "Best practices design patterns").
    static let amazons = (reads: 5500, writes: 3500)
    static let step = Duration.milliseconds(10)

    private struct Counts {
        var second: Int64 = 0
        var reads = 0
        var writes = 0
        var tooMany = 0
        var done = 0
        var waits: [Duration] = []
        var sizes = 0
    }

    private let clock = ManualClock()
    private let memory = MemoryStore()
    private let counts = Mutex(Counts())
    private let machines: Int
    private let window: Duration
    private let limits: (reads: Int, writes: Int)
    private let day: Day
    private let service: SlowSource

    init(machines: Int, within window: Duration, limits: (reads: Int, writes: Int) = Simulation.amazons) {
        self.machines = machines
        self.limits = limits
        self.window = window
        day = SourceDescription.likePixiv.days(of: .daily).newest(at: 1_700_000_000)
        service = SlowSource(ToldSource(newest: day), TimeSource(clock), Self.latency.page)
    }

    func run() async throws -> FleetSimulationTests.Figures {
        memory.answer(after: Self.latency.store, by: clock)
        let began = clock.now
        memory.fail { [self] request in
            let second = (clock.now - began).components.seconds
            return counts.withLock { counts in
                if counts.second != second { (counts.second, counts.reads, counts.writes) = (second, 0, 0) }
                if request.method == .get { counts.reads += 1 } else { counts.writes += 1 }
                guard counts.reads > limits.reads || counts.writes > limits.writes else { return nil }
                counts.tooMany += 1
                return .status(503, "<Code>SlowDown</Code>")
            }
        }
        var chance = Random(seed: 7)
        for number in 0..<machines {
            let (at, seed) = (Double.random(in: 0..<1, using: &chance), chance.next())
            Task { try await self.open(number, after: self.window * at, seed: seed) }
        }
        var second: Int64 = 0
        while counts.withLock({ $0.done }) < machines {
            await settle()
            clock.advance(by: Self.step)
            let now = (clock.now - began).components.seconds
            if now > second { memory.pass(now - second) }
            second = now
        }
        let (found, log) = (counts.withLock { $0 }, memory.log)
        return FleetSimulationTests.Figures(
            pages: service.source.asked, sizes: found.sizes, gets: log.count { $0.hasPrefix("GET") },
            puts: log.count { !$0.hasPrefix("GET") }, tooMany: found.tooMany, waits: found.waits)
    }

    /// Returns once every task of the simulation sleeps, so that no time passes while one of them computes.
    ///
    /// A task that can go on has a thread that runs, or will run as soon as there is a processor for it: "R" in its status (proc(5)).
    /// Where other tests hold all threads but this one, tasks have their turns on it, one generation at each yield.
    private func settle() async {
        repeat {
            for _ in 0..<Self.generations { await Task.yield() }
        } while Self.isBusy()
    }

    /// More than the tasks that follow from one another at one moment.
    private static let generations = 100

    /// Whether a thread of this process other than the caller's does not sleep.
    private static func isBusy() -> Bool {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? ""
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
        return threads.contains { thread in
            guard !own.hasSuffix("/\(thread)"),
                let status = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/stat"),
                let name = status.lastIndex(of: UInt8(ascii: ")"))
            else { return false }
            return status[(name + 2)...].first != UInt8(ascii: "S")
        }
    }

    /// Opens the day on one machine: its pages, then the sizes of its pictures.
    private func open(_ number: Int, after delay: Duration, seed: UInt64) async throws {
        let random = Mutex(Random(seed: seed))
        let store = TierStore(try memory.store(time: TimeSource(clock)), time: TimeSource(clock)) {
            random.withLock { Double.random(in: 0...1, using: &$0) }
        } report: { _ in
        }
        let shared = SharedDocuments(store, leases: Leases(store, owner: "\(number)"), service: "pixiv")
        let source = TieredSource(source: service) { _ in shared }
        try await TimeSource(clock).sleep(delay)
        let began = clock.now
        await withDiscardingTaskGroup { group in
            for page in 1...FleetSimulationTests.pages {
                group.addTask { [day, clock] in
                    _ = try? await source.page(
                        of: .ranking(.daily, day), page, deadline: clock.now + .seconds(60))
                }
            }
        }
        let listing = ListingKey.ranking(.daily, day)
        let sizes = TierDays { _ in shared }
        let pictures = (0..<FleetSimulationTests.pictures).map {
            PictureID(work: WorkID(rawValue: Int64($0 + 1)), page: 0, rendition: .regular, uploaded: 5)
        }
        let known = await sizes.known(of: pictures, in: listing)
        await withDiscardingTaskGroup { group in
            for (place, (picture, size)) in zip(pictures, known).enumerated() where size == 0 {
                group.addTask { [self] in
                    _ = await sizes.size(of: picture, in: listing) { () async -> PictureSize in
                        counts.withLock { $0.sizes += 1 }
                        // A tenth of a day's pictures, one after the other: ten at once.
                        try? await TimeSource(clock).sleep(Self.latency.size * (place + 1))
                        return .size(4711)
                    }
                }
            }
        }
        counts.withLock { counts in
            counts.waits.append(clock.now - began)
            counts.done += 1
        }
        await shared.close()
    }
}

/// A source with a latency.
private struct SlowSource: RankingSource {
    let source: ToldSource
    private let time: TimeSource
    private let latency: Duration

    init(_ source: ToldSource, _ time: TimeSource, _ latency: Duration) {
        self.source = source
        self.time = time
        self.latency = latency
    }

    var description: SourceDescription { source.description }
    var signIn: SignIn { source.signIn }

    func page(
        of listing: ListingKey, _ part: ListingPart, deadline: ContinuousClock.Instant
    ) async throws(Failure) -> ListingPage {
        // One page after the other, as a machine's rate has it.
        guard case .number(let number) = part else { return ListingPage(entries: []) }
        do { try await time.sleep(latency * number) } catch { throw .cancelled }
        return try await source.page(of: listing, part, deadline: deadline)
    }

    func location(of work: WorkID, picture: String, page: Int, rendition: Rendition) -> PictureLocation? { nil }
}
