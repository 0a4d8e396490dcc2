@testable import Fuse
import Rankings
import Testing

@testable import RankFS

/// What happens when somebody outside does not answer, or answers wrongly.
@Suite(.timeLimit(.minutes(1))) struct TroubleTests {
    private let day = "ranking/daily/2024-05-01"

    /// ENOENT would be the end of the directory to readdir(3), and `rsync --delete` would remove the rest.
    @Test func aLaterPageThatIsNotThereIsNoEnd() async throws {
        let bench = try Workbench()
        bench.source.setAuthor(UserID(rawValue: 11), (1...250).reversed().map { Workbench.work($0) })
        let inode = try await bench.stat("users/11").inode
        let handle = try #require(await bench.openDirectory(inode).handle)
        bench.source.setFailure(.notFound)
        var (answer, offset) = (Answer.bytes([]), Int64(0))
        repeat {
            answer = await bench.readDirectory(inode, handle, offset, size: 65_536)
            if let entries = answer.entries() { offset = entries.last?.nextOffset ?? .max }
        } while answer != .failure(.EIO) && offset < .max
        #expect(answer == .failure(.EIO) && offset > 100)
        #expect(bench.reported.count == 1 && bench.reported[0].contains("although the list goes on"))
        bench.fileSystem.release(inode, handle: handle)
        bench.source.setFailure(nil)
        #expect(try await bench.names("users/11").count { $0.hasSuffix(".jpg") } == 251)
    }

    @Test(arguments: [
        (Failure.timedOut, Errno.ETIMEDOUT), (.needsSignIn, .EACCES), (.limited(retryAfter: 60), .EIO),
        (.unreadable("html"), .EIO),
    ])
    func eachTroubleHasItsErrno(_ failure: Failure, _ errno: Errno) async throws {
        let bench = try Workbench()
        bench.source.setFailure(failure)
        let inode = try await bench.stat(day).inode
        #expect(await bench.openDirectory(inode) == .failure(errno))
        #expect(bench.reported.count == 1)
        #expect(bench.reported.first?.hasPrefix("\(day): ") == true)
    }

    /// The kernel would cut the file to the former size there.
    @Test func aSizeThatWasWrongIsForgottenInEveryListing() async throws {
        let bench = try Workbench()
        let modes = [RankingMode.daily, try #require(RankingMode(rawValue: "weekly"))]
        bench.host.setManner(.lying)
        var inodes: [UInt64] = []
        for mode in modes {
            bench.source.setRanking(mode, Workbench.day, Workbench.entries(3))
            let day = TreePath.day(mode, Workbench.day).text
            inodes.append(try await bench.stat("\(day)/\(Workbench.name(1))").inode)
            _ = try await bench.stat("\(day)/\(Workbench.name(2))")
        }
        let handle = try #require(await bench.open(inodes[0]).handle)
        #expect(await bench.read(inodes[0], handle, 0, 4096) == .failure(.EIO))
        bench.fileSystem.release(inodes[0], handle: handle)
        while Set(bench.invalidated).count < 2 { await Task.yield() }
        #expect(Set(bench.invalidated) == Set(inodes))
    }

    @Test func aDeletedPictureStaysListedAndCannotBeRead() async throws {
        let bench = try Workbench()
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        let inode = try await bench.stat("\(day)/\(Workbench.name(1))").inode
        bench.host.setManner(.status(404))
        let handle = try #require(await bench.open(inode).handle)
        #expect(await bench.read(inode, handle, 0, 200_000) == .failure(.ENOENT))
        #expect(bench.catalog.recents.pictures.isEmpty, "it was not seen")
        #expect(try await bench.names(day).count == 5)
        #expect(bench.reported.count == 1)
    }

    @Test func anInterruptedReaderIsFreedAndNothingIsReported() async throws {
        let bench = try Workbench()
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        let inode = try await bench.stat("\(day)/\(Workbench.name(1))").inode
        bench.host.setManner(.holding)
        let handle = try #require(await bench.open(inode).handle)
        let answer = await withCheckedContinuation { continuation in
            let reply = DataReply { continuation.resume(returning: $0) }
            bench.fileSystem.read(
                ReadRequest(inode: inode, handle: handle, offset: 0, size: 4096, caller: Workbench.caller),
                reply: reply)
            reply.interrupt()
        }
        #expect(answer == .failure(.EINTR))
        let attributes = try await bench.stat("\(day)/\(Workbench.name(1))")
        #expect(attributes.inode == inode, "it waits for no read")
        bench.fileSystem.release(inode, handle: handle)
        #expect(bench.reported.isEmpty)
    }
}
