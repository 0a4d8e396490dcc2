import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Several sources": what holds for each service, and for mounts of several.
    @Suite struct ServicesTests {
        @Test func threeMountsHaveACacheEachAndLeadToEachOther() async throws {
            try await withWorkplace { workplace in
                let mounts = try Service.allCases.map { service in
                    let origin = try OriginProcess(workplace, service: service)
                    return try (service, Mount(workplace, of: origin, named: "mount-\(service)"))
                }
                #expect(Set(mounts.map(\.1.cache)).count == 3)
                for (service, mount) in mounts {
                    let picture = try mount.picture(3, in: mount.day(service.daily))
                    #expect(try read(picture).get().count == Int(status(of: picture).st_size))
                    #expect(try mount.status()["source"] as? String == service.rawValue)
                }
                let told = try workplace.rankfs("status").output
                for (_, mount) in mounts { #expect(told.contains(mount.path)) }

                // A post that comes from pixiv leads to the work in a mount of pixiv, as long as there is one. If others have some
                // too, it may be theirs: which, BridgeTests tells.
                func bridge(_ directory: String) throws -> String? {
                    try workplace.run("readlink", "\(directory)/pixiv").lines.first
                }
                let board = try #require(mounts.first { $0.0 == .danbooru }).1
                let pixiv = try #require(mounts.first { $0.0 == .pixiv }).1
                for (place, work) in [(17, 118_000_001), (18, 118_000_002)] {
                    let directory = "\(board.path)/works/\(Service.danbooru.landmarks + Int64(place))"
                    let page = "https://www.pixiv.net/artworks/\(work)"
                    #expect(extendedAttribute("user.rankfs.source", of: "\(directory)/original.jpg") == page)
                    #expect(try board.names(directory).contains("pixiv"))
                    #expect(try bridge(directory)?.hasSuffix("/works/\(work)") == true)
                }
                let plain = "\(board.path)/works/\(Service.danbooru.landmarks)"
                #expect(try board.names(plain).contains("pixiv") == false)
                #expect(access("\(plain)/pixiv", F_OK) == -1)
                #expect(pixiv.unmount())
                let orphan = "\(board.path)/works/\(Service.danbooru.landmarks + 17)"
                #expect(try bridge(orphan)?.hasPrefix(pixiv.path) != true)
            }
        }

        @Test func aRatingIsOneOfTheSourcesOwn() async throws {
            try await withOrigin(.danbooru, ["--unsafe"]) { workplace, origin in
                let folder = try workplace.folder("mount")
                let wrong = try workplace.mount(origin, on: folder, "rating=safe")
                #expect(wrong.status == 64)
                #expect(wrong.errors.contains("general, sensitive, questionable, explicit"), "\(wrong.errors)")
                let nonsense = try workplace.mount(origin, on: folder, "rating=x")
                #expect(nonsense.status == 64)

                let general = try Mount(workplace, of: origin)
                func works(_ day: String, _ names: [String]) -> [String?] {
                    names.map { extendedAttribute("user.rankfs.work", of: "\(day)/\($0)") }
                }
                let few = try general.names(general.day("day"))
                let known = Set(works(general.day("day"), few))
                #expect(general.unmount())
                let all = try Mount(workplace, of: origin, options: ["rating=explicit"], named: "all")
                let day = all.day("day")
                let many = try all.names(day)
                #expect(many.count > few.count)
                let (name, found) = try #require(
                    zip(many, works(day, many)).first { name, work in
                        !known.contains(work) && (try? read("\(day)/\(name)").get()) != nil
                    })
                let work = try #require(found)
                #expect(try all.names("\(all.path)/works/\(work)").isEmpty == false)
                #expect(try all.names("\(all.path)/recent").contains { $0.hasSuffix(name) })
                #expect(all.unmount())
                // What was listed under one rating is shown nowhere under another.
                let again = try Mount(workplace, of: origin, named: "again")
                #expect(try again.names(again.day("day")) == few)
                #expect(try again.names("\(again.path)/works").isEmpty)
                #expect(try again.names("\(again.path)/recent").isEmpty)
                #expect(try again.names("\(again.path)/works/\(work)").contains { $0.hasPrefix("original") } == false)
                let random = extendedAttribute("user.rankfs.work", of: "\(again.path)/random.jpg")
                #expect(random.map { known.contains($0) } != false, "\(random ?? "nothing")")
            }
        }

        @Test func whatTheServiceRefusesIsSaidInOneSentence() async throws {
            try await withMount(.danbooru) { workplace, origin, mount in
                #expect(list("\(mount.path)/search/one two three four").errno == EINVAL)
                #expect(list("\(mount.path)/search/slow_query").errno == EINVAL)
                #expect(list(mount.day("day", "2001-01-01")).errno == ENOENT)
                #expect(list(mount.day("week", "2024-05-01")).errno == ENOENT, "weeks begin on Mondays")
                #expect(list("\(mount.path)/artists/rating:e").errno == ENOENT)
                let banned = "\(mount.path)/works/\(Service.danbooru.landmarks + 1)"
                let code = list(banned).errno
                #expect(code == 0 || code == EACCES, "errno \(code)")
            }
        }
    }
}
