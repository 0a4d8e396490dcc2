import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Signed in".
    @Suite struct BookmarkTests {
        private func mode(_ path: String) throws -> String { String(try status(of: path).st_mode & 0o777, radix: 8) }

        @Test func bookmarksHaveTagsAndMonthsAndPrivateOnes() async throws {
            try await withMount(signedIn: 1000) { workplace, origin, mount in
                let (tags, months) = ("\(mount.path)/bookmark-tags", "\(mount.path)/bookmark-months")
                let all = Set(try mount.names("\(mount.path)/bookmarks"))
                let tagNames = try mount.names(tags)
                #expect(tagNames.count > 3 && tagNames.contains("未分類"))
                let before = origin.apiRequests.count
                #expect(try workplace.run("ls", "-l", tags).status == 0 && origin.apiRequests.count == before)
                var found: Set<String> = []
                for name in tagNames { found.formUnion(try mount.names("\(tags)/\(name)")) }
                #expect(found == all, "every public bookmark has a tag, and no other one")
                let monthNames = try mount.names(months)
                #expect(monthNames.count > 3 && monthNames.allSatisfy { $0.wholeMatch(of: /\d{4}-\d\d/) != nil })
                #expect(Set(try monthNames.flatMap { try mount.names("\(months)/\($0)") }) == all)
                let hidden = "\(mount.path)/bookmarks-private"
                let secret = try mount.names(hidden)
                #expect(!secret.isEmpty && all.isDisjoint(with: secret))
                for path in [tags, months, hidden, "\(tags)/未分類"] { #expect(try mode(path) == "700", "\(path)") }
                let readable = try #require(try mount.shown(hidden).first)
                #expect(try mode(readable) == "600")
                _ = try read(readable).get()
                #expect(try mount.names("\(mount.path)/recent").isEmpty)
                for path in ["\(tags)/no such tag", "\(months)/2024-13", "\(months)/1999-01"] {
                    #expect(list(path).errno == ENOENT, "\(path)")
                }
                #expect(
                    !origin.apiRequests.contains { $0.path.contains("rest=show&") && $0.path.contains("rest=hide") })
            }
        }

        /// What fails is reported without the names.
        @Test func secretNamesAreInNoLogAndNoStatus() async throws {
            try await withMount(signedIn: 1000, options: ["log=debug"]) { workplace, origin, mount in
                let secret = try mount.names("\(mount.path)/bookmarks-private")
                let tag = try #require(try mount.names("\(mount.path)/bookmark-tags").first { $0 != "未分類" })
                let month = try #require(try mount.names("\(mount.path)/bookmark-months").first)
                let tagged = try mount.names("\(mount.path)/bookmark-tags/\(tag)")
                origin.stop()
                for path in [
                    "bookmarks-private/\(secret[0])", "bookmark-tags/\(tag)/\(tagged[0])", "bookmark-tags/other tag/",
                    "bookmark-months/\(month)/",
                ] {
                    _ = read("\(mount.path)/\(path)")
                    _ = list("\(mount.path)/\(path)")
                }
                let status = try read("\(mount.path)/.rankfs/status.json").get()
                let metrics = try read("\(mount.path)/.rankfs/metrics").get()
                #expect(mount.unmount())
                let log = mount.child.errorText
                #expect(
                    log.contains("bookmarks-private/…") || log.contains("bookmark-tags/…"), "something failed: \(log)")
                for text in [log, String(decoding: status, as: UTF8.self), String(decoding: metrics, as: UTF8.self)] {
                    for name in [secret[0], tagged[0], tag, month, "other tag"] {
                        #expect(!text.contains(name), "\(name)")
                    }
                }
            }
        }
    }
}
