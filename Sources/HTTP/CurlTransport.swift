import CCurl
import Glibc
import System
import Synchronization

/// The transport over libcurl, which begins each transfer at once: two threads, each with multi handles of its own.
///
/// One thread carries bodies on connections with HTTP/1.1 only, the other small answers on connections that may use HTTP/2. They
/// share no connection: libcurl 7.88.1 puts a request that prefers HTTP/2 on a connection where a request restricted to HTTP/1.1 is
/// under way, and then each request reads bytes of the other.
///
/// ## Concurrency
///
/// Any thread may call. The threads run from `init` to `shutdown`; they sleep without waking while no transfer is under way.
package final class CurlTransport: Transport {
    /// Limits and rules of a transport.
    package struct Configuration: Sendable {
        /// The limits of one host.
        package var limits: HostLimits
        /// The value of `User-Agent:`.
        package var userAgent: String
        /// A proxy URL, or nil for none; the environment is not read.
        ///
        /// A proxy connects in our place, so that the addresses of names are its own concern.
        package var proxy: String?
        /// The exact hosts that requests and redirects may go to, in lower case; `https` only.
        package var hosts: Set<String>
        /// The origins (`http://127.0.0.1:8080`) that the user named: any scheme, any address.
        package var trustedOrigins: Set<String>
        /// The time limit of connecting.
        package var connectTimeout: Duration
        /// The time after which a transfer slower than 1 KiB/s ends with `.timedOut`.
        package var stallTimeout: Duration
        /// The path of a PEM file with certificates that sign those of `trustedOrigins`, besides the system's; nil for none.
        package var certificates: String?

        package init(
            limits: HostLimits, userAgent: String, proxy: String?, hosts: Set<String>, trustedOrigins: Set<String>,
            connectTimeout: Duration, stallTimeout: Duration, certificates: String? = nil
        ) {
            self.limits = limits
            self.userAgent = userAgent
            self.proxy = proxy
            self.hosts = hosts
            self.trustedOrigins = trustedOrigins
            self.connectTimeout = connectTimeout
            self.stallTimeout = stallTimeout
            self.certificates = certificates
        }
    }

    package let limits: HostLimits

    /// The worker for bodies: HTTP/1.1 only, one connection each.
    private let bulk: CurlWorker
    /// The worker for small answers: HTTP/2 where it is offered.
    private let metadata: CurlWorker
    private let means: CurlLoop.Means

    /// Starts the transport's threads.
    ///
    /// - Parameters:
    ///   - configuration: The limits and rules.
    ///   - observer: The observer of every request.
    /// - Throws: `.refused` if an origin does not parse, or if libcurl or a thread cannot be started; `.untrusted` if the file of
    ///   certificates cannot be read or holds none.
    package convenience init(
        _ configuration: Configuration, observer: (any TransferObserver)? = nil
    ) throws(HTTPError) {
        try self.init(configuration, resolver: NameResolver(), observer: observer)
    }

    /// Makes a transport with a resolver of its own, for tests.
    init(
        _ configuration: Configuration, resolver: NameResolver, observer: (any TransferObserver)? = nil
    ) throws(HTTPError) {
        let book = try AddressBook(hosts: configuration.hosts, trustedOrigins: configuration.trustedOrigins)
        if let path = configuration.certificates { try CertificateFile.check(path) }
        limits = configuration.limits
        means = CurlLoop.Means(
            book: book,
            options: CurlOptions(
                userAgent: configuration.userAgent, proxy: configuration.proxy ?? "",
                connectTimeout: configuration.connectTimeout, certificates: configuration.certificates),
            stallTimeout: configuration.stallTimeout, resolver: resolver, observer: observer)
        bulk = try CurlWorker(.bulk, connections: limits.bodies.all, means)
        do throws(HTTPError) {
            metadata = try CurlWorker(.metadata, connections: limits.connections, means)
        } catch {
            bulk.shutdown()
            throw error
        }
    }

    deinit {
        shutdown()
    }

    package func begin(_ transfer: Transfer) {
        switch transfer.request.transferClass {
        case .bulk: bulk.begin(transfer)
        case .metadata: metadata.begin(transfer)
        }
    }

    /// The requests sent for each purpose since the start, and their outcomes.
    package var requestCounts: [(purpose: RequestPurpose, counts: RequestCounts)] { means.ledger.all }

    /// Calls back from a loop's thread after a turn of every loop: at once unless a loop hangs, whatever the state of the network.
    ///
    /// After the shutdown no call comes.
    package func echo(_ answer: @escaping @Sendable () -> Void) {
        let metadata = metadata
        bulk.echo { metadata.echo(answer) }
    }

    /// Cancels everything, wakes the loops and joins their threads.
    ///
    /// Blocks until all sinks have received the end. Requests started later end with `.cancelled` at once. Within a sink no thread
    /// is joined, since the caller runs on one of them.
    package func shutdown() {
        let isFromWithin = bulk.isCurrentThread || metadata.isCurrentThread
        bulk.shutdown(waits: !isFromWithin)
        metadata.shutdown(waits: !isFromWithin)
    }
}

