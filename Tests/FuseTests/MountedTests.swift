import CLinux
import Foundation
import System
import Testing

@testable import Fuse

/// Real mounts, each in a process of its own.
@Suite(
    .serialized, .timeLimit(.minutes(1)),
    .enabled(if: access("/dev/fuse", R_OK | W_OK) == 0, "needs /dev/fuse"))
struct MountedTests {
    private static let text = Array("Hello from a file system.\n".utf8)

    @Test func readsTheRightBytes() async throws {
        try await withExample { mount in
            #expect(mount.read("hello.txt") == .success(Self.text))
            #expect(mount.read("later.txt") == .success(Self.text))
            #expect(mount.read("link") == .success(Self.text))
            let expected = [UInt8](try Data(contentsOf: mount.file))
            #expect(mount.read("big") == .success(expected))
        }
    }

    @Test func everyOffsetAndSizeOfAFileIsRight() async throws {
        try await withExample { mount in
            let expected = [UInt8](try Data(contentsOf: mount.file))
            let descriptor = open("\(mount.path)/raw", O_RDONLY)
            defer { close(descriptor) }
            // Around the size up to which a copy is sent, and across the end.
            for size in [1, 4095, 4096, 8192, 8193, 65_536, 131_072] {
                for offset in [0, 1, 8191, 500_001, expected.count - size, expected.count - 1] {
                    var bytes = [UInt8](repeating: 0, count: size)
                    let count = pread(descriptor, &bytes, size, off_t(offset))
                    #expect(Array(bytes.prefix(max(0, count))) == Array(expected[offset...].prefix(size)))
                }
            }
        }
    }

    @Test func aFileShorterThanPromisedIsEIOAndNeverShort() async throws {
        try await withExample { mount in
            #expect(mount.read("cut") == .failure(.EIO))
        }
    }

    @Test func aDroppedReplyIsEIO() async throws {
        try await withExample { mount in
            #expect(mount.read("dropped") == .failure(.EIO))
        }
    }

    @Test func listsNamesAndAttributes() async throws {
        try await withExample { mount in
            let expected = (0..<1000).map { "name-\($0)" }
            for directory in ["names", "mixed"] {
                let names = try mount.lines(of: "/bin/ls", ["-U", directory])
                #expect(names == expected)
                let long = try mount.lines(of: "/bin/ls", ["-lU", directory])
                #expect(long.count == 1001)
                #expect(long.dropFirst().allSatisfy { $0.hasPrefix("-r--r--r-- 1 ") && $0.contains(" 26 ") })
            }
        }
    }

    @Test func metadataIsWhatTheFileSystemSays() async throws {
        try await withExample { mount in
            var status = stat()
            #expect(stat("\(mount.path)/hello.txt", &status) == 0)
            #expect(status.st_size == 26)
            #expect(status.st_blocks == 1)
            #expect(status.st_mtim.tv_sec == 1_600_000_000)
            #expect(status.st_mtim.tv_nsec == 0)
            #expect(lstat("\(mount.path)/link", &status) == 0)
            #expect(status.st_mode & S_IFMT == S_IFLNK)
            var room = statvfs()
            #expect(statvfs(mount.path, &room) == 0)
            #expect(room.f_namemax == 255)
            #expect(room.f_blocks * room.f_frsize == 4096 << 20)
        }
    }

    @Test func extendedAttributes() async throws {
        try await withExample { mount in
            let file = "\(mount.path)/hello.txt"
            var value = [UInt8](repeating: 0, count: 16)
            #expect(getxattr(file, "user.colour", nil, 0) == 4)
            #expect(getxattr(file, "user.colour", &value, value.count) == 4)
            #expect(value.prefix(4).elementsEqual("blue".utf8))
            #expect(getxattr(file, "user.colour", &value, 2) == -1 && errno == ERANGE)
            #expect(getxattr(file, "user.smell", &value, value.count) == -1 && errno == ENODATA)
            #expect(getxattr(file, "security.selinux", &value, value.count) == -1 && errno == EOPNOTSUPP)
            #expect(getxattr(file, "system.posix_acl_access", &value, value.count) == -1 && errno == EOPNOTSUPP)
            #expect(listxattr(file, &value, value.count) == 12)
        }
    }

