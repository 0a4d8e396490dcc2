import Rankings
import CCurl
import Glibc
import Synchronization
import System

/// One transfer from its beginning to its end, over all its redirects.
///
/// ## Concurrency
///
/// Belongs to the loop's thread, on which libcurl's callbacks run too. Not sendable on purpose.
final class CurlExchange {
    /// The most bytes of a redirect's own body that are read to keep the connection.
    private static let redirectBodyLimit: Int64 = 64 * 1024
    /// The longest wait for the first byte on a reused connection; then the request is sent again on a new one.
    ///
    /// It is longer than a service in trouble takes for an answer, since each premature retry costs the service a request; and
    /// short enough that a new connection and its answer fit into the 12 s after which a person gives up.
    private static let patience = Duration.seconds(4)

    let transfer: Transfer
    var target: AddressBook.Target
    /// The header lines that may still be sent; fewer after a redirect to another host.
    var headers: [String]
    var hops = 0

    /// The handle; set while libcurl works on the exchange.
    var easy: CurlEasy?
    /// The pool of its connections; set while libcurl works on the exchange.
    var pool: CurlPool?
    /// The name that the transfer waits for.
    var awaitedName: String?
    /// Whether the request was sent again on a new connection, which happens once.
    var hasGoneAgain = false
    var meter: PaceMeter
    private var begun = UptimeClock.now
    /// The time of the last received byte of this exchange.
    private var heard: ContinuousClock.Instant?
    private var check: AnswerCheck
    private var checksAddress = true
    private var isProxied = false
    /// Whether the text of an error was cut off; the received part then counts as the whole.
    private var isCutShort = false
    private var redirectBody: Int64 = 0
    /// The bytes of the request's content that libcurl has taken.
    var sent: Int64 = 0

    /// The error with which this side ended the transfer.
    private(set) var failure: Failure?
    /// The target of a redirect.
    private(set) var location: String?
    /// Whether an address was refused; this is the reason if no other address could be reached.
    private var addressRefused = false
    /// The reason why no socket was opened, if there are too many open files.
    var lackOfDescriptors: String?
    /// Whether the sink has seen the head, after which the request cannot be sent again unseen.
    private(set) var headDelivered = false
    /// Whether libcurl ever worked on the transfer: a transfer without an address was never sent.
    private(set) var wasSent = false
    private let means: CurlMeans
    private let taken = UptimeClock.now
    /// The status and the body bytes that the sink has received.
    private var status: Int?
    private var bodyBytes: Int64 = 0

    init(_ transfer: Transfer, target: AddressBook.Target, _ means: CurlMeans) {
        self.transfer = transfer
        self.target = target
        meter = PaceMeter(window: .zero, now: begun)
        self.means = means
        headers = transfer.request.headers
        check = AnswerCheck(transfer.request, host: target.host)
    }

    var request: HTTPRequest { transfer.request }

    /// Prepares the next exchange, the first or one after a redirect.
    ///
    /// - Parameters:
    ///   - easy: A fresh easy handle.
    ///   - pool: The pool of its connections.
    ///   - meter: The meter of its pace, which starts now.
    ///   - proxied: Whether a proxy connects in our place, so that only the proxy's address is visible here.
    ///   - now: The present instant.
    func beginExchange(easy: CurlEasy, pool: CurlPool, meter: PaceMeter, proxied: Bool, now: ContinuousClock.Instant) {
        self.easy = easy
        self.pool = pool
        self.meter = meter
        begun = now
        heard = nil
        wasSent = true
        check = AnswerCheck(request, host: target.host)
        checksAddress = !target.isTrusted && !proxied
        isProxied = proxied
        isCutShort = false
        redirectBody = 0
        sent = 0
        failure = nil
        location = nil
        addressRefused = false
        lackOfDescriptors = nil
        transfer.begun()
    }

