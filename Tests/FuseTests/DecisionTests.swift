import Glibc
import TestSupport
import Testing

@testable import Fuse

@Suite struct ReplyPhaseTests {
    @Test func theOwnerAnswersOnce() {
        var phase = ReplyPhase.waiting
        let verdicts = [phase.answer(), phase.answer()]
        #expect(verdicts == [true, nil])
    }

    @Test func anOvertakenOwnerAnswersIntoTheVoidOnce() {
        var phase = ReplyPhase.waiting
        let verdicts = [phase.end(.overtaken), phase.end(.overtaken), phase.answer(), phase.answer()]
        #expect(verdicts == [true, false, false, nil])
    }

    @Test func nobodyOvertakesAnAnswer() {
        var phase = ReplyPhase.waiting
        let verdicts = [phase.answer(), phase.end(.overtaken), phase.end(.answered)]
        #expect(verdicts == [true, false, false])
    }

    @Test func settlingAnswersOnlyWhatIsOpen() {
        var open = ReplyPhase.waiting
        var overtaken = ReplyPhase.waiting
        let verdicts = [open.end(.answered), overtaken.end(.overtaken), overtaken.end(.answered)]
        #expect(verdicts == [true, true, false])
    }
}

@Suite struct FailedReadsTests {
    private func read(_ inode: UInt64, _ offset: Int64, size: Int = 4096) -> ReadRequest {
        ReadRequest(inode: inode, handle: 0, offset: offset, size: size, caller: Caller(user: 0, process: 0))
    }

    @Test func theFirstPageOfAFailedReadAheadFailsAtOnce() {
        var reads = FailedReads()
        reads.remember(.ETIMEDOUT, of: read(1, 0, size: 131_072), at: .seconds(5))
        #expect(reads.error(for: read(1, 0), at: .seconds(5)) == .ETIMEDOUT)
        #expect(reads.error(for: read(1, 126_976), at: .seconds(5)) == .ETIMEDOUT)
    }

    @Test func otherBytesAndOtherFilesAreAsked() {
        var reads = FailedReads()
        reads.remember(.ETIMEDOUT, of: read(1, 0, size: 131_072), at: .seconds(5))
        #expect(reads.error(for: read(1, 131_072), at: .seconds(5)) == nil)
        #expect(reads.error(for: read(2, 0), at: .seconds(5)) == nil)
    }

    @Test func whatIsOverIsForgotten() {
        var reads = FailedReads()
        reads.remember(.EIO, of: read(1, 0), at: .seconds(5))
        reads.remember(.EIO, of: read(2, 0), at: .seconds(5) + FailedReads.memory / 2)
        reads.expire(at: .seconds(5) + FailedReads.memory)
        #expect(reads.error(for: read(2, 0), at: .seconds(5) + FailedReads.memory) == .EIO)
        reads.expire(at: .seconds(5) + FailedReads.memory * 2)
        #expect(reads.isEmpty)
    }

    @Test func whoeverOpensAFileAnewIsServed() {
        var reads = FailedReads()
        reads.remember(.EIO, of: read(1, 0), at: .seconds(5))
        reads.remember(.EIO, of: read(2, 0), at: .seconds(5))
        reads.forget(1)
        #expect(reads.error(for: read(1, 0), at: .seconds(5)) == nil)
        #expect(reads.error(for: read(2, 0), at: .seconds(5)) == .EIO)
    }
}

@Suite struct DirectoryReplyTests {
    private func add(_ reply: DirectoryReply, _ index: Int) -> Bool {
        reply.add(
            "name-\(index)", inode: UInt64(index + 100), kind: .file, nextOffset: Int64(index + 1), attributes: nil)
    }

    @Test func entriesAreAddedUntilTheBufferIsFull() {
        let recorder = Recorder()
        // 24 bytes and a name of 6, rounded up to 32 (linux/fuse.h).
        let reply = DirectoryReply(size: 100, wantsAttributes: false, answer: recorder.record)
        #expect((0..<5).map { add(reply, $0) } == [true, true, true, false, false])
        reply.send()
        #expect(recorder.answers.first?.entries(plus: false)?.map(\.inode) == [100, 101, 102])
    }

    @Test func onlyPackedEntriesWithAttributesCount() {
        var packer = KernelPacker(size: 400, withAttributes: true)
        let known = DirectoryReply.Known(.example(inode: 5), .zero, .zero)
        let found = [known, nil, known].map { packer.add("a", inode: 5, kind: .file, nextOffset: 1, $0) }
        #expect(found == [true, true, false])
        #expect(packer.counted == [5])
    }

