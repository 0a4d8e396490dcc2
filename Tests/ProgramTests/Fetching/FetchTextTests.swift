import Foundation
import Glibc
import Rankings
import System
import TestSupport
import Testing

@testable import rankfs

@Suite struct FetchTextTests {
    private let progress = FetchProgress(
        filesDone: 123, filesKnown: 200, listingsDone: 2, listingsLeft: 2, bytes: 45 << 20, elapsed: 15,
        name: "007-\u{1B}[2J雨上がりの喫茶店と猫.jpg")

    @Test(arguments: [0, 1, 2, 10, 20, 40, 59, 60, 61, 70, 80, 100, 200])
    func theLineFitsItsTerminal(_ width: Int) {
        for colours in [false, true] {
            let line = progress.line(width: width, colours: colours) { "\($0)" }
            let plain = line.replacing("\u{1B}[94m", with: "").replacing("\u{1B}[0m", with: "")
            #expect(DisplayText.width(of: plain) <= max(0, width - 1), "\(width): \(plain)")
            #expect(!plain.unicodeScalars.contains { $0.value < 0x20 }, "controls of names are escaped")
            #expect(colours || line == plain)
            var waiting = progress
            waiting.coolDown = 77
            #expect(
                DisplayText.width(of: waiting.line(width: width, colours: colours) { "\($0)" }) <= max(0, width - 1))
        }
    }

    @Test func theLineTells() {
        #expect(
            progress.line(width: 100, colours: false) { "\($0)" }
                == "[######--------------] 123 files, 2 listings to come  45M  3M/s  34 s left  007-\\u{1b}[2J雨上がり…")
        #expect(
            progress.line(width: 55, colours: true) { "\($0)" } == "123 files, 2 listings to come  45M  3M/s  34 s left"
        )
        var last = progress
        last.listingsLeft = 0
        #expect(last.line(width: 55, colours: true) { "\($0)" } == "123/200 files  45M  3M/s  10 s left")
        var waiting = progress
        waiting.coolDown = 5
        #expect(
            waiting.line(width: 80, colours: true) { "\($0):00" } == "the service asks to slow down; going on at 5:00")
    }

    /// All that is known may be through when most is not known yet.
    @Test func noCountContradictsTheBar() {
        let early = FetchProgress(filesDone: 490, filesKnown: 490, listingsDone: 3, listingsLeft: 7)
        #expect(early.fraction < 0.31)
        let line = early.line(width: 80, colours: false) { "\($0)" }
        #expect(line.contains(" 490 files, 7 listings to come ") && !line.contains("/490"))
        let late = FetchProgress(filesDone: 1, filesKnown: 490, listingsDone: 10, listingsLeft: 1)
        #expect(late.count == "1 file, 1 listing to come")
        #expect(FetchProgress(filesDone: 490, filesKnown: 490, listingsDone: 10).count == "490/490 files")
    }

    @Test(arguments: [
        ("abc", 3), ("雨", 2), ("e\u{301}", 1), ("ｱ", 1), ("／", 2), ("한글", 4), ("👩‍👩‍👧", 2), ("", 0), ("สายฝน", 5),
        ("👩🏽‍🚀🏳️‍🌈", 4), ("🇯🇵", 2), ("❤️", 2), ("❤", 1), ("✨⭐⚡", 6), ("🪐🟠🥲", 6), ("🀄🆗🈁", 6), ("🤷🏻‍♀️", 2), ("1a#", 3),
        ("𛀀", 2), ("♀♂", 2), ("🏴\u{E0067}\u{E0062}\u{E007F}", 2),
    ])
    func columns(_ text: String, _ width: Int) {
        #expect(DisplayText.width(of: text) == width)
    }

    @Test func cutting() {
        #expect(DisplayText.cut("雨上がり", to: 8) == "雨上がり")
        #expect(DisplayText.cut("雨上がり", to: 7) == "雨上が…")
        #expect(DisplayText.cut("雨上がり", to: 6) == "雨上…")
        #expect(DisplayText.cut("ab", to: 1) == "…")
        #expect(DisplayText.cut("ab", to: 0) == "")
        #expect(DisplayText.cut("a👩‍👩‍👧b", to: 3) == "a…")
        #expect(DisplayText.cut("a👩‍👩‍👧bc", to: 4) == "a👩‍👩‍👧…")
    }

    @Test func endings() {
        #expect(DisplayText.ending(of: "/home/雨", to: 8) == "/home/雨")
        #expect(DisplayText.ending(of: "/home/雨", to: 7) == "…ome/雨")
        #expect(DisplayText.ending(of: "/home/雨上", to: 4) == "…上")
        #expect(DisplayText.ending(of: "ab", to: 1) == "…")
        #expect(DisplayText.ending(of: "ab", to: 0) == "")
    }

    @Test(arguments: [
        ("", 5, 3, [""]), ("ab cd ef", 5, 3, ["ab cd", "ef"]), ("ab cd ef", 4, 3, ["ab", "cd", "ef"]),
        ("ab cd ef", 4, 2, ["ab", "cd …"]), ("abcdefgh", 3, 9, ["abc", "def", "gh"]), ("ab  cd", 3, 2, ["ab ", "cd"]),
        ("雨上がり", 5, 3, ["雨上", "がり"]), ("雨上", 1, 3, ["…"]), ("abc", 3, 1, ["abc"]), ("abcd", 3, 1, ["ab…"]),
    ])
    func wrapping(_ text: String, _ columns: Int, _ most: Int, _ lines: [String]) {
        #expect(DisplayText.wrapped(text, to: columns, most: most) == lines)
    }

    @Test func coloursAreAQuestionOfTheEnvironment() {
        #expect(Terminal.wantsColours(["TERM": "xterm"]))
        #expect(Terminal.wantsColours(["TERM": "xterm", "NO_COLOR": ""]))
        #expect(!Terminal.wantsColours(["TERM": "xterm", "NO_COLOR": "1"]))
        #expect(!Terminal.wantsColours(["TERM": "dumb"]))
        #expect(!Terminal.wantsColours([:]))
    }

    // MARK: Estimate

    @Test func theEstimateCountsWhatFoldersOfFoldersHave() throws {
        let folder = TemporaryFolder()
        for name in ["ranking/daily/2024-05-01", "ranking/daily/2024-05-02", "ranking/daily/latest", "x/y"] {
            try FileManager.default.createDirectory(
                at: folder.url.appending(path: name), withIntermediateDirectories: true)
        }
        try Data("bytes".utf8).write(to: folder.url.appending(path: "x/y/z"))
        let estimate = FetchEstimate(
            of: ["ranking/daily", "x"], mount: folder.path, newest: try #require(Day("2024-05-03")))
        #expect(estimate.unknownListings == 2 && estimate.requests == 20, "each day once")
        #expect(estimate.files == 1 && estimate.bytes == 5 && estimate.knownListings == 1)
        #expect(estimate.losses.isEmpty)
    }

    /// It ends with the sentence with which a fetch would.
    @Test func theEstimateTellsWhatMayPass() throws {
        let folder = TemporaryFolder()
        let lost = FetchEstimate(
            of: ["x", "ranking/daily/2024-05-01", "ranking/daily/2024-05-09"], mount: folder.path,
            newest: try #require(Day("2024-05-03")))
        #expect(lost.losses.map(\.path) == ["x", "ranking/daily/2024-05-01", "ranking/daily/2024-05-09"])
        #expect(lost.losses.last?.reason.contains("not published yet") == true && !lost.mayPass)
        // An expired session opens no listing of members that is not stored.
        for (isOthers, remedy) in [(false, "`rankfs login`"), (true, "share=all")] {
            let closed = FetchEstimate(
                of: ["feed", "x"], mount: folder.path, newest: try #require(Day("2024-05-03")), isOthers: isOthers,
                isClosed: { $0 == .own(.feed) })
            #expect(closed.losses.first?.reason.contains(remedy) == true && closed.unknownListings == 0)
        }
    }

    @Test func theEstimateTellsWhatIsKnownAndWhatItWillCost() {
        var estimate = FetchEstimate()
        estimate.unknownListings = 29
        estimate.requests = 290
        #expect(
            estimate.lines(tokens: 40, rate: 1 / 1.2) == ["to ask     29 listings, about 290 requests, about 5 min"])
        estimate.files = 40
        estimate.bytes = 20 << 20
        estimate.knownListings = 2
        estimate.stored = 12
        estimate.storedBytes = 5 << 20
        estimate.withheld = 1
        estimate.unknownSizes = 3
        #expect(
            estimate.lines(tokens: 40, rate: nil) == [
                "to fetch   40 files, 20M, 3 of unknown size, 12 stored already (5M), 1 withheld by the service, "
                    + "in 2 known listings",
                "to ask     29 listings, about 290 requests; about 290M more if they are like the known ones",
            ])
        #expect(FetchEstimate().lines(tokens: 0, rate: 1) == ["to fetch   0 files, 0"])
        #expect(FetchEstimate.seconds(requests: 30, tokens: 40, rate: 1) == 0)
    }

    @Test(arguments: [
        ("ranking/daily/2024-05-01", 10), ("ranking/daily", 0), ("users/11", 10), ("users/11/bookmarks", 10),
        ("works/5", 2), ("search/x", 10), ("works/5/p0.png", 0), ("", 0), ("recent", 0),
    ])
    func requestsOfAListing(_ path: String, _ requests: Int) {
        #expect(FetchEstimate.requests(for: path) == requests)
    }

    // MARK: Tally

    @Test func listingsAreToldWhenTheirLastFileIsThrough() {
        var tally = FetchTally()
        tally.opened("a", files: 2)
        tally.opened("b\n", files: 1)
        tally.opened("empty", files: 0, withheld: 2)
        tally.opened("c", files: 1, withheld: 1)
        #expect(tally.ended(FetchWork(path: "c/1", group: "c"), { $0.skipped += 1 })?.withheld == 1)
        #expect(tally.filesDone == 4 && tally.filesKnown == 7)
        tally = FetchTally()
        tally.opened("a", files: 2)
        tally.opened("b\n", files: 1)
        #expect(tally.ended(FetchWork(path: "a/1", group: "a"), { $0.withheld += 1 }) == nil)
        #expect(tally.ended(FetchWork(path: "b/1", group: "b\n"), { $0.failed += 1 }, loss: "why") != nil)
        let group = tally.ended(FetchWork(path: "a/2", group: "a")) {
            $0.fetched += 1
            $0.bytes += 2048
        }
        #expect(
            group.map { FetchTally.line("a\u{7}", $0) } == "a\\u{7}: 1 file fetched (2K), 1 withheld by the service")
        #expect(
            tally.closingLine(seconds: 65) == "1 file fetched (2K), 1 withheld by the service, 1 failed, in 1 min 5 s")
        #expect(
            tally.losses.map { [$0.path, $0.reason] } == [["b/1", "why"]] && tally.filesDone == 3
                && tally.filesKnown == 3)
        #expect(FetchTally.line("", .init()) == "/: 0 files fetched (0)")
    }

    // MARK: Files

    @Test func failuresOfTheMount() {
        func name(_ code: Int32, isMounted: Bool = true) -> String {
            let outcome = FetchReader.outcome(of: SystemError(code: code), mount: "/m") { $0 == "/m" && isMounted }
            return switch outcome {
            case .withheld: "withheld"
            case .missing: "missing"
            case .failed: "again"
            case .stopped: "stopped"
            default: "?"
            }
        }
        #expect(
            [EACCES, ENOENT, EIO, ETIMEDOUT, EHOSTUNREACH, EINTR, ENOTCONN].map { name($0) }
                == ["withheld", "missing", "again", "again", "again", "again", "stopped"])
        #expect([ENOENT, EACCES, EIO].map { name($0, isMounted: false) } == ["stopped", "withheld", "again"])
    }

    @Test func onlySizeAndTimeMakeAFileTheSame() {
        var one = stat()
        one.st_mode = S_IFREG
        one.st_size = 5
        one.st_mtim = timespec(tv_sec: 7, tv_nsec: 1)
        #expect(ExportFolder.isSame(one, one))
        for change: (inout stat) -> Void in [
            { $0.st_size = 6 }, { $0.st_mtim.tv_sec = 8 }, { $0.st_mtim.tv_nsec = 2 }, { $0.st_mode = S_IFLNK },
        ] {
            var other = one
            change(&other)
            #expect(!ExportFolder.isSame(other, one))
        }
        #expect(ExportFolder.temporaryPath(of: "/a/b/001-ü.jpg") == "/a/b/.001-ü.jpg.part")
        #expect(ExportFolder.temporaryPath(of: "/a/\u{301}x").utf8.elementsEqual("/a/.\u{301}x.part".utf8))
    }

    @Test func aNearlyEqualTimeIsAnotherOneWhereTimesAreKept() throws {
        let folder = TemporaryFolder()
        let path = folder.url.appending(path: "x").path
        try Data("bytes".utf8).write(to: URL(filePath: path))
        let times = [timespec(tv_sec: 500, tv_nsec: 0), timespec(tv_sec: 1000, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
        let target = ExportFolder(
            path: folder.path, mount: "/nowhere", sidecars: false, temporaries: TemporaryFiles(),
            onLackingAttributes: {})
        var source = try status(path)
        #expect(target.has("x", of: source) == true)
        for seconds in [998, 999, 1001, 1002] {
            source.st_mtim.tv_sec = seconds
            #expect(target.has("x", of: source) == false)
            let left = try status(path)
            #expect(left.st_mtim.tv_sec == 1000 && left.st_atim.tv_sec == 500, "left as it was")
        }
    }

    /// What only its owner can read in the mount is so in the folder, and what others read is as the umask has it.
    @Test func whatIsClosedStaysClosed() throws {
        let place = TemporaryFolder()
        let (mount, folder) = (place.url.appending(path: "mount"), place.url.appending(path: "to"))
        for (name, permissions) in [("mine/x", 0o700), ("mine", 0o700), ("day", 0o755)] {
            let directory = mount.appending(path: name)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            try Data("1".utf8).write(to: directory.appending(path: "a.jpg"))
            try setAttributes([.posixPermissions: permissions], of: directory)
            try setAttributes([.posixPermissions: permissions & 0o644], of: directory.appending(path: "a.jpg"))
        }
        let target = ExportFolder(
            path: folder.path, mount: mount.path, sidecars: false, temporaries: TemporaryFiles(),
            onLackingAttributes: {})
        for file in ["mine/x/a.jpg", "day/a.jpg"] {
            let written = try #require(try target.create(file, of: file))
            try target.finish(written, as: file, status: nil)
        }
        let sidecar = try #require(try target.create("mine/x/a.jpg.json", of: "mine/x/a.jpg"))
        try target.finish(sidecar, as: "mine/x/a.jpg.json", status: nil)
        func permissions(_ name: String) throws -> mode_t {
            try status(folder.appending(path: name).path).st_mode & 0o777
        }
        for name in ["mine", "mine/x"] { #expect(try permissions(name) == 0o700) }
        for name in ["mine/x/a.jpg", "mine/x/a.jpg.json"] { #expect(try permissions(name) == 0o600) }
        let usual = place.url.appending(path: "usual").path
        #expect(mkdir(usual, 0o755) == 0)
        #expect(try permissions("day") == status(usual).st_mode & 0o777 && permissions("") == permissions("day"))
        #expect(try permissions("day/a.jpg") == permissions("day") & 0o644)
    }

    private func setAttributes(_ attributes: [FileAttributeKey: Any], of file: URL) throws {
        try FileManager.default.setAttributes(attributes, ofItemAtPath: file.path)
    }

    @Test func aFileThatAnotherFetchWritesIsTriedAgain() throws {
        let folder = TemporaryFolder()
        let (mount, copy) = (folder.url.appending(path: "m"), folder.url.appending(path: "to"))
        for each in [mount, copy] {
            try FileManager.default.createDirectory(at: each, withIntermediateDirectories: true)
        }
        try Data("bytes".utf8).write(to: mount.appending(path: "x"))
        let other = TemporaryFiles()
        var file = try other.open(copy.appending(path: ".x.part").path, permissions: 0o644)
        #expect(file != nil)
        let reader = FetchReader(
            mount: mount.path,
            target: ExportFolder(
                path: copy.path, mount: mount.path, sidecars: false, temporaries: TemporaryFiles(),
                onLackingAttributes: {}))
        let work = FetchWork(path: "x", group: "")
        guard case .failed(SystemError(code: EBUSY)) = reader.fetch(work) else {
            Issue.record("not tried again")
            return
        }
        file = nil
        guard case .fetched(5, replaced: false) = reader.fetch(work), case .skipped = reader.fetch(work) else {
            Issue.record("not fetched")
            return
        }
    }

    private func status(_ path: String) throws -> stat { try LocalFiles.status(of: path) }

    // MARK: Sidecars

    @Test func aSidecarIsWhatTheAttributesTell() throws {
        let attributes = [
            "user.rankfs.work": "5", "user.rankfs.page": "0", "user.rankfs.type": "manga",
            "user.dublincore.title": "a \"b\"\n",
            "user.rankfs.user": "7", "user.dublincore.creator": "é", "user.xdg.tags": "x,y z", "user.rankfs.rank": "3",
            "user.rankfs.width": "10",
            "user.rankfs.posted": "2024-05-01T03:00:00Z", "user.xdg.origin.url": "https://example.org/5",
        ]
        let text = try #require(ExportFolder.sidecar(of: "ranking/daily/2024-05-01/003-a.jpg") { attributes[$0] })
        let json = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(
            NSDictionary(dictionary: json) == [
                "work": 5, "page": 0, "type": "manga", "title": "a \"b\"\n", "author": ["id": 7, "name": "é"],
                "tags": ["x", "y z"], "rank": 3,
                "width": 10, "posted": "2024-05-01T03:00:00Z", "url": "https://example.org/5", "mode": "daily",
                "date": "2024-05-01",
            ])
        #expect(ExportFolder.sidecar(of: "users/7/5-a.jpg") { attributes[$0] }?.contains("\"mode\"") == false)
        #expect(ExportFolder.sidecar(of: "works/5/info.json") { _ in nil } == nil)
    }
}
