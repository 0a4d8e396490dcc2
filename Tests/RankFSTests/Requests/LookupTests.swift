import Fuse
import Rankings
import Testing

@testable import RankFS

/// What names mean, and what they cost.
@Suite(.timeLimit(.minutes(1))) struct LookupTests {
    private let bench: Workbench
    private let day = "ranking/daily/2024-05-01"

    init() throws { bench = try Workbench() }

    @Test func theTreeListsWhatItShould() async throws {
        #expect(try await bench.names("") == Workbench.root)
        #expect(try await bench.names("ranking") == [".", ".."] + RankingMode.everyone.map(\.rawValue))
        let days = try await bench.names("ranking/daily")
        #expect(days.prefix(2) == [".", ".."] && days.last == "latest")
        #expect(days.dropFirst(2).dropLast().allSatisfy { Day($0) != nil })
        #expect(try await bench.names("users") == [".", ".."])
        #expect(
            try await bench.names(".rankfs") == [
                ".", "..", "status.json", "metrics", "version", "nothing-stored.jpg",
            ])
        #expect(bench.source.asked.isEmpty)
        #expect(bench.host.asked.isEmpty)
    }

    @Test(arguments: [
        "nonsense", "ranking/nonsense", "ranking/daily/2007-09-12", "ranking/daily/2999-01-01",
        "ranking/daily/2024-05-03", "ranking/daily/2024-02-30", "ranking/daily/2024-5-1", "ranking/daily/20240501",
        "ranking/daily/latest2", "users/0", "users/011", "users/name", ".rankfs/metric", ".Trash", ".Trash-1000",
        ".autorun", "autorun.inf", ".rankfs/CACHEDIR.TAG", "status.json",
    ])
    func whatCannotBeIsAbsentWithoutARequest(path: String) async throws {
        #expect(await bench.walk(path).isAbsent)
        #expect(bench.source.asked.isEmpty)
        #expect(bench.fileSystem.figures.inodes <= 3)
    }

    /// It may come at any moment, by a look at the list, by `rankfs refresh` or by another session, and is listed then.
    @Test func aPictureThatIsNotInAListIsAbsentOnlyNow() async throws {
        let author = UserID(rawValue: 11)
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        bench.source.set { state in
            state.hits["w"] = [Workbench.work(50)]
            state.records[WorkID(rawValue: 5)] = Workbench.work(5)
            state.tags[author] = [("a", [Workbench.work(50)])]
        }
        bench.source.setAuthor(author, [Workbench.work(50)])
        let name = "60-Title 60.jpg"
        for path in [
            "\(day)/004-Title 1004.jpg", "search/w/\(name)", "users/11/\(name)", "users/12/\(name)", "users/12",
            "author-tags/11/.b", "author-tags/11/a/\(name)", "works/5/p7.png",
        ] {
            for isKnown in [false, true] {
                guard case .absent(let timeout) = await bench.walk(path) else {
                    if path == "users/12", !isKnown { continue }
                    Issue.record("\(path) is there")
                    continue
                }
                #expect(timeout == .zero, "\(path)")
                let asked = bench.source.asked
                #expect(await bench.walk(path).isAbsent)
                #expect(bench.source.asked == asked, "nothing is asked again: \(path)")
            }
        }
    }

    @Test func namesAreBytes() async throws {
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        let inode = try await bench.stat(day).inode
        #expect(await bench.lookup(inode, [0xFF, 0xFE]).isAbsent)
        #expect(await bench.lookup(inode, Array("001-".utf8) + [0xFF] + Array(".jpg".utf8)).isAbsent)
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: 256)
        #expect(await bench.lookup(inode, long) == .failure(.ENAMETOOLONG))
    }

    @Test func aDayInThePastIsThereWithoutAsking() async throws {
        let attributes = try await bench.stat(day)
        #expect(attributes.kind == .directory)
        #expect(attributes.permissions == 0o755)
        #expect(attributes.links == 2)
        #expect(attributes.user == 1000 && attributes.group == 100)
        #expect(attributes.modified == 1_714_618_800, "2024-05-02 12:00 in Japan")
        #expect(bench.source.asked.isEmpty)
        #expect(try await bench.stat(day) == attributes)
    }

    @Test func theNewestDayIsAsked() async throws {
        guard case .absent(let timeout) = await bench.walk("ranking/daily/2024-05-02") else {
            Issue.record("a day that is not published is there")
            return
        }
        #expect(timeout <= .seconds(300))
        let asked = bench.source.asked.count
        #expect(asked > 0)
        let weekly = try #require(RankingMode(rawValue: "weekly"))
        bench.source.setRanking(weekly, Workbench.newest, Workbench.entries(3))
        #expect(try await bench.stat("ranking/weekly/2024-05-02").kind == .directory)
    }

    @Test(arguments: [("users", "author 12"), ("works", "details 12")])
    func aNumberIsAskedAboutWhenItIsOpened(parent: String, question: String) async throws {
        for number in ["1", "12", "120"] {
            guard case .entry(let attributes, .zero, .zero) = await bench.walk("\(parent)/\(number)") else {
                Issue.record("not answered for now: \(number)")
                return
            }
            #expect(attributes.kind == .directory && attributes.modified == 1_714_705_200)
            guard case .attributes = await bench.attributes(attributes.inode) else {
                Issue.record("no attributes")
                return
            }
        }
        #expect(bench.source.asked.isEmpty)
        #expect(try await bench.names(parent) == [".", ".."], "what nobody opened is not listed")

        let inode = try await bench.stat("\(parent)/12").inode
        #expect(await bench.openDirectory(inode) == .failure(.ENOENT))
        #expect(bench.source.asked == [question])
        #expect(bench.reported.isEmpty)
        #expect(await bench.walk("\(parent)/12").isAbsent, "remembered for minutes")
        #expect(await bench.lookup(inode, Array("p0.png".utf8)).isAbsent)
        #expect(await bench.lookup(inode, Array("5-Title.jpg".utf8)).isAbsent)
        #expect(bench.source.asked == [question])
        #expect(try await bench.names(parent) == [".", ".."])
    }

    @Test(arguments: [("users", "11"), ("works", "5"), ("search", "w")])
    func aStoredListingHasItsTimeWithoutAQuestion(parent: String, name: String) async throws {
        bench.source.setAuthor(UserID(rawValue: 11), [Workbench.work(5)])
        bench.source.set { state in
            state.hits["w"] = [Workbench.work(5)]
            state.records[WorkID(rawValue: 5)] = Workbench.work(5)
        }
        let (path, modified) = ("\(parent)/\(name)", Workbench.work(5).uploaded)
        _ = try await bench.names(path)
        let asked = bench.source.asked
        bench.time += 7 * 3600
        _ = await bench.catalog.records.author(named: "nobody")
        for isLoaded in [true, false] {
            if !isLoaded { bench.catalog.listings.drop() }
            // The kernel keeps what comes with a name.
            let listed = try await bench.list(bench.stat(parent).inode).first { $0.name == Array(name.utf8) }
            #expect(try #require(listed).attributes.map { $0.modified == modified } ?? !isLoaded)
            guard case .entry(let attributes, TreeLimits.changing, TreeLimits.changing) = await bench.walk(path) else {
                Issue.record("not there")
                return
            }
            #expect(attributes.modified == modified)
        }
        #expect(bench.source.asked == asked, "not even after hours: opening asks what is new")
        _ = try await bench.names(path)
        #expect(bench.source.asked.count > asked.count)
    }

    @Test func helperFilesAreReachableAndNotListed() async throws {
        let tag = try await bench.stat("CACHEDIR.TAG")
        let text = try await bench.contents(tag.inode)
        #expect(Int64(text.count) == tag.size)
        #expect(text.starts(with: HelperFile.cacheTagSignature.utf8))
        #expect(try await bench.stat(".trackerignore").size == 0)
        let volume = try await bench.contents(try await bench.stat(".xdg-volume-info").inode)
        #expect(
            String(decoding: volume, as: UTF8.self)
                == "[Volume Info]\nName=Rankings\nIcon=rankfs\n")
        let version = try await bench.stat(".rankfs/version").inode
        #expect(try await bench.contents(version) == Array("1.2.3\n".utf8))
        let status = try await bench.stat(".rankfs/status.json")
        #expect(status.size == 15)
        #expect(try await bench.contents(status.inode, piece: 4) == Array("{\"answer\": 42}\n".utf8))
        guard case .opened(_, let keepCache, let directIO, _) = await bench.open(status.inode) else {
            Issue.record("not opened")
            return
        }
        #expect(directIO && !keepCache)
    }
}
