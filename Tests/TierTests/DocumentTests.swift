import HTTP
@testable import Tier
import Rankings
import System
import Synchronization
import TestSupport
import Testing

/// Documents that machines fill together, each machine with a clock and a memory of its own.
@Suite struct DocumentTests {
    private let memory = MemoryStore()
    private let clock = ManualClock()
    private let key: ObjectKey

    init() throws { key = try #require(ObjectKey("documents/a/b")) }

    /// One of several machines.
    private func machine(
        _ name: String, secret: ObjectSecret? = nil
    ) throws -> (document: SharedDocument, store: TierStore) {
        let store = TierStore(try memory.store(secret: secret), time: TimeSource(clock)) { _ in }
        return (SharedDocument(key, store: store, leases: Leases(store, owner: name)), store)
    }

    /// The events for the log.
    private final class EventList: Sendable {
        let all = Mutex<[TierEvent]>([])
    }

    /// Counts questions.
    private actor Service {
        private(set) var asked = 0

        func answer(_ text: String) -> String {
            asked += 1
            return text
        }
    }

    /// What a document tells of a part of any age, or else what the service answers, which it then has written.
    private func told(
        _ document: SharedDocument, _ part: String, _ answer: String, isWritten: Bool = false
    ) async throws -> String {
        try await clock.passing {
            let told = try await document.value(part, isFresh: { _, _ in true }) { answer }
            if isWritten { await document.settle() }
            return told
        }
    }

    @Test func aDocumentIsCompressedAndOneThatIsNotIsRead() async throws {
        let first = try machine("1").document
        try await clock.passing {
            for number in 0..<100 { await first.offer("size/\(number)", 123_456 + number) }
            await first.settle()
        }
        let object = try #require(memory.object(key.text))
        let text = try #require(Zstandard.original(object.bytes, upTo: 1 << 20))
        #expect(text.starts(with: Array("{".utf8)) && object.bytes.count * 4 < text.count)
        memory.add(key.text, text)
        #expect(await (try machine("2")).document.numbers(["size/7"]) == [123_463])
        // What claims to be larger than any document is none, and costs this one alone.
        memory.add(key.text, [0x28, 0xB5, 0x2F, 0xFD, 0xA4, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0])
        let third = try machine("3")
        #expect(await third.document.numbers(["size/7"]) == [nil])
        #expect(third.store.figures.wrong == 1)
        #expect(third.store.rests(.read) == nil)
    }

    @Test func whatIsAskedAnewReplacesAllPages() async throws {
        let first = try machine("1").document
        let before = try machine("2").document
        try await clock.passing {
            for page in ["page/1", "page/2", "size/7"] {
                _ = try await first.value(page, isFresh: { _, _ in true }) { "old" }
            }
            await first.settle()
            _ = try await before.value("page/1", isFresh: { _, _ in true }) { "never" }
        }
        memory.pass(100)
        let third = try machine("3").document
        try await clock.passing {
            for renewal in 1...2 {
                try await RequestUrgency.$renewal.withValue(.now) {
                    for page in ["page/1", "page/3", "size/9"] {
                        let told = try await third.value(page, isFresh: { _, _ in true }) { "\(renewal)" }
                        #expect(told == "\(renewal)")
                    }
                }
            }
            await third.settle()
            // A machine that has the old pages in memory writes another part.
            _ = try await before.value("size/8", isFresh: { _, _ in true }) { "8" }
            await before.settle()
        }
        let last = try machine("4").document
        let found = try await clock.passing {
            var found: [String] = []
            for page in ["page/1", "page/2", "page/3", "size/7", "size/8"] {
                found.append(try await last.value(page, isFresh: { _, _ in true }) { "asked" })
            }
            return found
        }
        #expect(found == ["2", "asked", "2", "old", "8"])
    }

    @Test func oneWaitsAsLongAsAnotherMachineBringsSomething() async throws {
        let holder = try machine("holder").document
        let waiting = try machine("waiting")
        let service = Service()
        let gates = (0..<3).map { _ in AsyncStream<Void>.makeStream() }
        let told = try await clock.passing { [clock] in
            // Three answers, which take longer than the patience together.
            let answers = Task {
                for (number, gate) in gates.enumerated() {
                    _ = try await holder.value("page/\(number)", isFresh: { _, _ in true }) { () -> String in
                        for await _ in gate.stream { break }
                        return await service.answer("told")
                    }
                }
            }
            while memory.count("PUT leases") == 0 { await Task.yield() }
            let clockwork = Task {
                for gate in gates {
                    try await TimeSource(clock).sleep(SharedDocument.Times.answers.patience * 0.45)
                    gate.continuation.yield()
                }
            }
            let told = try await waiting.document.value("page/2", isFresh: { _, _ in true }) { () -> String in
                await service.answer("asked twice")
            }
            try await answers.value
            try await clockwork.value
            return told
        }
        #expect(told == "told")
        #expect(await service.asked == 3)
    }

    @Test func numbersAreKnownWithoutAsking() async throws {
        let (first, _) = try machine("1")
        try await clock.passing {
            for (name, size) in [("size/a", 5 as Int64), ("size/b", 6)] {
                _ = try await first.value(name, isFresh: { _, _ in true }) { () -> Int64 in size }
            }
            _ = try await first.value("text", isFresh: { _, _ in true }) { () -> String in "7" }
            await first.settle()
            while !memory.keys("leases").isEmpty { await Task.yield() }
        }
        let (second, store) = try machine("2")
        let before = memory.log.count
        #expect(await second.numbers(["size/b", "size/c", "text", "size/a"]) == [6, nil, nil, 5])
        #expect(store.figures.answersShared == 2)
        #expect(memory.log.count == before + 1)
    }

    @Test func aMachineThatEndsDoesNotWaitForWhoDoesNotAnswer() async throws {
        let (first, _) = try machine("1")
        let (silence, end) = AsyncStream<Void>.makeStream()
        let question = Task {
            try await first.value("b", isFresh: { _, _ in true }) { () async -> String in
                for await _ in silence {}
                return "late"
            }
        }
        try await clock.passing {
            _ = try await first.value("a", isFresh: { _, _ in true }) { () -> String in "told" }
            await first.close()
        }
        #expect(memory.keys("documents").count == 1)
        end.finish()
        #expect(try await question.value == "late")
    }

    @Test func aQuestionThatFailsLetsOthersAsk() async throws {
        let (first, _) = try machine("1")
        await #expect(throws: Failure.timedOut) {
            try await first.value("a", isFresh: { _, _ in true }) { () async throws(Failure) -> String in
                throw .timedOut
            }
        }
        try await clock.passing { while !memory.keys("leases").isEmpty { await Task.yield() } }
        let (second, _) = try machine("2")
        let before = clock.now
        #expect(try await second.value("a", isFresh: { _, _ in true }) { () -> String in "told" } == "told")
        #expect(clock.now == before)
    }

