import Boards
import Foundation
import HTTP
import Rankings
import TestSupport
import Testing

/// A post, its children, its ancestors and theirs.
@Suite struct FamilyTests {
    /// An answer that both boards give, each in its own form.
    enum Answer: Sendable {
        /// The record of a post, which may say nothing of its children.
        case post(Int, parent: Int? = nil, hasChildren: Bool? = nil, isFlash: Bool = false)
        /// The children of a post with itself; the last may be a Flash file.
        case list([Int], isFlash: Bool = false)
        /// The service no longer has the post.
        case gone

        func told(_ isDanbooru: Bool) throws -> (Int, String) {
            func post(_ id: Int, _ fields: [String: Any]) -> [String: Any] {
                isDanbooru ? danbooruPost(id, fields) : moebooruPost(id, fields)
            }
            switch self {
            case .gone: return isDanbooru ? (404, "{\"success\":false,\"message\":\"\"}") : (200, "{\"posts\":[]}")
            case .list(let ids, let isFlash):
                return (200, try text(ids.map { post($0, isFlash && $0 == ids.last ? ["file_ext": "swf"] : [:]) }))
            case .post(let id, let parent, let hasChildren, let isFlash):
                var fields: [String: Any] = ["parent_id": parent ?? NSNull() as Any]
                if let hasChildren { fields["has_children"] = hasChildren }
                if isFlash { fields["file_ext"] = "swf" }
                return (200, try text(isDanbooru ? post(id, fields) : [post(id, fields)]))
            }
        }
    }

    private static let child = Answer.post(7, parent: 5, hasChildren: false)
    private static let flash = Answer.post(5, hasChildren: true, isFlash: true)

    /// Whose family, the answers that it takes, and what is listed; nil where the answers contradict each other.
    private static let families: [(name: String, post: Int64, answers: [Answer], ids: [Int64]?)] = [
        ("its record says that it has none", 9, [.post(9, hasChildren: false)], [9]),
        (
            "all generations: the list of a parent has its children alone", 7,
            [child, .post(5, parent: 3), .post(3), .list([3, 5]), .list([5, 7, 8])], [3, 5, 7, 8]
        ),
        ("the parent is gone: those that name it", 7, [child, .gone, .list([8, 7])], [8, 7]),
        ("the parent is gone: it is there alone", 7, [child, .gone, .list([])], [7]),
        ("what is never shown has children", 5, [flash, .list([7, 5], isFlash: true)], [7]),
        ("and is a parent", 7, [child, flash, .list([7, 5], isFlash: true)], [7]),
        ("and is nothing alone", 5, [.post(5, hasChildren: false, isFlash: true)], nil),
        ("no program plays the children", 5, [.post(5), .list([7], isFlash: true)], [5]),
        ("the parent says that it has none", 7, [child, .post(5, hasChildren: false), .list([7, 5])], [7, 5]),
        ("the parent says nothing", 7, [child, .post(5), .list([7, 5])], [7, 5]),
        ("the record says nothing", 5, [.post(5), .list([7, 5])], [7, 5]),
        ("the record says nothing, and there are none", 5, [.post(5), .list([])], [5]),
        ("the list has the parent at least", 7, [child, .post(5, hasChildren: true), .list([])], nil),
        ("the list has the post at least", 5, [.post(5, hasChildren: true), .list([])], nil),
        ("its own parent", 5, [.post(5, parent: 5, hasChildren: true), .list([5])], [5]),
        (
            "its own ancestor: each record is requested once, and the children of each", 5,
            [
                .post(5, parent: 7, hasChildren: true), .post(7, parent: 6, hasChildren: true),
                .post(6, parent: 5, hasChildren: true), .list([5, 7, 6]), .list([5, 7, 6]), .list([5, 7, 6]),
            ], [5, 7, 6]
        ),
    ]

    @Test(arguments: families.indices, [true, false]) func aFamilyIsWhole(_ index: Int, isDanbooru: Bool) async throws {
        let (name, post, answers, ids) = Self.families[index]
        let board = FakeBoard(try answers.map { try $0.told(isDanbooru) })
        let source = board.source(engine(isDanbooru: isDanbooru))
        if let ids {
            let family = try await source.page(of: ListingKey(.family, post), 1, deadline: deadline)
            #expect(family.works.map(\.id.rawValue) == ids && !family.hasNext, "\(name)")
        } else {
            #expect(isUnreadable(await source.failure(of: ListingKey(.family, post))), "\(name)")
        }
        #expect(board.urls.count == answers.count, "\(name)")
        if case .list? = answers.last { #expect(board.urls.last?.contains("tags=parent:") == true, "\(name)") }
    }

    @Test(arguments: [true, false]) func aFamilyAboveTheRatingIsWithheld(isDanbooru: Bool) async throws {
        let fields: [String: Any] = ["parent_id": NSNull(), "has_children": true, "rating": "e"]
        let post = try text(isDanbooru ? danbooruPost(5, fields) : [moebooruPost(5, fields)])
        let source = FakeBoard(post, "[]").source(engine(isDanbooru: isDanbooru))
        #expect(await source.failure(of: ListingKey(.family, 5)) == .withheld("rating"))
    }
}
