import HTTP

/// A server and a transport that trusts it.
final class Bench: Sendable {
    let server: ScriptedServer
    let transport: CurlTransport
    /// Slots alone, before the transport.
    let queue: RequestQueue

    init(
        connections: Int = 4, stall: Duration = .seconds(20), hosts: Set<String> = [], trust: Bool = true,
        observer: (any TransferObserver)? = nil
    ) throws {
        server = try ScriptedServer()
        transport = try CurlTransport(
            CurlTransport.Configuration(
                limits: HostLimits(connections: connections), userAgent: "rankfs-test", proxy: nil, hosts: hosts,
                trustedOrigins: trust ? [server.origin] : [], connectTimeout: .seconds(5), stallTimeout: stall),
            observer: observer)
        queue = RequestQueue(transport)
    }

    deinit {
        transport.shutdown()
        server.stop()
    }

    func request(
        _ path: String, _ method: HTTPRequest.Method = .get, headers: [String] = [],
        range: (first: Int64, last: Int64?)? = nil, priority: TransferPriority = .reader,
        transferClass: TransferClass = .bulk, deadline: Duration = .seconds(30), bodyLimit: Int64 = 1 << 20,
        acceptsCompression: Bool = false
    ) -> HTTPRequest {
        HTTPRequest(
            method: method, url: server.origin + path, headers: headers, range: range, priority: priority,
            transferClass: transferClass, deadline: .now.advanced(by: deadline), bodyLimit: bodyLimit,
            acceptsCompression: acceptsCompression)
    }

    func fetch(_ request: HTTPRequest) async -> Recorder.Record {
        let recorder = Recorder()
        _ = queue.start(request, sink: recorder)
        return await recorder.end()
    }
}