    @Test func whoHasJustAskedAsksAgainAtOnce() async throws {
        let (document, _) = try machine("1")
        for name in ["a", "b"] {
            let before = clock.now
            #expect(try await document.value(name, isFresh: { _, _ in true }) { () -> String in name } == name)
            #expect(clock.now == before)
            try await clock.passing {
                await document.settle()
                while !memory.keys("leases").isEmpty { await Task.yield() }
            }
        }
    }

    @Test func anAnswerOfTheFutureIsAskedForAgainAndReplaced() async throws {
        let service = Service()
        let (first, _) = try machine("1")
        memory.pass(86_400)
        try await clock.passing {
            _ = try await first.value("x", isFresh: { _, _ in true }) { await service.answer("wrong") }
            await first.settle()
        }
        memory.pass(-86_400)
        for name in ["2", "3"] {
            let (document, _) = try machine(name)
            let told = try await clock.passing {
                let told = try await document.value("x", isFresh: { AnswerAge.holds($0, 600, $1) }) {
                    await service.answer("right")
                }
                await document.settle()
                while !memory.keys("leases").isEmpty { await Task.yield() }
                return told
            }
            #expect(told == "right")
        }
        #expect(await service.asked == 2)
    }

    @Test func twoWhoWriteAtOnceLoseNothing() async throws {
        let (first, _) = try machine("1")
        let (second, _) = try machine("2")
        try await clock.passing {
            await first.offer("a", "1")
            await second.offer("b", "2")
            await first.settle()
            await second.settle()
        }
        let (third, _) = try machine("3")
        for (name, value) in [("a", "1"), ("b", "2")] {
            let found = try await third.value(name, isFresh: { _, _ in true }) { () -> String in "asked" }
            #expect(found == value)
        }
    }

