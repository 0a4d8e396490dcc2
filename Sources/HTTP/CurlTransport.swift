import CCurl
import Glibc
import Posix
import Synchronization

/// The transport over libcurl, which begins each transfer at once: two threads, each with multi handles of its own.
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
        /// Connections to one host.
        package var limits: HostLimits
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

    /// Bodies: HTTP/1.1 only, a connection each.
    private let bulk: CurlWorker
    /// Small answers: HTTP/2 where it is offered.
    private let metadata: CurlWorker
    private let means: CurlLoop.Means

    /// Starts the transport's threads.
    ///
    /// - Parameters:
    ///   - configuration: Limits and rules.
    ///   - observer: Told of every request.
    /// - Throws: `.refused` if an origin does not parse, or if libcurl or a thread cannot be started; `.untrusted` if the
    ///   file of certificates cannot be read or holds none.
    package convenience init(
        _ configuration: Configuration, observer: (any TransferObserver)? = nil
    ) throws(HTTPError) {
        try self.init(configuration, resolver: NameResolver(), observer: observer)
    }

    /// A transport with a resolver of its own, for tests.
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

    /// What was sent for each purpose since the start, and what came of it.
    package var requestCounts: [(purpose: RequestPurpose, counts: RequestCounts)] { means.ledger.all }

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
}

/// A loop, its thread and the way in: what carries the transfers of one class.
///
/// ## Concurrency
///
/// Any thread may call. The thread runs from `init` to `shutdown`.
final class CurlWorker: Sendable {
    /// libcurl's global set-up, done once in the process (curl_global_init(3)).
    private static let isCurlReady: Bool = rankfs_curl_global_init() == CURLE_OK

    private let mailbox: CurlMailbox
    /// Nil once joined.
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

    /// Cancels everything and wakes the loop; a second time is nothing.
    ///
    /// - Parameter waits: Whether to return only once the thread has ended; not from within a sink.
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

/// Looks into a file of certificates before libcurl is given it, which would complain only at the first request.
enum CertificateFile {
    /// Bytes looked at: several times the system's own bundle.
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

/// The certificate that a host shows.
package struct ServerCertificate: Hashable, Sendable {
    /// Who signed it, as the certificate names them: `C = US, O = Let's Encrypt, CN = R11`.
    package var issuer: String
    /// When it ends, as OpenSSL writes it: `Jan  3 12:00:00 2027 GMT`.
    package var end: String

    /// Makes one, for tests.
    package init(issuer: String, end: String) {
        self.issuer = issuer
        self.end = end
    }
}

/// Asks a host for its certificate by a handshake alone; no request is sent.
package enum CertificateProbe {
    /// Connects, secures the connection by the same rules as every transfer's, and hangs up.
    ///
    /// Blocks for as long as `patience`; not for tasks. Not before a transport was made, which prepares libcurl.
    ///
    /// - Parameters:
    ///   - origin: `https://` and the host.
    ///   - certificates: A file of certificates that may sign it besides the system's.
    ///   - proxy: Empty for none.
    ///   - patience: For all of it.
    /// - Returns: The server's own certificate; nil if libcurl does not tell it.
    /// - Throws: Why the host is not to be trusted or cannot be reached.
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
