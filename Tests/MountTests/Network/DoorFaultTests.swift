import CLinux
import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Unreachable never means deleted", over every directory that opens by name.
    @Suite struct DoorFaultTests {
        /// A bound on hangs, which a busy machine does not reach.
        private static let patience = 60.0

        private static func text(_ name: String, _ text: String, status: Int = 200) -> FaultKind {
            let quoted = text.replacingOccurrences(of: "\"", with: "\\\"")
            return FaultKind(name, "\"action\":\"text\",\"text\":\"\(quoted)\",\"status\":\(status)")
        }

        /// What can come in place of an answer, without a word about the session or a wish to be left alone; further ones are those of
        /// the sources' tests.
        private static let kinds = [
            FaultKind("trunc"), FaultKind("html200"), text("object", "{}"),
            text("error", "{\"error\":true,\"success\":false,\"message\":\"why\",\"body\":[]}"),
            .status(404), .status(500),
        ]

        /// Directories of each kind.
        private func doors(_ mount: Mount, _ origin: OriginProcess) throws -> [String] {
            guard origin.service == .pixiv else {
                let (pool, posts) = try origin.pool(named: "Book_of_2024-04-30")
                let own = ["hot", "favgroups/\(pool % 7 == 0 ? pool + 1 : pool)"]
                let search = "search/\(origin.service.search),size=10"
                return [
                    "pools/\(pool)", "pools/book of 2024-04-30", "family/\(posts[0])", "favorites/some_one", search,
                ]
                    + (origin.service == .danbooru ? own : [])
            }
            let work = try #require(try origin.ranking().first { !$0.isWithheld }).work
            let tags = try JSONSerialization.jsonObject(with: origin.fetch("/ajax/user/1006/illustmanga/tags?all=1"))
            let tag = ((tags as? [String: Any])?["body"] as? [[String: Any]])?.compactMap { $0["tag"] as? String }
                .first { !$0.contains("/") }
            return [
                "feed", "feed-r18", "following", "bookmarks", "bookmarks-private", "bookmark-tags", "bookmark-tags/未分類",
                "bookmark-months", "series/1006", "related/\(work)", "collections/35931581765300001006", "users/1006",
                "author-tags/1006", "author-tags/1006/\(try #require(tag))", "search/\(origin.service.search)",
                "search/\(origin.service.search),match=tag",
            ]
        }

        @Test(arguments: Service.allCases)
        func anAnswerThatFailsIsNeitherEmptyNorGone(service: Service) async throws {
            try await withOrigin(service, wire: .plain) { workplace, origin in
                let account = service == .pixiv ? try workplace.signedIn() : []
                let options = account + ["prefetch=0", "timeout=6", "connections=32"]
                let mount = try Mount(workplace, of: origin, options: options)
                let doors = try doors(mount, origin)
                let lists = service == .pixiv ? "/ajax/" : ".json"
                func all(_ mount: Mount, _ doors: [String]) -> [Listed?] {
                    together(upTo: Self.patience, doors.map { door in { list("\(mount.path)/\(door)") } })
                }
                for kind in Self.kinds + [FaultKind("stallhdr")] where kind.passes(service) {
                    try origin.spoil([kind.rule(lists)], in: workplace)
                    for (door, listed) in zip(doors, all(mount, doors)) {
                        report("\(service) \(door) \(kind) -> \(listed.map { "\($0)" } ?? "HANG")")
                        #expect(listed != nil, "\(door) \(kind) hangs")
                        #expect(listed?.errno != 0 && listed?.errno != ENOENT, "\(door) \(kind)")
                    }
                }
                try origin.spoil([], in: workplace)
                var right = all(mount, doors)
                _ = poll(upTo: 60) {
                    for index in doors.indices where right[index]?.errno != 0 {
                        right[index] = all(mount, [doors[index]])[0]
                    }
                    return right.allSatisfy { $0?.errno == 0 }
                }
                for (door, listed) in zip(doors, right) {
                    report("\(service) \(door) afterwards -> \(listed.map { "\($0)" } ?? "HANG")")
                    #expect(listed?.errno == 0 && (listed?.count ?? 0) > 0, "\(door) afterwards")
                }
                // Now that all is stored nothing of it goes, whatever comes when it is asked for again.
                for kind in Self.kinds where kind.passes(service) {
                    try origin.spoil([kind.rule(lists)], in: workplace)
                    let refreshed = together(
                        upTo: Self.patience, doors.map { door in { refresh("\(mount.path)/\(door)") } })
                    for (door, code) in zip(doors, refreshed) {
                        #expect(code != nil && code != 0 && code != ENOENT, "\(door) \(kind)")
                    }
                    #expect(all(mount, doors) == right, "\(kind)")
                }
                try origin.spoil([], in: workplace)
                #expect(poll(upTo: 60) { doors.allSatisfy { refresh("\(mount.path)/\($0)") == 0 } })
                let anew = all(mount, doors)
                // What is hot may have one more meanwhile.
                #expect(zip(anew, right).allSatisfy { $0?.errno == 0 && ($0?.count ?? 0) >= ($1?.count ?? 0) })
                let names = try doors.map { try mount.names("\(mount.path)/\($0)") }
                origin.stop()
                #expect(mount.unmount())
                let again = try Mount(workplace, of: origin, options: options, named: "again")
                #expect(all(again, doors) == anew)
                #expect(try doors.map { try again.names("\(again.path)/\($0)") } == names)
            }
        }

        /// Has a listing requested again, as `rankfs refresh` does; 0, or the errno.
        private func refresh(_ path: String) -> Int32 {
            let directory = open(path, O_RDONLY | O_DIRECTORY)
            guard directory >= 0 else { return errno }
            defer { close(directory) }
            return ioctl(directory, UInt(0x5204)) < 0 ? errno : 0
        }
    }
}
