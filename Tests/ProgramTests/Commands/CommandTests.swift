import Glibc
import Sourcing
import System
import Testing

@testable import rankfs

/// The command that a line means, with its arguments.
struct Parsed: Equatable {
    let command: String
    var arguments = Arguments()

    init(_ command: String, _ arguments: Arguments) { (self.command, self.arguments) = (command, arguments) }

    /// A command without flags.
    init(_ command: String, _ positions: [String] = [], request: MountRequest = MountRequest()) {
        self.init(command, Arguments(positions: positions))
        arguments.request = request
    }
}

/// The command and the arguments of a line.
func parsed(_ words: [String]) throws -> Parsed {
    let (command, arguments) = try Command.parse(words)
    return Parsed(command.name, arguments)
}

/// The help of a command; of all commands for nil.
func help(_ name: String?) -> String? { name.map { Command.help(on: $0) } ?? Command.overview }

@Suite struct CommandTests {
    @Test func mounts() throws {
        func request(_ words: String...) throws -> MountRequest? {
            try parsed(["mount"] + words).arguments.request
        }
        #expect(try request("/m") == MountRequest(mountPoint: "/m"))
        #expect(try request("demo", "m") == MountRequest(source: .demo, mountPoint: "m"))
        #expect(try request("pixiv:", "m") == MountRequest(mountPoint: "m"))
        #expect(try request("-f", "--", "pixiv", "-m") == MountRequest(mountPoint: "-m", foreground: true))
        #expect(try request("/m", "-d") == MountRequest(mountPoint: "/m", foreground: true, debug: true))
    }

    @Test func withoutArgumentsTheNextStepIsNamed() throws {
        #expect(try parsed([]) == Parsed(""))
        let wrong = Finding.device(ENOENT)
        func next(_ findings: [Finding], _ mountPoints: [String]) -> String {
            Command.next(findings, mountPoints: mountPoints) { path throws(ProgramError) in
                if path == "/dead" { throw StatusDocument.explanation(of: SystemError(code: ENOTCONN), at: path) }
                return []
            }
        }
        #expect(next([.ok("a", "b")], []).hasPrefix("`rankfs mount ~/Rankings`"))
        #expect(next([.ok("a", "b"), wrong], []) == "fuse device: \(wrong.text)")
        #expect(next([wrong], ["/a", "/b"]).hasPrefix("`ls /b/ranking/`"))
        #expect(next([], ["/a", "/dead"]).contains("`rankfs unmount /dead`"))
    }

