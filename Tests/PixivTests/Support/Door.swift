import Foundation
import HTTP
import Rankings
import Sourcing
import TestSupport
import Testing

@testable import Pixiv

/// A directory that opens by name, with an answer that fills it.
struct Door: Sendable, CustomTestStringConvertible {
    let key: String
    /// The recorded answer, or the body of one.
    let answer: String
    /// The lists in the answer, by the names that lead there, that may be empty.
    let lists: Set<String>

    init(_ key: String, _ answer: String, empty lists: String...) {
        (self.key, self.answer, self.lists) = (key, answer, Set(lists))
    }

    private static let magelon = "Magelon-png-PixivApi"
    private static let bookmarks = "ajax-user-bookmarks/\(magelon)"

    static let all: [Door] = [
        Door("feed/123", "ajax-follow-latest/daydreamer-json-pixiv-ajax-api-docs", empty: "page.ids"),
        Door("feed-r18/123", "ajax-follow-latest/daydreamer-json-pixiv-ajax-api-docs-mode_all_p_1", empty: "page.ids"),
        Door("series/5", "ajax-series/\(magelon)-p1"), Door("series/66844", "ajax-series/NateScarlet-pixiv-66844-p1"),
        Door("related/9", "ajax-illust-recommend-init/\(magelon)", empty: "illusts"),
        Door("collection/35931581765300027379", "ajax-collection/\(magelon)-GetCollection", empty: "data.detail.tiles"),
        Door("author-tags/7", #"[{"tag":"風景","tag_translation":"","cnt":3},{"tag":"猫","cnt":"2"}]"#, empty: ""),
        Door("author-tag/7/風景", "ajax-user-illusts-tag/\(magelon)"),
        Door("bookmarks/5", bookmarks), Door("bookmarks/6", "ajax-user-bookmarks/CWHer-PixivCrawler-bookmark"),
        Door("bookmarks-private/123", bookmarks), Door("bookmark-tag/123/風景", bookmarks),
        Door("bookmark-month/123/2026-10", bookmarks),
        Door("bookmark-tags/123", "ajax-user-bookmark-tags/\(magelon)", empty: "public"),
        Door("bookmark-months/123", "ajax-user-bookmark-periods/\(magelon)", empty: ""),
        Door(
            "search/猫,since=2026-10,kind=ugoira,match=tag",
            "ajax-search-artworks/Nandaka-PixivUtil2-test-tags-search-exact-last"),
        Door("search/猫,size=3000,shape=landscape", "ajax-search-artworks/daydreamer-json-pixiv-ajax-api-docs-genshin"),
        Door("author/7", "ajax-user-profile-all/\(magelon)"),
        Door("following/123", "ajax-user-following/daydreamer-json-pixiv-ajax-api-docs-9153585"),
    ]

    var testDescription: String { key }

    /// The body, with the first three elements of each list.
    func body() throws -> Any {
        let isRecorded = answer.contains("/")
        let made = isRecorded ? nil : try JSONSerialization.jsonObject(with: Data(answer.utf8))
        return Self.shortened(try #require(try made ?? Payload(answer).root["body"]))
    }

    private static func shortened(_ value: Any) -> Any {
        switch value {
        case let object as [String: Any]: object.mapValues(shortened)
        case let list as [Any]: list.prefix(3).map(shortened)
        default: value
        }
    }

    /// An answer with a body.
    static func envelope(_ body: Any) throws -> String {
        String(decoding: try bytes(["error": false, "message": "", "body": body]), as: UTF8.self)
    }

    /// The outcome of a request for the door, to which each attempt gets the same answer.
    func open(_ body: String, status: Int = 200, page: Int = 1) async -> Result<ListingPage, Failure> {
        let answer = FakeService.response(status, [], Array(body.utf8))
        let service = FakeService(Array(repeating: .success(answer), count: 4))
        guard let key = ListingKey(text: key) else { return .failure(.absent) }
        let source = service.source(session: SessionKeeper(SessionCookie("123_AbCdEfGhIjKl")))
        do throws(Failure) {
            return .success(try await source.page(of: key, page, deadline: deadline))
        } catch { return .failure(error) }
    }
}

extension ListingPage {
    /// Whether a directory shows something of the page, or fails.
    var showsSomething: Bool { !entries.isEmpty || further?.isEmpty == false || unreadable > 0 }
}
