import Fuse
import Testing

@testable import rankfs

/// A work of one source is shown the way to the same work in a mount of another.
@Suite struct BridgeTests {
    private static func mount(
        _ path: String, _ source: String, user: Int = 1000, type: String = "fuse.rankfs"
    ) -> String {
        "40 1 0:50 / \(path) ro,nosuid,nodev - \(type) \(source) ro,user_id=\(user),group_id=1000"
    }

    private static func bridge(_ page: String, _ mounts: [String], from source: String = "demo") -> String? {
        let table = MountTable(text: Array(mounts.joined(separator: "\n").utf8))
        guard let source = SourceName(rawValue: source) else { return nil }
        return source.bridge(to: page, table, user: 1000).map { "\($0.name) \($0.target)" }
    }

    private static let page = "https://www.pixiv.net/artworks/123"

    @Test func theLastMountOfTheSourceIsMeant() {
        let mounts = [Self.mount("/a", "pixiv"), Self.mount("/b", "pixiv")]
        #expect(Self.bridge(Self.page, mounts, from: "danbooru") == "pixiv /b/works/123")
        #expect(Self.bridge(Self.page, [Self.mount("/a\\040b", "demo")], from: "danbooru") == "pixiv /a b/works/123")
    }

    @Test func othersMountsAndOtherPagesAreNoWays() {
        let others = [
            Self.mount("/a", "pixiv", user: 0), Self.mount("/a", "pixiv", type: "fuse.sshfs"),
            Self.mount("/a", "danbooru"), Self.mount("/a", "nothing"),
        ]
        #expect(Self.bridge(Self.page, others, from: "danbooru") == nil)
        let mounts = [Self.mount("/a", "pixiv")]
        for page in ["", "https://example.org/artworks/123", "https://www.pixiv.net/users/1", "x"] {
            #expect(Self.bridge(page, mounts, from: "danbooru") == nil, "\(page)")
        }
        // From a mount to itself there is no bridge.
        #expect(Self.bridge(Self.page, mounts, from: "pixiv") == nil)
        #expect(Self.bridge(Self.page, mounts, from: "demo") == nil)
    }
}
