import CCurl
import Glibc
import Posix

/// Sets every option of an exchange; what is not set here is libcurl's default.
struct CurlOptions {
    /// Bytes taken from a socket at once: fewer calls for pictures; libcurl's default for small answers.
    private static let bulkBufferBytes = 128 * 1024
    /// Idle time after which a connection is probed, in seconds, so that one that a router forgot is found out.
    private static let keepAliveSeconds = 60
    /// Idle connections older than this are not used, in seconds; `CurlPool.longestIdle` counts a machine's sleep as well.
    private static let longestIdleSeconds = 60
    /// After so long the second address family is tried beside the first, which may be announced and lead nowhere; in
    /// milliseconds, libcurl's default (CURLOPT_HAPPY_EYEBALLS_TIMEOUT_MS(3)).
    private static let eyeballsMilliseconds = 200

    let userAgent: String
    /// Empty for none; then the environment is not asked either (CURLOPT_PROXY(3)).
    let proxy: String
    let connectTimeout: Duration
    /// Path of the certificates for trusted origins.
    let certificates: String?

    /// Sets all options of a flight's next exchange.
    ///
    /// - Parameters:
    ///   - flight: What is asked.
    ///   - addresses: Those of the names that it needs.
    ///   - easy: Who will ask.
    /// - Returns: Whether libcurl took all that matter; without them the exchange must not begin.
    func apply(_ flight: CurlExchange, addresses: [NameNeeds.Place: [String]], to easy: CurlEasy) -> Bool {
        let request = flight.request
        easy.setCallbacks(flight)
        easy.set(CURLOPT_URL, flight.target.url)
        easy.set(CURLOPT_PROTOCOLS_STR, flight.target.isSecure ? "https" : "http")
        // Not for others: an authority of one's own has no say over the source's hosts.
        if let certificates, flight.target.isTrusted { easy.set(CURLOPT_CAINFO, certificates) }
        easy.set(CURLOPT_SSL_VERIFYPEER, 1)
        easy.set(CURLOPT_SSL_VERIFYHOST, 2)
        easy.set(CURLOPT_FOLLOWLOCATION, 0)
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_NETRC, 0)
        easy.set(CURLOPT_PROXY, proxy)
        easy.set(CURLOPT_NOPROXY, "")
        easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        easy.set(CURLOPT_HTTP09_ALLOWED, 0)
        easy.set(CURLOPT_USERAGENT, userAgent)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, connectMilliseconds)
        easy.prefer(CURLOPT_TCP_KEEPALIVE, 1)
        easy.prefer(CURLOPT_TCP_KEEPIDLE, Self.keepAliveSeconds)
        setMethod(request, easy)
        if let signature = request.signature {
            easy.set(CURLOPT_AWS_SIGV4, signature.scope)
            easy.set(CURLOPT_USERNAME, signature.keyID)
            easy.set(CURLOPT_PASSWORD, signature.secret)
        }
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
            // Connections of the other one are not used either.
            easy.set(CURLOPT_IPRESOLVE, Int(family == .ipv4 ? CURL_IPRESOLVE_V4 : CURL_IPRESOLVE_V6))
        }
        easy.setAddresses(addresses.map { Self.line($0, $1) })
        easy.setHeaders(headerLines(flight))
        return easy.isSafe
    }

    private func setMethod(_ request: HTTPRequest, _ easy: CurlEasy) {
        switch request.method {
        case .get: break
        case .head: easy.set(CURLOPT_NOBODY, 1)
        case .put:
            easy.set(CURLOPT_UPLOAD, 1)
            easy.setLength(ofUpload: request.content?.length ?? 0)
        case .delete: easy.set(CURLOPT_CUSTOMREQUEST, "DELETE")
        }
    }

    /// From a millisecond to a day: what is outside could not be said in libcurl's numbers, or would switch the limit off.
    private var connectMilliseconds: Int {
        Int(min(max(connectTimeout, .milliseconds(1)), .seconds(86_400)) / .milliseconds(1))
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
        note(unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_HEADERDATA, context))
        note(unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_WRITEDATA, context))
        note(unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_READDATA, context))
        note(unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_SEEKDATA, context))
        note(unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_OPENSOCKETDATA, context))
        note(unsafe rankfs_curl_easy_setopt_pointer(pointer, CURLOPT_PRIVATE, context))
        note(unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_HEADERFUNCTION, curlHeader))
        note(unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_WRITEFUNCTION, curlBody))
        note(unsafe rankfs_curl_easy_setopt_write(pointer, CURLOPT_READFUNCTION, curlContent))
        note(unsafe rankfs_curl_easy_setopt_seek(pointer, CURLOPT_SEEKFUNCTION, curlSeek))
        note(unsafe rankfs_curl_easy_setopt_open(pointer, CURLOPT_OPENSOCKETFUNCTION, curlOpenSocket))
        // The pool, which keeps its guard, outlives the handle's stay in it.
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

/// CURLOPT_SEEKFUNCTION(3): what was sent is to be sent again, on another connection.
func curlSeek(_ context: UnsafeMutableRawPointer, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    guard origin == SEEK_SET, offset >= 0 else { return Int32(CURL_SEEKFUNC_FAIL) }
    unsafe Unmanaged<CurlExchange>.fromOpaque(context).takeUnretainedValue().sent = Int64(offset)
    return Int32(CURL_SEEKFUNC_OK)
}

/// Ends a connection on which what was sent has not been acknowledged for so long (TCP_USER_TIMEOUT, tcp(7)), in milliseconds:
/// a second net below the deadlines of requests, for connections that nobody waits on.
private let unacknowledgedLimit: UInt32 = 20_000

private func limitSilence(_ descriptor: curl_socket_t) {
    var limit = unacknowledgedLimit
    // One that the system refuses is missed by nobody.
    _ = unsafe setsockopt(
        descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
}

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
    limitSilence(descriptor)
    flight.pool?.loopGuard.opened(descriptor)
    return descriptor
}

/// CURLOPT_CLOSESOCKETFUNCTION(3): a socket that libcurl is done with.
///
/// The context is the loop's guard, which pools keep alive.
func curlCloseSocket(_ context: UnsafeMutableRawPointer, _ descriptor: curl_socket_t) -> Int32 {
    unsafe Unmanaged<LoopGuard>.fromOpaque(context).takeUnretainedValue().close(descriptor)
}
