import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Boards", for each service whose listings tell sizes and digests.
    @Suite struct BoardTests {
        /// The errno of a failed read; 0 for one that gave bytes.
        private func code(_ result: Result<Data, ReadFailure>) -> Int32 {
            if case .failure(let failure) = result { failure.errno } else { 0 }
        }

        /// The digest of a file, by another program than the one under test.
        private static func md5(_ path: String, _ workplace: Workplace) throws -> String {
            let output = try workplace.run("md5sum", path)
            return String(output.output.drop { $0 == "\\" }.prefix { $0 != " " })
        }

        @Test(arguments: Service.boards) func aDayCostsItsPagesAndEveryByteIsProven(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                let day = mount.day(service.daily)
                let posts = try origin.posts()
                let before = origin.requests.count
                #expect(try workplace.run("ls", "-l", day).status == 0)
                let asked = origin.requests.dropFirst(before)
                // The page behind the last one is what tells that it is the last.
                let perPage = service == .danbooru ? 200 : 100
                #expect(asked.filter { !$0.isConnection }.count <= (posts.count + perPage - 1) / perPage + 1)
                #expect(asked.filter(\.isPicture).isEmpty, "the image host is asked for nothing")
                let names = try mount.names(day)
                let shown = posts.enumerated().filter { $1.fileExtension != "swf" }
                #expect(names.count == shown.count)
                for (name, (rank, post)) in zip(names, shown) {
                    #expect(name.hasPrefix(String(format: "%03d-", rank + 1)), "\(name)")
                    let path = "\(day)/\(name)"
                    guard post.picture != nil else {
                        #expect(code(read(path)) == EACCES, "\(name)")
                        continue
                    }
                    #expect(name.hasSuffix(".\(post.fileExtension)"), "\(name)")
                    #expect(try status(of: path).st_size == post.size, "\(name)")
                }
                for (name, (_, post)) in zip(names, shown).prefix(25) where post.picture != nil {
                    #expect(try Self.md5("\(day)/\(name)", workplace) == post.md5, "\(name)")
                }
                #expect(origin.pictureRequests.allSatisfy { $0.method == "GET" })
            }
        }

        /// The directory and `info.json` of a post that nobody listed are made of the same answer.
        @Test(arguments: Service.boards) func aPostThatNobodyListedIsAskedForOnce(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let work = "\(mount.path)/works/\(service.landmarks + 24)"
                let before = origin.apiRequests.count
                let names = try mount.names(work)
                let info = try object(read("\(work)/info.json").get())
                #expect((info["id"] as? NSNumber)?.int64Value == service.landmarks + 24)
                let pages = info["pages"] as? [String] ?? []
                #expect(!pages.isEmpty && Set(pages).isSubset(of: names))
                #expect(origin.apiRequests.count == before + 1, "\(origin.apiRequests.map(\.path))")
            }
        }

        /// Moebooru takes WebP since 2026-02: the listing's digest proves the bytes, and the post's small JPEG makes the thumbnail.
        @Test func aWebPIsListedReadAndHasAThumbnail() async throws {
            try await withMount(.yandere, options: ["prefetch=0"]) { workplace, origin, mount in
                // The day of the posts that the origin's help tells of.
                let day = mount.day(nil, "2024-04-30")
                let name = try #require(try mount.names(day).first { $0.hasSuffix(".webp") })
                let post = try #require(try origin.posts("2024-04-30").first { $0.fileExtension == "webp" })
                let thumbnail = """
                    import hashlib, sys
                    name = hashlib.md5(sys.argv[2].encode()).hexdigest()
                    print(open(f"{sys.argv[1]}/.sh_thumbnails/large/{name}.png", "rb").read()[1:4].decode())
                    """
                let made = try workplace.run("python3", "-c", thumbnail, day, name)
                #expect(made.lines == ["PNG"], "\(made.errors)")
                #expect(!origin.downloads.contains { $0.path.contains(Service.yandere.pictures) })
                let bytes = try read("\(day)/\(name)").get()
                #expect(bytes.starts(with: Array("RIFF".utf8)) && Int64(bytes.count) == post.size)
                #expect(try Self.md5("\(day)/\(name)", workplace) == post.md5)
                #expect(mount.unmount())
            }
        }

        /// A wallpaper is a picture.
        @Test(arguments: Service.boards) func noFilmIsARandomPicture(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                // The day of the posts that the origin's help tells of.
                let day = mount.day(service.daily, "2024-04-30")
                let names = try mount.names(day)
                for kind in [".jpg", ".mp4"] {
                    let name = try #require(names.first { $0.hasSuffix(kind) })
                    #expect(try read("\(day)/\(name)").get().isEmpty == false)
                    #expect(poll { extendedAttribute("user.rankfs.state", of: "\(day)/\(name)") == "stored" })
                }
                for _ in 0..<8 {
                    let type = try workplace.run(
                        "getfattr", "--only-values", "-n", "user.mime_type", "\(mount.path)/random.jpg")
                    #expect(type.output == "image/jpeg", "\(type)")
                }
            }
        }

        @Test(arguments: Service.boards) func oneFlippedBitIsAnErrorUntilTheOriginIsRight(
            service: Service
        ) async throws {
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                let day = mount.day(service.daily)
                let (name, post) = try #require(
                    zip(mount.names(day), origin.posts().filter { $0.fileExtension != "swf" }).first {
                        $1.picture != nil
                    })
                let picture = try #require(post.picture)
                try origin.spoil([FaultKind("flip").rule(picture, method: "GET")], in: workplace)
                #expect(code(read("\(day)/\(name)")) == EIO)
                // Nor does the beginning alone come, which was right.
                #expect(code(read("\(day)/\(name)", count: 10)) == EIO)
                #expect(try status(of: "\(day)/\(name)").st_size == post.size)
                try origin.spoil([], in: workplace)
                #expect(poll(upTo: 10) { (try? read("\(day)/\(name)").get())?.count == Int(post.size) })
                #expect(try Self.md5("\(day)/\(name)", workplace) == post.md5)
            }
        }

        @Test(arguments: Service.boards) func aFamilyAndTheFavouritesOfAUserHaveADoor(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                func numbers(_ directory: String) throws -> [Int64] {
                    try mount.names(directory).compactMap { Int64($0.prefix { $0 != "-" }) }
                }
                func parent(of post: OriginPost) -> Int64? { (post.fields["parent_id"] as? NSNumber)?.int64Value }
                let posts = try origin.posts("2024-04-30").filter { $0.picture != nil }
                let child = try #require(posts.first { child in posts.contains { $0.id == parent(of: child) } })
                let parent = try #require(parent(of: child))
                for member in [child.id, parent] {
                    #expect(try numbers("\(mount.path)/family/\(member)") == [child.id, parent])
                }
                #expect(Set(try mount.names("\(mount.path)/family")) == ["\(child.id)", "\(parent)"])
                #expect(list("\(mount.path)/family/999999999999").errno == ENOENT)
                let picture = "\(mount.path)/family/\(parent)/\(try mount.names("\(mount.path)/family/\(parent)")[0])"
                #expect(try Self.md5(picture, workplace) == child.md5)
                let favourites = try numbers("\(mount.path)/favorites/some_one")
                #expect(favourites.count > 5 && favourites != favourites.sorted(by: >), "as the service orders them")
                // A hidden list looks like an empty one.
                #expect(try numbers("\(mount.path)/favorites/hidden") == [])
            }
        }

        @Test func whatIsHotAndAGroupOfFavouritesHaveADoor() async throws {
            try await withMount(.danbooru) { workplace, origin, mount in
                func told(_ tags: String) throws -> [Int64] {
                    let data = try origin.fetch("/posts.json?tags=\(tags)&limit=200")
                    let posts = try JSONSerialization.jsonObject(with: data) as? [[String: Any]] ?? []
                    return posts.filter { $0["file_url"] != nil && $0["file_ext"] as? String != "swf" }
                        .compactMap { ($0["id"] as? NSNumber)?.int64Value }
                }
                let hot = try mount.names("\(mount.path)/hot")
                let numbers = hot.compactMap { Int64($0.prefix { $0 != "-" }) }
                // New posts may come between both requests.
                let common = try told("order:rank").filter(Set(numbers).contains)
                #expect(
                    common.count > 20 && numbers.filter(Set(common).contains) == common, "as the service orders them")
                let picture = "\(mount.path)/hot/\(hot[0])"
                #expect(try read(picture).get().count == Int(try status(of: picture).st_size))
                #expect(try mount.names("\(mount.path)/recent").count == 1, "what was read there is found again")

                let (number, posts) = try origin.pool(named: "Book_of_2024-04-30")
                let group = "\(mount.path)/favgroups/\(number % 7 == 0 ? number + 1 : number)"
                let names = try mount.names(group)
                #expect(names.count > 20 && names == names.sorted() && names.count < posts.count)
                #expect(list("\(mount.path)/favgroups/\(number / 7 * 7)").errno == EACCES, "it is its owner's")
                #expect(list("\(mount.path)/favgroups/999999999").errno == ENOENT)
            }
        }

        @Test(arguments: Service.boards) func aPoolIsABookByItsNumberAndItsName(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let (number, posts) = try origin.pool(named: "Book_of_2024-04-30")
                let mount = try Mount(workplace, of: origin)
                let pool = "\(mount.path)/pools/\(number)"
                let names = try mount.names(pool)
                let places = names.compactMap { Int($0.prefix { $0 != "-" }) }
                #expect(places.count == names.count && places == places.sorted() && Set(places).count == places.count)
                #expect(try #require(places.last) > service.postsOfPage, "on more than one page")
                #expect(places.count < posts.count, "what is not shown leaves a gap")
                for name in names.prefix(5) + names.suffix(5) {
                    let place = try #require(Int(name.prefix { $0 != "-" }))
                    #expect(extendedAttribute("user.rankfs.work", of: "\(pool)/\(name)") == "\(posts[place - 1])")
                }
                let pictures = try origin.posts("2024-04-30")
                let first = try #require(
                    pictures.first { post in posts.prefix(50).contains(post.id) && post.picture != nil })
                let name = try #require(
                    names.first { name in
                        extendedAttribute("user.rankfs.work", of: "\(pool)/\(name)") == "\(first.id)"
                    })
                #expect(try Self.md5("\(pool)/\(name)", workplace) == first.md5)
                #expect(extendedAttribute("user.rankfs.pools", of: "\(pool)/\(name)")?.contains("\(number)") == true)
                #expect(!(try workplace.run("getfattr", "\(pool)/\(name)").output.contains("user.rankfs.pools")))
                // Upper and lower case, blanks and underscores are the same; a part of several names is none.
                #expect(try mount.names("\(mount.path)/pools/book of 2024-04-30") == names)
                for name in ["999999999", "no such book", "Book_of"] {
                    #expect(list("\(mount.path)/pools/\(name)").errno == ENOENT)
                }
                #expect(Set(try mount.names("\(mount.path)/pools")) == ["\(number)", "book of 2024-04-30"])
                origin.stop()
                #expect(extendedAttribute("user.rankfs.pools", of: "\(pool)/\(name)")?.contains("\(number)") == true)
            }
        }

        @Test(arguments: Service.boards) func artistsSearchesAndWorksAreThereAndWhatIsLackingIsNot(
            service: Service
        ) async throws {
            try await withMount(service) { workplace, origin, mount in
                let top = try workplace.run("ls", mount.path).lines
                #expect(top == service.top)
                #expect(try workplace.run("ls", "\(mount.path)/ranking").lines == ["day", "month", "week"])
                for name in ["users", "series", "related", "collections", "author-tags"] + Service.ofSession {
                    #expect(access("\(mount.path)/\(name)", F_OK) == -1 && errno == ENOENT)
                }
                let artist = try mount.names("\(mount.path)/artists/busy_artist")
                #expect(artist.count > 20)
                let numbers = artist.compactMap { Int($0.prefix { $0 != "-" }) }
                #expect(numbers.count == artist.count && numbers == numbers.sorted(by: >), "newest first")
                #expect(access("\(mount.path)/artists/nobody_has_this_name/x", F_OK) == -1)
                #expect(list("\(mount.path)/artists/nobody_has_this_name").errno == ENOENT)
                #expect(try mount.names("\(mount.path)/search/busy_artist") == artist)
                #expect(try mount.names("\(mount.path)/artists") == ["busy_artist"])
                // The tag has a slash, which no name can have.
                #expect(try !mount.names("\(mount.path)/search/fate／stay_night date:2024-04-30").isEmpty)

                let large = service.landmarks + 24
                let work = "\(mount.path)/works/\(large)"
                let files = try mount.names(work)
                #expect(files.contains("original.png") && files.contains("sample.jpg") && files.contains("info.json"))
                let info = try object(read("\(work)/info.json").get())
                #expect((info["id"] as? NSNumber)?.int64Value == large)
                let post = try #require(try origin.posts("2024-04-30").first { $0.id == large })
                #expect(try Self.md5("\(work)/original.png", workplace) == post.md5)
                let sample = try status(of: "\(work)/sample.jpg").st_size
                #expect(try read("\(work)/sample.jpg").get().count == Int(sample))
                // A post that nobody may see is there, and its file is not.
                #expect(access("\(mount.path)/works/999999999999", F_OK) == 0)
                #expect(list("\(mount.path)/works/999999999999").errno == ENOENT)
            }
        }
    }
}
