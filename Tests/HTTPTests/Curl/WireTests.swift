import HTTP
import TestSupport
import Testing

@Suite(
    "CurlTransport against an origin that breaks HTTP/2", .enabled(if: WireOrigin.isPossible, "needs python3-h2"),
    .timeLimit(.minutes(1)))
struct WireTests {
    private let origin: WireOrigin
    private let transport: CurlTransport
    private static let length = 100_000
    private static let path = "/body/\(length)"
    private let body = WireOrigin.body(length)

    init() throws {
        origin = try WireOrigin()
        let configuration = CurlTransport.Configuration(
            limits: HostLimits(connections: 4), userAgent: "rankfs-test", proxy: nil, hosts: [],
            trustedOrigins: [origin.origin],
            connectTimeout: .seconds(2), stallTimeout: .seconds(4), certificates: TestCertificates.shared?.authority)
        transport = try CurlTransport(configuration)
    }

    private func request(
        _ path: String = path, _ method: HTTPRequest.Method = .get, _ transferClass: TransferClass = .metadata,
        deadline: Duration = .seconds(20), bodyLimit: Int64 = 1 << 20
    ) -> HTTPRequest {
        HTTPRequest(
            method: method, url: origin.origin + path, transferClass: transferClass,
            deadline: .now.advanced(by: deadline), bodyLimit: bodyLimit)
    }

    private func isRight(_ record: Recorder.Record) -> Bool {
        Kind(record.result) == .success && record.head?.status == 200 && record.body == body
    }

    /// What a whole body may come to: right, or one of these.
    private static let ends: [(kind: String, errors: Set<Kind>)] = [
        ("rst-before", []), ("rst-mid-body", [.broken]), ("short", [.broken]), ("short-close", [.broken]),
        ("long", [.broken]), ("stall", [.timedOut]), ("silent", [.timedOut]), ("goaway-unseen", []),
        ("goaway-drop", []), ("goaway-graceful", []), ("headers", [.invalidAnswer, .timedOut]),
        ("many-headers", [.invalidAnswer, .timedOut]), ("continuation-flood", [.unreachable, .broken, .invalidAnswer]),
        ("empty-data-flood", [.timedOut, .broken, .unreachable]), ("ping-flood", [.timedOut, .broken, .unreachable]),
        ("settings-flood", [.timedOut, .broken, .unreachable]), ("endless", [.tooLarge]), ("bad-frame", []),
    ]

    /// On a connection that has answered before, beside other requests.
    @Test(arguments: ends)
    func aBrokenStreamIsAnErrorOrIsSentAgain(_ kind: String, _ errors: Set<Kind>) async throws {
        defer { transport.shutdown() }
        #expect(isRight(await transport.records(of: [request()])[0]))
        // Enough to be too much.
        try origin.tell(["kind": kind, "match": Self.path, "count": 1, "bytes": 200_000, "lines": 1000])
        let record = await transport.records(of: [request()])[0]
        if Kind(record.result) == .success {
            #expect(isRight(record))
        } else {
            #expect(errors.contains(Kind(record.result)), "\(record)")
        }
        #expect(record.finishes == 1)
        #expect(record.body.count <= 1 << 20)
        try origin.tell("heal")
        #expect(isRight(await transport.records(of: [request()])[0]))
    }

    @Test(arguments: ["silent-new", "no-settings", "no-streams", "zero-window", "few-streams", "no-ping-ack"])
    func aBrokenConnectionCostsNoMoreThanItself(_ kind: String) async throws {
        defer { transport.shutdown() }
        try origin.tell(kind, count: 1)
        let requests = (0..<20).map { _ in request("/body/400", deadline: .seconds(6)) }
        for record in await transport.records(of: requests) {
            let isRight = Kind(record.result) == .success && record.body == WireOrigin.body(400)
            #expect(isRight || [.timedOut, .unreachable].contains(Kind(record.result)), "\(record)")
        }
        try origin.tell("heal")
        var later = await transport.records(of: (0..<20).map { _ in request("/body/400") })
        // A connection that was good for some is given up when it is good for nobody any more.
        if later.contains(where: { Kind($0.result) == .timedOut }) {
            later = await transport.records(of: (0..<20).map { _ in request("/body/400") })
        }
        #expect(later.allSatisfy { Kind($0.result) == .success && $0.body == WireOrigin.body(400) })
    }

    @Test func aGoAwayWithStreamsUnderWayIsNothingToThem() async throws {
        defer { transport.shutdown() }
        #expect(isRight(await transport.records(of: [request()])[0]))
        try origin.tell("silent", match: "?early", count: 10)
        try origin.tell(["kind": "goaway-unseen", "match": "?last", "last": 1, "count": 1])
        let requests = (0..<10).map { request("\(Self.path)?early\($0)") } + [request("\(Self.path)?last")]
        #expect(await transport.records(of: requests).allSatisfy(isRight))
    }

    /// The bound on a first byte is a third of the deadline here, and the deadline is far.
    @Test(arguments: [TransferClass.metadata, .bulk])
    func oldConnectionsThatFallSilentAreLeftAtOnce(_ transferClass: TransferClass) async throws {
        defer { transport.shutdown() }
        #expect(
            await transport.records(of: (0..<3).map { _ in request(Self.path, .get, transferClass) }).allSatisfy(
                isRight))
        let old = try origin.tell("silence-old").connections.count
        let late = (0..<3).map { _ in request(Self.path, .get, transferClass, deadline: .seconds(2)) }
        #expect(await transport.records(of: late).allSatisfy(isRight))
        // What was silent is not asked a second time.
        #expect(isRight(await transport.records(of: [request(Self.path, .get, transferClass)])[0]))
        let seen = try origin.seen()
        #expect(seen.requests.suffix(4).allSatisfy { $0.connection >= old })
        #expect(seen.requests.count == 3 + 4, "those on the old connections were never heard")
    }

    /// What has begun is given up by its pace, and its owner goes on by range, on another connection.
    @Test func aBodyThatFallsSilentIsGivenUpWithItsConnections() async throws {
        defer { transport.shutdown() }
        #expect(
            isRight(await transport.records(of: [request(Self.path, .get, .bulk), request(Self.path, .get, .bulk)])[0]))
        // So slow that it is not done when the origin is told to fall silent.
        try origin.tell(["kind": "slow", "rate": 4_000, "count": 1])
        let recorder = Recorder()
        _ = transport.start(request(Self.path, .get, .bulk), sink: recorder)
        await recorder.waitForBody(1)
        let old = try origin.tell("silence-old").connections.count
        #expect(Kind(await recorder.end().result) == .timedOut)
        var rest = request(Self.path, .get, .bulk, deadline: .seconds(2))
        let there = recorder.record.body.count
        rest.range = (Int64(there), nil)
        let record = await transport.records(of: [rest])[0]
        #expect(recorder.record.body + record.body == body)
        #expect(try origin.seen().requests.last.map { $0.connection >= old } == true)
    }
}
