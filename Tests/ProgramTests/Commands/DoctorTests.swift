import Foundation
import Rankings
import Render
import Sourcing
@testable import System
import TestSupport
import Testing

@testable import rankfs

/// What `rankfs doctor` makes of what it finds: every case of every look.
@Suite struct DoctorTests {
    private typealias Verdict = Finding.Verdict

    /// A sentence says its cause, and its remedy behind a colon wherever something is to be done.
    private func expect(
        _ finding: Finding?, _ verdict: Finding.Verdict, _ words: String..., repair: Repair? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        guard let finding else {
            Issue.record("nothing was found", sourceLocation: location)
            return
        }
        #expect(finding.verdict == verdict, "\(finding.text)", sourceLocation: location)
        for word in words { #expect(finding.text.contains(word), "\(finding.text)", sourceLocation: location) }
        #expect(finding.repair == repair, sourceLocation: location)
        #expect(!finding.text.contains("\n") && !finding.subject.isEmpty, sourceLocation: location)
        if verdict == .wrong { #expect(finding.text.contains(": "), "\(finding.text)", sourceLocation: location) }
    }

    @Test func theSystem() {
        expect(.device(nil), .ok)
        expect(.device(2), .wrong, "modprobe fuse")
        expect(.device(1), .wrong, "not permitted", "--device")
        let path = "/x/fusermount3"
        expect(.helper(nil, isSetuidRoot: false, isRoot: false), .wrong, "package fuse3")
        expect(.helper(nil, isSetuidRoot: false, isRoot: true), .note, "package fuse3")
        expect(.helper(path, isSetuidRoot: false, isRoot: false), .wrong, "chmod 4755 /x/fusermount3")
        expect(.helper(path, isSetuidRoot: false, isRoot: true), .ok)
        expect(.helper(path, isSetuidRoot: true, isRoot: false), .ok)
        func rights(effective: String, bounding: String = "000001ffffffffff", noNew: Int = 0) -> String {
            "Name:\trankfs\nCapEff:\t\(effective)\nCapBnd:\t\(bounding)\nNoNewPrivs:\t\(noNew)\n"
        }
        let (all, without, none) = ("000001ffffffffff", "000001ffffdfffff", "0000000000000000")
        #expect(Finding.right(rights(effective: all), isRoot: true) == nil)
        #expect(Finding.right(rights(effective: none), isRoot: false) == nil)
        #expect(Finding.right(rights(effective: all, noNew: 1), isRoot: true) == nil)
        #expect(Finding.right("", isRoot: false) == nil)
        expect(.right(rights(effective: without), isRoot: true), .wrong, "--cap-add SYS_ADMIN")
        expect(.right(rights(effective: none, bounding: without), isRoot: false), .wrong, "--cap-add SYS_ADMIN")
        expect(.right(rights(effective: none, noNew: 1), isRoot: false), .wrong, "no_new_privs")
        expect(.allowOther(isWanted: true, isAllowed: false, isRoot: false), .wrong, "user_allow_other")
        expect(.allowOther(isWanted: true, isAllowed: true, isRoot: false), .ok)
        #expect(Finding.allowOther(isWanted: false, isAllowed: false, isRoot: false) == nil)
        #expect(Finding.allowOther(isWanted: true, isAllowed: false, isRoot: true) == nil)
        expect(.versions(kernel: "6.1", library: "3.14"), .ok, "6.1", "3.14")
        expect(.decoding(.success(.all), .confined), .ok, "filtered system calls", "an empty root directory")
        expect(
            .decoding(.success([.calls, .limits]), .confined), .note, "filtered system calls",
            "does not allow a user namespace")
        expect(.decoding(.success([]), .unconfined), .note, "with nothing;", "filtered system calls")
        expect(.decoding(.success([.limits]), .confined), .wrong, "seccomp", "decoding=unconfined")
        expect(.decoding(.failure(.unavailable("it is missing")), .confined), .wrong, "it is missing")
        expect(.decoding(.failure(.unavailable("it is missing")), .off), .ok, "decoding=off")
    }

    @Test(arguments: [
        ("user_allow_other\n", true), ("# mine\n  user_allow_other # yes\n", true), ("#user_allow_other\n", false),
        ("user_allow_other_not\n", false), ("", false),
    ])
    func fuseConfigurations(_ text: String, _ isAllowed: Bool) {
        #expect(Finding.allowsOthers(configuration: text) == isAllowed)
    }

    @Test func mounts() {
        let answers = MountPoint.Look.directory(isEmpty: false)
        expect(.mount("/m", answers, version: Version.text), .ok, "/m")
        expect(.mount("/m", answers, version: "0.0.1"), .note, "0.0.1", "unmount")
        expect(.mount("/m", answers), .note, "another version")
        for code in [ENOTCONN, ECONNABORTED] {
            expect(.mount("/m", .failed(code)), .wrong, "rankfs unmount /m", repair: .detach(mountPoint: "/m"))
        }
        expect(.mount("/m", .silent), .wrong, "does not answer")
        #expect(Finding.mount("/m", .failed(EACCES)) == nil)
    }

    @Test func indexers() {
        #expect(Finding.locate(configuration: nil) == nil)
        expect(.locate(configuration: "PRUNEFS = \"NFS nfs FUSE.RANKFS proc\"\n"), .ok)
        expect(.locate(configuration: "PRUNEFS=\"nfs fuse.rankfs2\"\nPRUNEPATHS=\"fuse.rankfs\"\n"), .note, "PRUNEFS")
        expect(.locate(configuration: "# PRUNEFS=\"fuse.rankfs\"\n"), .note, "PRUNEFS")
        #expect(Finding.indexers(running: ["bash"]).isEmpty)
        #expect(Finding.indexers(running: ["baloo_file"]).map(\.verdict) == [.note])
        #expect(Finding.indexers(running: ["localsearch-3"]).map(\.verdict) == [.ok])
    }

    @Test func theCacheDirectory() {
        func only(_ look: Finding.DirectoryLook) -> Finding? {
            let found = Finding.directory("/c", look)
            return found.count == 1 ? found[0] : nil
        }
        expect(only(.missing(canBeMade: true)), .ok)
        expect(only(.missing(canBeMade: false)), .wrong, "cache_dir")
        expect(only(.notADirectory), .wrong, "remove it")
        expect(only(.foreign("/c belongs to user 7: set cache_dir.")), .wrong, "user 7")
        expect(only(.notOwn), .wrong, "not rankfs's", "set cache_dir to an empty or new folder")
        expect(only(.unwritable(30)), .wrong, "Read-only")
        expect(only(.silent), .wrong, "does not answer")
        let fine = Finding.directory("/c", .usable(missingMarks: []))
        #expect(fine.map(\.verdict) == [.ok, .ok])
        let untagged = Finding.directory("/c", .usable(missingMarks: [".nomedia: missing", "CACHEDIR.TAG: missing"]))
        expect(untagged.last, .wrong, ".nomedia (missing)", "--fix", repair: .mark(directory: "/c"))
        #expect(untagged.last?.text.filter { $0 == ":" }.count == 1)
        expect(
            Finding.directory("/c", .usable(missingMarks: ["nodump flag: not set"])).last, .note, "nodump",
            repair: .mark(directory: "/c"))
    }

    /// A mistake may be in what says where requests go, and by what way: the hosts of no other configuration are asked.
    @Test func withAMistakeNoHostIsAsked() throws {
        let home = Home(variables: ["HOME": "/home/u"], userID: 1000, passwdHome: nil)
        let settings = Settings()
        let context = DoctorContext(
            source: .standard, home: home, settings: settings,
            place: try CachePlace(settings, source: .standard, home: home), warnings: [],
            mistake: "rankfs.conf:1: it is wrong.", wantsOthers: false)
        let found = Command.remote(context)
        #expect(found.count == 1)
        expect(found.first, .note, "no host is asked", "configuration")
    }

    @Test func theLogFile() throws {
        let home = Home(variables: ["HOME": "/none/u"], userID: 1000, passwdHome: nil)
        var settings = Settings()
        let place = try CachePlace(settings, source: .standard, home: home)
        settings.logFile = "\(place.directory)/log"
        let context = DoctorContext(
            source: .standard, home: home, settings: settings, place: place, warnings: [], mistake: nil,
            wantsOthers: false)
        #expect(Finding.logFile(context).map(\.verdict) == [.ok], "the first mount makes the cache's folder")
        expect(.logFile("/l", nil), .ok, "/l")
        expect(.logFile("/l", "it is a folder"), .wrong, "it is a folder", "set log_file")
        let folder = TemporaryFolder()
        #expect(symlink("/dev/null", "\(folder)/link") == 0 && mkfifo("\(folder)/fifo", 0o600) == 0)
        // With a reader it could be opened.
        let reader = open("\(folder)/fifo", O_RDONLY | O_NONBLOCK)
        defer { close(reader) }
        for (path, obstacle) in [
            ("\(folder)/log", nil), (LogFile.nowhere, nil), (folder.path, "it is a folder"),
            ("\(folder)/link", "it is a link, which is not followed"), ("/dev/zero", "it is no regular file"),
            ("\(folder)/fifo", "it is no regular file"), ("\(folder)/none/log", "No such file or directory"),
        ] { #expect(LogFile.obstacle(at: path) == obstacle, "\(path)") }
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(left == ["fifo", "link"], "a look makes nothing")
        let nowhere = try LogFile(opening: LogFile.nowhere)
        close(nowhere.descriptor)
        #expect(!nowhere.isRegular, "it is never set aside")
        try Data("a\n".utf8).write(to: URL(filePath: "\(folder)/log"))
        #expect(LogFile.obstacle(at: "\(folder)/log") == nil)
    }

    @Test func aFolderIsLookedAtAsAMountDoes() throws {
        let folder = TemporaryFolder()
        guard case .usable = Finding.DirectoryLook.at(folder.path) else {
            Issue.record("empty folders are fine")
            return
        }
        _ = FileManager.default.createFile(atPath: "\(folder)/letter", contents: nil)
        #expect(Finding.DirectoryLook.at(folder.path) == .notOwn)
        #expect(Finding.DirectoryLook.at("/etc") == .notOwn, "whoever asks, nobody is told to change its owner")
    }

    /// Rights are taken away; those that the file had besides stay.
    @Test func mendingKeepsTheRestOfTheRights() throws {
        let folder = TemporaryFolder()
        let file = "\(folder)/rankfs.conf"
        _ = FileManager.default.createFile(atPath: file, contents: Data("top = 3\n".utf8))
        let mode = { () throws -> Int? in
            (try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber)?.intValue
        }
        for (before, rights, after) in [
            (0o666, Repair.writing, 0o644), (0o660, Repair.writing, 0o640), (0o744, Repair.all, 0o700),
        ] {
            try FileManager.default.setAttributes([.posixPermissions: before], ofItemAtPath: file)
            #expect(Repair.protect(file: file, from: rights).perform() != nil)
            #expect(try mode() == after)
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "top = 3\n")
    }

    @Test func whatIsInTheCache() {
        expect(.space(used: 1, budget: 2, free: 3, floor: 3), .ok)
        expect(.space(used: 1, budget: 2, free: nil, floor: 3), .ok)
        expect(.space(used: 1, budget: 2, free: 2, floor: 3), .wrong, "cache_free")
        expect(.space(used: 3, budget: 2, free: 2, floor: 3), .wrong, "cache_free")
        expect(.space(used: 3, budget: 2, free: 9, floor: 3), .note, "cache prune")
        expect(.database("it", .success(nil)), .ok)
        expect(.database("it", .success("page 3")), .wrong, "page 3", "cache verify")
        let damage = DatabaseError(code: .notADatabase, message: "no header")
        expect(.database("it", .failure(damage)), .wrong, "no header", "cache verify")
        let busy = DatabaseError(code: .cannotOpen, message: "locked")
        expect(.database("it", .failure(busy)), .wrong, "locked", "check its rights")
        let later = DatabaseError(code: .newerSchema, message: "it was written by a later rankfs (x); update rankfs")
        expect(.database("it", .failure(later)), .wrong, "update rankfs, or set cache_dir")
        expect(.database("it", nil), .note, "cache verify")
        #expect(Finding.leftovers(temporaries: [], setAside: [], logBytes: 0).isEmpty)
        let all = Finding.leftovers(temporaries: ["/c/a"], setAside: ["/c/b"], logBytes: Finding.largeLog + 1)
        #expect(all.map(\.verdict) == [.note, .note, .note])
        expect(all.first, .note, "/c/a", repair: .remove(files: ["/c/a"]))
        #expect(Finding.leftovers(temporaries: [], setAside: [], logBytes: Finding.largeLog).isEmpty)
    }

    // MARK: - Network

    @Test func reasonsAreClausesThatDoNotRepeatTheHost() {
        #expect(Finding.clause("a.example: the answer is not HTTP.", of: "a.example") == "the answer is not HTTP")
        #expect(Finding.clause("b: is the network up?", of: "a.example") == "b: is the network up?")
        let text = Finding.network(
            api: asked(.failure(.invalidAnswer("a.example: the answer is not HTTP.")), "a.example:81"),
            image: asked(.success((404, nil)))
        ).first?.text
        #expect(text?.hasPrefix("a.example:81 does not answer as it should (the answer is not HTTP): does") == true)
    }

    private typealias Answer = Result<(status: Int, ahead: Int64?), Failure>

    private func asked(_ answer: Answer, _ host: String = "a.example") -> Finding.Asked {
        if case .failure(.unreachable("")) = answer { return (host, answer, true) }
        return (host, answer, false)
    }

    /// A name that is unknown, a host that cannot be reached, and no answer in time.
    private static let silences: [Answer] = [
        .failure(.unreachable("")), .failure(.unreachable("no route.")), .failure(.timedOut),
    ]
    private static let sounds: [Answer] = [
        .failure(.untrusted("expired.")), .failure(.invalidAnswer("no HTTP.")), .success((200, nil)),
    ]

    @Test func withoutANetworkThereIsOneFinding() {
        for api in Self.silences {
            for image in Self.silences {
                let found = Finding.network(api: asked(api), image: asked(image, "b.example"))
                #expect(found.map(\.verdict) == [.wrong], "\(api) \(image)")
                expect(found.first, .wrong, "a.example", "b.example", "What is stored works")
            }
            for image in Self.sounds {
                #expect(Finding.network(api: asked(api), image: asked(image)).count == 2)
                #expect(Finding.network(api: asked(image), image: asked(api)).count == 2)
            }
        }
        #expect(
            Finding.network(api: asked(.failure(.timedOut)), image: asked(.failure(.timedOut)), proxy: "p:1").first?
                .text
                .contains("cannot be reached through the proxy p:1: ") == true)
        #expect(
            Finding.network(api: asked(.failure(.timedOut)), image: asked(.failure(.timedOut))).first?.text.contains(
                "neither") == false)
    }

    @Test(arguments: [
        (200, Finding.Verdict.ok, Finding.Verdict.ok), (301, .wrong, .ok), (403, .wrong, .ok), (404, .wrong, .ok),
        (407, .wrong, .wrong), (429, .wrong, .wrong), (500, .wrong, .wrong), (503, .wrong, .wrong),
    ])
    func statuses(_ status: Int, _ api: Finding.Verdict, _ image: Finding.Verdict) {
        let found = Finding.network(api: asked(.success((status, nil))), image: asked(.success((status, nil))))
        #expect(found.map(\.verdict) == [api, image])
        for finding in found where finding.verdict == .wrong { #expect(finding.text.contains("status \(status)")) }
    }

    @Test func oneHostAloneIsToldOf() {
        let fine = asked(.success((200, nil)))
        for look in Self.silences + Self.sounds.prefix(2) {
            expect(Finding.network(api: asked(look), image: fine).first, .wrong, "a.example")
            expect(Finding.network(api: fine, image: asked(look)).last, .wrong, "a.example")
        }
    }

    @Test(arguments: [(0, true), (300, true), (-300, true), (301, false), (-301, false), (86_400 * 400, false)])
    func clocks(_ ahead: Int64, _ isRight: Bool) {
        let found = Finding.network(api: asked(.failure(.untrusted("x."))), image: asked(.success((404, ahead))))
        #expect(found.count == 3)
        expect(found.last, isRight ? .ok : .wrong, isRight ? "agrees" : ahead > 0 ? "fast" : "slow")
    }

    @Test func aroundTheNetwork() {
        #expect(Finding.proxy(option: nil, variables: []) == nil)
        expect(.proxy(option: "p:1", variables: ["http_proxy"]), .ok, "p:1")
        expect(.proxy(option: nil, variables: ["http_proxy"]), .note, "http_proxy")
        #expect(Finding.coolDown(until: nil, now: 5) == nil && Finding.coolDown(until: 5, now: 5) == nil)
        expect(.coolDown(until: 65, now: 5), .note, "1 min")
        expect(.offline, .note, "offline=off")
    }

    @Test(arguments: MeteredRule.allCases, [nil, 0, 1, 2, 3, 4, 5] as [UInt32?])
    func metered(_ rule: MeteredRule, _ told: UInt32?) {
        let isMetered = rule == .yes || rule == .auto && [1, 3].contains(told)
        #expect(rule.isMetered(told: told) == isMetered)
        #expect(Finding.metered(rule, told: told).verdict == (isMetered ? .note : .ok))
    }

    // MARK: - The user's own

    @Test func configurations() {
        let protect = Repair.protect(file: "/f", from: Repair.all)
        let narrow = Repair.protect(file: "/f", from: Repair.writing)
        func found(
            _ mode: UInt32?, mistake: String? = nil, warnings: [String] = [], exposure: String? = nil
        ) -> [Finding] {
            Finding.configuration("/f", mode: mode, mistake: mistake, warnings: warnings, exposure: exposure)
        }
        #expect(found(nil).map(\.verdict) == [.ok] && found(0o644).map(\.verdict) == [.ok])
        #expect(found(0o644, mistake: "/f:1: a.\n/f:2: b.").map(\.text) == ["/f:1: a.", "/f:2: b."])
        #expect(found(0o664).map(\.repair) == [narrow] && found(0o646).map(\.verdict) == [.wrong])
        #expect(found(0o640, exposure: "Others.").map(\.repair) == [protect])
        #expect(found(0o600, warnings: ["X is ignored."]).map(\.verdict) == [.note])
    }

    @Test func sessions() {
        func found(_ look: SessionExamination, named: String? = nil, expired: Bool = false) -> [Finding] {
            Finding.session([("/c", .missing), ("/s", look)], named: named, hasExpired: expired)
        }
        let usable = SessionExamination.usable(UserID(rawValue: 7))
        expect(found(.missing).first, .ok, "nobody")
        expect(found(usable).first, .ok, "7")
        expect(found(usable, expired: true).first, .wrong, "rankfs login")
        expect(found(.exposed).first, .wrong, "chmod 600", repair: .protect(file: "/s", from: Repair.all))
        expect(found(.unusable("is empty")).first, .wrong, "is empty", "rankfs login")
        #expect(found(usable, named: "/c").map(\.verdict) == [.wrong, .ok])
    }

    @Test func thumbnails() {
        expect(.thumbnails("/t", .off), .ok, "off")
        expect(.thumbnails("/t", .missing), .ok)
        expect(.thumbnails("/t", .foreign), .wrong, "chown")
        expect(.thumbnails("/t", .unwritable), .wrong, "chmod")
        expect(.thumbnails("/t", .usable), .ok, "/t")
    }

    @Test func desktops() {
        expect(.desktop([], thumbnails: .off, hasBus: false), .ok, "no file manager", "no thumbnails", "no session bus")
        expect(
            .desktop([("Caja", nil), ("Thunar", nil)], thumbnails: .missing, hasBus: true), .ok,
            "actions in Caja, Thunar", "thumbnails are possible", "go to the session bus")
        let lacking: [(name: String, lack: String?)] = [
            ("Caja", nil), ("Nemo", "nemo-python"), ("Dolphin", Finding.ownPackage),
        ]
        expect(
            .desktop(lacking, thumbnails: .foreign, hasBus: true), .note, "actions in Caja;",
            "Nemo wants the package nemo-python", "no actions in Dolphin",
            "no thumbnails;")
    }

    // MARK: - The command

    @Test func texts() throws {
        let findings = [Finding.ok("a", "Fine."), .wrong("long subject", "Bad: mend it.")]
        #expect(
            Command.text(findings, fixed: ["Done."], isColoured: false).split(separator: "\n") == [
                "fixed  Done.", "ok     a             Fine.", "wrong  long subject  Bad: mend it.",
            ])
        #expect(Command.text(findings, fixed: [], isColoured: true).contains("\u{1B}[31mwrong\u{1B}[0m  long"))
        let json = Command.json(findings, fixed: [])
        #expect(json.contains("\"verdict\" : \"wrong\"") && json.hasSuffix("}\n"))
    }
}
