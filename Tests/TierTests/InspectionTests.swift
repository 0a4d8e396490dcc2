import System
import HTTP
@testable import Tier
import Rankings
import Testing

/// What is found, and removed, of all that is in a bucket.
@Suite(.timeLimit(.minutes(1))) struct InspectionTests {
    private static let picture = "pictures/pixiv/61/97_p0_regular_5"
    private static let document = "documents/pixiv/days/daily/2024-04-30"

    private let memory = MemoryStore()

    /// An object as rankfs writes it.
    private func put(_ key: String, _ bytes: [UInt8] = [1, 2, 3]) async throws {
        let key = try #require(ObjectKey(key))
        let description = ObjectDescription(of: bytes, key: key)
        _ = try await memory.store().put(key, RequestContent(bytes), description, deadline: .now + .seconds(60))
    }

    private func list(_ entries: [(key: String, size: String)], next: String? = nil) -> String {
        "<ListBucketResult>"
            + entries.map { "<Contents><Key>\($0.key)</Key><Size>\($0.size)</Size></Contents>" }.joined()
            + (next.map { "<NextContinuationToken>\($0)</NextContinuationToken>" } ?? "") + "</ListBucketResult>"
    }

    /// Lets the store list what it has, and do something else to other requests.
    private func listing(_ fault: @escaping @Sendable (HTTPRequest) -> MemoryStore.Fault? = { _ in nil }) {
        let text = list(memory.keys("").map { ($0, "3") })
        memory.fail { $0.url.contains("?encoding-type=url&list-type") ? .status(200, text) : fault($0) }
    }

    @Test func whatOthersWroteIsLeftAlone() async throws {
        let keys = [
            // Of the same names as ours, without what goes with ours.
            Self.picture, Self.document, "pictures/2019/holiday/cat.jpg", "pictures/cat.jpg",
            "documents/taxes/2023.pdf",
            "documents/pixiv/days/daily/today", "other",
        ]
        for key in keys {
            try await put(key)
            memory.change(key) { $0.headers = [] }
        }
        // With it, where rankfs writes nothing.
        for key in ["pictures/pixiv/62/97_p0_regular_5", "documents/pixiv/works/07"] {
            try await put(key)
            memory.change(key) { $0.bytes = [9] }
        }
        listing()
        let found = try await TierInspection(memory.store()).verify(isRemoving: true)
        #expect(memory.count("DELETE") == 0)
        #expect(found.others.objects == keys.count + 2)
        #expect(found.mistakes.isEmpty && found.failures.isEmpty && found.stopped == nil)
    }

    @Test func keysThatRankfsNeverWritesAreOfOthers() async throws {
        let text = list([("my holiday/cat.jpg", "5"), (Self.picture, "3"), ("über", "7")])
        memory.fail { $0.url.contains("list-type") ? .status(200, text) : nil }
        let survey = try await TierInspection(memory.store()).survey()
        #expect(survey.others.objects == 2 && survey.others.bytes == 12)
        #expect(try await TierInspection(memory.store()).verify(isRemoving: true).others.objects == 2)
    }

    @Test func oneServiceIsInspectedWithoutTheOthers() async throws {
        let keys = [
            Self.picture, "pictures/danbooru/61/97_p0_regular_5", "documents/danbooru-rating_general/works/7",
            "documents/danbooru/works/7", "documents/danbooru-rating_general-user-5/works/7",
            // Of other origins.
            "documents/danbooru-nas_8080/works/7", "documents/danbooru-user-nas/works/7", Self.document,
            "leases/documents/pixiv/works/5", "other",
        ]
        for key in keys { try await put(key) }
        listing()
        let inspection = TierInspection(try memory.store(), of: ["danbooru", "danbooru-rating_general"])
        let survey = try await inspection.survey()
        #expect(survey.pictures.keys.sorted() == ["danbooru"])
        #expect(
            survey.documents.keys.sorted() == ["danbooru", "danbooru-rating_general", "danbooru-rating_general-user-5"])
        #expect(survey.leases.objects == 0 && survey.others.objects == 0)
        #expect(try await inspection.verify(isRemoving: true).documents.objects == 3)
        let times = list(keys.map { ($0, "3") }).replacing(
            "<Size>", with: "<LastModified>2024-01-01T00:00:00Z</LastModified><Size>")
        memory.fail { $0.url.contains("list-type") ? .status(200, times) : nil }
        #expect(try await inspection.trim(keeping: 0, isRemoving: true).removed.objects == 1)
        #expect(memory.keys("pictures") == [Self.picture])
    }

    @Test(
        arguments: [
            ([:], .all), (["PUT": 404], .readOnly(reason: "it answered 404")),
            (["PUT": 409], .readOnly(reason: "it declines an object that is not there yet")),
            (["PUT": 403], .readOnly(reason: "it refused (403)")), (["PUT": 501], .readOnly(reason: "it answered 501")),
            (["If-None-Match": 501], .withoutConditions), (["GET": 404], .none(reason: "it answered 404")),
        ] as [([String: Int], TierInspection.Ability)])
    func whatAStoreCanDoIsTriedOut(_ faults: [String: Int], _ ability: TierInspection.Ability) async throws {
        memory.fail { request in
            let words = [request.method.rawValue] + request.headers.map { String($0.prefix { $0 != ":" }) }
            return words.lazy.compactMap { faults[$0] }.first.map { .status($0, "") }
        }
        let found = await TierInspection(try memory.store()).examine(name: "a", now: 1_700_000_000)
        #expect(found.ability == ability)
        #expect(memory.keys("").isEmpty)
    }

    @Test func whatIsDamagedIsRemovedAndNothingElse() async throws {
        for key in [Self.picture, Self.document, "documents/pixiv/works/7", "leases/" + Self.picture] {
            try await put(key)
        }
        memory.change(Self.picture) { $0.bytes = [1, 2, 4] }
        listing()
        let found = try await TierInspection(memory.store()).verify(isRemoving: true)
        #expect(found.mistakes.map(\.key) == [Self.picture])
        #expect(found.documents.objects == 2)
        #expect(memory.keys("pictures").isEmpty)
        #expect(memory.keys("").count == 3)
    }

    /// Of four pictures of ten bytes, one of which has no time.
    @Test(arguments: [(0, 1), (19, 1), (20, 2), (39, 3), (40, 4), (Int64.max, 4)])
    func roomIsMadeByTheOldestFirst(_ most: Int64, _ kept: Int) async throws {
        let keys = (5...8).map { "pictures/pixiv/61/97_p0_regular_\($0)" }
        let times = [5: "2024-01-02T00:00:00.000Z", 6: "2024-01-01T00:00:00.000Z", 7: "2024-01-03T00:00:00Z"]
        for key in keys + [Self.document] { try await put(key) }
        let entries = zip(5..., keys).map { number, key in
            let time = times[number].map { "<LastModified>\($0)</LastModified>" } ?? ""
            return "<Contents><Key>\(key)</Key>\(time)<Size>10</Size></Contents>"
        }
        let more =
            "<Contents><Key>\(Self.document)</Key><LastModified>2020-01-01T00:00:00Z</LastModified><Size>10</Size></Contents>"
        memory.fail {
            guard $0.url.contains("?encoding-type=url&list-type") else { return nil }
            return .status(200, "<ListBucketResult>\(entries.joined())\(more)</ListBucketResult>")
        }
        let looked = try await TierInspection(memory.store()).trim(keeping: most, isRemoving: false)
        #expect(memory.count("DELETE") == 0)
        let found = try await TierInspection(memory.store()).trim(keeping: most, isRemoving: true)
        #expect(found == looked && found.failures.isEmpty)
        #expect(found.kept.objects == kept && found.removed.objects == 4 - kept)
        let stay = [keys[3], keys[2], keys[0], keys[1]].prefix(kept)
        #expect(memory.keys("pictures") == stay.sorted())
        #expect(memory.keys("documents").count == 1)
    }

    @Test func whatCannotBeRemovedIsTold() async throws {
        try await put(Self.picture)
        let text =
            "<Contents><Key>\(Self.picture)</Key><LastModified>2024-01-01T00:00:00Z</LastModified><Size>1</Size></Contents>"
        memory.fail {
            $0.method == .delete ? .status(403, "") : .status(200, "<ListBucketResult>\(text)</ListBucketResult>")
        }
        let found = try await TierInspection(memory.store()).trim(keeping: 0, isRemoving: true)
        #expect(found.failures == [.init(key: Self.picture, reason: "it refused (403)")])
        #expect(found.removed.objects == 0)
    }

    @Test func whatCannotBeReadIsToldAndTheOthersAreLookedAt() async throws {
        for number in 0..<20 { try await put("documents/pixiv/works/\(number)") }
        listing { $0.url.hasSuffix("/works/7") ? .status(500, "") : nil }
        let found = try await TierInspection(memory.store()).verify(isRemoving: true)
        #expect(found.failures == [.init(key: "documents/pixiv/works/7", reason: "it answered 500")])
        #expect(found.documents.objects == 19)
        #expect(found.stopped == nil)
    }

    @Test func whatHasGrownMeanwhileIsRead() async throws {
        try await put(Self.document, [UInt8](repeating: 1, count: 100_000))
        listing()
        let found = try await TierInspection(memory.store()).verify(isRemoving: true)
        #expect(found.documents.objects == 1)
    }

    @Test func aStoreThatStopsIsNotAskedForAll() async throws {
        for number in 0..<200 { try await put("documents/pixiv/works/\(number)") }
        listing { _ in .unreachable }
        let found = try await TierInspection(memory.store()).verify(isRemoving: true)
        #expect(found.stopped == "refused")
        #expect(found.failures.count < 100)
    }

    @Test func sizesAreNoSumThatEndsTheProgram() async throws {
        let text = list(["a", "b"].map { (key: $0, size: "\(Int64.max)") })
        memory.fail { _ in .status(200, text) }
        #expect(try await TierInspection(memory.store()).survey().others.bytes == .max)
    }

    @Test func aListThatGoesRoundIsNone() async throws {
        let texts = ["a", "b"].map { list([(key: "x", size: "1")], next: $0) }
        memory.fail { .status(200, texts[$0.url.contains("continuation-token=a") ? 1 : 0]) }
        await #expect(throws: Failure.unreadable("its list of objects does not end")) {
            try await TierInspection(memory.store()).survey()
        }
    }

    @Test func keysAreWhatIsWritten() throws {
        for (text, kind) in [
            (Self.picture, .picture("pixiv")), (Self.document, .document("pixiv")),
            ("documents/pixiv-user-7/newest/daily_r18", .document("pixiv-user-7")),
            ("documents/pixiv/authors/11", .document("pixiv")),
            ("documents/pixiv/authors/11-0123456789abcdef", .document("pixiv")),
            ("documents/pixiv/authors/11-1", .document("pixiv")),
            ("documents/pixiv/days/daily/2024-04-30-12", .document("pixiv")),
            ("documents/danbooru/artists/0123456789abcdef-2", .document("danbooru")),
            ("documents/pixiv/days/daily/2024-04-30-", nil), ("documents/pixiv/days/daily/2024-04-30-x", nil),
            ("documents/pixiv/searches/5", nil), ("documents/pixiv/authors/11/1", nil),
            ("documents/danbooru/artists/0123456789abcdef", .document("danbooru")),
            ("leases/documents/pixiv/works/5", .lease), ("leases/examination/abc", .lease),
            ("documents/pixiv/authors/-0123456789abcdef", nil), ("documents/pixiv/authors/11-0123456789abcdeg", nil),
            ("documents/pixiv/artists/name", nil), ("leases/mine", nil), ("pictures/pixiv/61/97_p00_regular_5", nil),
        ] as [(String, ObjectKind?)] {
            #expect(ObjectKind(try #require(ObjectKey(text))) == kind, "\(text)")
        }
    }
}