    @Test(arguments: ["silent", "stubborn", "unheard"])
    func anInterruptFreesReadersOfASilentFile(name: String) async throws {
        try await withExample { mount in
            let first = try mount.startReader(of: name)
            try mount.waitForReaders(1)
            // Waits for the page that the first one has asked for, or asks for itself.
            let second = try mount.startReader(of: name)
            for reader in [second, first] {
                reader.signal(SIGINT)
                #expect(poll { !reader.isRunning })
            }
            #expect(mount.read("hello.txt") == .success(Self.text))
        }
    }

    /// Signals that end no program leave its reads alone, as those of a file on a disk.
    @Test func aStopEndsNoRead() async throws {
        try await withExample { mount in
            let reader = try mount.startReader(of: "silent")
            try mount.waitForReaders(1)
            for signal in [SIGSTOP, SIGCONT, SIGWINCH, SIGINT] { reader.signal(signal) }
            #expect(poll { !reader.isRunning })
            #expect(reader.terminationStatus == SIGINT, "by the signal, and not by a failed read")
        }
    }

    @Test func aSilentLookupHoldsUpNobodyElseInItsDirectory() async throws {
        try await withExample { mount in
            // Known to the kernel before, so that asking it later says nothing about the directory.
            #expect(try mount.number(in: "waiting") == 0)
            let stuck = try mount.startReader(of: "silent-lookup", with: "/usr/bin/stat")
            try mount.waitForReaders(1)
            for (command, name) in [("/usr/bin/stat", "later.txt"), ("/usr/bin/stat", "absent"), ("/bin/ls", "")] {
                let other = try mount.startReader(of: name, with: command)
                #expect(poll(upTo: 10) { !other.isRunning }, "\(command) \(name) waits for another one's lookup")
            }
            #expect(try mount.number(in: "waiting") == 1)
            #expect(stuck.isRunning)
            stuck.signal(SIGINT)
            #expect(poll { !stuck.isRunning })
        }
    }

    @Test(arguments: ["silent", "stubborn", "unheard"])
    func theDeadlineAnswersForASilentFile(name: String) async throws {
        try await withExample(deadline: .milliseconds(200)) { mount in
            #expect(mount.read(name) == .failure(.ETIMEDOUT))
        }
    }

    @Test func stoppingWhileAFileIsOpenEnds() async throws {
        try await withExample { mount in
            let descriptor = open("\(mount.path)/hello.txt", O_RDONLY)
            defer { close(descriptor) }
            mount.daemon.terminate()
            #expect(poll(upTo: 5) { !mount.daemon.isRunning })
            #expect(!mount.isMounted)
        }
    }

    /// `umount -l` leaves the daemon to the programs that have a file open, and the place to another mount.
    @Test(.enabled(if: geteuid() == 0, "only root can mount"), arguments: [true, false])
    func whatIsMountedInItsPlaceStays(isDetached: Bool) async throws {
        try await withExample { mount in
            let descriptor = open("\(mount.path)/hello.txt", O_RDONLY)
            defer { close(descriptor) }
            if isDetached { #expect(umount2(mount.path, Int32(MNT_DETACH)) == 0) }
            #expect(Glibc.mount("another", mount.path, "tmpfs", 0, nil) == 0)
            defer { umount2(mount.path, Int32(MNT_DETACH)) }
            mount.daemon.terminate()
            #expect(poll(upTo: 5) { !mount.daemon.isRunning })
            #expect(MountTable.current().mount(at: mount.path.utf8)?.source == "another")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can drop caches"))
    func everyLookupIsForgotten() async throws {
        try await withExample { mount in
            _ = try mount.lines(of: "/bin/ls", ["-l", "names", "mixed"])
            let counted = try mount.number(in: "lookups") ?? 0
            #expect(counted >= 1000)
            let isForgotten = try poll {
                try Data("2".utf8).write(to: URL(filePath: "/proc/sys/vm/drop_caches"), options: [])
                return try mount.number(in: "lookups") == 0
            }
            #expect(isForgotten)
        }
    }
}