    /// Takes one header line; false ends the exchange.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        listen(line.count)
        if unsafe line.starts(with: "HTTP/".utf8) {
            pool?.answered(target.origin, isHTTP2: unsafe line.starts(with: "HTTP/2".utf8))
        }
        do throws(Failure) {
            switch unsafe try check.line(line) {
            case .none: break
            case .redirect(let location):
                means.count(request.purpose) { $0.redirected += 1 }
                self.location = location
            case .head(let head):
                headDelivered = true
                status = head.status
                means.count(request.purpose) { $0.answered(head.status) }
                means.observer?.answered(request)
                var head = head
                if !isProxied { head.family = easy?.family }
                guard transfer.head(head) else { throw .cancelled }
            }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Takes some bytes of the body; false ends the exchange.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        listen(bytes.count)
        if location != nil {
            redirectBody += Int64(bytes.count)
            return redirectBody <= Self.redirectBodyLimit
        }
        do throws(Failure) {
            guard check.headSeen else { throw .invalidAnswer("\(target.host): a body came without headers.") }
            guard try check.body(bytes.count) else {
                isCutShort = true
                return false
            }
            bodyBytes += Int64(bytes.count)
            means.count(request.purpose) { $0.receivedBytes += Int64(bytes.count) }
            guard unsafe transfer.body(bytes) else { throw .cancelled }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Copies the next bytes to send and returns their count: 0 at the end, nil if they cannot be read.
    func send(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let content = request.content, sent < content.length else { return 0 }
        let room = unsafe UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(min(Int64(buffer.count), content.length - sent))))
        // Fewer bytes than announced are an error.
        guard let count = unsafe content.read(sent, room), count > 0 else {
            failure = .unsendable("What was to be sent can no longer be read.")
            return nil
        }
        sent += Int64(count)
        meter.received(count)
        return count
    }

    private func listen(_ count: Int) {
        meter.received(count)
        let now = UptimeClock.now
        heard = now
        pool?.heard(target.origin, now: now)
    }

    // MARK: - Second try

    /// Whether the request may be sent again unseen: all requests are safe to repeat (RFC 9110, 9.2.1).
    private var mayGoAgain: Bool {
        !hasGoneAgain && !headDelivered && failure == nil && location == nil && easy != nil
    }

    /// Whether the exchange is, or was, on a reused connection or shares it with others.
    private var isOnSharedConnection: Bool {
        guard let easy, let pool else { return false }
        return pool.multiplexes(target.origin) == true || easy.number(CURLINFO_NUM_CONNECTS) == 0
    }

    /// The time at which an old connection has been silent for too long, so that a new one is worth a try; nil for a new connection.
    ///
    /// What is sent may take long to store, and is stored once: the second request of a write that must be the first one would be
    /// declined, and the answer to the first is lost. Such a request has its deadline alone.
    var secondTry: ContinuousClock.Instant? {
        // A connection that has never brought a byte is new.
        guard request.content == nil, mayGoAgain, isOnSharedConnection, let pool,
            let lastHeard = pool.lastHeard(target.origin)
        else { return nil }
        // A multiplexed connection is alive as long as any of its requests is answered.
        let last = pool.multiplexes(target.origin) == true ? lastHeard : heard
        return max(begun, last ?? begun) + Self.patience(within: request.deadline - begun)
    }

    /// The tolerated silence of a request with this much time, so that a second try has twice as much.
    static func patience(within time: Duration) -> Duration { min(patience, time / 3) }

    /// Whether a reused or shared connection ended before the answer: closed meanwhile, or with a GOAWAY.
    func brokeUnseen(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
            mayGoAgain && isOnSharedConnection
        default: false
        }
    }

    // MARK: - The end

    /// Reports the end to the observer and the sink, as the last call for this transfer.
    func finish(_ result: Result<Void, Failure>) {
        if let observer = means.observer {
            let failure: Failure? = if case .failure(let error) = result { error } else { nil }
            observer.ended(
                request,
                TransferOutcome(
                    status: status, bytes: bodyBytes, duration: UptimeClock.now - taken, failure: failure))
        }
        transfer.end(result)
    }

    /// Whether this address may be connected to.
    func mayConnect(to address: UnsafePointer<sockaddr>) -> Bool {
        guard checksAddress, unsafe !AddressBook.isPublic(address) else { return true }
        addressRefused = true
        return false
    }

    /// The outcome of an exchange that libcurl has ended, without a redirect.
    func outcome(_ code: CURLcode) -> Result<Void, Failure> {
        if let failure { return .failure(failure) }
        if isCutShort { return .success(()) }
        guard code == CURLE_OK else {
            if let lackOfDescriptors, code == CURLE_COULDNT_CONNECT { return .failure(.exhausted(lackOfDescriptors)) }
            if addressRefused, code == CURLE_COULDNT_CONNECT {
                let reason =
                    "\(target.host): the name leads to a private address, which is never asked; mend the name server, or set the "
                    + "option `proxy`."
                return .failure(hops > 0 ? .redirectRefused(reason) : .unsendable(reason))
            }
            return .failure(CurlFailure(code, host: target.host, headSeen: check.headSeen, from: easy).failure)
        }
        return Result { () throws(Failure) in try check.end(transferred: easy?.transferred ?? 0) }
    }
}

