import CLinux
import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Commands".
    @Suite struct CommandTests {
        @Test(arguments: Service.kinds) func commandsKeepDropAskAgainAndForget(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                // Three times what the cache may hold: originals of boards are larger.
                let top = service.isProven ? 60 : 100
                let mount = try Mount(workplace, of: origin, options: ["cache_size=16M", "prefetch=0", "top=\(top)"])
                let names = try mount.names(mount.day())
                let readable = try mount.shown(mount.day())
                let kept = { (path: String) in extendedAttribute("user.rankfs.kept", of: path) }
                let pinned = readable[0]
                #expect(kept(pinned) == "no")
                #expect(try workplace.rankfs("pin", pinned).output == "pinned 1 picture\n")
                #expect(kept(pinned) == "yes" && kept(readable[1]) == "no")
                guard poll({ state(of: pinned) == "stored" }) else { throw Failure("\(pinned) is not stored") }
                // What was read is pinned where it is listed as such.
                #expect(try workplace.rankfs("unpin", "\(mount.path)/recent").output == "released 1 picture\n")
                #expect(try workplace.rankfs("pin", "\(mount.path)/recent").output == "pinned 1 picture\n")
                let twice = try workplace.rankfs("pin", pinned, "\(mount.path)/recent")
                #expect(twice.output == "pinned 1 picture\n", "in two places")
                #expect(kept(pinned) == "yes")
                #expect(try workplace.rankfs("refresh", "\(mount.path)/recent").output == "refreshed 0 listings\n")
                #expect(try !mount.names("\(mount.path)/works").isEmpty)
                let opened = origin.apiRequests.count
                #expect(try workplace.rankfs("refresh", "\(mount.path)/works").output == "refreshed 0 listings\n")
                #expect(origin.apiRequests.count == opened, "no work was opened")
                for path in readable.dropFirst() { _ = try read(path).get() }
                #expect(poll { state(of: readable[1]) == "absent" }, "the least recently used one had to go")
                #expect(state(of: pinned) == "stored")
                #expect(try workplace.rankfs("unpin", pinned).output == "released 1 picture\n")
                #expect(kept(pinned) == "no")
                #expect(try workplace.rankfs("evict", pinned).output == "dropped 1 stored picture\n")
                #expect(state(of: pinned) == "absent")
                #expect(try workplace.rankfs("evict", mount.day()).output.hasPrefix("dropped "))
                // The last picture may be on its way to its place.
                #expect(evict([mount.day()], of: readable, workplace))

                // More than there is room for: what is not stored in the end is told.
                let all = try workplace.rankfs("pin", mount.day())
                let lacking = readable.count { state(of: $0) != "stored" }
                #expect(lacking > 0 && all.status == 1, "\(all)")
                #expect(
                    all.output.hasPrefix("pinned \(readable.count) pictures, \(lacking) are not stored"),
                    "\(all.output)")
                let asked = origin.apiRequests.count
                // A listing that is forgotten leaves its pins.
                #expect(try workplace.rankfs("forget", mount.day()).output == "forgot 1 listing\n")
                #expect(try workplace.rankfs("unpin", mount.path).output == "released \(readable.count) pictures\n")
                #expect(try workplace.rankfs("unpin", mount.path).output == "released 0 pictures\n")
                #expect(
                    try workplace.rankfs("evict", "\(mount.path)/ranking/\(service == .pixiv ? "monthly" : "month")")
                        .output
                        == "dropped 0 stored pictures\n")
                #expect(
                    try workplace.rankfs("forget", "\(mount.path)/search/neverseen").output == "forgot 0 listings\n")
                #expect(origin.apiRequests.count == asked)
                // What is read and finds no room is not called fetched.
                let fetched = try workplace.rankfs("fetch", mount.day())
                #expect(fetched.status == 1 && fetched.output.contains("read and not stored"), "\(fetched)")

                let search = "\(mount.path)/search/\(service.search)"
                _ = try mount.names(search)
                // One path that is refused stops no other.
                let some = try workplace.rankfs("forget", "\(mount.path)/.rankfs/version", search)
                #expect(some.status == 1 && some.output == "forgot 1 listing\n" && some.errors.contains("no listing"))
                #expect(try mount.names("\(mount.path)/search").isEmpty)

                let pages = { origin.requests.filter { $0.path.hasPrefix(service.lists) }.count }
                let before = pages()
                #expect(try workplace.rankfs("refresh", mount.day()).output == "refreshed 1 listing\n")
                #expect(pages() > before)
                #expect(try mount.names(mount.day()) == names)
                origin.stop()
                #expect(try workplace.rankfs("refresh", mount.day()).status != 0)
                #expect(try mount.names(mount.day()) == names)
                #expect(readable.contains { state(of: $0) == "stored" })
                #expect(try workplace.rankfs("evict", mount.path, "/etc").status == 64)
                #expect(readable.contains { state(of: $0) == "stored" }, "refused as a whole")
                let dropped = try workplace.rankfs("evict", mount.path)
                #expect(dropped.status == 0 && !dropped.output.hasPrefix("dropped 0"), "\(dropped)")
                #expect(readable.allSatisfy { state(of: $0) == "absent" })

                if service == .pixiv {
                    let refused = try workplace.rankfs("pin", "\(mount.path)/bookmarks")
                    #expect(refused.status != 0 && refused.errors.contains("`rankfs login`"), "\(refused)")
                }
                for (words, remedy) in [
                    (["evict", "/etc"], "not inside a mount"),
                    (["refresh", "\(mount.path)/.rankfs/version"], "no listing"),
                    (
                        ["pin", "\(mount.path)/ranking/dayly/2024-05-01"],
                        "no ranking dayly; name one of \(service.daily),"
                    ),
                    (["refresh", "\(mount.path)/ranking/dayly"], "no ranking dayly; name one of \(service.daily),"),
                    (
                        ["fetch", "\(mount.path)/ranking/dayly/2024-05-01"],
                        "no ranking dayly; name one of \(service.daily),"
                    ),
                    (
                        ["fetch", "\(mount.path)/by-date/dayly/2024", "-n"],
                        "no ranking dayly; name one of \(service.daily),"
                    ),
                    (["pin"], "name paths"), (["pin", "\(mount.path)/nothing"], "does not exist"),
                    (["pin", "\(mount.path)/by-date/\(service.daily)/2024"], "only links to days"),
                    (["fetch", "\(mount.path)/by-date"], "only links to days"),
                    (["pin", "\(mount.day(nil, "2023-02-03"))/001-x.jpg"], "No route to host"),
                    (["fetch", "-n", "\(mount.path)/nothing"], "1 path could not be fetched"),
                ] {
                    let refused = try workplace.run([Workplace.rankfs] + words)
                    #expect(refused.status != 0 && refused.errors.contains(remedy), "\(refused.errors)")
                    #expect(refused.errors.split(separator: "\n").count == 1)
                }
            }
        }

        @Test func anOutputThatIsNotWrittenIsNoSuccess() async throws {
            try await withWorkplace { workplace in
                let mount = try Mount(workplace, of: OriginProcess(workplace))
                for words in ["help", "version", "completions bash", "status --json '\(mount.path)'"] {
                    let line = "\(Workplace.rankfs) \(words)"
                    let full = try workplace.run("sh", "-c", "\(line) > /dev/full")
                    #expect(full.status == 73 && full.errors.contains("output cannot be written"), "\(words): \(full)")
                    #expect(try workplace.run("sh", "-c", "\(line) > /dev/null").status == 0)
                }
                for json in ["", "--json"] {
                    let line = "timeout 20 \(Workplace.rankfs) status --watch \(json) '\(mount.path)'"
                    let full = try workplace.run("sh", "-c", "\(line) > /dev/full")
                    #expect(full.status == 73 && full.errors.contains("output cannot be written"), "\(json): \(full)")
                    let read = try workplace.run("sh", "-c", "(\(line); echo $? >&2) | true")
                    #expect(read.errors == "0\n", "a reader that has seen enough: \(read)")
                }
            }
        }
    }
}