    @Test func dotsAreNeverCounted() {
        let recorder = Recorder()
        let reply = DirectoryReply(wantsAttributes: true, answer: recorder.record)
        let known = Attributes.example(inode: 1, kind: .directory)
        #expect(reply.add("..", inode: 1, kind: .directory, nextOffset: 1, attributes: (known, .zero, .zero)))
        reply.send()
        let entry = DirectoryEntry(name: [46, 46], inode: 1, kind: .directory, nextOffset: 1)
        #expect(recorder.answers.map { $0.entries(plus: true) } == [[entry]])
    }
}

@Suite struct SentenceTests {
    @Test func errorsSpeakAsTheSystemDoes() {
        #expect(Errno.ENOENT.description == "No such file or directory")
        #expect(Errno(rawValue: 99_999).description.contains("99999"))
    }

    @Test func commasInOptionsAreEscaped() {
        #expect(Session.escaped(#"fsname=a,b\c"#) == #"fsname=a\,b\\c"#)
    }

    @Test func anUnknownOptionIsNamed() {
        let lines = ["unknown option(s): `", "-o", "frobnicate=1'"]
        let error = MountFailure(mountPoint: "/m", lines: lines, errno: 0).ofOptions
        #expect(error.contains("frobnicate=1"))
    }

    @Test func aMountPointThatIsMissingOrAFileIsExplained() {
        #expect(MountFailure.obstacle(at: "/nonexistent/here")?.contains("mkdir -p") == true)
        #expect(MountFailure.obstacle(at: "/etc/passwd")?.contains("is not a directory") == true)
        #expect(MountFailure.obstacle(at: "/") == nil)
    }
}

@Suite struct MountTableTests {
    private let text = """
        22 28 0:20 / /proc rw,nosuid shared:12 - proc proc rw
        42 27 0:39 / /tmp/with\\040space\\134 ro,nosuid,nodev - fuse.rankfs pixiv rw,user_id=0,allow_other
        43 27 0:40 / /twice rw - ext4 /dev/a rw
        44 43 0:41 / /twice rw shared:1 master:2 - fuse.rankfs demo rw
        not a line of this file
        45 27 0:42 /
        """

    @Test func namesAreUnescaped() throws {
        let mount = try #require(MountTable(text: Array(text.utf8)).mount(at: #"/tmp/with space\"#.utf8))
        #expect(mount.type == "fuse.rankfs")
        #expect(mount.source == "pixiv")
        #expect(mount.superOptions == ["rw", "user_id=0", "allow_other"])
    }

    @Test func theTopmostMountIsFound() throws {
        let table = MountTable(text: Array(text.utf8))
        #expect(table.mount(at: "/twice".utf8)?.source == "demo")
        #expect(table.mount(at: "/nowhere".utf8) == nil)
        #expect(table.mounts.count == 4)
    }

    @Test func thisMachineHasARoot() {
        #expect(MountTable.current().mount(at: "/".utf8) != nil)
        #expect(!MountTable.isStale("/"))
    }
}

@Suite struct CallerSignalTests {
    /// proc_pid_status(5): a bit for each signal, from SIGHUP on.
    @Test(
        arguments: [
            ("SIGINT of the process", [], [SIGINT], [], true), ("SIGTERM of the thread", [SIGTERM], [], [], true),
            ("any fatal one", [SIGKILL], [SIGUSR1], [], true), ("one that dumps core", [], [SIGQUIT], [], true),
            ("a blocked one", [], [SIGINT], [SIGINT], false), ("the end of a child", [], [SIGCHLD], [], false),
            ("a stop", [SIGSTOP], [SIGTSTP], [], false), ("a timer with a handler", [], [SIGALRM, SIGPROF], [], false),
            ("none, as of a machine that is suspended", [], [], [], false),
        ] as [(String, [Int32], [Int32], [Int32], Bool)])
    func aWaitEndsForSignalsThatEndPrograms(row: (String, own: [Int32], shared: [Int32], blocked: [Int32], ends: Bool))
    {
        let sets = [
            ("SigQ", []), ("SigPnd", row.own), ("ShdPnd", row.shared), ("SigBlk", row.blocked), ("SigIgn", [SIGINT]),
        ]
        let lines = sets.map { name, signals in
            "\(name):\t" + String(signals.reduce(UInt64(0)) { $0 | 1 << UInt64($1 - 1) }, radix: 16) + "\n"
        }
        #expect(CallerSignals.endWait("Name:\tcat\nState:\tS (sleeping)\n" + lines.joined()) == row.ends, "\(row.0)")
    }

    @Test func ofAnUnreadableStatusNothingIsKnown() { #expect(CallerSignals.endWait("")) }
}