    @Test(arguments: ["flip", "cut", "other", "junk"])
    func aDamagedDocumentIsReplaced(_ damage: String) async throws {
        let (first, _) = try machine("1")
        try await clock.passing {
            await first.offer("a", "1")
            await first.settle()
        }
        memory.change("documents/a/b") { object in
            switch damage {
            case "flip": object.bytes[object.bytes.count / 2] ^= 1
            case "cut": object.bytes.removeLast(10)
            case "junk":
                object.bytes = Array("<html>".utf8)
                object.headers = []
            default:
                object.headers = object.headers.map { header in
                    header.name.hasSuffix("key") ? (name: header.name, value: "documents/a/c") : header
                }
            }
        }
        let (second, store) = try machine("2")
        #expect(try await told(second, "a", "asked", isWritten: true) == "asked")
        #expect(store.figures.wrong > 0)
        let (third, _) = try machine("3")
        #expect(try await third.value("a", isFresh: { _, _ in true }) { () -> String in "again" } == "asked")
    }

    @Test func aDocumentOfALaterVersionIsLeftAlone() async throws {
        let text = Array("{\"schema\":2,\"document\":\"documents/a/b\"}\nanything".utf8)
        let writer = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        _ = await writer.put(key, text, if: .always)
        let events = EventList()
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { event in
            events.all.withLock { $0.append(event) }
        }
        // One line in the log, whichever documents follow.
        for _ in 0..<2 {
            let document = SharedDocument(key, store: store, leases: Leases(store, owner: "1"))
            #expect(try await told(document, "a", "asked", isWritten: true) == "asked")
        }
        #expect(memory.object("documents/a/b")?.bytes == text)
        #expect(events.all.withLock { $0 } == [.laterVersion(key.text)])
    }

    @Test func aDocumentThatALaterVersionWroteMeanwhileIsLeftAlone() async throws {
        let text = Array("{\"schema\":2,\"document\":\"documents/a/b\"}\nanything".utf8)
        let writer = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let (document, _) = try machine("1")
        // Nothing is there when it looks.
        await document.offer("a", "1")
        _ = await writer.put(key, text, if: .always)
        try await clock.passing { await document.settle() }
        #expect(memory.object("documents/a/b")?.bytes == text)
        let told = try await document.value("a", isFresh: { _, _ in true }) { () -> String in "asked" }
        #expect(told == "asked")
        try await clock.passing { await document.settle() }
        #expect(memory.object("documents/a/b")?.bytes == text)
    }

    @Test(arguments: [403, 500, 507, 0])
    func aStoreThatTakesNothingIsRead(_ status: Int) async throws {
        let (first, _) = try machine("1")
        try await clock.passing {
            await first.offer("a", "1")
            await first.settle()
        }
        memory.fail { $0.method == .put ? status == 0 ? .silent : .status(status, "") : nil }
        let (second, store) = try machine("2")
        #expect(try await told(second, "b", "asked", isWritten: true) == "asked")
        // A write or two that are late end no others.
        #expect(store.rests(.write) != nil || status == 0)
        let shared = try await second.value("a", isFresh: { _, _ in true }) { () -> String in "again" }
        #expect(shared == "1")
    }

    @Test(arguments: [400, 411, 413])
    func aDocumentThatIsNotTakenIsNotSentAgain(_ status: Int) async throws {
        memory.fail {
            $0.method == .put && $0.url.contains("/documents/a") && !$0.url.contains("leases")
                ? .status(status, "") : nil
        }
        let (document, store) = try machine("1")
        try await clock.passing {
            for name in ["a", "b"] {
                await document.offer(name, "1")
                await document.settle()
            }
        }
        #expect(memory.count("PUT documents") == 1)
        #expect(store.rests(.write) == nil)
    }

