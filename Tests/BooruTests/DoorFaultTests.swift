import Boards
import Foundation
@testable import HTTP
import Rankings
import TestSupport
import Testing

/// A directory that opens by name, with the answers that fill it, in their order.
struct Door: Sendable, CustomTestStringConvertible {
    let key: String
    let isDanbooru: Bool
    let answers: [String]
    /// Further answers that the last one may have as an empty list: there are no such posts, or no such pool.
    var mayBeEmpty = false

    var testDescription: String { "\(key) of \(isDanbooru ? "Danbooru" : "yande.re")" }

    static func all() throws -> [Door] {
        let posts = try text([danbooruPost(4), danbooruPost(5)])
        let others = try text(["posts": [moebooruPost(4), moebooruPost(5)], "tags": ["hat": "general"]])
        let pool: [String: Any] = ["id": 3, "name": "Some_Book", "post_ids": [5, 4]]
        let record: [String: Any] = ["parent_id": NSNull(), "has_children": true]
        return [
            Door(key: "pools/3", isDanbooru: true, answers: [try text(pool), posts]),
            Door(key: "pools/some book", isDanbooru: true, answers: [try text([pool]), posts]),
            Door(key: "favgroups/3", isDanbooru: true, answers: [try text(pool), posts]),
            Door(
                key: "family/4", isDanbooru: true,
                answers: [try text(danbooruPost(4, ["parent_id": 5])), try text(danbooruPost(5, record)), posts]),
            Door(key: "favorites/some_one", isDanbooru: true, answers: [posts], mayBeEmpty: true),
            Door(key: "hot/1", isDanbooru: true, answers: [posts], mayBeEmpty: true),
            Door(
                key: "search/hat,since=2024-04-01,size=100,shape=landscape", isDanbooru: true, answers: [posts],
                mayBeEmpty: true),
            Door(key: "artists/somebody", isDanbooru: true, answers: [posts], mayBeEmpty: true),
            Door(key: "pools/3", isDanbooru: false, answers: [others]),
            Door(
                key: "pools/some book", isDanbooru: false,
                answers: [try text([["id": 3, "name": "Some_Book"]]), others]),
            Door(
                key: "family/4", isDanbooru: false,
                answers: [
                    try text([moebooruPost(4, ["parent_id": 5])]), try text([moebooruPost(5, record)]), others,
                ]),
            Door(key: "favorites/some_one", isDanbooru: false, answers: [others], mayBeEmpty: true),
        ]
    }

    /// The outcome where an answer is another one.
    func open(_ body: String, status: Int = 200, in place: Int) async -> Result<ListingPage, Failure> {
        let right = answers.prefix(place).map { (200, $0) }
        let board = FakeBoard(right + [(status, body)] + answers.dropFirst(place + 1).map { (200, $0) })
        guard let key = ListingKey(text: key) else { return .failure(.absent) }
        let engine = engine(isDanbooru: isDanbooru)
        do throws(Failure) {
            return .success(try await board.source(engine).page(of: key, 1, deadline: deadline))
        } catch { return .failure(error) }
    }
}

/// Answers that fail, over each door: never an empty directory, never the end of a list, and never gone.
@Suite struct DoorFaultTests {
    private static let page = "<html><body>Please wait</body></html>"
    private static let refusal = "{\"success\":false,\"message\":\"why\",\"reason\":\"why\"}"

    /// Answers that are no list and no word of the service that there is none.
    private static let faults: [(status: Int, body: String)] =
        [400, 401, 403, 404, 410, 418, 421, 422, 429, 451, 500, 502, 503].map { ($0, page) }
        + [404, 410, 451].map { ($0, "{\"detail\":\"Not Found\"}") }
        + [400, 401, 403, 418, 422, 429, 500, 503].map { ($0, refusal) }
        + [400, 403, 404, 410, 429, 451, 503].map { ($0, "") }
        + [
            "", page, "null", "5", "\"x\"", "{}", "[[]]", "[null]", "[5]", "[\"x\"]", "[{}]", "{\"posts\":5}",
            "{\"posts\":[{}]}",
            refusal, "{\"error\":true,\"message\":\"\",\"body\":[]}", "{\"pools\":[{}]}", "{\"id\":8}",
            "{\"id\":3,\"post_ids\":\"x\"}",
            "{\"id\":3,\"post_ids\":[null,\"x\"]}",
        ].map { (200, $0) }

