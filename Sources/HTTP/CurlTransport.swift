import CCurl
import Glibc
import Synchronization

/// The transport over libcurl: one thread owns the multi handle.
///
/// ## Concurrency
///
/// Any thread may call. The thread runs from `init` to `shutdown`; it sleeps without waking while nothing is under way.
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
    }

    /// libcurl's global set-up, done once in the process (curl_global_init(3)).
    private static let isCurlReady: Bool = rankfs_curl_global_init() == CURLE_OK

    private let mailbox: CurlMailbox
    /// Nil once joined.
    private let thread: Mutex<pthread_t?>

    /// Starts the transport's thread.
    ///
    /// - Throws: `.refused` if an origin does not parse, or if libcurl or the thread cannot be started; `.untrusted` if the
    ///   file of certificates cannot be read or holds none.
    package init(_ configuration: Configuration) throws(HTTPError) {
        let book = try AddressBook(hosts: configuration.hosts, trustedOrigins: configuration.trustedOrigins)
        if let path = configuration.certificates { try CertificateFile.check(path) }
        guard Self.isCurlReady, let multi = unsafe curl_multi_init() else {
            throw .refused("libcurl cannot be started; is memory or the number of open files exhausted?")
        }
        let mailbox = unsafe CurlMailbox(multi: multi)
        let loop = unsafe CurlLoop(multi: multi, mailbox: mailbox, book: book, configuration: configuration)
        guard let thread = CurlThread.start(loop) else {
            _ = mailbox.close()
            _ = unsafe curl_multi_cleanup(multi)
            throw .refused("No thread can be started for the network; is the limit of processes reached?")
        }
        self.mailbox = mailbox
        self.thread = Mutex(thread)
    }

    deinit {
        shutdown()
    }

    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        let id = mailbox.makeID()
        if !mailbox.post(.start(id, request, sink)) { sink.finish(.failure(.cancelled)) }
        return CurlTransfer(id: id, mailbox: mailbox)
    }

    /// Transfers under way and waiting, for status displays.
    package var transferCounts: (active: Int, queued: Int) { mailbox.counts }

    /// What was sent for each purpose since the start, and what came of it.
    package var requestCounts: [(purpose: RequestPurpose, counts: RequestCounts)] { mailbox.ledger.all }

    /// Calls back from the loop's thread, at once unless that hangs, whatever the network does.
    ///
    /// After the shutdown nothing calls back.
    package func echo(_ answer: @escaping @Sendable () -> Void) {
        _ = mailbox.post(.echo(answer))
    }

    /// Cancels everything, wakes the loop and joins its thread.
    ///
    /// Blocks for as long as sinks take to hear of the end. Requests started later end with `.cancelled` at once. From
    /// within a sink the thread is not waited for, since it is the caller.
    package func shutdown() {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        _ = mailbox.post(.shutdown)
        if pthread_equal(running, pthread_self()) != 0 {
            pthread_detach(running)
        } else {
            pthread_join(running, nil)
        }
    }
}

/// A transfer as its owner sees it: a number that the loop knows.
private final class CurlTransfer: Transfer {
    let id: Int
    let mailbox: CurlMailbox

    init(id: Int, mailbox: CurlMailbox) {
        self.id = id
        self.mailbox = mailbox
    }

    func setPriority(_ priority: TransferPriority) {
        _ = mailbox.post(.setPriority(id, priority))
    }

    func cancel() {
        _ = mailbox.post(.cancel(id))
    }
}
