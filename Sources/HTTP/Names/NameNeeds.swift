import CCurl

/// Which names must be looked up here before a target can be asked.
struct NameNeeds: Sendable {
    /// A name and the port for which libcurl is told its addresses (CURLOPT_RESOLVE(3)).
    struct Place: Hashable, Sendable {
        var host: String
        var port: Int
    }

    /// The proxy, if it has a name.
    private let proxy: Place?
    /// Whether targets are looked up by the proxy, which is what most do.
    private let proxyLooksUp: Bool

    /// - Parameter proxy: As CURLOPT_PROXY(3) takes it; empty for none.
    init(proxy: String) {
        let parts = proxy.isEmpty ? nil : Self.parse(proxy)
        self.proxy = parts.flatMap { Self.isName($0.place.host) ? $0.place : nil }
        // These two carry addresses only; CURLOPT_PROXY(3).
        proxyLooksUp = parts.map { !["socks4", "socks", "socks5"].contains($0.scheme) } ?? false
    }

    /// The names behind one target, none if it is reached by numbers alone.
    func places(for target: AddressBook.Target) -> [Place] {
        let host = Place(host: target.host, port: target.port)
        let own = !proxyLooksUp && Self.isName(host.host) ? [host] : []
        return own + (proxy.map { [$0] } ?? [])
    }

    /// Whether libcurl would ask the resolver; it knows numbers and localhost by itself.
    private static func isName(_ host: String) -> Bool {
        if host.isEmpty || host.contains(":") || host == "localhost" || host.hasSuffix(".localhost") { return false }
        var address = in_addr()
        return unsafe inet_pton(AF_INET, host, &address) != 1
    }

    /// A proxy's parts as libcurl sees them; 1080 is its port where none is told, 443 with `https`.
    private static func parse(_ text: String) -> (scheme: String, place: Place)? {
        guard let handle = unsafe curl_url() else { return nil }
        defer { unsafe curl_url_cleanup(handle) }
        func part(_ part: CURLUPart) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(handle, part, &value, 0) == CURLUE_OK, let value = unsafe value else {
                return nil
            }
            defer { unsafe curl_free(value) }
            return unsafe String(cString: value)
        }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME)
        guard unsafe curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK,
            let scheme = part(CURLUPART_SCHEME)?.lowercased(), let host = part(CURLUPART_HOST)?.lowercased()
        else { return nil }
        let port = part(CURLUPART_PORT).flatMap { Int($0) } ?? (scheme == "https" ? 443 : 1080)
        return (scheme, Place(host: host, port: port))
    }
}