    /// What a directory shows of a page that is none at all.
    private func showsNothing(_ page: ListingPage) -> Bool { page.entries.isEmpty && page.unreadable == 0 }

    @Test(arguments: try Door.all()) func aFailedAnswerIsAnError(door: Door) async {
        for place in door.answers.indices {
            let cut = [2, 1].map { (200, String(door.answers[place].dropLast(door.answers[place].count / $0 - 1))) }
            for (status, body) in Self.faults + cut {
                let name: Comment = "answer \(place + 1) is \(status) \(body.prefix(60))"
                switch await door.open(body, status: status, in: place) {
                case .success(let page): #expect(page.entries.isEmpty && page.unreadable > 0, name)
                case .failure(let error): #expect(!saysThatThereIsNone(error), "\(name): \(error)")
                }
            }
        }
    }

    @Test(arguments: try Door.all()) func onlyTheServiceSaysThatThereIsNone(door: Door) async throws {
        for status in door.isDanbooru ? [404, 451] : [404] {
            let body = "{\"success\":false,\"message\":\"\"}"
            #expect(await door.open(body, status: status, in: 0) == .failure(.notFound))
        }
        let page = try await door.open(door.answers[0], in: 0).get()
        #expect(page.entries.count == 2 && page.unreadable == 0)
        let empty = await door.open("[]", in: door.answers.count - 1)
        switch empty {
        case .success(let page): #expect(door.mayBeEmpty && showsNothing(page))
        // A pool of the other engine is known by its posts alone.
        case .failure(let error):
            #expect(
                !door.mayBeEmpty && (error == .notFound) == (!door.isDanbooru && door.key.hasPrefix("pools")),
                "\(error)")
        }
    }

    /// They are posts of which none can be shown, and not none.
    @Test func aListOfFlashFilesAloneIsRefused() async throws {
        let flash = danbooruPost(4, ["file_ext": "swf"])
        for name in ["artists/somebody", "search/hat", "pools/3", "a day"] {
            let key = name == "a day" ? .ranking(.day, day("2024-05-01")) : try #require(ListingKey(text: name))
            let pool = try text(["id": 3, "post_ids": [4]])
            let board = name == "pools/3" ? FakeBoard(pool, try text([flash])) : FakeBoard(try text([flash]))
            #expect(await board.source().failure(of: key) == .withheld(Withholding.all), "\(name)")
        }
        // One of them may be understood another day, and posts may follow.
        let artist = try #require(ListingKey(text: "artists/somebody"))
        let odd = try await FakeBoard(try text([flash, [:]])).source().page(of: artist, 1, deadline: deadline)
        #expect(odd.entries.isEmpty && odd.unreadable == 1)
        let many = FakeBoard(try text((1...200).map { danbooruPost($0, ["file_ext": "swf"]) }))
        #expect(try await many.source().page(of: artist, 1, deadline: deadline).hasNext)
    }

    /// A service that does not know a rating shows all posts: they are not the ones that were asked for, and not none.
    @Test(arguments: try Door.all()) func postsOfAnotherRatingAreNoEmptyList(door: Door) async throws {
        let posts: Any =
            door.isDanbooru
            ? [danbooruPost(4, ["rating": "x"]), danbooruPost(5, ["rating": "e"])]
            : [moebooruPost(4, ["rating": "x"]), moebooruPost(5, ["rating": "e"])]
        guard case .failure(let error) = await door.open(try text(posts), in: door.answers.count - 1) else {
            Issue.record("a page")
            return
        }
        #expect(!saysThatThereIsNone(error))
    }
}
