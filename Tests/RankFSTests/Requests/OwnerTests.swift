@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// What the owner of a mount keeps from others, by what reaches the file system; the kernel's part is tested on mounts.
@Suite(.timeLimit(.minutes(1))) struct OwnerTests {
    private static let user = UserID(rawValue: 5)
    private static let root = Caller(user: 0, process: 1)
    private static let stranger = Caller(user: 1001, process: 1)

    private static func signedIn() throws -> Workbench {
        let bench = try Workbench(.init(keepsOwners: true))
        bench.source.signIn(Self.user, bookmarks: [30])
        bench.source.setAuthor(Self.user, [])
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(2))
        return bench
    }

    private static let kept = [
        "following", "search", "search/cat", "recent", "bookmarks", "users/5/bookmarks",
    ]
    private static let open = ["", "ranking", "ranking/daily", "ranking/daily/2024-05-01", "users", "users/5", "works"]

    private static func inode(_ path: String, _ bench: Workbench) async throws -> UInt64 {
        path.isEmpty ? InodeTable.root : try await bench.stat(path).inode
    }

    @Test func whatReachesTheFileSystemIsLookedAtAgain() async throws {
        let bench = try Self.signedIn()
        for (caller, answers) in [(Workbench.caller, true), (Self.root, true), (Self.stranger, false)] {
            for path in Self.kept {
                let inode = try await Self.inode(path, bench)
                try await Workbench.$caller.withValue(caller) { () async throws in
                    if answers {
                        _ = try await bench.list(inode)
                    } else {
                        #expect(await bench.openDirectory(inode) == .failure(.EACCES), "\(path)")
                        #expect(await bench.lookup(inode, Array("x".utf8)) == .failure(.EACCES), "\(path)")
                    }
                }
            }
            for path in Self.open {
                let inode = try await Self.inode(path, bench)
                try await Workbench.$caller.withValue(caller) { _ = try await bench.list(inode) }
            }
            let picture = try await Self.inode("users/5/bookmarks/30-Title 30.jpg", bench)
            let status = try await Self.inode(".rankfs/status.json", bench)
            try await Workbench.$caller.withValue(caller) { () async throws in
                #expect((await bench.open(picture) == .failure(.EACCES)) != answers)
                #expect(try await bench.contents(status).count == (answers ? 15 : 3))
            }
        }
    }

    @Test(arguments: MountCommand.allCases)
    func commandsAreTheOwners(_ command: MountCommand) async throws {
        let bench = try Self.signedIn()
        let day = try await Self.inode("ranking/daily/2024-05-01", bench)
        let file = try await Self.inode(HelperFile.standIn.path.text, bench)
        await Workbench.$caller.withValue(Self.stranger) {
            #expect(await bench.ioctl(day, command) == .failure(.EPERM))
            // Programs probe files with commands of terminals.
            #expect(await bench.ioctl(file, command) == .failure(.ENOTTY))
        }
        for caller in [Workbench.caller, Self.root] {
            let answer = await Workbench.$caller.withValue(caller) { await bench.ioctl(day, command) }
            guard case .ioctl = answer else {
                Issue.record("user \(caller.user): \(answer)")
                return
            }
        }
        #expect(bench.reported.contains { $0.contains("share=all") })
    }
}
