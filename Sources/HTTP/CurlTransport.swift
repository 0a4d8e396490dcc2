/// The transport over libcurl: one thread owns the multi handle.
package final class CurlTransport: Transport {
    /// Limits and rules of a transport.
    package struct Configuration: Sendable {
        /// Bulk connections to one host at most.
        package var connections: Int
        /// The value of `User-Agent:`.
        package var userAgent: String
        /// A proxy URL, or nil for none; the environment is not asked.
        package var proxy: String?
        /// Exact hosts that may be asked and redirected to, lower case; `https` only.
        package var hosts: Set<String>
        /// Origins (`http://127.0.0.1:8080`) that the user named: any scheme, any address.
        package var trustedOrigins: Set<String>
        /// How long connecting may take.
        package var connectTimeout: Duration
        /// A transfer slower than 1 KiB/s for this long ends with `.timedOut`.
        package var stallTimeout: Duration

        package init(
            connections: Int, userAgent: String, proxy: String?, hosts: Set<String>, trustedOrigins: Set<String>,
            connectTimeout: Duration, stallTimeout: Duration
        ) {
            self.connections = connections
            self.userAgent = userAgent
            self.proxy = proxy
            self.hosts = hosts
            self.trustedOrigins = trustedOrigins
            self.connectTimeout = connectTimeout
            self.stallTimeout = stallTimeout
        }
    }

    package init(_ configuration: Configuration) throws(HTTPError) {
        fatalError("written by the owner of HTTP: \(configuration)")
    }

    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        fatalError("written by the owner of HTTP: \(request.url) \(sink)")
    }

    /// Transfers under way and waiting, for status displays.
    package var transferCounts: (active: Int, queued: Int) {
        fatalError("written by the owner of HTTP")
    }

    /// Cancels everything, wakes the loop and joins its thread.
    package func shutdown() {
        fatalError("written by the owner of HTTP")
    }
}
