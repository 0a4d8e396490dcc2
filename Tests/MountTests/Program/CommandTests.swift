import CLinux
import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Commands".
    @Suite struct CommandTests {
        @Test(arguments: Service.kinds) func commandsKeepDropAskAgainAndForget(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                // Three times what the cache may hold: originals of boards are larger.
                let top = service.isProven ? 60 : 100
                let mount = try Mount(workplace, of: origin, options: ["cache_size=16M", "prefetch=0", "top=\(top)"])
                let rankfs = { (words: String...) in try workplace.run(["\(Workplace.programs)/rankfs"] + words) }
                let names = try mount.names(mount.day())
                let readable = names.map { "\(mount.day())/\($0)" }.filter {
                    extendedAttribute("user.rankfs.withheld", of: $0) == nil
                }
                let kept = { (path: String) in extendedAttribute("user.rankfs.kept", of: path) }
                let state = { (path: String) in extendedAttribute("user.rankfs.state", of: path) }
                let pinned = readable[0]
                #expect(kept(pinned) == "no")
                #expect(try rankfs("pin", pinned).output == "pinned 1 picture\n")
                #expect(kept(pinned) == "yes" && kept(readable[1]) == "no")
                guard poll({ state(pinned) == "stored" }) else { throw Failure("\(pinned) is not stored") }
                // What was read is pinned where it is listed as such.
                #expect(try rankfs("unpin", "\(mount.path)/recent").output == "released 1 picture\n")
                #expect(try rankfs("pin", "\(mount.path)/recent").output == "pinned 1 picture\n")
                #expect(kept(pinned) == "yes")
                #expect(try rankfs("refresh", "\(mount.path)/recent").output == "refreshed 0 listings\n")
                for path in readable.dropFirst() { _ = try read(path).get() }
                #expect(poll { state(readable[1]) == "absent" }, "the least recently used one had to go")
                #expect(state(pinned) == "stored")
                #expect(try rankfs("unpin", pinned).output == "released 1 picture\n")
                #expect(kept(pinned) == "no")
                #expect(try rankfs("evict", pinned).output == "dropped 1 stored picture\n")
                #expect(state(pinned) == "absent")
                #expect(try rankfs("evict", mount.day()).output.hasPrefix("dropped "))
                // What was read last may be on its way to its place, or open yet for all that the kernel has told.
                #expect(
                    poll {
                        (try? rankfs("evict", mount.day()).status) == 0
                            && readable.allSatisfy { state($0) == "absent" }
                    })

                let search = "\(mount.path)/search/\(service.search)"
                _ = try mount.names(search)
                #expect(try rankfs("forget", search).output == "forgot 1 listing\n")
                #expect(try mount.names("\(mount.path)/search").isEmpty)

                let pages = { origin.requests.filter { $0.path.hasPrefix(service.lists) }.count }
                let before = pages()
                #expect(try rankfs("refresh", mount.day()).output == "refreshed 1 listing\n")
                #expect(pages() > before)
                #expect(try mount.names(mount.day()) == names)
                origin.stop()
                #expect(try rankfs("refresh", mount.day()).status != 0)
                #expect(try mount.names(mount.day()) == names)

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
                ] {
                    let refused = try workplace.run(["\(Workplace.programs)/rankfs"] + words)
                    #expect(refused.status != 0 && refused.errors.contains(remedy), "\(refused.errors)")
                    #expect(refused.errors.split(separator: "\n").count == 1)
                }
            }
        }
    }
}
