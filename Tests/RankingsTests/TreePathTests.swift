import TestSupport
import Testing

@testable import Rankings

/// Every path is printed and read in one place, so that what is printed is read as the same.
@Suite struct TreePathTests {
    private static let daily = RankingMode.daily
    private static let day = Day(ordinal: 19_844)

    private static let forms: [(TreePath, String)] = [
        (.root, ""), (.rankings, "ranking"), (.mode(daily), "ranking/daily"),
        (.latest(daily), "ranking/daily/latest"), (.day(daily, day), "ranking/daily/2024-05-01"),
        (.entry(.day(daily, day), "001-Title.jpg"), "ranking/daily/2024-05-01/001-Title.jpg"),
        (.entry(.latest(daily), "001-Title.jpg"), "ranking/daily/latest/001-Title.jpg"),
        (.entry(.mode(daily), "2024-05-32"), "ranking/daily/2024-05-32"),
        (.entry(.rankings, "Daily"), "ranking/Daily"),
        (.dates(.all), "by-date"), (.dates(.mode(daily)), "by-date/daily"),
        (.dates(.year(daily, 2024)), "by-date/daily/2024"), (.dates(.month(daily, 2024, 5)), "by-date/daily/2024/05"),
        (.dates(.year(daily, 7)), "by-date/daily/0007"),
        (.dayLink(daily, day), "by-date/daily/2024/05/2024-05-01"),
        (.entry(.dates(.month(daily, 2024, 4)), "2024-05-01"), "by-date/daily/2024/04/2024-05-01"),
        (.users, "users"), (.author(UserID(rawValue: 11)), "users/11"), (.authorLink("Ann"), "users/@Ann"),
        (.authorLink("@"), "users/@@"), (.authorLink(""), "users/@"),
        (.entry(.users, "011"), "users/011"), (.entry(.users, "+1"), "users/+1"),
        (.entry(.author(UserID(rawValue: 11)), "profile.json"), "users/11/profile.json"),
        (.entry(.author(UserID(rawValue: 11)), "avatar.jpg"), "users/11/avatar.jpg"),
        (.entry(.author(UserID(rawValue: 11)), "5-A.png"), "users/11/5-A.png"),
        (.bookmarks(UserID(rawValue: 11)), "users/11/bookmarks"),
        (.entry(.bookmarks(UserID(rawValue: 11)), "5-A.png"), "users/11/bookmarks/5-A.png"),
        (.ownBookmarks, "bookmarks"), (.following, "following"), (.entry(.following, "11-Ann"), "following/11-Ann"),
        (.artists, "artists"), (.artist("some_one_(b)"), "artists/some_one_(b)"),
        (.entry(.artist("a"), "5-A.png"), "artists/a/5-A.png"), (.entry(.artist("5"), "5"), "artists/5/5"),
        (.works, "works"), (.work(WorkID(rawValue: 77)), "works/77"),
        (.entry(.work(WorkID(rawValue: 77)), "p12.png"), "works/77/p12.png"),
        (.entry(.work(WorkID(rawValue: 77)), "info.json"), "works/77/info.json"),
        (.entry(.work(WorkID(rawValue: 77)), "ugoira.zip"), "works/77/ugoira.zip"),
        (.entry(.work(WorkID(rawValue: 77)), "ugoira.mkv"), "works/77/ugoira.mkv"),
        (.searches, "search"), (.search("風景 #a"), "search/風景 #a"), (.search("latest"), "search/latest"),
        (.search("\u{301}a"), "search/\u{301}a"),
        (.entry(.search("\u{301}a"), "5-A.png"), "search/\u{301}a/5-A.png"),
        (.recent, "recent"), (.entry(.recent, "2024-05-01_daily_001-A.jpg"), "recent/2024-05-01_daily_001-A.jpg"),
        (.random, "random.jpg"), (.helpers, ".rankfs"), (.entry(.helpers, "status.json"), ".rankfs/status.json"),
        (.entry(.root, "CACHEDIR.TAG"), "CACHEDIR.TAG"), (.entry(.entry(.root, "a"), "b"), "a/b"),
        (.sharedThumbnails(.day(daily, day)), "ranking/daily/2024-05-01/.sh_thumbnails"),
        (.sharedThumbnails(.latest(daily)), "ranking/daily/latest/.sh_thumbnails"),
        (.entry(.sharedThumbnails(.search("a")), "large"), "search/a/.sh_thumbnails/large"),
        (
            .entry(.entry(.sharedThumbnails(.work(WorkID(rawValue: 7))), "normal"), "0f.png"),
            "works/7/.sh_thumbnails/normal/0f.png"
        ),
        (.entry(.following, ".sh_thumbnails"), "following/.sh_thumbnails"),
        (.folder(.authorTags), "author-tags"), (.listing(.authorTags, "11"), "author-tags/11"),
        (.listing(.authorTag, "11/風景"), "author-tags/11/風景"),
        (.listing(.authorTag, "11/\u{301}a"), "author-tags/11/\u{301}a"),
        (.entry(.listing(.authorTag, "11/a"), "5-A.png"), "author-tags/11/a/5-A.png"),
        (.sharedThumbnails(.listing(.authorTag, "11/a")), "author-tags/11/a/.sh_thumbnails"),
        (.own(.bookmarkTags), "bookmark-tags"), (.listing(.bookmarkTag, "/風景"), "bookmark-tags/風景"),
        (.entry(.listing(.bookmarkMonth, "/2026-10"), "5-A.png"), "bookmark-months/2026-10/5-A.png"),
        (.own(.feed), "feed"), (.entry(.own(.feedR18), "5-A.png"), "feed-r18/5-A.png"),
    ]

