import Dispatch
import Glibc
import HTTP
import Testing

@Suite("A queue before CurlTransport", .timeLimit(.minutes(1)))
struct ConcurrencyTests {
    @Test func shutdownEndsEverything() async throws {
        let bench = try Bench(connections: 2)
        bench.server.script("/hang", [.hang])
        let recorders = (0..<10).map { _ in Recorder() }
        for recorder in recorders { _ = bench.queue.start(bench.request("/hang"), sink: recorder) }
        await bench.server.waitForRequests(2)
        let transport = bench.transport
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            DispatchQueue.global().async {
                transport.shutdown()
                continuation.resume()
            }
        }
        for recorder in recorders {
            #expect(Kind(recorder.record.result) == .cancelled)
            #expect(recorder.record.finishes == 1)
        }
        // Later requests end at once, and a second shutdown is nothing.
        #expect(Kind(await bench.fetch(bench.request("/hang")).result) == .cancelled)
        transport.shutdown()
        #expect(bench.queue.counts == (0, 0))
        await bench.server.waitForNoConnections()
    }

    @Test func aSinkMayCancelOthersAndStartMore() async throws {
        let bench = try Bench(connections: 1)
        bench.server.script("/a", answer("x"))
        bench.server.script("/hang", [.hang])
        let other = Recorder()
        let next = Recorder()
        let transfer = bench.queue.start(bench.request("/hang", transferClass: .metadata), sink: other)
        let (queue, request) = (bench.queue, bench.request("/a"))
        let first = Recorder {
            transfer.cancel()
            _ = queue.start(request, sink: next)
        }
        _ = queue.start(request, sink: first)
        #expect(Kind(await first.end().result) == .success)
        #expect(Kind(await other.end().result) == .cancelled)
        #expect(Kind(await next.end().result) == .success)
    }

    @Test func twoHundredAtOnceLeaveNothingOpen() async throws {
        let bench = try Bench(connections: 8)
        bench.server.script("/a", answer(String(repeating: "x", count: 10_000)))
        bench.server.script("/hang", [.hang])
        let kinds = await withTaskGroup(of: Kind.self) { group in
            for index in 0..<200 {
                let request = bench.request("/a", transferClass: index % 2 == 0 ? .bulk : .metadata)
                group.addTask { Kind(await bench.fetch(request).result) }
            }
            for _ in 0..<20 {
                let request = bench.request("/hang", transferClass: .metadata)
                group.addTask {
                    let recorder = Recorder()
                    bench.queue.start(request, sink: recorder).cancel()
                    return Kind(await recorder.end().result)
                }
            }
            return await group.reduce(into: [Kind: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(kinds == [.success: 200, .cancelled: 20])
        // 8 for bulk, 32 for metadata, and one for each cancelled one that had got as far.
        #expect(bench.server.connections <= 60)
        let transport = bench.transport
        transport.shutdown()
        await bench.server.waitForNoConnections()
        #expect(sockets(to: bench.server.port) == 0)
    }

    /// Sockets of this process that are connected to this port of the loopback.
    private func sockets(to port: UInt16) -> Int {
        (0..<Int32(4096)).filter { descriptor in
            var address = sockaddr_in()
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
            }
            return status == 0 && UInt16(bigEndian: address.sin_port) == port
        }.count
    }
}
