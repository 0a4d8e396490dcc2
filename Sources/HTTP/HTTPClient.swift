/// Whole answers with retries, for API requests, HEADs and probes.
package struct HTTPClient: Sendable {
    package let transport: any Transport

    package init(transport: any Transport) {
        self.transport = transport
    }

    /// Sends a request and collects the answer, with retries (jittered, inside the deadline) for broken connections and 500, 502, 503, 504.
    ///
    /// Other statuses are returned, not thrown. Cancelling the task cancels the transfer.
    package func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
        fatalError("written by the owner of HTTP: \(request.url)")
    }
}

/// A whole answer.
package struct HTTPResponse: Sendable {
    package var head: HTTPHead
    package var body: [UInt8]

    package init(head: HTTPHead, body: [UInt8]) {
        self.head = head
        self.body = body
    }
}