// MARK: - Options

/// Limits and rules of a transport.
package struct CurlConfiguration: Sendable {
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

/// The options of an exchange; an option that is not set here has libcurl's default.
extension CurlConfiguration {
    /// The most bytes read from a socket at once: fewer calls for pictures; libcurl's default for small answers.
    private static let bulkBufferBytes = 128 * 1024
    /// The idle time after which a connection is probed, in seconds, to detect a connection that a router has forgotten.
    private static let keepAliveSeconds = 60
    /// The idle time after which a connection is not used, in seconds; `CurlPool.longestIdle` includes a machine's sleep.
    private static let longestIdleSeconds = 60
    /// The delay before the second address family is tried beside the first, in milliseconds.
    ///
    /// The first family may be announced and lead nowhere. The delay is libcurl's default (CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS(3)).
    private static let eyeballsMilliseconds = 200

    /// Sets all options of a flight's next exchange.
    ///
    /// - Parameters:
    ///   - flight: The transfer.
    ///   - addresses: The addresses of the names that it needs.
    ///   - easy: The handle of the exchange.
    /// - Returns: Whether libcurl accepted all essential options; without them the exchange must not begin.
    func apply(_ flight: CurlExchange, addresses: [NameNeeds.Place: [String]], to easy: CurlEasy) -> Bool {
        let request = flight.request
        easy.setCallbacks(flight)
        easy.set(CURLOPT_URL, flight.target.url)
        easy.set(CURLOPT_PROTOCOLS_STR, flight.target.isSecure ? "https" : "http")
        // Not for other hosts: the user's own authority must not vouch for the source's hosts.
        if let certificates, flight.target.isTrusted { easy.set(CURLOPT_CAINFO, certificates) }
        easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        easy.set(CURLOPT_SSL_VERIFYHOST, 2)
        easy.set(CURLOPT_FOLLOWLOCATION, 0)
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_NETRC, 0)
        // Empty for none, and then the environment is not read either (CURLOPT_PROXY(3)).
        easy.set(CURLOPT_PROXY, proxy ?? "")
        easy.set(CURLOPT_NOPROXY, "")
        easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        easy.set(CURLOPT_HTTP09_ALLOWED, 0)
        easy.set(CURLOPT_USERAGENT, userAgent)
        // Other values overflow libcurl's numbers or disable the limit.
        let connectTimeout = min(max(connectTimeout, .milliseconds(1)), .seconds(86_400))
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(connectTimeout / .milliseconds(1)))
        easy.prefer(CURLOPT_TCP_KEEPALIVE, 1)
        easy.prefer(CURLOPT_TCP_KEEPIDLE, Self.keepAliveSeconds)
        setMethod(request, easy)
        if request.acceptsCompression { easy.set(CURLOPT_ACCEPT_ENCODING, "gzip") }
        switch request.transferClass {
        case .metadata:
            easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
            if flight.target.isSecure { easy.prefer(CURLOPT_PIPEWAIT, 1) }
        case .bulk:
            easy.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
            easy.prefer(CURLOPT_BUFFERSIZE, Self.bulkBufferBytes)
        }
        easy.prefer(CURLOPT_MAXAGE_CONN, Self.longestIdleSeconds)
        easy.prefer(CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS, Self.eyeballsMilliseconds)
        if let family = request.family {
            // Connections of the other family are not used either.
            easy.set(CURLOPT_IPRESOLVE, Int(family == .ipv4 ? CURL_IPRESOLVE_V4 : CURL_IPRESOLVE_V6))
        }
        // libcurl then queries no resolver.
        easy.set(CURLOPT_RESOLVE, addresses.map { Self.line($0, $1) })
        easy.set(CURLOPT_HTTPHEADER, headerLines(flight))
        return easy.isSafe
    }

    private func setMethod(_ request: HTTPRequest, _ easy: CurlEasy) {
        switch request.method {
        case .get: break
        case .head: easy.set(CURLOPT_NOBODY, 1)
        case .put:
            easy.set(CURLOPT_UPLOAD, 1)
            let length = curl_off_t(request.content?.length ?? 0)
            easy.note(unsafe rankfs_curl_easy_setopt_offset(easy.pointer, CURLOPT_INFILESIZE_LARGE, length))
        case .delete: easy.set(CURLOPT_CUSTOMREQUEST, "DELETE")
        }
    }

    /// `host:port:address,…`, as CURLOPT_RESOLVE(3) takes it; IPv6 in brackets.
    private static func line(_ place: NameNeeds.Place, _ addresses: [String]) -> String {
        let list = addresses.map { $0.contains(":") ? "[\($0)]" : $0 }
        return "\(place.host):\(place.port):" + list.joined(separator: ",")
    }

    private func headerLines(_ flight: CurlExchange) -> [String] {
        var lines = flight.headers
        if let range = flight.request.range {
            lines.append("Range: bytes=\(range.first)-" + (range.last.map(String.init) ?? ""))
            if let validator = flight.request.ifRange { lines.append("If-Range: \(validator)") }
        }
        return lines
    }
}