/// A loop with its thread and mailbox, for the transfers of one class.
///
/// ## Concurrency
///
/// Any thread may call. The thread runs from `init` to `shutdown`.
final class CurlWorker: Sendable {
    /// libcurl's global set-up, done once in the process (curl_global_init(3)).
    private static let isCurlReady: Bool = rankfs_curl_global_init() == CURLE_OK

    private let mailbox: CurlMailbox
    /// Nil after the thread was joined.
    private let thread: Mutex<pthread_t?>

    /// Starts the thread.
    ///
    /// - Throws: `.refused` if libcurl or the thread cannot be started.
    init(_ transferClass: TransferClass, connections: Int, _ means: CurlLoop.Means) throws(HTTPError) {
        guard Self.isCurlReady, let loop = CurlLoop(transferClass, connections: connections, means) else {
            throw .refused("libcurl cannot be started; is memory or the number of open files exhausted?")
        }
        let mailbox = loop.mailbox
        guard let thread = OwnThread.startJoinable({ loop.run() }) else {
            throw .refused("No thread can be started for the network; is the limit of processes reached?")
        }
        self.mailbox = mailbox
        self.thread = Mutex(thread)
    }

    /// Hands a transfer to the loop.
    func begin(_ transfer: Transfer) {
        guard mailbox.post({ $0.begin(transfer) }) else { return transfer.end(.failure(.cancelled)) }
        transfer.carry { [mailbox] transfer in
            if transfer.isCancelled { _ = mailbox.post { $0.cancel(transfer) } }
        }
    }

    /// Calls back from the loop's thread; never after its end.
    func echo(_ answer: @escaping @Sendable () -> Void) {
        _ = mailbox.post { _ in answer() }
    }