    @Test func aStoreWithTooManyRequestsIsAskedLessOften() async throws {
        let left = Mutex(3)
        memory.fail { _ in
            left.withLock { left in
                left -= 1
                return left >= 0 ? .status(503, "<Code>SlowDown</Code>") : nil
            }
        }
        let (document, store) = try machine("1")
        #expect(try await told(document, "a", "asked") == "asked")
        #expect(store.state == .works)
        #expect(store.figures.slowedDown == 3)
        // One that goes on with it is left alone once a reader has waited long enough.
        try await clock.passing { await document.settle() }
        memory.fail { _ in .status(503, "") }
        let before = memory.log.count
        let (second, troubled) = try machine("2")
        _ = try await clock.passing {
            let told = try await second.value("b", isFresh: { _, _ in true }) { () -> String in "asked" }
            while troubled.rests(.read) == nil { await Task.yield() }
            return told
        }
        // The object and the lease, less often each time.
        #expect(memory.log.count - before <= 14)
    }

    @Test(arguments: [403, 500])
    func aStoreInTroubleCostsOneRequest(_ status: Int) async throws {
        memory.fail { _ in .status(status, "") }
        let (document, store) = try machine("1")
        for name in ["a", "b", "c"] {
            #expect(try await told(document, name, "asked") == "asked")
        }
        #expect(memory.log.count == 1)
        #expect(store.rests(.read) != nil)
    }

    @Test func aStoreWithoutConditionsIsWrittenAllTheSame() async throws {
        memory.fail { request in
            request.headers.contains { $0.hasPrefix("If-None-Match: *") || $0.hasPrefix("If-Match") }
                ? .status(501, "<Code>NotImplemented</Code>") : nil
        }
        let (first, store) = try machine("1")
        try await clock.passing {
            for name in ["a", "b"] {
                _ = try await first.value(name, isFresh: { _, _ in true }) { () -> String in name }
            }
            await first.settle()
        }
        #expect(store.rests(.write) == nil)
        #expect(memory.keys("leases").isEmpty)
        let (second, _) = try machine("2")
        for name in ["a", "b"] {
            #expect(try await second.value(name, isFresh: { _, _ in true }) { () -> String in "asked" } == name)
        }
    }

    /// `rankfs tier forget` on another machine.
    @Test func whatWasRemovedIsNotWrittenAgain() async throws {
        let (document, _) = try machine("1")
        func ask(_ name: String) async throws {
            try await clock.passing {
                _ = try await document.value(name, isFresh: { _, _ in true }) { () -> String in name }
                await document.settle()
            }
        }
        try await ask("a")
        memory.remove(key.text)
        try await ask("b")
        #expect(await document.partsNow().keys.sorted() == ["b"])
    }

    @Test func aDocumentThatMakesRoomIsWrittenBeforeTheEnd() async throws {
        let store = TierStore(try memory.store(), time: TimeSource(clock)) { _ in }
        let documents = SharedDocuments(store, leases: Leases(store, owner: "1"), service: "a")
        try await clock.passing {
            for number in 0...SharedDocument.Times.previews.kept {
                await documents.document(["works", "\(number)"], .previews)?.offer("a", number)
            }
            await documents.close()
        }
        #expect(memory.keys("documents").count == SharedDocument.Times.previews.kept + 1)
    }

    @Test func onePartThatCannotBeReadCostsThatPart() throws {
        let text = """
            {"schema":1,"document":"d"}
            {"part":"a","asked":5,"value":[1]}
            {"part":"b","asked":
            {"part":7}
            {"part":"c","asked":6,"value":null}
            """
        let parts = try #require(DocumentText.read("d", of: Array(text.utf8)).parts)
        #expect(parts.keys.sorted() == ["a", "c"])
        #expect(parts["a"]?.asked == 5)
        #expect(DocumentText.read("e", of: Array(text.utf8)).parts == nil)
        #expect(DocumentText.read("d", of: []).parts == nil)
        // What is written is what is read.
        let again = try #require(DocumentText.read("d", of: DocumentText.bytes("d", parts)).parts)
        #expect(again.mapValues(\.line) == parts.mapValues(\.line))
    }
}
