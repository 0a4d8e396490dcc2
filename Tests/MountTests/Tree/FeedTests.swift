import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Authors, searches and what was seen", "Fetching ahead".
    @Suite struct FeedTests {
        private func numbers(_ names: [String]) -> [Int64] { names.compactMap { Int64($0.prefix { $0 != "-" }) } }

        private func asked(_ origin: OriginProcess, _ mode: String) -> [LoggedRequest] {
            origin.apiRequests.filter { $0.path.hasPrefix("/ajax/follow_latest/") && $0.path.contains("mode=\(mode)") }
        }

        @Test func newWorksOfFollowedAuthorsAreInTheRoot() async throws {
            try await withMount(signedIn: 1000, options: ["prefetch=0"]) { workplace, origin, mount in
                let feed = "\(mount.path)/feed"
                let names = try mount.names(feed)
                let works = numbers(names)
                #expect(works.count == 35 * 60 && Set(works).count == works.count && works == works.sorted(by: >))
                #expect(asked(origin, "all").count == 35, "each page once, and none beyond the last one")
                let followed = Set(numbers(try mount.names("\(mount.path)/following")))
                for name in [names[0], names[59], names[60], names[2099]] {
                    let author = try #require(extendedAttribute("user.rankfs.user", of: "\(feed)/\(name)"))
                    #expect(followed.contains(try #require(Int64(author))))
                }
                let restricted = try mount.names("\(mount.path)/feed-r18")
                #expect(!restricted.isEmpty && restricted.count < names.count)
                let shown = try #require(
                    names.first { extendedAttribute("user.rankfs.withheld", of: "\(feed)/\($0)") == nil })
                let bytes = try read("\(feed)/\(shown)").get()
                #expect(bytes.starts(with: [0xFF, 0xD8]))
                #expect(try mount.names("\(mount.path)/recent") == [shown])
                #expect(try read("\(mount.path)/recent/\(shown)").get() == bytes)
                let inode = try status(of: "\(feed)/\(shown)").st_ino
                origin.stop()
                #expect(mount.unmount())
                let again = try Mount(
                    workplace, of: origin, options: try workplace.signedIn() + ["offline=on"], named: "again")
                #expect(try again.names("\(again.path)/feed") == [shown], "offline lists what can be read")
                #expect(try status(of: "\(again.path)/feed/\(shown)").st_ino == inode)
                #expect(try read("\(again.path)/feed/\(shown)").get() == bytes)
            }
        }

        @Test func anAccountWithoutR18HasNoR18FeedAndAStrangerHasNone() async throws {
            try await withMount(signedIn: 1007) { workplace, origin, mount in
                #expect(list("\(mount.path)/feed-r18").errno == ENOENT)
                #expect(asked(origin, "r18").count == 1)
                #expect(try mount.names(mount.path).contains("feed"))
                #expect(try !mount.names(mount.path).contains("feed-r18"))
                #expect(try mount.figures("sign_in")["state"] as? String == "signed_in")
                #expect(mount.unmount())
                let stranger = try Mount(workplace, of: origin, named: "stranger")
                #expect(try stranger.names(stranger.path).filter { $0.hasPrefix("feed") } == [])
                #expect(list("\(stranger.path)/feed").errno == EACCES)
                #expect(origin.apiRequests.filter { $0.path.contains("follow_latest") }.count == 1)
            }
        }

        @Test func whatIsNewIsFetchedAndNamed() async throws {
            try await withMount(signedIn: 1002, options: ["images=small"]) { workplace, origin, mount in
                let folder = workplace.directory.appending(path: "out").path
                let words = [Workplace.rankfs, "fetch", "\(mount.path)/feed", "--to", folder]
                let first = try workplace.run(words, upTo: 120)
                #expect(first.status == 0 && !first.output.contains("new"), "\(first.output)\(first.errors)")
                let names = try mount.readable("\(mount.path)/feed").sorted()
                #expect(!names.isEmpty)
                #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/feed").sorted() == names)
                let before = origin.requests.count
                let second = try workplace.run(words)
                #expect(second.status == 0 && second.output.contains("nothing new\n\(names.count) there already"))
                // Two, as if they had been uploaded since.
                for name in names.prefix(2) { try FileManager.default.removeItem(atPath: "\(folder)/feed/\(name)") }
                let third = try workplace.run(words)
                let named = third.output.split(separator: "\n").filter { $0.hasPrefix("new: ") }
                #expect(Set(named) == Set(names.prefix(2).map { "new: feed/\($0)" }))
                #expect(third.status == 0 && third.output.contains("2 files fetched"))
                #expect(origin.requests.count == before, "what is stored and fresh costs no request")
            }
        }
    }
}
