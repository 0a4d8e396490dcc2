import CCurl

/// Which URLs may be asked, decided from their parts as libcurl itself sees them.
struct AddressBook: Sendable {
    /// A URL that may be asked.
    struct Target: Sendable, Equatable {
        var url: String
        /// `https://host:443`: scheme, host in lower case and port, always told.
        var origin: String
        var host: String
        var port: Int
        var isSecure: Bool
        /// Named by the user: any scheme and any address is meant.
        var isTrusted: Bool
    }

    private let hosts: Set<String>
    private let trustedOrigins: Set<String>

    /// - Throws: `.refused` if an origin does not parse.
    init(hosts: Set<String>, trustedOrigins: Set<String>) throws(HTTPError) {
        self.hosts = hosts
        var origins: Set<String> = []
        for text in trustedOrigins {
            guard let parsed = Self.parse(text, base: nil) else {
                throw .refused("An origin is not an http or https URL; write it as http://host:port.")
            }
            origins.insert(parsed.origin)
        }
        self.trustedOrigins = origins
    }

    /// The target of a request's own URL.
    func target(_ url: String) throws(HTTPError) -> Target {
        guard var parsed = Self.parse(url, base: nil) else {
            throw .refused("The URL is not one that may be asked; it must be plain http or https.")
        }
        parsed.isTrusted = trustedOrigins.contains(parsed.origin)
        guard parsed.isTrusted || isListed(parsed) else {
            throw .refused("\(parsed.host): this host is not on the list of hosts that may be asked.")
        }
        return parsed
    }

    /// The target of a `Location:`, relative to where it came from.
    ///
    /// A trusted origin is reachable by redirect only from itself, so that nobody else can lead there.
    func redirect(_ location: String, from origin: Target) throws(HTTPError) -> Target {
        guard var parsed = Self.parse(location, base: origin.url) else {
            throw .redirectRefused("\(origin.host): the redirect leads to something that is not plain http or https.")
        }
        parsed.isTrusted = origin.isTrusted && parsed.origin == origin.origin
        guard parsed.isTrusted || isListed(parsed) else {
            throw .redirectRefused("\(origin.host): the redirect leads to a host that is not on the list.")
        }
        return parsed
    }

    private func isListed(_ target: Target) -> Bool {
        target.origin == "https://\(target.host):443" && hosts.contains(target.host)
    }

    /// Parts of a URL by curl_url(3); nil for other schemes, user info, control characters, blanks and bytes that are not ASCII.
    private static func parse(_ text: String, base: String?) -> Target? {
        // 8 KiB is what servers take at most.
        guard text.utf8.count <= 8_192, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            let handle = unsafe curl_url()
        else { return nil }
        defer { unsafe curl_url_cleanup(handle) }
        func set(_ text: String) -> Bool {
            unsafe curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER)) == CURLUE_OK
        }
        func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard unsafe curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value = unsafe value else {
                return nil
            }
            defer { unsafe curl_free(value) }
            return unsafe String(cString: value)
        }
        if let base, !set(base) { return nil }
        guard set(text), let scheme = part(CURLUPART_SCHEME), scheme == "https" || scheme == "http",
            let host = part(CURLUPART_HOST)?.lowercased(), !host.isEmpty,
            let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT), let number = Int(port), let url = part(CURLUPART_URL)
        else { return nil }
        return Target(
            url: url, origin: "\(scheme)://\(host):\(port)", host: host, port: number,
            isSecure: scheme == "https", isTrusted: false)
    }
}
