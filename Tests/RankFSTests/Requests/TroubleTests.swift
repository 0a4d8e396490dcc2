@testable import Fuse
import Rankings
import Synchronization
import TestSupport
import Testing

@testable import RankFS

/// What happens when somebody outside does not answer, or answers wrongly.
@Suite(.timeLimit(.minutes(1))) struct TroubleTests {
    private let day = "ranking/daily/2024-05-01"

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

    @Test func whatIsStillUnderWayAtTheDeadlineIsSaid() async throws {
        let bench = try Workbench()
        bench.source.hold(from: 0)
        let inode = try await bench.stat(day).inode
        let answers = Mutex<[Answer]>([])
        let request = PendingRequest(
            destination: RecordingDestination { answer in answers.withLock { $0.append(answer) } }, waiting: nil)
        bench.fileSystem.openDirectory(
            OpenRequest(inode: inode, flags: 0, caller: Workbench.caller), reply: OpenReply(request))
        request.overtake(.ETIMEDOUT)
        #expect(answers.withLock { $0 } == [.failure(.ETIMEDOUT)])
        #expect(bench.reported.count == 1 && bench.reported[0].hasPrefix("\(day): it takes longer"))
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

    @Test func aWorkThatWasUploadedAgainTakesItsPlace() async throws {
        let bench = try Workbench()
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(3))
        let path = "\(day)/\(Workbench.name(1))"
        let inode = try await bench.stat(path).inode
        var work = Workbench.work(1001)
        (work.title, work.uploaded) = ("Another", work.uploaded + 60)
        bench.source.state.withLock { [work] in $0.records[work.id] = work }
        bench.host.setManner(.status(404))
        let handle = try #require(await bench.open(inode).handle)
        #expect(await bench.read(inode, handle, 0, 200_000) == .failure(.ENOENT))
        while bench.invalidatedNames.isEmpty { await Task.yield() }
        bench.host.setManner(.serving)
        let renewed = try await bench.stat(path)
        #expect(renewed.inode != inode && renewed.modified == work.uploaded)
        #expect(try await bench.contents(renewed.inode) == PictureHost.picture(1001))
        #expect(try await bench.names(day).count == 5)
        #expect(bench.source.asked.filter { $0 == "details 1001" }.count == 1)
    }

    @Test func aDeletedPictureStaysListedAndCannotBeRead() async throws {
        let bench = try Workbench(day: Workbench.entries(3))
        let inode = try await bench.stat("\(day)/\(Workbench.name(1))").inode
        bench.host.setManner(.status(404))
        let handle = try #require(await bench.open(inode).handle)
        #expect(await bench.read(inode, handle, 0, 200_000) == .failure(.ENOENT))
        #expect(bench.catalog.recents.pictures.isEmpty, "it was not seen")
        #expect(try await bench.names(day).count == 5)
        #expect(bench.reported.count == 1)
    }
}