    /// Whether the caller is the loop's thread, within a sink.
    var isCurrentThread: Bool {
        thread.withLock { thread in thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Cancels everything and wakes the loop; a second call has no effect.
    ///
    /// - Parameter waits: Whether to return only after the thread has ended; false within a sink.
    func shutdown(waits: Bool = true) {
        let running = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let running else { return }
        _ = mailbox.post { $0.end() }
        if waits {
            pthread_join(running, nil)
        } else {
            pthread_detach(running)
        }
    }
}

// MARK: - Certificates

/// Checks a file of certificates before libcurl receives it, which would report an error only at the first request.
enum CertificateFile {
    /// The most bytes read: several times the size of the system's own bundle.
    static let bytesLimit = 4 << 20

    /// Checks that the file can be read and holds a certificate.
    ///
    /// - Throws: `.untrusted` with a sentence that does not name the file, because its name comes from outside.
    static func check(_ path: String) throws(HTTPError) {
        let descriptor = Descriptors.own.open(path, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw .untrusted("The file of certificates cannot be read: \(unsafe String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .untrusted("The file of certificates is not a file.")
        }
        guard status.st_size <= Self.bytesLimit else {
            throw .untrusted("The file of certificates is larger than any; it must be PEM, at most 4 MiB.")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard holdsCertificate(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)) else {
            throw .untrusted("The file of certificates holds none; it must be PEM, with BEGIN CERTIFICATE lines.")
        }
    }

    /// Whether PEM text (RFC 7468) has at least one certificate that is not obviously cut off.
    ///
    /// A certificate is an ASN.1 sequence of more than 127 bytes, so its base64 begins with `MI`.
    static func holdsCertificate(_ text: String) -> Bool {
        let lines = text.split(whereSeparator: \.isNewline)
        return lines.indices.contains { index in
            guard lines[index].hasPrefix("-----BEGIN CERTIFICATE-----"), index + 1 < lines.count else { return false }
            let rest = lines[(index + 1)...]
            return rest.first?.hasPrefix("MI") == true && rest.contains { $0.hasPrefix("-----END CERTIFICATE-----") }
        }
    }
}

/// The certificate of a host.
package struct ServerCertificate: Hashable, Sendable {
    /// The issuer as the certificate names it: `C = US, O = Let's Encrypt, CN = R11`.
    package var issuer: String
    /// The end of its validity as OpenSSL writes it: `Jan  3 12:00:00 2027 GMT`.
    package var end: String

    /// Makes a certificate, for tests.
    package init(issuer: String, end: String) {
        self.issuer = issuer
        self.end = end
    }
}

/// Fetches the certificate of a host with a handshake alone; no request is sent.
package enum CertificateProbe {
    /// Connects, secures the connection by the same rules as every transfer, and disconnects.
    ///
    /// Blocks up to the time limit; not for tasks. A transport, which prepares libcurl, must have been made before.
    ///
    /// - Parameters:
    ///   - origin: `https://` and the host.
    ///   - certificates: A file of certificates that may sign it besides the system's.
    ///   - proxy: The proxy; empty for none.
    ///   - patience: The time limit of the whole call.
    /// - Returns: The server's own certificate; nil if libcurl does not report it.
    /// - Throws: The reason why the host is not to be trusted or cannot be reached.
    package static func ask(
        _ origin: String, certificates: String?, proxy: String, patience: Duration
    ) throws(HTTPError) -> ServerCertificate? {
        guard let easy = CurlEasy() else { throw .unreachable("libcurl is out of memory.") }
        easy.set(CURLOPT_URL, origin)
        easy.set(CURLOPT_PROTOCOLS_STR, "https")
        easy.set(CURLOPT_CONNECT_ONLY, 1)
        easy.set(CURLOPT_CERTINFO, 1)
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_TIMEOUT_MS, max(1, Int(patience / .milliseconds(1))))
        easy.set(CURLOPT_PROXY, proxy)
        easy.set(CURLOPT_NOPROXY, "")
        if let certificates { easy.set(CURLOPT_CAINFO, certificates) }
        guard easy.isSafe else { throw .refused("libcurl does not take what the request needs.") }
        let code = unsafe curl_easy_perform(easy.pointer)
        guard code == CURLE_OK else {
            throw CurlFailure.error(CurlFailure.Evidence(code, host: "the host", headSeen: false, from: easy))
        }
        return certificate(of: easy)
    }

    /// The first certificate of the chain, which is the host's (CURLINFO_CERTINFO(3)).
    private static func certificate(of easy: CurlEasy) -> ServerCertificate? {
        guard let chain = unsafe rankfs_curl_easy_getinfo_certificates(easy.pointer),
            unsafe chain.pointee.num_of_certs > 0
        else { return nil }
        var found: [String: String] = [:]
        var line = unsafe chain.pointee.certinfo?[0]
        while let entry = unsafe line {
            let text = unsafe entry.pointee.data.map { unsafe String(cString: $0) } ?? ""
            let name = text.prefix { $0 != ":" }
            found[String(name)] = String(text.dropFirst(name.count + 1))
            unsafe line = entry.pointee.next
        }
        guard let issuer = found["Issuer"], let end = found["Expire date"] else { return nil }
        return ServerCertificate(issuer: issuer, end: end)
    }
}
