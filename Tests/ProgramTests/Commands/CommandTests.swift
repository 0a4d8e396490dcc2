import Glibc
import Sourcing
import System
import Testing

@testable import rankfs

/// The arguments of a line, and the name of its command.
func parsed(_ words: [String]) throws -> (command: String, arguments: Arguments) {
    let (command, arguments) = try Command.parse(words)
    return (command.name, arguments)
}

/// The help of a command; of all commands for nil.
func help(_ name: String?) -> String? { name.map { Command.help(on: $0) } ?? Command.overview }

@Suite struct CommandTests {
    /// A line of words, and what it means: the command, what it works on, its flags and their values, and the options of a mount.
    @Test(arguments: [
        ("mount /m", "mount /m at /m"), ("mount demo m", "mount m of demo at m"), ("mount pixiv: m", "mount m at m"),
        ("mount -f -- pixiv -m", "mount -m at -m, foreground"), ("mount /m -d", "mount /m at /m, foreground, debug"),
        ("", ""), ("-h", "help"), ("--help", "help"), ("help", "help"), ("tier warm --help", "help tier"),
        ("tier forget --help", "help tier"), ("--version", "version"), ("-V", "version"), ("version", "version"),
        ("unmount /m", "unmount /m"), ("umount /m", "unmount /m"), ("status", "status"),
        ("status /m --json --watch", "status /m --json --watch"), ("demo", "demo of demo, foreground"),
        ("demo pixiv ./demo", "demo ./demo of demo at ./demo, foreground"), ("cache info demo", "cache info of demo"),
        ("cache clear", "cache clear"), ("pin a -- -b", "pin a -b"), ("tier verify", "tier verify"),
        ("tier trim danbooru --keep 2G --dry-run", "tier trim danbooru --dry-run --keep=2G of danbooru"),
        ("tier forget a b", "tier forget a b"), ("tier warm a -n", "tier warm a --dry-run"),
        ("fetch a --to d b --sidecars -n -- -c", "fetch a b -c --dry-run --sidecars --to=d"),
        ("fetch a --to=d", "fetch a --to=d"), ("fetch a --dry-run", "fetch a --dry-run"),
        ("completions zsh", "completions zsh"), ("complete mount -h", "complete mount -h"), ("doctor", "doctor"),
        ("doctor demo --fix --json", "doctor --fix --json of demo"),
        ("doctor -o cache_dir=/c,allow_other,setuid=a", "doctor, cache_dir, allow_other"),
        ("doctor --service --record /d", "doctor --service --record=/d"),
        ("doctor --service --record=/d", "doctor --service --record=/d"), ("login", "login"), ("login -", "login -"),
        ("login cookies.txt", "login cookies.txt"), ("logout", "logout"), ("logout konachan", "logout of konachan"),
        ("login c.txt -o api_url=http://a:1", "login c.txt, api_url"),
        ("login konachan c.txt", "login c.txt of konachan"),
    ])
    func linesMean(_ line: String, _ meaning: String) throws {
        let (command, arguments) = try Command.parse(line.split(separator: " ").map(String.init))
        let (request, options) = (arguments.request, arguments.request.options)
        var words = [command.name] + arguments.positions + arguments.flags.sorted()
        words += arguments.values.map { "\($0)=\($1)" }
        if request.source != .standard { words.append("of \(request.source.rawValue)") }
        if !request.mountPoint.isEmpty { words.append("at \(request.mountPoint)") }
        let further = (request.foreground ? ["foreground"] : []) + (request.debug ? ["debug"] : [])
        let named = further + options.assignments.map(\.name) + options.passedOn
        #expect(([words.joined(separator: " ")] + named).joined(separator: ", ") == meaning)
    }

    @Test func withoutArgumentsTheNextStepIsNamed() throws {
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

    @Test func everyCommandHasItsHelp() throws {
        for command in Command.all where !["help", "version"].contains(command.name) {
            for flag in ["-h", "--help"] {
                let asked = try parsed([command.name, flag])
                #expect(asked.command == "help" && asked.arguments.positions == [command.name])
            }
        }
        #expect { try parsed(["tier", "warm"]) } throws: {
            ($0 as? ProgramError)?.message.contains("rankfs tier warm PATH…") == true
        }
        #expect(help("mount")?.hasPrefix("rankfs mount [SOURCE] MOUNTPOINT [-o ") == true)
        #expect(help("completions")?.hasPrefix("rankfs completions bash|zsh|fish\n\n") == true)
        #expect(help("logout")?.contains("69") == false)
        #expect(help("login")?.contains("cookies.txt") == true && help(nil)?.contains("rankfs login") == true)
        #expect(help("pin")?.contains("0 done, 1 not all of it is stored, 64") == true)
        for command in ["unpin", "evict", "refresh", "forget"] {
            #expect(help(command)?.contains("64 usage, 69 unavailable") == true)
        }
        #expect(help("version") == "rankfs version\n\nPrints the version.\n")
    }

    @Test(arguments: [
        ["nonsense"], ["mount"], ["mount", ""], ["mount", "demo"], ["mount", "a", "b"], ["mount", "pixiv", "b", "c"],
        ["mount", "-z", "/m"], ["mount", "/m", "-o"], ["mount", "--top"], ["mount", "--nonsense", "/m"],
        ["mount", "--ready-fd", "3", "/m"], ["mount", "--ready-fd=1", "/m"], ["demo", "a", "b"], ["unmount"],
        ["unmount", "a", "b"], ["unmount", "-x", "a"], ["status", "a", "b"], ["cache"], ["cache", "clean"],
        ["cache", "clear", "pixiv", "demo"], ["pin"], ["pin", ""], ["pin", "a", "--json"], ["status", "--json=yes"],
        ["tier"], ["tier", "warm"], ["tier", "warm", "a", "--to", "b"], ["tier", "verify", "a"],
        ["tier", "trim"], ["tier", "trim", "--keep", "all"], ["tier", "info", "--keep", "1G"], ["tier", "forget"],
        ["fetch"], ["fetch", ""], ["fetch", "a", "--to"], ["fetch", "a", "--to", ""], ["fetch", "a", "--sidecars"],
        ["fetch", "a", "--json"], ["completions"], ["completions", "csh"], ["completions", "zsh", "bash"],
        ["doctor", "a"], ["doctor", "pixiv", "demo"], ["doctor", "--fixx"], ["doctor", "--fix", "--service"],
        ["doctor", "--record", "/d"], ["doctor", "--record=/d"], ["doctor", "--service", "--record"],
        ["login", "a", "b"], ["login", ""], ["logout", "a"], ["login", "-o", "nonsense=1"], ["logout", "-x"],
        ["help", "nonsense"], [""], ["-o", "x"], ["mount-guard"], ["demo", "-o", "setuid=root"],
        ["login", "-o", "remount"],
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

    /// Files that are no pictures, days that are not published and what is for members say nothing about the other paths.
    @Test func onlyRefusalsOfAllEndACommand() {
        var tally = ActTally()
        for code in [ENOTTY, ENOENT, EACCES] {
            for _ in 1...3 { tally.refuse("not this one", for: SystemError(code: code)) }
            #expect(!tally.isRefused)
        }
        for _ in 1...3 { tally.refuse("none", for: SystemError(code: EIO)) }
        #expect(tally.isRefused && tally.refusals.count == 12)
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
}