    @Test func others() throws {
        for words in [["-h"], ["--help"], ["help"]] { #expect(try parsed(words) == Parsed("help")) }
        for command in Command.all where !["help", "version"].contains(command.name) {
            for flag in ["-h", "--help"] {
                #expect(try parsed([command.name, flag]) == Parsed("help", [command.name]))
            }
        }
        #expect { try parsed(["tier", "warm"]) } throws: {
            ($0 as? ProgramError)?.message.contains("rankfs tier warm PATH…") == true
        }
        #expect(try parsed(["tier", "warm", "--help"]) == Parsed("help", ["tier"]))
        #expect(help("mount")?.hasPrefix("rankfs mount [SOURCE] MOUNTPOINT [-o ") == true)
        #expect(help("completions")?.hasPrefix("rankfs completions bash|zsh|fish\n\n") == true)
        #expect(help("logout")?.contains("69") == false)
        #expect(help("pin")?.contains("0 done, 1 not all of it is stored, 64") == true)
        for command in ["unpin", "evict", "refresh", "forget"] {
            #expect(help(command)?.contains("64 usage, 69 unavailable") == true)
        }
        #expect(help("version") == "rankfs version\n\nPrints the version.\n")
        for words in [["--version"], ["-V"], ["version"]] {
            #expect(try parsed(words) == Parsed("version"))
        }
        #expect(try parsed(["unmount", "/m"]) == Parsed("unmount", ["/m"]))
        #expect(try parsed(["umount", "/m"]) == Parsed("unmount", ["/m"]))
        #expect(try parsed(["status"]) == Parsed("status"))
        let status = try parsed(["status", "/m", "--json", "--watch"]).arguments
        #expect(status.positions == ["/m"] && status.flags == ["--json", "--watch"])
        #expect(try parsed(["demo"]) == Parsed("demo", request: MountRequest(source: .demo, foreground: true)))
        #expect(
            try parsed(["demo", "pixiv", "./demo"]).arguments.request
                == MountRequest(source: .demo, mountPoint: "./demo", foreground: true))
        #expect(
            try parsed(["cache", "info", "demo"])
                == Parsed("cache", ["info"], request: MountRequest(source: .demo)))
        #expect(try parsed(["cache", "clear"]) == Parsed("cache", ["clear"]))
        #expect(try parsed(["pin", "a", "--", "-b"]) == Parsed("pin", ["a", "-b"]))
        #expect(try parsed(["tier", "verify"]) == Parsed("tier", ["verify"]))
        let trim = try parsed(["tier", "trim", "danbooru", "--keep", "2G", "--dry-run"]).arguments
        #expect(trim.values == ["--keep": "2G"] && trim.flags == ["--dry-run"])
        #expect(trim.request.source.rawValue == "danbooru")
        #expect(try parsed(["tier", "forget", "a", "b"]) == Parsed("tier", ["forget", "a", "b"]))
        #expect(try parsed(["tier", "forget", "--help"]) == Parsed("help", ["tier"]))
        let warm = try parsed(["tier", "warm", "a", "-n"])
        #expect(
            warm.command == "tier" && warm.arguments.positions == ["warm", "a"]
                && warm.arguments.flags == ["--dry-run"])
    }

    @Test(arguments: [
        ["nonsense"], ["mount"], ["mount", ""], ["mount", "demo"], ["mount", "a", "b"], ["mount", "pixiv", "b", "c"],
        ["mount", "-z", "/m"], ["mount", "/m", "-o"], ["mount", "--top"], ["mount", "--nonsense", "/m"],
        ["mount", "--ready-fd", "3", "/m"], ["mount", "--ready-fd=1", "/m"], ["demo", "a", "b"], ["unmount"],
        ["unmount", "a", "b"], ["unmount", "-x", "a"], ["status", "a", "b"], ["cache"], ["cache", "clean"],
        ["cache", "clear", "pixiv", "demo"], ["pin"], ["pin", ""], ["pin", "a", "--json"], ["status", "--json=yes"],
        ["tier"], ["tier", "warm"], ["tier", "warm", "a", "--to", "b"], ["tier", "verify", "a"],
        ["tier", "trim"], ["tier", "trim", "--keep", "all"], ["tier", "info", "--keep", "1G"], ["tier", "forget"],
        ["help", "nonsense"], [""],
        ["-o", "x"], ["mount-guard"], ["demo", "-o", "setuid=root"], ["login", "-o", "remount"],
    ])
    func wrongLinesAreUsageErrors(_ words: [String]) {
        do {
            _ = try Command.parse(words)
            Issue.record("parsed: \(words)")
        } catch {
            #expect(error.status == .usage)
            #expect(error.message.hasSuffix(".") || error.message.hasSuffix("?"))
        }
    }

    @Test func exitStatusesAreThoseOfTheManualPages() {
        #expect(ExitStatus.usage.rawValue == 64)
        #expect(ExitStatus.unavailable.rawValue == 69)
        #expect(ExitStatus.cannotCreate.rawValue == 73)
        #expect(ExitStatus.configuration.rawValue == 78)
        for status in ExitStatus.allCases { #expect([0, 1, 2, 32].contains(status.ofMountHelper.rawValue)) }
        #expect(ExitStatus.usage.ofMountHelper == .mountUsage)
        #expect(ExitStatus.configuration.ofMountHelper == .mountUsage)
        #expect(ExitStatus.system.ofMountHelper == .mountSystem)
        #expect(ExitStatus.cannotCreate.ofMountHelper == .mountFailure)
        #expect(ExitStatus.unavailable.ofMountHelper == .mountFailure)
    }
}

@Suite struct HelperTests {
    @Test(arguments: [
        ["pixiv", "/m", "-o", "ro,top=3"], ["pixiv", "/m", "-oro,top=3"], ["-o", "ro,top=3", "pixiv", "/m"],
        ["-sn", "-t", "rankfs", "-o", "top=3", "pixiv", "/m"], ["pixiv", "/m", "-s", "-n", "-o", "ro", "-o", "top=3"],
        ["pixiv:", "/m", "-o", "top=3", "-t", "fuse.rankfs"], ["-n", "pixiv", "/m", "-o", "top=3"],
    ])
    func bothOrders(_ arguments: [String]) throws {
        let helper = try HelperArguments.parse(arguments)
        #expect(helper.request.source.rawValue == "pixiv")
        #expect(helper.request.mountPoint == "/m")
        #expect(helper.request.options.assignments == [Assignment(name: "top", value: "3", place: .commandLine)])
        #expect(!helper.request.foreground && !helper.checkOnly && !helper.verbose)
    }

    /// mount.fuse3(8) starts the program by its own name.
    @Test func aSourceInFrontOfAFolderIsAHelpersLine() {
        #expect(HelperArguments.isGiven(["pixiv", "/m", "-o", "rw,dev,suid"]))
        #expect(HelperArguments.isGiven(["demo:", "/m"]))
        for words in [
            ["pixiv"], ["pixiv", "m"], ["mount", "/m"], ["/m", "pixiv"], ["fetch", "/m"], [],
            ["demo", "/m", "-o", "rw"],
        ] {
            #expect(!HelperArguments.isGiven(words))
        }
    }

