import CLinux
import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Authors, searches and what was seen".
    @Suite struct TreeTests {
        @Test func aSearchIsPagedAsItIsReadAndRemembered() async throws {
            try await withMount { workplace, origin, mount in
                let searches = "\(mount.path)/search"
                #expect(try mount.names(searches) == [])
                let names = try mount.names("\(searches)/風景")
                #expect(names.count > 300)
                let numbers = names.compactMap { Int($0.prefix { $0 != "-" }) }
                #expect(numbers == numbers.sorted(by: >) && Set(numbers).count == numbers.count, "newest first")
                let pages = origin.requests.filter { $0.path.hasPrefix("/ajax/search/") }
                #expect(pages.count <= 10)
                #expect(try mount.names("\(searches)/三枚だけの札").count == 3)
                #expect(try mount.names("\(searches)/no such words").isEmpty)
                #expect(Set(try mount.names(searches)) == ["風景", "三枚だけの札", "no such words"])
                let path = "\(searches)/三枚だけの札/\(try mount.names("\(searches)/三枚だけの札")[0])"
                let bytes = try read(path).get()
                #expect(bytes.count == Int(try status(of: path).st_size))
                // Names that desktops look for are no searches.
                let before = origin.requests.count
                for name in [".hidden", ".directory", "desktop.ini", ".Trash-0", "Thumbs.db"] {
                    #expect(access("\(searches)/\(name)", F_OK) == -1)
                }
                #expect(origin.requests.count == before)
                origin.stop()
                #expect(mount.unmount())
                let again = try Mount(workplace, of: origin, named: "again")
                #expect(try again.names("\(again.path)/search/風景") == names)
                #expect(try read("\(again.path)/search/三枚だけの札/\(URL(filePath: path).lastPathComponent)").get() == bytes)
            }
        }

        @Test func aPictureNamesItsSeries() async throws {
            try await withMount { workplace, origin, mount in
                let day = mount.day("daily-manga")
                let named = try mount.names(day).compactMap { name -> (name: String, series: String)? in
                    extendedAttribute("user.rankfs.series", of: "\(day)/\(name)").map { (name, $0) }
                }
                let (name, series) = try #require(named.first)
                let picture = "\(day)/\(name)"
                #expect(named.count < (try mount.names(day)).count, "not every work belongs to one")
                #expect(
                    try workplace.run("getfattr", "-d", picture).output.contains("user.rankfs.series=\"\(series)\""))
                let work = try #require(extendedAttribute("user.rankfs.work", of: picture))
                #expect(
                    try read("\(mount.path)/works/\(work)/info.json").get().contains("\"series_id\": \(series)".utf8))
                let works = try mount.names("\(mount.path)/series/\(series)").compactMap {
                    extendedAttribute("user.rankfs.work", of: "\(mount.path)/series/\(series)/\($0)")
                }
                #expect(works.contains(work))
                origin.stop()
                #expect(mount.unmount())
                let again = try Mount(workplace, of: origin, named: "again")
                #expect(extendedAttribute("user.rankfs.series", of: "\(again.day("daily-manga"))/\(name)") == series)
            }
        }

        @Test func aSeriesIsABookInTheOrderOfItsNames() async throws {
            try await withMount(options: ["pages=all"]) { workplace, origin, mount in
                let names = try mount.names("\(mount.path)/series/1006")
                let places = Set(names.compactMap { Int($0.prefix { $0 != "-" }) })
                #expect(places.count > 12 && places == Set(1...places.count), "every work, on more than one page")
                #expect(
                    origin.requests.filter { $0.path.hasPrefix("/ajax/series/1006") }.count == (places.count + 11) / 12)
                #expect(names.contains { $0.contains("_p1.") })
                #expect(list("\(mount.path)/series/999999999").errno == ENOENT)
                let last = try #require(names.sorted().last)
                let bytes = try read("\(mount.path)/series/1006/\(last)").get()
                #expect(bytes.count == Int(try status(of: "\(mount.path)/series/1006/\(last)").st_size))
                #expect(try mount.names("\(mount.path)/series") == ["1006"])
            }
        }

        @Test func relatedWorksAreListedAsTheyAreRead() async throws {
            try await withMount { workplace, origin, mount in
                let picture = try mount.picture(1, in: mount.day())
                let work = try #require(extendedAttribute("user.rankfs.work", of: picture))
                let related = "\(mount.path)/related/\(work)"
                let names = try mount.names(related)
                #expect(
                    names.count > 36 && Set(names).count == names.count && !names.contains { $0.hasPrefix("\(work)-") })
                let asked = origin.apiRequests.map(\.path).filter { $0.contains("/recommend/") }
                #expect(asked.first == "/ajax/illust/\(work)/recommend/init?limit=18")
                #expect(asked.count == (names.count + 17) / 18, "the first answer has records, too")
                let bytes = try read("\(related)/\(names[20])").get()
                #expect(bytes.count == Int(try status(of: "\(related)/\(names[20])").st_size))
                #expect(list("\(mount.path)/related/999999999999").errno == ENOENT)
                #expect(try mount.names("\(mount.path)/related") == [work])
            }
        }

        @Test func anAuthorsTagsAreNamedByOneRequest() async throws {
            try await withMount { workplace, origin, mount in
                let tags = "\(mount.path)/author-tags/1006"
                let names = try mount.names(tags)
                #expect(names.count > 3 && Set(names).count == names.count)
                let listed = try workplace.run("ls", "-l", tags)
                #expect(listed.status == 0 && listed.lines.dropFirst().allSatisfy { $0.hasPrefix("drwxr-xr-x") })
                #expect(origin.apiRequests.map(\.path) == ["/ajax/user/1006/illustmanga/tags?all=1"])
                let works = try mount.names("\(tags)/\(names[0])")
                let all = try mount.names("\(mount.path)/users/1006")
                #expect(!works.isEmpty && Set(works).isSubset(of: all))
                for name in works.prefix(3) {
                    let own = try #require(extendedAttribute("user.xdg.tags", of: "\(tags)/\(names[0])/\(name)"))
                    #expect(own.split(separator: ",").contains { $0 == names[0] })
                }
                for path in ["author-tags/999999999", "author-tags/1006/no such tag"] {
                    #expect(list("\(mount.path)/\(path)").errno == ENOENT, "\(path)")
                }
                #expect(try mount.names("\(mount.path)/author-tags") == ["1006"])
                origin.stop()
                #expect(list("\(tags)/\(try #require(names.last))").errno != 0, "was never opened")
            }
        }

        @Test func aCollectionHasItsOrderAndItsGaps() async throws {
            try await withMount { workplace, origin, mount in
                let collection = "\(mount.path)/collections/35931581765300001006"
                let names = try mount.names(collection)
                let places = names.compactMap { Int($0.prefix { $0 != "-" }) }
                #expect(places.count > 4 && places == (1...(places.last ?? 1)).filter { $0 % 5 != 0 })
                #expect(origin.apiRequests.map(\.path) == ["/ajax/collection/35931581765300001006"])
                for name in ["12a", "none", "99999999999999999999"] {
                    #expect(list("\(mount.path)/collections/\(name)").errno == ENOENT)
                }
                #expect(origin.apiRequests.count == 2, "what has no digits is not asked for")
                #expect(try !read(#require(try mount.shown(collection).first)).get().isEmpty)
                #expect(try mount.names("\(mount.path)/collections") == ["35931581765300001006"])
            }
        }

        @Test func optionsInTheNameOfASearchAreParameters() async throws {
            try await withMount { workplace, origin, mount in
                let (all, searches) = (Set(try mount.names("\(mount.path)/search/風景")), "\(mount.path)/search")
                func types(_ name: String) throws -> Set<String> {
                    Set(
                        try mount.names("\(searches)/\(name)").prefix(8).compactMap {
                            extendedAttribute("user.rankfs.type", of: "\(searches)/\(name)/\($0)")
                        })
                }
                #expect(try types("風景,kind=ugoira") == ["animation"])
                #expect(try types("風景,kind=manga") == ["manga"])
                let wide = try mount.names("\(searches)/風景,shape=landscape,size=1500")
                #expect(!wide.isEmpty && wide.count < all.count)
                for name in wide.prefix(5) {
                    let sides = ["width", "height"].compactMap {
                        extendedAttribute("user.rankfs.\($0)", of: "\(searches)/風景,shape=landscape,size=1500/\(name)")
                    }.compactMap { Int($0) }
                    #expect(sides.count == 2 && sides[0] > sides[1] && sides[1] >= 1500)
                }
                // Strangers see ten pages of a search; each month has ten of its own.
                let months = try ["2010-03", "2012-05"].map { month in
                    Set(try mount.names("\(searches)/風景,since=\(month),until=\(month)"))
                }
                #expect(months[0].isDisjoint(with: months[1]) && !months[0].union(months[1]).isSubset(of: all))
                // The order of options makes another directory and no request.
                func asked() -> Int { origin.requests.count { $0.path.hasPrefix("/ajax/search/") } }
                let before = asked()
                let other = "\(searches)/風景,size=1500,shape=landscape"
                #expect(try mount.names(other) == wide)
                #expect(asked() == before)
                #expect(try status(of: other).st_ino != status(of: "\(searches)/風景,shape=landscape,size=1500").st_ino)
                let name = try #require(wide.first)
                #expect(
                    try status(of: "\(other)/\(name)").st_ino
                        == status(of: "\(searches)/風景,shape=landscape,size=1500/\(name)").st_ino)
                // What is no option is words.
                #expect(try mount.names("\(searches)/風景,kind=novel").isEmpty)
                origin.stop()
                #expect(try mount.names(other) == wide)
            }
        }

        @Test(arguments: [(1001, 5000), (1002, 1), (1004, 0)])
        func anAuthorsWorksAreListedWithFewRequests(author: Int, works: Int) async throws {
            try await withMount { workplace, origin, mount in
                let directory = "\(mount.path)/users/\(author)"
                let told = try object(origin.fetch("/ajax/user/\(author)/profile/all"))["body"] as? [String: Any] ?? [:]
                let count = ["illusts", "manga"].reduce(0) { $0 + ((told[$1] as? [String: Any])?.count ?? 0) }
                let before = origin.requests.count
                let names = try mount.names(directory)
                #expect(names.prefix(2) == ["profile.json", "avatar.jpg"])
                #expect(names.count - 2 == count)
                if works > 1 { #expect(count == works) }
                #expect(origin.requests.count - before <= (count + 99) / 100 + 1)
                let asked = origin.requests.count
                #expect(try mount.names(directory) == names)
                #expect(origin.requests.count == asked, "the second time asks nobody")
                origin.stop()
                #expect(try mount.names(directory) == names)
            }
        }

        @Test func anAuthorHasAProfileAPictureAndAName() async throws {
            try await withMount { workplace, origin, mount in
                let picture = try mount.picture(1, in: mount.day())
                let author = try #require(extendedAttribute("user.rankfs.user", of: picture))
                let name = try #require(extendedAttribute("user.dublincore.creator", of: picture))
                let directory = "\(mount.path)/users/\(author)"
                let profile = try object(read("\(directory)/profile.json").get())
                #expect(profile["name"] as? String == name)
                // Others may have the same name; this one's is its own.
                _ = try mount.names("\(mount.path)/users/1001")
                #expect(try workplace.run("readlink", "\(mount.path)/users/@五千枚").lines == ["1001"])
                #expect(access("\(mount.path)/users/@nobody has this name", F_OK) == -1)
                let told = try object(origin.fetch("/ajax/user/\(author)?full=1"))["body"] as? [String: Any]
                let url = try #require(told?["imageBig"] as? String)
                if url.contains("/user-profile/") {
                    let avatar = try read("\(directory)/avatar.jpg").get()
                    #expect(avatar == (try origin.fetch(URL(string: url)?.path ?? "")))
                    #expect(avatar.count == Int(try status(of: "\(directory)/avatar.jpg").st_size))
                }
            }
        }

        @Test func anAuthorWithoutAPictureHasADrawnOne() async throws {
            try await withMount { workplace, origin, mount in
                let told = try object(origin.fetch("/ajax/user/1003?full=1"))["body"] as? [String: Any]
                #expect((told?["imageBig"] as? String)?.contains("no_profile") == true)
                let avatar = "\(mount.path)/users/1003/avatar.jpg"
                let bytes = try read(avatar).get()
                let size = Int(try status(of: avatar).st_size)
                #expect(bytes.starts(with: [0xFF, 0xD8]) && bytes.count == size)
                let drawn = try read("\(mount.path)/.rankfs/nothing-stored.jpg").get()
                #expect(bytes == drawn)
            }
        }

        @Test(arguments: Service.kinds)
        func whatWasReadIsListedNewestFirstAndSurvives(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                let names = try mount.names(mount.day())
                let recent = { (mount: Mount) in
                    try workplace.run("find", "\(mount.path)/recent", "-type", "f", "-printf", "%f %i %s %T@\\n").lines
                }
                for name in names.prefix(3) { _ = try read("\(mount.day())/\(name)").get() }
                // A look at the beginning is no visit.
                _ = try read("\(mount.day())/\(names[5])", count: 4096).get()
                let listed = try recent(mount)
                #expect(listed.count == 3)
                for (place, name) in names.prefix(3).reversed().enumerated() {
                    let picture = try workplace.run("find", "\(mount.day())/\(name)", "-printf", "%f %i %s %T@\\n")
                    #expect(listed[place] == "\(Mount.day)_\(service.daily)_\(picture.lines[0])")
                }
                // Looking through it reads all, and changes nothing; nothing is downloaded behind it.
                let copies = "\(workplace.directory.path)/recent"
                for command in [["cp", "-r"], ["rsync", "-a"], ["cp", "-a"]] {
                    #expect(try workplace.run(command + ["\(mount.path)/recent/", copies]).status == 0)
                }
                let again = try workplace.run("rsync", "-a", "--stats", "\(mount.path)/recent/", copies)
                #expect(again.output.contains("Number of regular files transferred: 0"), "\(again.output)")
                for name in names.prefix(3) {
                    let copy = try read("\(copies)/\(Mount.day)_\(service.daily)_\(name)").get()
                    #expect(try copy == read("\(mount.path)/recent/\(Mount.day)_\(service.daily)_\(name)").get())
                    #expect(copy.count > 1000)
                }
                // The three that were read, and the one that was looked at.
                #expect(Set(origin.downloaded).count == 4)
                #expect(try recent(mount) == listed)
                _ = try read("\(mount.day())/\(names[0])").get()
                #expect(try recent(mount)[0].hasPrefix("\(Mount.day)_\(service.daily)_\(names[0]) "))
                #expect(mount.unmount())
                let later = try Mount(workplace, of: origin, named: "again")
                #expect(try recent(later).count == 3)
                #expect(try recent(later)[0].hasPrefix("\(Mount.day)_\(service.daily)_\(names[0]) "))
                #expect(later.unmount())
                let off = try Mount(workplace, of: origin, options: ["recent=off"], named: "off")
                #expect(try !off.names(off.path).contains("recent"))
            }
        }

        @Test(arguments: Service.kinds)
        func aRandomPictureIsAStoredOneAndNeverTheSameTwice(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                let random = "\(mount.path)/random.jpg"
                let shown = { try workplace.run("stat", "-c", "%i", random).lines.first ?? "" }
                #expect(try shown() == "\(status(of: "\(mount.path)/.rankfs/nothing-stored.jpg").st_ino)")
                #expect(try read(random).get().starts(with: [0xFF, 0xD8]))
                let names = try mount.names(mount.day()).prefix(4)
                for name in names { _ = try read("\(mount.day())/\(name)").get() }
                guard poll({ (try? mount.figures("cache"))?["stored_pictures"] as? Int == 4 }) else {
                    throw Failure("four pictures are not stored")
                }
                origin.stop()
                var seen: Set<String> = []
                var last = ""
                for _ in 0..<40 {
                    let now = try shown()
                    #expect(now != last)
                    last = now
                    seen.insert(now)
                }
                #expect(try seen == Set(names.map { try "\(status(of: "\(mount.day())/\($0)").st_ino)" }))
                // Each program copies one picture whole, whatever the others see.
                for _ in 0..<8 {
                    let copy = "\(workplace.directory.path)/random"
                    #expect(try workplace.run("cp", random, copy).status == 0)
                    let bytes = try read(copy).get()
                    #expect(try names.contains { try read("\(mount.day())/\($0)").get() == bytes })
                }
            }
        }

        @Test(arguments: Service.kinds) func filtersHideAndKeepTheRanks(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let plain = try Mount(workplace, of: origin)
                let all = try plain.names(plain.day())
                let wide = all.filter { name in
                    Int(extendedAttribute("user.rankfs.width", of: "\(plain.day())/\(name)") ?? "") ?? 0 >= 1500
                }
                #expect(!wide.isEmpty && wide.count < all.count)
                #expect(plain.unmount())
                let mount = try Mount(workplace, of: origin, options: ["min_width=1500", "ai=hide"], named: "filtered")
                #expect(try mount.names(mount.day()) == wide)
                #expect(try !mount.names("\(mount.path)/ranking").contains("daily_ai"))
                let hidden = try #require(all.first { !wide.contains($0) })
                #expect(access("\(mount.day())/\(hidden)", F_OK) == -1)
                #expect(try workplace.run("ls", "-l", mount.day()).lines.count == wide.count + 1)
            }
        }

        @Test(arguments: Service.kinds) func whatLiesBehindTheTopCostsNothing(service: Service) async throws {
            try await withMount(service, options: ["top=20"]) { workplace, origin, mount in
                let listed = try workplace.run("ls", "-l", mount.day()).lines.count - 1
                #expect((18...20).contains(listed))
                #expect(origin.requests.filter { $0.path.hasPrefix(service.lists) }.count == 1)
                #expect(Set(origin.pictureRequests.map(\.path)).count <= listed)
                #expect(mount.unmount())
                // The rest of the day is not lost for a mount that shows more.
                let whole = try Mount(workplace, of: origin, named: "whole")
                #expect(try whole.names(whole.day()).count == (try origin.ranking().count))
            }
        }

        @Test func aRankingOfOneContentHasADirectoryOfItsOwn() async throws {
            try await withMount { workplace, origin, mount in
                let names = try mount.names(mount.day("daily-manga"))
                #expect(!names.isEmpty)
                #expect(names != (try mount.names(mount.day())))
                #expect(try mount.names("\(mount.path)/ranking").contains("daily-manga"), "a stored one is listed")
                #expect(
                    try workplace.run("ls", mount.day("original-manga")).status != 0, "the service has no such ranking")
            }
        }

        @Test func theSignedInUsersOwnAreThere() async throws {
            try await withMount(signedIn: 1000) { workplace, origin, mount in
                let bookmarks = try mount.names("\(mount.path)/bookmarks")
                #expect(bookmarks.count > 100)
                #expect(try bookmarks == mount.names("\(mount.path)/users/1000/bookmarks"))
                let (own, below) = ("\(mount.path)/bookmarks", "\(mount.path)/users/1000/bookmarks")
                #expect(try status(of: own).st_ino != status(of: below).st_ino, "a directory has one name")
                let one = bookmarks[0]
                #expect(try status(of: "\(own)/\(one)").st_ino == status(of: "\(below)/\(one)").st_ino)
                let readable = try mount.shown(own)
                #expect(try read(#require(readable.first)).get().starts(with: [0xFF, 0xD8]))
                let following = try mount.names("\(mount.path)/following")
                #expect(following.count > 30)
                let first = try #require(following.first)
                #expect(
                    try workplace.run("readlink", "\(mount.path)/following/\(first)").lines
                        == ["../users/\(first.prefix { $0 != "-" })"])
                // A withheld one is shown and cannot be read.
                let hidden = try #require(bookmarks.map { "\(own)/\($0)" }.first { !readable.contains($0) })
                if case .failure(let failure) = read(hidden) {
                    #expect(failure.errno == EACCES)
                } else {
                    Issue.record("\(hidden) can be read")
                }
            }
        }
    }
}
