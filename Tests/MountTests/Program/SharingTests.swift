import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Shared with care".
    @Suite(.enabled(if: geteuid() == 0, "needs root")) struct SharingTests {
        /// Whoever tries something.
        private enum Person: String, CaseIterable {
            case root
            /// Whom the files belong to.
            case daemon
            /// Anybody else.
            case nobody
        }

        /// What is tried, and whether others than the owner and root may; `M` stands for the mount point.
        ///
        /// Of pixiv: see `table(of:)`.
        private static let table: [(words: String, isForOthers: Bool)] = [
            ("ls M", true), ("ls M/ranking", true), ("ls M/ranking/daily/2024-05-01", true),
            ("ls -l M/ranking/daily/latest", true),
            ("ls M/users", true), ("ls M/users/1000", true), ("ls M/works", true),
            ("cat M/users/1000/profile.json", true),
            ("stat M/random.jpg", true), ("cat M/random.jpg", true),
            ("cat M/.rankfs/version", true), ("cat M/.rankfs/metrics", true), ("cat M/CACHEDIR.TAG", true),
            ("cat M/.rankfs/status.json", true), ("rankfs status M", true), ("cat PICTURE", true),
            ("rankfs fetch PICTURE", true), ("getfattr -d PICTURE", true),
            ("rankfs pin PICTURE", false), ("rankfs unpin PICTURE", false), ("rankfs evict PICTURE", false),
            ("rankfs refresh M/ranking/daily/2024-05-01", false), ("rankfs forget M/ranking/daily/2024-05-02", false),
            ("ls M/search", false), ("ls M/search/三枚だけの札", false), ("stat M/search/三枚だけの札", false),
            ("ls M/recent", false), ("cat RECENT", false), ("stat RECENT", false),
            ("ls M/bookmarks", false), ("ls M/following", false), ("ls M/feed", false),
            ("ls M/bookmarks-private", false), ("ls M/bookmark-tags", false), ("ls M/bookmark-months/2024-05", false),
            ("readlink -v FOLLOWED", false), ("ls M/users/1000/bookmarks", false), ("ls M/users/1001/bookmarks", false),
            ("ls M/ranking/daily_r18", false), ("ls M/ranking/daily_r18/2024-05-01", false),
            ("stat -L M/ranking/daily_r18/latest", false), ("cat RESTRICTED", false),
            ("stat RESTRICTED", false),
        ]

        /// What a service without accounts has of it, and its artists.
        private static func table(of service: Service) -> [(words: String, isForOthers: Bool)] {
            guard service.isProven else { return table }
            let lacking = ["users", "bookmark", "following", "feed", "FOLLOWED", "r18", "RESTRICTED"]
            let rows = table.filter { row in !lacking.contains { row.words.contains($0) } }.map {
                (
                    $0.words.replacing("daily", with: service.daily).replacing("三枚だけの札", with: service.search),
                    $0.isForOthers
                )
            }
            return rows + [("ls M/artists", true), ("ls M/artists/busy_artist", true)]
        }

        @Test(arguments: Service.kinds)
        func aSecondUserReadsWhatIsPublicAndNothingOfTheOwners(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let mount = try Self.mountSignedIn(workplace, origin, "allow_other,uid=1")
                let first = { (directory: String) in "\(directory)/\(try mount.names(directory)[0])" }
                var names = ["PICTURE": try mount.picture(1, in: mount.day())]
                if service == .pixiv {
                    names["RESTRICTED"] = try mount.picture(1, in: mount.day("daily_r18"))
                    names["FOLLOWED"] = try first("\(mount.path)/following")
                }
                // Everything is in the kernel's memory, the owner's things too, before somebody else asks.
                for path in names.values { _ = try? read(path).get() }
                _ = try mount.names("\(mount.path)/search/\(service.search)")
                for (words, isForOthers) in Self.table(of: service) {
                    // An owner's command may undo what another row needs; nobody's may.
                    for person in Person.allCases.reversed() {
                        // Reading puts another one in front.
                        let recent = try first("\(mount.path)/recent")
                        let line = words.split(separator: " ").map(String.init).map { word in
                            names[word]
                                ?? word.replacing("RECENT", with: recent).replacing("M/", with: "\(mount.path)/")
                                .replacing(/^M$/, with: mount.path)
                        }
                        let output = try Self.run(workplace, line, as: person)
                        let mayDo = isForOthers || person != .nobody
                        #expect((output.status == 0) == mayDo, "\(person): \(words): \(output.errors)")
                        #expect(mayDo || output.errors.contains(Self.refusal(of: words)), "\(words): \(output.errors)")
                    }
                }
                let mine = try Self.run(workplace, ["ls", mount.path], as: .daemon).lines
                let theirs = try Self.run(workplace, ["ls", mount.path], as: .nobody).lines
                #expect(mine.filter { !theirs.contains($0) } == (service == .pixiv ? Service.ofSession : []))
                #expect(try !Self.run(workplace, ["ls", "\(mount.path)/ranking"], as: .nobody).output.contains("r18"))
                let author = "\(mount.path)/\(service == .pixiv ? "users/1000" : "artists/busy_artist")"
                #expect(try !Self.run(workplace, ["ls", author], as: .nobody).output.contains("bookmarks"))
                let status = try Self.run(workplace, ["cat", "\(mount.path)/.rankfs/status.json"], as: .nobody).output
                #expect(!status.contains(mount.cache) && !status.contains("\"user\""), "\(status)")
            }
        }

        @Test func anOptionSharesEverything() async throws {
            try await withWorkplace { workplace in
                let mount = try Self.mountSignedIn(workplace, OriginProcess(workplace), "allow_other,uid=1,share=all")
                for words in [
                    "ls M/bookmarks/", "ls M/search/三枚だけの札", "rankfs refresh M/search/三枚だけの札", "ls M/ranking/daily_r18",
                ] {
                    let line = words.split(separator: " ").map { String($0).replacing("M/", with: "\(mount.path)/") }
                    let output = try Self.run(workplace, line, as: .nobody)
                    #expect(output.status == 0, "\(words): \(output.errors)")
                }
            }
        }

        @Test func whatAUserServesForRootIsThatUsers() async throws {
            try await withOrigin { workplace, origin in
                let path = try workplace.folder("mount")
                let cache = try workplace.folder("cache")
                for folder in [path, cache] { try workplace.run("chown", "daemon:", folder) }
                let mounted = try workplace.mount(origin, on: path, "setuid=daemon,allow_other")
                #expect(mounted.status == 0, "\(mounted.errors)")
                for person in Person.allCases {
                    for (words, isForOthers) in [
                        ("ls M/ranking/daily/2024-05-01", true), ("ls M/search/三枚だけの札", false),
                        ("rankfs refresh M/ranking/daily/2024-05-01", false),
                    ] {
                        let line = words.split(separator: " ").map { String($0).replacing("M/", with: "\(path)/") }
                        let output = try Self.run(workplace, line, as: person)
                        #expect(
                            (output.status == 0) == (isForOthers || person != .nobody),
                            "\(person): \(words): \(output.errors)")
                    }
                }
            }
        }

        // MARK: -

        private static func refusal(of words: String) -> String {
            words.hasPrefix("rankfs") ? "only the mount's owner" : "Permission denied"
        }

        /// Nobody signs in to a board.
        private static func mountSignedIn(
            _ workplace: Workplace, _ origin: OriginProcess, _ options: String
        ) throws -> Mount {
            let account = origin.service == .pixiv ? try workplace.signedIn() : []
            return try Mount(workplace, of: origin, options: account + ["prefetch=0", options])
        }

        /// Runs a command as somebody; `rankfs` is the program under test.
        private static func run(_ workplace: Workplace, _ words: [String], as person: Person) throws -> Output {
            let line = words.map { $0 == "rankfs" ? Workplace.rankfs : $0 }
            return try workplace.run(
                ["setpriv", "--reuid=\(person)", "--regid=nogroup", "--clear-groups", "env", "HOME=/nonexistent"] + line
            )
        }
    }
}