extension CurlEasy {
    /// Directs the callbacks to a flight, which must outlive the handle's stay in the multi handle.
    fileprivate func setCallbacks(_ flight: CurlExchange) {
        let context = unsafe Unmanaged.passUnretained(flight).toOpaque()
        for option in [
            CURLOPT_HEADERDATA, CURLOPT_WRITEDATA, CURLOPT_READDATA, CURLOPT_SEEKDATA, CURLOPT_OPENSOCKETDATA,
        ] { note(unsafe rankfs_curl_easy_setopt_pointer(pointer, option, context)) }
        note(unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_HEADERFUNCTION, curlHeader))
        note(unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_WRITEFUNCTION, curlBody))
        note(unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_READFUNCTION, curlContent))
        note(unsafe rankfs_curl_easy_setopt_seek(pointer, CURLOPT_SEEKFUNCTION, curlSeek))
        note(unsafe rankfs_curl_easy_setopt_open(pointer, CURLOPT_OPENSOCKETFUNCTION, curlOpenSocket))
        // The pool keeps its guard and outlives the handle's stay in it.
        guard let loopGuard = flight.pool?.loopGuard else { return }
        let guardContext = unsafe Unmanaged.passUnretained(loopGuard).toOpaque()
        note(unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_CLOSESOCKETDATA, guardContext))
        note(unsafe rankfs_curl_easy_setopt_close(pointer, CURLOPT_CLOSESOCKETFUNCTION, curlCloseSocket))
    }
}

// Called by libcurl on the loop's thread, within curl_multi_perform. They are functions of the file and not closures, so that
// no isolation is inferred for them. The context is the flight that `setCallbacks` was given: the loop keeps it
// in its table until the easy handle has left the multi handle, so it is alive here.

/// CURLOPT_HEADERFUNCTION(3): one complete header line.
func curlHeader(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer
) -> Int {
    let flight = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe flight.receiveHeader(line) ? size * count : 0
}

/// CURLOPT_WRITEFUNCTION(3): some bytes of the body.
func curlBody(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer
) -> Int {
    guard size * count > 0 else { return 0 }
    let flight = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    let part = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe flight.receiveBody(part) ? size * count : 0
}

