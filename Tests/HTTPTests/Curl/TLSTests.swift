import Rankings
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HTTP

@Suite(
    "CurlTransport over TLS, against nginx", .enabled(if: TLSServer.isPossible, "needs nginx and openssl"),
    .timeLimit(.minutes(1)))
struct TLSTests {
    private func transport(
        _ origins: [String], connections: Int = 4, authority: String? = TestCertificates.shared?.authority
    ) throws -> CurlTransport {
        try CurlTransport(
            CurlTransport.Configuration(
                limits: HostLimits(connections: connections), userAgent: "rankfs-test", proxy: nil, hosts: [],
                trustedOrigins: Set(origins), connectTimeout: .seconds(5), stallTimeout: .seconds(20),
                certificates: authority))
    }

    private func request(
        _ url: String, _ method: HTTPRequest.Method = .get, _ transferClass: TransferClass = .metadata,
        headers: [String] = [], deadline: Duration = .seconds(30)
    ) -> HTTPRequest {
        HTTPRequest(
            method: method, url: url, headers: headers, transferClass: transferClass,
            deadline: .now.advanced(by: deadline), bodyLimit: 1 << 20)
    }

    @Test(arguments: [100, 128, 256])
    func threeHundredHEADsShareTwoConnections(streams: Int) async throws {
        let server = try TLSServer(streams: streams)
        let transport = try transport([server.origin])
        let records = await RequestQueue(transport).records(
            of: (0..<300).map { request("\(server.origin)/size/\($0)", .head) })
        transport.shutdown()
        let lines = try server.stop()
        #expect(records.allSatisfy { Kind($0.result) == .success && $0.head?.length == 1 })
        #expect(Set(lines.map(\.path)).count == 300 && lines.count == 300)
        #expect(Set(lines.map(\.version)) == ["HTTP/2.0"])
        #expect(Set(lines.map(\.connection)).count <= 2)
    }

    /// One connection carries a hundred; what is more goes over a second one.
    @Test(arguments: [(98, 1), (99, 1), (100, 2)])
    func whatOneConnectionDoesNotCarryGoesOverASecondOne(others: Int, connections: Int) async throws {
        let (server, held) = (try TLSServer(), try ScriptedServer())
        defer { held.stop() }
        held.script("/", [.hang])
        let transport = try transport([server.origin, held.origin])
        let url = "\(server.origin)/size/0"
        #expect(Kind(await transport.records(of: [request(url, .head)])[0].result) == .success)
        for _ in 0..<others { _ = transport.start(request("\(held.origin)/", .head), sink: Recorder()) }
        #expect(Kind(await transport.records(of: [request(url, .head)])[0].result) == .success)
        transport.shutdown()
        #expect(Set(try server.stop().map(\.connection)).count == connections)
    }

    @Test func picturesKeepFewConnectionsOfTheirOwn() async throws {
        let server = try TLSServer()
        let transport = try transport([server.origin], connections: 3)
        let url = "\(server.origin)/picture"
        // Beside the connection of the metadata, which must not carry them.
        let head = await transport.records(of: [request(url, .head)])
        let records = await RequestQueue(transport).records(of: (0..<20).map { _ in request(url, .get, .bulk) })
        transport.shutdown()
        let lines = try server.stop()
        #expect(Kind(head[0].result) == .success)
        #expect(records.allSatisfy { Kind($0.result) == .success && $0.body.count == 300_000 })
        let gets = lines.filter { $0.method == "GET" }
        #expect(gets.count == 20)
        #expect(Set(gets.map(\.version)) == ["HTTP/1.1"])
        #expect((1...3).contains(Set(gets.map(\.connection)).count))
    }

