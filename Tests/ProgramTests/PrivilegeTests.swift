@testable import Fuse
import Testing

@testable import rankfs

/// Whom a mount is served by, and what the process that stays root is told.
@Suite struct PrivilegeTests {
    private static let alice = Account(name: "alice", user: 1000, group: 100, home: "/home/alice")

    private static func find(_ text: String) -> Account? {
        switch text {
        case "alice", "1000": alice
        case "root", "0", "toor": Account(name: text, user: 0, group: 0, home: "/root")
        default: nil
        }
    }

    @Test func rootBecomesWhomItNames() throws {
        #expect(try Account.change(to: "alice", from: 0, find: Self.find) == Self.alice)
        #expect(try Account.change(to: "1000", from: 0, find: Self.find) == Self.alice)
        #expect(try Account.change(to: "root", from: 0, find: Self.find) == nil)
        #expect(try Account.change(to: "toor", from: 0, find: Self.find) == nil)
        #expect(try Account.change(to: nil, from: 0, find: Self.find) == nil)
    }

    @Test func othersStayWhoTheyAre() throws {
        #expect(try Account.change(to: "alice", from: 1000, find: Self.find) == nil)
        #expect(try Account.change(to: nil, from: 1000, find: Self.find) == nil)
        for name in ["root", "0", "toor", "alice"] {
            let error = #expect(throws: ProgramError.self) {
                try Account.change(to: name, from: 1001, find: Self.find)
            }
            #expect(error?.status.ofMountHelper == .mountUsage)
            #expect(error?.message.contains("only root") == true)
        }
    }

    @Test func thePasswdEntryIsFoundByNameAndByNumber() {
        #expect(Account.find("root")?.user == 0)
        #expect(Account.find("0")?.name == "root")
        for text in ["", "-0", "0x0", "4294967295", "root ", "+0"] {
            #expect(Account.find(text) == nil, "\(text)")
        }
    }

    @Test func theGuardUnderstandsItsArguments() throws {
        var request = MountRequest(source: .demo, mountPoint: "/a b,c\n-o")
        try request.options.add(list: "allow_other,max_read=4096,uid=0,setuid=alice")
        let mount = try GuardedMount(request, for: Self.alice)
        #expect(mount.allowsOthers && mount.longestRead == 4096 && mount.user == 1000)
        let words = try parsed(Array(mount.arguments.dropFirst())).arguments.positions
        #expect(try GuardedMount(words: words) == mount)
        request.options = MountOptions()
        #expect(try !GuardedMount(request, for: Self.alice).allowsOthers)
    }

    @Test(arguments: [
        [], ["pixiv"], ["nonsense", "/m", "0", "0", "root", "0", "0"], ["pixiv", "m", "0", "0", "root", "0", "0"],
        ["pixiv", "/m", "x", "0", "root", "0", "0"], ["pixiv", "/m", "0", "0", "root", "0", "0", "more"],
        ["pixiv", "/m", "0", "0", "root", "0", "0", "1:2:x"], ["pixiv", "/m", "0", "0", "root", "0", "0", "1::2"],
    ])
    func theGuardRefusesOtherArguments(_ words: [String]) {
        #expect(throws: ProgramError.self) { try GuardedMount(words: words) }
    }

    @Test func textsTravelWhole() {
        #expect(MountGuard.packet() == [0])
        #expect(MountGuard.packet(failure: "no") == Array("no\0".utf8))
        #expect(MountGuard.packet(["/m\n", ""]) == Array("\0/m\n\0\0".utf8))
    }
}

@Suite struct RemountTests {
    private let own = MountTable.Mount(
        path: Array("/m".utf8), type: "fuse.rankfs", source: "pixiv",
        superOptions: ["ro", "user_id=0", "group_id=0", "default_permissions", "allow_other"])

    private func refusal(_ list: String, of mount: MountTable.Mount?, served: String = "") throws -> String? {
        var (options, made) = (MountOptions(), MountOptions())
        try options.add(list: list)
        try made.add(list: served)
        #expect(options.remounts)
        return MountPoint.refusalOfRemount(path: "/m", mount: mount, options, served: made)
    }

    @Test func aLineThatIsMountedAlreadyChangesNothing() throws {
        let line = "nofail,_netdev,setuid=alice,cache_dir=/c,top=3,uid=5,umask=077,allow_other"
        #expect(try refusal("remount,\(line),ro", of: own, served: line) == nil)
        #expect(try refusal("remount,ro", of: own, served: line) == nil)
        for other in ["top=4", "setuid=bob", "uid=6", "umask=027", "days=3", "gid=5"] {
            #expect(try refusal("remount,\(line),\(other)", of: own, served: line) != nil, "\(other)")
        }
    }

    /// As mount(8) sends them: from the kernel's table, and from a line in fstab.
    @Test(arguments: [
        "ro,nosuid,nodev,noexec,relatime,remount,user_id=0,group_id=0,default_permissions,allow_other",
        "rw,remount,noexec,nosuid,nodev,user,_netdev", "remount", "remount,rw",
    ])
    func nothingNewIsDone(_ list: String) throws {
        #expect(try refusal(list, of: own) == nil)
    }

    @Test(arguments: [
        "rankfs mount --foreground --ready-fd=3 -o top=3 -- pixiv /m", "/usr/bin/rankfs mount -f pixiv /m -o top=3",
        "rankfs mount /m --top 3 -d", "rankfs mount -o days=1 --top=3 pixiv /m",
    ])
    func aCommandLineHasItsOptionsInAnyOrder(_ line: String) {
        func options(_ line: String) -> MountOptions? {
            MountPoint.options(of: line.split(separator: " ").map { String($0) }, servedAt: ["/m", "m"])
        }
        #expect(options(line)?.values["top"] == "3")
        for other in ["rankfs mount /n", "rankfs mount /m -o remount", "rankfs status /m", "sh mount /m", "rankfs", ""]
        {
            #expect(options(other) == nil, "\(other)")
        }
    }

    @Test(arguments: ["remount,top=3", "uid=5,remount", "remount,allow_root", "remount,umask=077", "remount,setuid=u"])
    func whatWouldChangeIsRefused(_ list: String) throws {
        #expect(try refusal(list, of: own)?.contains("keeps the options") == true)
    }

    @Test func onlyOwnMountsAreMountedAnew() throws {
        let other = MountTable.Mount(path: Array("/m".utf8), type: "fuse.sshfs", source: "pixiv")
        for mount in [nil, other] {
            #expect(try refusal("remount", of: mount)?.contains("not a mount of rankfs") == true)
        }
    }
}