/// CURLOPT_READFUNCTION(3): the next bytes to send.
func curlContent(
    _ bytes: UnsafeMutablePointer<CChar>, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer
) -> Int {
    let flight = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    return unsafe flight.send(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
        ?? Int(CURL_READFUNC_ABORT)
}

/// CURLOPT_SEEKFUNCTION(3): content is sent again, on another connection.
func curlSeek(_ context: UnsafeMutableRawPointer, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard origin == SEEK_SET, offset >= 0 else { return Int32(CURL_SEEKFUNC_FAIL) }
    unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue().sent = Int64(offset)
    return Int32(CURL_SEEKFUNC_OK)
}

/// The time without acknowledgement after which a connection ends (TCP_USER_TIMEOUT, tcp(7)), in milliseconds.
///
/// It backs up the deadlines of requests, for connections on which no request waits.
private let unacknowledgedLimit: UInt32 = 20_000

/// CURLOPT_OPENSOCKETFUNCTION(3): the address that libcurl is about to connect to.
func curlOpenSocket(
    _ context: UnsafeMutableRawPointer, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>
) -> curl_socket_t {
    let flight = unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue()
    guard unsafe flight.mayConnect(to: rankfs_curl_sockaddr_address(address)) else { return CURL_SOCKET_BAD }
    let type = unsafe address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = Descriptors.own.take {
        unsafe socket(address.pointee.family, type, address.pointee.protocol)
    }
    guard descriptor >= 0 else {
        flight.lackOfDescriptors = SystemError.last().lackOfDescriptors
        return CURL_SOCKET_BAD
    }
    var limit = unacknowledgedLimit
    // A refusal of the system does no harm.
    _ = unsafe setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
    flight.pool?.loopGuard.opened(descriptor)
    return descriptor
}

/// CURLOPT_CLOSESOCKETFUNCTION(3): a socket that libcurl no longer needs.
///
/// The context is the loop's guard, which pools keep alive.
func curlCloseSocket(_ context: UnsafeMutableRawPointer, _ descriptor: curl_socket_t) -> Int32 {
    unsafe Unmanaged<LoopGuard>.fromOpaque(context).takeUnretainedValue().close(descriptor)
}

// MARK: - Means

/// The objects and settings that the loops of a transport share.
///
/// ## Concurrency
///
/// Any thread may call. The mutexes are held for nanoseconds. Each event is counted before the sink is notified, so that the sink's
/// owner finds it in the counts.
final class CurlMeans: Sendable {
    let book: AddressBook
    let configuration: CurlConfiguration
    let names: NameNeeds
    let resolver: NameResolver
    let observer: (any TransferObserver)?
    private let counts = Mutex<[RequestPurpose: RequestCounts]>([:])
    /// The newest connections of which one failed silently.
    private let doubted = Mutex<ContinuousClock.Instant?>(nil)

    /// - Throws: `.unsendable` if an origin does not parse.
    init(
        _ configuration: CurlConfiguration, _ resolver: NameResolver, _ observer: (any TransferObserver)?
    ) throws(Failure) {
        book = try AddressBook(hosts: configuration.hosts, trustedOrigins: configuration.trustedOrigins)
        names = NameNeeds(proxy: configuration.proxy ?? "")
        self.configuration = configuration
        self.resolver = resolver
        self.observer = observer
    }

    /// Doubts the connections of all pools made before this instant, since the usual cause is a change of the network.
    func doubt(_ instant: ContinuousClock.Instant) { doubted.withLock { $0 = max($0 ?? instant, instant) } }

    /// Whether connections made at this instant are doubted.
    func isDoubted(_ instant: ContinuousClock.Instant) -> Bool { doubted.withLock { $0.map { $0 > instant } ?? false } }

    /// The counts of each purpose, in the order of `RequestPurpose.allCases`.
    var allCounts: [(purpose: RequestPurpose, counts: RequestCounts)] {
        let counts = counts.withLock { $0 }
        return RequestPurpose.allCases.map { (purpose: $0, counts: counts[$0] ?? RequestCounts()) }
    }

    func count(_ purpose: RequestPurpose, _ change: (inout RequestCounts) -> Void) {
        counts.withLock { change(&$0[purpose, default: RequestCounts()]) }
    }
}

// MARK: - Pace

/// A meter that detects transfers that are too slow.
///
/// libcurl's own low-speed limit was measured to fire up to six seconds late, so the bytes are counted here: over the last
/// `window`, checked eight times a window, a transfer must bring `bytesPerSecond`. A stall is noticed after one to one and an
/// eighth windows.
struct PaceMeter {
    /// The least pace of a live transfer: the slowest useful line is a hundred times faster.
    static let bytesPerSecond = 1024.0
    /// The checks per window: enough that the end of a window hardly matters.
    private static let looks = 8

    private let step: Duration
    private let least: Double
    private var buckets: [Int] = []
    private var current = 0
    /// The time of the next check.
    private(set) var nextLook: ContinuousClock.Instant

    init(window: Duration, now: ContinuousClock.Instant) {
        step = max(window, .milliseconds(4)) / Self.looks
        least = Self.bytesPerSecond * (window / .seconds(1))
        nextLook = now.advanced(by: step)
    }

    /// Counts bytes as they come, headers included.
    mutating func received(_ count: Int) {
        current += count
    }

    /// Checks the pace if a check is due; true if the transfer was too slow for a whole window.
    mutating func crawls(at now: ContinuousClock.Instant) -> Bool {
        guard now >= nextLook else { return false }
        buckets.append(current)
        current = 0
        if buckets.count > Self.looks { buckets.removeFirst() }
        nextLook = now.advanced(by: step)
        return buckets.count == Self.looks && Double(buckets.reduce(0, +)) < least
    }
}
