import HTTP
import Rankings
import Sourcing
import Synchronization
import System
import TestSupport
import Testing
@testable import Tier

/// Semantics: "Shared with other machines".
///
/// Previews of a day's pictures, each machine with a memory of its own.
@Suite(.timeLimit(.minutes(1))) struct PreviewTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let listing = ListingKey.ranking(.daily, Day(ordinal: 19_000))
    /// The previews that the image host was asked for.
    private let asked = Asked()

    private final class Asked: Sendable {
        private let counted = Mutex(0)
        var count: Int { counted.withLock { $0 } }
        func add() { counted.withLock { $0 += 1 } }
    }

    private struct Machine: Sendable {
        let store: TierStore
        let previews: TierDays
        let documents: SharedDocuments
    }

    private func machine(_ name: String) throws -> Machine {
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let documents = SharedDocuments(store, leases: Leases(store, owner: name), service: "pixiv")
        return Machine(store: store, previews: TierDays { _ in documents }, documents: documents)
    }

    private func picture(_ number: Int) -> PictureID {
        PictureID(work: WorkID(rawValue: Int64(number)), page: 0, rendition: .regular, uploaded: 5)
    }

    /// The preview that the image host has of a picture.
    private func bytes(_ number: Int) -> [UInt8] { (0..<300).map { UInt8(truncatingIfNeeded: $0 * number) } }

    /// The previews of the first pictures on one machine, which are nil where there is none.
    private func look(_ machine: Machine, _ count: Int, isWrong: Bool = false) async throws -> [[UInt8]?] {
        try await clock.passing { [self] in await draw(machine, count, isWrong) }
    }

    private func draw(_ machine: Machine, _ count: Int, _ isWrong: Bool = false) async -> [[UInt8]?] {
        await withTaskGroup(of: (Int, [UInt8]?).self) { group in
            for number in 0..<count {
                group.addTask {
                    let found = await machine.previews.preview(
                        of: picture(number), rank: number + 1, in: listing, isWrong: isWrong
                    ) {
                        asked.add()
                        return number % 10 == 9 ? .useless : .bytes(bytes(number))
                    }
                    if case .bytes(let bytes) = found { return (number, bytes) }
                    return (number, nil)
                }
            }
            return await group.reduce(into: [[UInt8]?](repeating: nil, count: count)) { $0[$1.0] = $1.1 }
        }
    }

    private func close(_ machine: Machine) async throws {
        try await clock.passing { await machine.documents.close() }
    }

    private func expected(_ count: Int) -> [[UInt8]?] { (0..<count).map { $0 % 10 == 9 ? nil : bytes($0) } }

    @Test func whatOneWasSentTheOthersHave() async throws {
        let first = try machine("1")
        #expect(try await look(first, 120) == expected(120))
        try await close(first)
        #expect(asked.count == 120)
        let keys = memory.keys("documents")
        #expect(keys.map { String($0.suffix(11)) } == ["-previews-0", "-previews-1", "-previews-2"])
        #expect(keys.allSatisfy { ObjectKey($0).flatMap { ObjectKind($0) } == .document("pixiv") })
        #expect(memory.count("PUT documents") == 3)
        // Those that do not exist are asked for by each machine.
        #expect(try await look(try machine("2"), 120) == expected(120))
        #expect(asked.count == 120 + 12)
    }

    @Test func machinesAtOnceAskOnce() async throws {
        memory.answer(after: .milliseconds(20), by: clock)
        let machines = try (0..<4).map { try machine("\($0)") }
        let seen = try await clock.passing { [self] in
            await withTaskGroup(of: [[UInt8]?].self) { group in
                for machine in machines { group.addTask { await draw(machine, 9) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(seen == Array(repeating: expected(9), count: 4))
        #expect(asked.count == 9)
    }

    @Test func oneThatCannotBeDecodedIsReplaced() async throws {
        let first = try machine("1")
        await first.documents.previews(of: listing, 0)?.offer(TierDays.name(of: picture(0)), "no base64 *")
        await first.documents.previews(of: listing, 0)?.offer(
            TierDays.name(of: picture(1)), Base64.text([1, 2, 3]))
        try await close(first)
        let second = try machine("2")
        // What is no preview at all counts as absent; what the renderer refuses is reported.
        #expect(try await look(second, 2) == [bytes(0), [1, 2, 3]])
        #expect(asked.count == 1)
        #expect(try await look(second, 2, isWrong: true) == [bytes(0), bytes(1)])
        try await close(second)
        let before = asked.count
        #expect(try await look(try machine("3"), 2) == [bytes(0), bytes(1)])
        #expect(asked.count == before)
    }

    @Test func aSilentStoreCostsTwoSeconds() async throws {
        memory.answer(after: .seconds(60), by: clock)
        let machine = try machine("1")
        let began = clock.now
        #expect(try await look(machine, 5) == expected(5))
        #expect(clock.now - began <= TierStore.patience + .milliseconds(500))
    }

    @Test func whatMountsShowOtherwiseIsShared() async throws {
        let first = try machine("1")
        func preview(_ rendition: Rendition, page: Int = 0, _ machine: Machine) async throws {
            let picture = PictureID(work: WorkID(rawValue: 7), page: page, rendition: rendition, uploaded: 5)
            _ = try await clock.passing { [self] in
                await machine.previews.preview(of: picture, rank: 60, in: listing, isWrong: false) {
                    asked.add()
                    return .bytes([1])
                }
            }
        }
        try await preview(.regular, first)
        try await preview(.regular, page: 1, first)
        try await close(first)
        try await preview(.original, try machine("2"))
        try await preview(.original, page: 1, try machine("2"))
        #expect(asked.count == 2)
        // Those of further pages, which may be hundreds, are not in the way of the others.
        #expect(memory.keys("documents").map { $0.split(separator: "-").last } == ["1", "100176"])
        #expect(memory.keys("documents").allSatisfy { ObjectKey($0).flatMap { ObjectKind($0) } == .document("pixiv") })
    }

    /// A document of previews takes longer than an answer on many lines.
    @Test func aLineThatIsSlowForPreviewsIsOneForOtherAnswers() async throws {
        let first = try machine("1")
        _ = try await look(first, 9)
        try await close(first)
        memory.pass(100)
        let second = try machine("2")
        // It knows the store's time.
        _ = await second.store.get(try #require(ObjectKey("other")))
        memory.fail { [clock] request in
            guard request.method == .get, request.url.contains("documents") else { return nil }
            clock.advance(by: SharedDocument.Times.previews.reading)
            return .late
        }
        #expect(try await look(second, 9) == expected(9))
        #expect(asked.count == 18)
        #expect(second.store.state == .works)
        // What it was sent is there already, and is not written again with what is not.
        memory.fail(nil)
        await second.documents.previews(of: listing, 0)?.offer("preview/new", "")
        try await close(second)
        let third = try machine("3")
        let parts = await third.documents.previews(of: listing, 0)?.partsNow() ?? [:]
        let old = try #require(parts[TierDays.name(of: picture(0))]), new = try #require(parts["preview/new"])
        #expect(new.asked - old.asked >= 100)
        // One that sends nothing does rest.
        memory.fail { _ in .late }
        let fourth = try machine("4")
        _ = try await look(fourth, 1)
        #expect(fourth.store.state == .rests(reason: Failure.timedOut.cause))
    }

    @Test func aLargeDocumentMayTakeLongerToBeWritten() async throws {
        let limits = Mutex<[Duration]>([])
        memory.fail { [clock] request in
            if request.method == .put { limits.withLock { $0.append(request.deadline - clock.now) } }
            return nil
        }
        let store = try machine("1").store
        let key = try #require(ObjectKey("documents/a"))
        _ = await store.put(key, [UInt8](repeating: 0, count: 2 << 20), if: .always)
        #expect(limits.withLock { $0 } == [.seconds(38)])
    }

    @Test(arguments: [[], [1], [1, 2], [1, 2, 3], Array(0...255)] as [[UInt8]])
    func base64IsWhatItWas(_ bytes: [UInt8]) {
        #expect(Base64.bytes(Base64.text(bytes)) == bytes)
        #expect(Base64.bytes("*###") == nil)
    }
}
