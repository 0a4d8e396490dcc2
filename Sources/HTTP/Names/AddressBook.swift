import CCurl
import Glibc

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

/// Which network addresses a host name from outside may lead to: public ones only.
///
/// A name on the list of hosts can be made to point into the private network (DNS answers are not trusted either), so the
/// address itself is looked at when the socket is opened (libcurl-security(3)).
enum AddressRule {
    /// Whether this address is on the public internet.
    ///
    /// Refused are: unspecified, loopback, private, link-local, carrier-grade NAT, benchmark, multicast and reserved
    /// addresses of IPv4, the same inside IPv6 (mapped, compatible, NAT64, 6to4), and unique local, link-local and multicast ones
    /// of IPv6 (the IANA special-purpose registries).
    static func isPublic(_ address: UnsafePointer<sockaddr>) -> Bool {
        switch unsafe Int32(address.pointee.sa_family) {
        case AF_INET:
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr
            return unsafe withUnsafeBytes(of: bytes) { unsafe isPublicIPv4(Array($0)) }
        case AF_INET6:
            let bytes = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return unsafe withUnsafeBytes(of: bytes) { unsafe isPublicIPv6(Array($0)) }
        default:
            return false
        }
    }

    /// Whether four bytes in network order are a public address.
    static func isPublicIPv4(_ bytes: [UInt8]) -> Bool {
        switch (bytes[0], bytes[1]) {
        case (0, _), (10, _), (127, _), (224..., _): false
        case (100, 64...127): false
        case (169, 254): false
        case (172, 16...31): false
        case (192, 168): false
        case (192, 0) where bytes[2] == 0 || bytes[2] == 2: false
        case (198, 18...19): false
        default: true
        }
    }

    /// Whether sixteen bytes in network order are a public address.
    static func isPublicIPv6(_ bytes: [UInt8]) -> Bool {
        if bytes[..<10].allSatisfy({ $0 == 0 }) {
            let mapped = bytes[10] == 0xFF && bytes[11] == 0xFF
            return mapped && isPublicIPv4(Array(bytes[12...]))
        }
        if bytes.starts(with: [0x00, 0x64, 0xFF, 0x9B]) {
            return bytes[4..<12].allSatisfy { $0 == 0 } && isPublicIPv4(Array(bytes[12...]))
        }
        if bytes.starts(with: [0x20, 0x02]) { return isPublicIPv4(Array(bytes[2..<6])) }
        // 2000::/3 is all that is handed out; Teredo (2001::/32) hides an IPv4 address.
        return bytes[0] & 0xE0 == 0x20 && !bytes.starts(with: [0x20, 0x01, 0x00, 0x00])
    }
}
