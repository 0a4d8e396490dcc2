import CCurl

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
        if request.method == .head { easy.set(CURLOPT_NOBODY, 1) }
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
        easy.setAddresses(addresses.map { Self.line($0, $1) })
        easy.setHeaders(headerLines(flight))
        return easy.isSafe
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