    /// What stands behind `rankfs#` in such a line, and what people write themselves.
    @Test func theLineOfMountFuseIsNeverACommand() {
        for source in [
            "--help", "-h", "-V", "--version", "version", "help", "nonsense", "", "$(reboot)", "mount-guard",
        ] {
            for list in ["rw,dev,suid", "ro,nodev,nosuid", ""] {
                #expect(HelperArguments.isGiven([source, "/m", "-o", list]), "\(source) \(list)")
                let error = #expect(throws: ProgramError.self) {
                    try HelperArguments.parse([source, "/m", "-o", list])
                }
                #expect(error?.status.ofMountHelper == .mountUsage)
            }
        }
        for command in ["mount", "demo", "unmount", "login", "logout", "status", "fetch", "pin", "cache", "doctor"] {
            #expect(HelperArguments.isGiven([command, "/m", "-o", "dev,suid"]), "\(command)")
            #expect(HelperArguments.isGiven([command, "/m", "-o", "top=3,nosuid,dev"]), "\(command)")
            for list in ["top=3", "dev", "suid", "nodev"] {
                #expect(!HelperArguments.isGiven([command, "/m", "-o", list]), "\(command) \(list)")
            }
            #expect(!HelperArguments.isGiven([command, "/m", "-o"]), "\(command)")
            let takesOptions = command == "mount" || command == "demo"
            #expect(HelperArguments.isGiven([command, "/m", "-o", "nodev,nosuid"]) != takesOptions, "\(command)")
        }
    }

    @Test func checkingAndTelling() throws {
        let helper = try HelperArguments.parse(["demo", "/m", "-f", "-v", "-o", "rw"])
        #expect(helper.checkOnly && helper.verbose)
        #expect(helper.request.source == .demo)
    }

    /// Lines as a hostile fstab or caller could make them: each must be refused, never taken for something else.
    @Test(arguments: [
        ["-o", "/m"], ["-oallow_other", "/m"], ["-f", "/m"], ["--foreground", "/m"], ["-v", "/m", "-o", "ro"],
        ["--", "/m"],
        ["-odebug", "/m", "-o", "ro"], ["-ocache_dir=/etc", "/m"], ["-h", "/m"], ["--help", "/m"], ["-", "/m"],
        ["", "/m"],
        ["/etc/passwd", "/m"], ["pixiv;reboot", "/m"], ["$(reboot)", "/m"], ["`reboot`", "/m"], ["pixiv\n", "/m"],
        ["pixiv ", "/m"], ["../pixiv", "/m"], ["PIXIV", "/m"], ["pixiv::", "/m"], [":", "/m"], ["[pixiv]", "/m"],
        ["pixiv,ro", "/m"], ["-opixiv", "/m", "-o", "fsname=x"], ["http://127.0.0.1", "/m"], ["pi\u{301}xiv", "/m"],
        ["pixiv\u{202e}", "/m"], ["pixiv", "/m", "extra"], ["pixiv", "/m", "--", "x"], ["pixiv", "/m", "--foreground"],
        ["pixiv", "/m", "-o"], ["pixiv", "/m", "-t"], ["pixiv", "/m", "-x"], ["pixiv", "/m", "-N", "1"],
        ["pixiv", "/m", "-fx"], ["pixiv", "/m", "-o", "nonsense"], ["pixiv", "/m", "-o", "ro\nnonsense"],
        ["pixiv", "/m", "-o", "top=3;reboot"], ["pixiv", "/m", "-o", "--ready-fd=3"],
        ["pixiv", "/m", "-o", "ready_fd=3"],
        ["pixiv", "/m", "-o", "f"], ["pixiv", "/m", "-o", "uid=0x0"], ["pixiv", "/m", "-o", "uid=99999999999"],
        ["pixiv", "/m", "-o", "exec=yes,allow_otherr"], ["pixiv", "/m", "-o", "setuid="],
        ["pixiv", "/m", "-o", "remount=yes"],
        ["pixiv", "/m", "-o", "drop_privileges"], ["pixiv", "/m", "-o", "fd=3"],
        ["pixiv", "/m", "-o", "rootmode=40000"],
        ["pixiv", "/m", "-o", #"ro\,allow_other"#], ["pixiv", "/m", "-o", "password=x"], ["pixiv"], ["/m"], [],
        ["pixiv", ""],
    ])
    func hostileLines(_ arguments: [String]) {
        do throws(ProgramError) {
            let helper = try HelperArguments.parse(arguments)
            // What parses may still be refused by the table; nothing else may come out.
            var settings = Settings()
            for assignment in helper.request.options.assignments {
                try assignment.apply(to: &settings, context: ("/", "/root"))
            }
            Issue.record("accepted: \(arguments)")
        } catch {
            #expect(error.status.ofMountHelper == .mountUsage)
            #expect(!error.message.contains("\n") && !error.message.contains("\u{202e}"))
        }
    }
}
