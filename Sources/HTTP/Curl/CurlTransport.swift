/// The transport over libcurl: two threads, each with multi handles of its own.
///
/// One carries bodies on connections that speak HTTP/1.1 only, the other small answers on connections that may speak HTTP/2.
/// They share no connection: libcurl 7.88.1 puts a request that wishes for HTTP/2 on a connection on which one kept to HTTP/1.1
/// is under way, and then each reads what belongs to the other.
///
/// ## Concurrency
///
/// Any thread may call. The threads run from `init` to `shutdown`; they sleep without waking while nothing is under way.
package final class CurlTransport: Transport {
    /// Limits and rules of a transport.
    package struct Configuration: Sendable {
        /// Bulk connections to one host at most.
        package var connections: Int
        /// The value of `User-Agent:`.
        package var userAgent: String
        /// A proxy URL, or nil for none; the environment is not asked.
        ///
        /// A proxy connects in our place, so that the addresses behind names are its own concern.
        package var proxy: String?
        /// Exact hosts that may be asked and redirected to, lower case; `https` only.
        package var hosts: Set<String>
        /// Origins (`http://127.0.0.1:8080`) that the user named: any scheme, any address.
        package var trustedOrigins: Set<String>
        /// How long connecting may take.
        package var connectTimeout: Duration
        /// A transfer slower than 1 KiB/s for this long ends with `.timedOut`.
        package var stallTimeout: Duration
        /// Path of a PEM file with certificates that sign those of `trustedOrigins`, besides the system's; nil for none.
        package var certificates: String?

        package init(
            connections: Int, userAgent: String, proxy: String?, hosts: Set<String>, trustedOrigins: Set<String>,
            connectTimeout: Duration, stallTimeout: Duration, certificates: String? = nil
        ) {
            self.connections = connections
            self.userAgent = userAgent
            self.proxy = proxy
            self.hosts = hosts
            self.trustedOrigins = trustedOrigins
            self.connectTimeout = connectTimeout
            self.stallTimeout = stallTimeout
            self.certificates = certificates
        }

        /// What may be under way at once.
        var slots: TransferSlots { TransferSlots(all: min(connections, Self.mostConnections)) }

        /// Bulk connections to one host: more than any server allows one client.
        private static let mostConnections = 256
    }

    package let slots: TransferSlots

    /// Bodies: HTTP/1.1 only, a connection each.
    private let bulk: CurlWorker
    /// Small answers: HTTP/2 where it is offered.
    private let metadata: CurlWorker
    private let ledger = RequestLedger()

    /// Starts the transport's threads.
    ///
    /// - Throws: `.refused` if an origin does not parse, or if libcurl or a thread cannot be started; `.untrusted` if the
    ///   file of certificates cannot be read or holds none.
    package convenience init(_ configuration: Configuration) throws(HTTPError) {
        try self.init(configuration, resolver: NameResolver())
    }

    /// A transport with a resolver of its own, for tests.
    init(_ configuration: Configuration, resolver: NameResolver) throws(HTTPError) {
        let book = try AddressBook(hosts: configuration.hosts, trustedOrigins: configuration.trustedOrigins)
        if let path = configuration.certificates { try CertificateFile.check(path) }
        slots = configuration.slots
        let (ledger, doubt) = (ledger, ConnectionDoubt())
        func worker(_ transferClass: TransferClass) throws(HTTPError) -> CurlWorker {
            try CurlWorker(
                transferClass, book: book, configuration: configuration, ledger: ledger, resolver: resolver,
                doubt: doubt)
        }
        bulk = try worker(.bulk)
        do throws(HTTPError) {
            metadata = try worker(.metadata)
        } catch {
            bulk.shutdown()
            throw error
        }
    }

    deinit {
        shutdown()
    }

    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        worker(request.transferClass).start(request, sink: sink)
    }

    /// Transfers under way and waiting, for status displays.
    package var transferCounts: (active: Int, queued: Int) {
        let (bulk, metadata) = (bulk.counts, metadata.counts)
        return (bulk.active + metadata.active, bulk.queued + metadata.queued)
    }

    /// What was sent for each purpose since the start, and what came of it.
    package var requestCounts: [(purpose: RequestPurpose, counts: RequestCounts)] { ledger.all }

    /// Calls back from a loop's thread once all loops go round, at once unless one hangs, whatever the network does.
    ///
    /// After the shutdown nothing calls back.
    package func echo(_ answer: @escaping @Sendable () -> Void) {
        let metadata = metadata
        bulk.echo { metadata.echo(answer) }
    }

    /// Cancels everything, wakes the loops and joins their threads.
    ///
    /// Blocks for as long as sinks take to hear of the end. Requests started later end with `.cancelled` at once. From
    /// within a sink no thread is waited for, since the caller is one of them.
    package func shutdown() {
        let isFromWithin = bulk.isCurrentThread || metadata.isCurrentThread
        bulk.shutdown(waits: !isFromWithin)
        metadata.shutdown(waits: !isFromWithin)
    }

    private func worker(_ transferClass: TransferClass) -> CurlWorker {
        switch transferClass {
        case .bulk: bulk
        case .metadata: metadata
        }
    }
}