    /// Libcurl 7.88.1 shifts bodies on HTTP/1.1 if HTTP/2 requests to the same host share their multi handle.
    @Test func bodiesAreRightWhileHEADsGoToTheSameHost() async throws {
        let server = try TLSServer()
        let transport = try transport([server.origin], connections: 6)
        let url = "\(server.origin)/slow/picture"
        for _ in 0..<4 {
            let bodies = (0..<6).map { _ in Recorder() }
            for body in bodies { _ = transport.start(request(url, .get, .bulk), sink: body) }
            await bodies[0].waitForBody(1)
            let heads = await transport.records(of: (0..<60).map { _ in request(url, .head) })
            #expect(heads.allSatisfy { Kind($0.result) == .success && $0.head?.length == 300_000 })
            for body in bodies {
                let record = await body.end()
                #expect(Kind(record.result) == .success)
                #expect(record.body == TLSServer.picture)
            }
        }
        // A handle that was on a shared connection takes no larger buffer; it must not be given to a body.
        #expect(await transport.records(of: [request(url, .get, .bulk)])[0].body == TLSServer.picture)
        transport.shutdown()
        _ = try server.stop()
    }

    /// And is told in a sentence of its own.
    @Test(arguments: [
        ("no authority", TestCertificates.Leaf.good, "not signed by an authority known here"),
        ("another authority", .good, "not signed by an authority known here"),
        ("another name", .elsewhere, "is for another host"), ("expired", .expired, "has expired"),
        ("not yet valid", .early, "is not valid yet"),
    ])
    func whatIsNotTrustedIsAskedNothing(_ trouble: String, _ leaf: TestCertificates.Leaf, _ words: String) async throws
    {
        let server = try TLSServer(leaf)
        let certificates = try #require(TestCertificates.shared)
        let authority: String? =
            switch trouble {
            case "no authority": nil
            case "another authority": certificates.stranger
            default: certificates.authority
            }
        let transport = try transport([server.origin], authority: authority)
        // Chance is asked once after each try.
        let tries = Atomic(0)
        let client = HTTPClient(
            transport: transport, policy: RetryPolicy(), time: .system, wallClock: { 0 },
            random: {
                tries.add(1, ordering: .relaxed)
                return 0
            })
        for transferClass in [TransferClass.metadata, .bulk] {
            do throws(Failure) {
                _ = try await client.send(request("\(server.origin)/size/1", .get, transferClass))
                Issue.record("answered")
            } catch {
                guard case .untrusted(let sentence) = error else {
                    Issue.record("\(error)")
                    continue
                }
                #expect(sentence.hasPrefix("localhost: ") && sentence.contains(words))
            }
        }
        transport.shutdown()
        #expect(tries.load(ordering: .relaxed) == 2)
        #expect(try server.stop().isEmpty)
    }

    @Test func theWrongProtocolOnAPortFails() async throws {
        let server = try TLSServer()
        let (secure, plain) = ("https://localhost:\(server.plainPort)", "http://localhost:\(server.port)")
        let transport = try transport([secure, plain])
        let records = await transport.records(of: [request("\(secure)/size/1"), request("\(plain)/size/1")])
        transport.shutdown()
        _ = try server.stop()
        #expect([.untrusted, .unreachable].contains(Kind(records[0].result)))
        // nginx says in plain words what is wrong.
        #expect(records[1].head?.status == 400)
    }

    @Test func aServerThatNeverShakesHandsIsGivenUp() async throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        let origin = server.origin.replacing("http:", with: "https:")
        let transport = try transport([origin])
        let record = await transport.records(of: [request("\(origin)/", deadline: .milliseconds(300))])[0]
        transport.shutdown()
        #expect(Kind(record.result) == .timedOut)
    }

    @Test func aFileOfCertificatesIsLookedAtAtTheStart() throws {
        let certificates = try #require(TestCertificates.shared)
        let nonsense = certificates.path("nonsense-\(UUID().uuidString)")
        try Data("-----BEGIN CERTIFICATE-----\nnot one\n-----END CERTIFICATE-----\n".utf8).write(
            to: URL(filePath: nonsense))
        for path in [nonsense, certificates.path("good.key"), "/no/such/file", "/tmp"] {
            #expect(throws: Failure.self) { try transport(["https://localhost"], authority: path) }
        }
        let bundle = certificates.path("bundle-\(UUID().uuidString)")
        let pem = try String(contentsOfFile: certificates.authority, encoding: .utf8)
        try Data("# ours\r\n\(pem.replacing("\n", with: "\r\n"))".utf8).write(to: URL(filePath: bundle))
        try transport(["https://localhost"], authority: bundle).shutdown()
    }
}