    @Test func everyFormIsPrintedAndReadBack() {
        for (path, text) in Self.forms {
            #expect(path.text.utf8.elementsEqual(text.utf8), "\(path)")
            #expect(TreePath(text) == path, "\(text)")
        }
        #expect(Set(Self.forms.map(\.0)).count == Self.forms.count)
    }

    @Test func slashesAreThoseOfTheKernel() {
        for text in ["/ranking/daily/", "//ranking///daily", "ranking/daily"] {
            #expect(TreePath(text) == .mode(Self.daily))
        }
        #expect(TreePath("///") == .root)
    }

    @Test func aPathHangsTogether() {
        for (path, text) in Self.forms {
            let parts = text.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: Array($0), as: UTF8.self) }
            #expect(path.steps.map(\.name) == parts)
            #expect(path.name == parts.last ?? "")
            #expect(path.parent.map { $0.child(path.name) } ?? .root == path)
            #expect(path.steps.last ?? .root == path)
        }
    }

    @Test func secretNamesAreNotDisclosed() {
        for (path, shown) in [
            ("bookmark-tags", "bookmark-tags"), ("bookmark-tags/風景", "bookmark-tags/…"),
            ("bookmark-tags/風景/5-A.png", "bookmark-tags/…"), ("bookmark-months/2026-10", "bookmark-months/…"),
            ("bookmarks-private/5-A.png", "bookmarks-private/…"), ("bookmarks/5-A.png", "bookmarks/5-A.png"),
            ("author-tags/11/風景", "author-tags/11/風景"), ("inode 7", "inode 7"), ("", ""),
        ] {
            #expect(TreePath(path).disclosed == shown)
            let isSecret = ["bookmark-", "bookmarks-private"].contains(where: path.hasPrefix)
            #expect(TreePath(path).isSecret == isSecret)
        }
    }

    @Test func listingsHaveThePathsOfTheirDirectories() {
        let keys: [(ListingKey, String, String)] = [
            (.ranking(Self.daily, Self.day), "ranking/daily/2024-05-01", "ranking/daily/2024-05-01"),
            (.author(UserID(rawValue: 11)), "users/11", "author/11"),
            (.bookmarks(UserID(rawValue: 11)), "users/11/bookmarks", "bookmarks/11"),
            (.work(WorkID(rawValue: 7)), "works/7", "work/7"), (.search("a b"), "search/a b", "search/a b"),
            (ListingKey.only(.hot) ?? .search("hot"), "hot", "hot/1"),
            (ListingKey(.favoriteGroup, 4), "favgroups/4", "favgroups/4"),
            (.artist("a_(b)"), "artists/a_(b)", "artists/a_(b)"),
            (.following(UserID(rawValue: 3)), "following", "following/3"),
        ]
        let tag = ListingKey(of: .listing(.authorTag, "11/風景"))
        #expect(tag?.text == "author-tag/11/風景" && ListingKey(text: "author-tag/11/風景") == tag)
        #expect(tag?.path.text == "author-tags/11/風景")
        #expect(ListingKey(of: .own(.feed)) == nil)
        let own = ListingKey(text: "bookmark-tag/3/風景")
        #expect(own?.path.text == "bookmark-tags/風景" && ListingKey(of: TreePath("bookmark-tags/風景")) == nil)
        #expect(ListingKey(of: TreePath("bookmark-tags/風景"), user: UserID(rawValue: 3)) == own)
        #expect(ListingKey(of: .own(.feed), user: UserID(rawValue: 3))?.text == "feed/3")
        for (key, path, text) in keys {
            #expect(key.path.text == path)
            #expect(key.text == text)
            #expect(ListingKey(text: text) == key)
            #expect(ListingKey(of: key.path) == (key.listsNames ? nil : key))
        }
        #expect(
            ListingKey.ranking(Self.daily, Self.day).paths.map(\.text)
                == ["ranking/daily/2024-05-01", "ranking/daily/latest"])
        #expect(ListingKey.search("a").paths == [.search("a")])
        #expect(ListingKey.bookmarks(UserID(rawValue: 11)).paths.map(\.text) == ["users/11/bookmarks", "bookmarks"])
        #expect(
            ListingKey.only(.following) == nil && ListingKey.only(.pool) == nil && ListingKey(of: .following) == nil)
        #expect(ListingKey(of: .latest(Self.daily)) == nil && ListingKey(of: .random) == nil)
    }
}
