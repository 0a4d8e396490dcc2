import Foundation
import Fuse
import Glibc
import Rankings
import System
import TestSupport
import Testing

@testable import rankfs

@Suite struct FetchPathTests {
    private let newest = Day(ordinal: 19_853)

    private func expand(_ path: String) throws -> (paths: [String], note: String?) {
        try FetchPath.expand(path, of: SourceName.standard.description, newest: { _ in newest })
    }

    @Test func rangesAreDaysWithBothEnds() throws {
        let month = try expand("ranking/daily/2024-01-30..2024-02-02")
        #expect(
            month.paths == ["30", "31"].map { "ranking/daily/2024-01-\($0)" }
                + ["01", "02"].map { "ranking/daily/2024-02-\($0)" })
        #expect(month.note == nil)
        #expect(try expand("ranking/weekly-manga/2024-02-29..2024-02-29").paths == ["ranking/weekly-manga/2024-02-29"])
    }

    @Test func daysThatCannotBePublishedAreLeftOutAloud() throws {
        let late = try expand("ranking/daily/2024-05-09..2024-06-01")
        #expect(late.paths == ["ranking/daily/2024-05-09", "ranking/daily/2024-05-10"])
        #expect(late.note?.contains("from 2024-05-09 to 2024-05-10") == true)
        let early = try expand("ranking/daily_ai/2020-01-01..2022-11-01")
        #expect(early.paths == ["ranking/daily_ai/2022-10-31", "ranking/daily_ai/2022-11-01"])
    }

    @Test(arguments: [
        "ranking/daily/2024-01-02..2024-01-01", "ranking/daily/2024-02-30..2024-03-01", "ranking/daily/2024-01-01..",
        "ranking/daily/..2024-01-01", "ranking/daily/2024-01-01...2024-01-02",
        "ranking/nonsense/2024-01-01..2024-01-02",
        "ranking/daily/2025-01-01..2025-01-02", "ranking/daily/1999-01-01..1999-01-02",
        "ranking/daily/2007-09-13..2024-05-01", "ranking/daily/2024-01-01..x\u{1B}[2J",
    ])
    func wrongRangesAreUsageErrors(_ path: String) {
        #expect { try expand(path) } throws: { error in
            guard let error = error as? ProgramError else { return false }
            return error.status == .usage && error.message.hasSuffix(".") && !error.message.contains("\u{1B}")
        }
    }

    @Test(arguments: [
        "ranking/dayly/2024-05-01", "ranking/dayly", "ranking/Daily/latest", "by-date/dayly/2024",
        "ranking/original-manga",
        "ranking/dayly\u{1B}/2024-01-01..2024-01-02",
    ])
    func aWrongModeIsToldAsOne(_ path: String) {
        #expect { try expand(path) } throws: { error in
            guard let error = error as? ProgramError else { return false }
            return error.status == .usage && error.message.hasPrefix("there is no ranking ")
                && RankingMode.everyone.allSatisfy { error.message.contains($0.rawValue) }
                && error.message.contains("daily_r18") && error.message.hasSuffix(".")
                && !error.message.contains("\u{1B}")
        }
        #expect(SourceName.standard.description.complaint(about: path) != nil)
    }

    @Test(arguments: [
        "ranking", "ranking/daily_r18", "ranking/daily-manga/x", "by-date/daily/2024/05/2024-05-01", "search/dayly",
        "", "ranking/daily", "ranking/daily/latest", "search/a..b", "users/11", "works/1/p0.png", "recent",
    ])
    func otherPathsStandForThemselves(_ path: String) throws {
        #expect(try expand(path).paths == [path])
    }

    // MARK: The newest day

    @Test(
        arguments: [
            ("ranking/daily/latest", "ranking/daily/2024-05-10"), ("ranking/weekly-manga/latest/001-a.jpg", nil),
            ("ranking/daily", nil), ("ranking/nonsense/latest", nil), ("ranking/daily/latest2", nil),
            ("search/latest", nil),
            ("ranking/daily/2024-05-10", nil), ("latest", nil), ("", nil),
        ] as [(String, String?)])
    func latestIsTheDayByAnotherName(_ path: String, _ day: String?) throws {
        var asked: [String] = []
        let found = try FetchPath.ofDay(path) { latest throws(SystemError) in
            asked.append(latest)
            return "2024-05-10"
        }
        if path.hasSuffix(".jpg") {
            #expect(found == "ranking/weekly-manga/2024-05-10/001-a.jpg" && asked == ["ranking/weekly-manga/latest"])
        } else {
            #expect(found == day)
            #expect(asked == (day == nil ? [] : [path]))
            #expect(FetchPath.isLatest(path) == (day != nil) && FetchPath.isLatest("/m/\(path)") == (day != nil))
        }
    }

    @Test func whatLatestIsMayBeHardToFindOut() {
        #expect(throws: SystemError(code: EHOSTUNREACH)) {
            try FetchPath.ofDay("ranking/daily/latest") { _ throws(SystemError) in
                throw SystemError(code: EHOSTUNREACH)
            }
        }
    }

    // MARK: Mounts

    private func place(
        _ path: String, in directory: String = "/home/me", _ mounts: [String] = ["/m"]
    ) throws -> [String] {
        let place = try FetchPath.place(of: path, in: directory, mounts: mounts) { $0 }
        return [place.mount, place.path]
    }

    @Test func pathsLeadToTheirMount() throws {
        #expect(try place("/m/ranking/daily/") == ["/m", "ranking/daily"])
        #expect(try place("/m") == ["/m", ""])
        #expect(try place("ranking/daily/2024-05-01") == ["/m", "ranking/daily/2024-05-01"])
        #expect(try place("daily/latest", in: "/m/ranking") == ["/m", "ranking/daily/latest"])
        #expect(try place("x", in: "/m/n", ["/m", "/m/n"]) == ["/m/n", "x"])
        #expect(try place("/m/./ranking") == ["/m", "ranking"])
    }

    @Test func inADayPathsMayStartFromTheRoot() throws {
        let day = "/m/ranking/daily/2024-05-10"
        let there: Set<String> = ["/m/ranking", "/m/works", "\(day)/001-a.png", "\(day)/works"]
        func path(_ argument: String, in directory: String) throws -> String {
            try FetchPath.place(
                of: argument, in: directory, mounts: ["/m", "/n"], canonical: { $0 }, exists: { there.contains($0) }
            ).path
        }
        #expect(try path("ranking/daily/2024-05-01", in: day) == "ranking/daily/2024-05-01")
        #expect(try path("ranking/daily/2024-01-01..2024-01-31", in: day) == "ranking/daily/2024-01-01..2024-01-31")
        #expect(try path("001-a.png", in: day) == "ranking/daily/2024-05-10/001-a.png")
        #expect(try path("works", in: day) == "ranking/daily/2024-05-10/works", "what is here comes first")
        #expect(try path("2024-01-01..2024-01-31", in: "/m/ranking/daily") == "ranking/daily/2024-01-01..2024-01-31")
        #expect(try path("nothing", in: day) == "ranking/daily/2024-05-10/nothing")
    }

    @Test(arguments: [".", "./ranking", "..", "../m"]) func dotsNameTheWorkingDirectoryAndNoMountElsewhere(path: String)
    {
        let error = #expect(throws: ProgramError.self) { try place(path, in: "/home/u/x") }
        #expect(error?.status == .usage && error?.message.contains("is not in a mount") == true)
    }

    @Test func withoutAWorkingDirectoryPathsStartFromTheMount() throws {
        let place = try FetchPath.place(of: "ranking", in: nil, mounts: ["/m"]) { $0 }
        #expect(place.mount == "/m" && place.path == "ranking")
    }

    /// A name that is not UTF-8 cannot be written down: the link to it stays, so that the kernel follows it.
    @Test func linksToWhatIsNoTextStayLinks() throws {
        let folder = TemporaryFolder()
        let target = Array("\(folder)/x".utf8CString.dropLast()) + [CChar(bitPattern: 0xff), 0]
        #expect(mkdir(target, 0o700) == 0 && symlink(target, "\(folder)/photos") == 0)
        defer { rmdir(target) }
        let own = try LocalFiles.resolved(folder.path)
        #expect(throws: SystemError(code: EILSEQ)) { try LocalFiles.resolved("\(folder)/photos") }
        #expect(LocalFiles.canonicalBeginning(of: "\(folder)/photos/new") == "\(own)/photos/new")
        #expect(LocalFiles.link("\(folder)/photos") == nil)
        #expect(MountPoint.canonical("\(folder)/photos") == nil)
    }

    /// Who has a mount may name files of another one that he may use.
    @Test func aPathFromTheRootMayLeadToTheMountOfAnother() throws {
        let place = try FetchPath.place(of: "/other/ranking", in: "/", mounts: ["/m"], others: ["/other"]) { $0 }
        #expect(place.mount == "/other" && place.path == "ranking")
        #expect(
            try FetchPath.place(of: "ranking", in: "/", mounts: ["/m"], others: ["/other"], canonical: { $0 }).mount
                == "/m")
    }

    @Test func whatIsInNoMountIsSaidToBe() {
        let cases: [(String, [String], rankfs.ExitStatus)] = [
            ("/elsewhere", ["/m"], .usage), ("/mm/x", ["/m"], .usage), ("x", ["/m", "/n"], .usage),
            ("x", [], .unavailable),
            ("/m/nothing/../../x", ["/m"], .usage),
        ]
        for (path, mounts, status) in cases {
            #expect { try place(path, mounts) } throws: { ($0 as? ProgramError)?.status == status }
        }
    }

    @Test func ownMountsComeBeforeThoseOfOthers() {
        let lines = [
            ("/a", "fuse.rankfs", "user_id=1"), ("/b", "fuse.rankfs", "user_id=2,allow_other"),
            ("/c", "ext4", "user_id=1"),
            ("/d", "fuse.rankfs", "user_id=2"),
        ].map { "1 0 0:1 / \($0) ro - \($1) pixiv ro,\($2)\n" }
        let table = MountTable(text: Array(lines.joined().utf8))
        #expect(table.mountPoints(of: 1) == ["/a"] && table.mountPoints(of: 1, withOthers: true) == ["/a", "/b"])
        #expect(table.mountPoints(of: 2) == ["/b", "/d"])
        #expect(table.mountPoints(of: 3) == ["/b"], "into the others nobody else may look")
        #expect(table.isOthers("/b/ranking", user: 1) && table.isOthers("/b", user: 3))
        #expect(!table.isOthers("/a/ranking", user: 1) && !table.isOthers("/c/x", user: 2))
    }
}
