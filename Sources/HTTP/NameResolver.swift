import Rankings
import CCurl
import Glibc
import Synchronization
import System

/// A resolver of host names on its own threads, so that a hanging look-up delays only the requests for that name.
///
/// libcurl 7.88 waits for its resolver's thread whenever a transfer is removed, and all other transfers wait with it.
/// `CURLOPT_QUICK_EXIT` ends that wait (0.000 s) but sets no bound: with a getaddrinfo(3) that hangs for 6 s, 500 requests for one
/// name start 500 threads, and 100 requests that are given up one after the other leave 100 threads, which cannot be counted
/// because they are detached. An address older than `CURLOPT_DNS_CACHE_TIMEOUT` is dropped before the new query, so all transfers
/// wait for its 6 s.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the book and the waiters; no foreign code is called under it. A hanging thread keeps the
/// resolver alive until the thread returns; no caller waits for that.
final class NameResolver: Sendable {
    /// Looks up one name and may block; the addresses are numeric, in the order of preference.
    ///
    /// They are empty if there is no host of this name, and nil if the name could not be looked up.
    typealias LookUp = @Sendable (String) -> [String]?
    /// Receives the addresses of a name, as looked up.
    typealias Waiter = @Sendable ([String]?) -> Void

    private struct State {
        var book = NameBook()
        var waiters: [String: [Waiter]] = [:]
        var threads = 0
        /// The names that wait for a thread.
        var queue: [String] = []

        /// Adds a name to the queue; true if the caller must start a thread for it.
        mutating func enqueue(_ name: String) -> Bool {
            queue.append(name)
            guard threads < mostThreads else { return false }
            threads += 1
            return true
        }

        /// Takes the next name for a thread; nil ends the thread.
        mutating func next() -> String? {
            guard !queue.isEmpty else {
                threads -= 1
                return nil
            }
            return queue.removeFirst()
        }
    }

    /// The most simultaneous queries: more than the hosts in use, so that each of them may hang by itself.
    private static let mostThreads = 8

    private let state = Mutex(State())
    private let lookUp: LookUp

    init(lookUp: @escaping LookUp = NameResolver.askSystem) {
        self.lookUp = lookUp
    }

    /// Returns the known addresses of a name; otherwise nil, and the waiter is called once, on another thread.
    func addresses(of name: String, otherwise waiter: @escaping Waiter) -> [String]? {
        let (known, starts) = state.withLock { state in
            let (known, looksUp) = state.book.ask(name, now: .now)
            if known == nil { state.waiters[name, default: []].append(waiter) }
            return (known, looksUp && state.enqueue(name))
        }
        if starts, !OwnThread.start({ [self] in work() }) { giveUp() }
        return known
    }

    /// Removes the addresses of a name after none of them answered.
    func doubt(_ name: String) {
        state.withLock { $0.book.doubt(name) }
    }

    /// Runs on a thread and resolves names until none waits.
    private func work() {
        while let name = state.withLock({ $0.next() }) { settle(name, lookUp(name)) }
    }

    private func settle(_ name: String, _ addresses: [String]?) {
        let waiters = state.withLock { state in
            state.book.found(name, addresses, now: .now)
            return state.waiters.removeValue(forKey: name) ?? []
        }
        for waiter in waiters { waiter(addresses) }
    }

    /// Handles a thread that could not be started: if no other thread runs, all waiting names fail.
    private func giveUp() {
        let names = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [String]() }
            defer { state.queue = [] }
            return state.queue
        }
        for name in names { settle(name, nil) }
    }

    /// Looks up a name with getaddrinfo(3).
    static func askSystem(_ name: String) -> [String]? {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else { return code == EAI_NONAME || code == noData ? [] : nil }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var next = unsafe list
        while let entry = unsafe next, addresses.count < mostAddresses {
            if let text = unsafe numeric(entry.pointee), !addresses.contains(text) { addresses.append(text) }
            unsafe next = unsafe entry.pointee.ai_next
        }
        return addresses
    }

    /// `EAI_NODATA`, which Glibc does not export to Swift: the name exists but has no address.
    private static let noData: Int32 = -5
    /// The most addresses used of one name.
    private static let mostAddresses = 16

    /// The numeric form of an address; nil for other families and for an address that is valid on one link only.
    private static func numeric(_ entry: addrinfo) -> String? {
        guard unsafe entry.ai_family == AF_INET || entry.ai_family == AF_INET6 else { return nil }
        var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let size = socklen_t(text.count)
        let code = unsafe getnameinfo(
            entry.ai_addr, entry.ai_addrlen, &text, size, nil, 0, NI_NUMERICHOST)
        guard code == 0 else { return nil }
        let digits = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return digits.contains("%") ? nil : digits
    }
}

/// The names that must be resolved here before a request to a target.
struct NameNeeds: Sendable {
    /// A name and the port for which libcurl receives its addresses (CURLOPT_RESOLVE(3)).
    struct Place: Hashable, Sendable {
        var host: String
        var port: Int
    }

    /// The proxy, if it is given by name.
    private let proxy: Place?
    /// Whether the proxy resolves the targets, as most proxies do.
    private let proxyLooksUp: Bool

    /// - Parameter proxy: The proxy in the form of CURLOPT_PROXY(3); empty for none.
    init(proxy: String) {
        let parts = proxy.isEmpty ? nil : Self.parse(proxy)
        self.proxy = parts.flatMap { Self.isName($0.place.host) ? $0.place : nil }
        // These schemes carry addresses only (CURLOPT_PROXY(3)).
        proxyLooksUp = parts.map { !["socks4", "socks", "socks5"].contains($0.scheme) } ?? false
    }

    /// The names to resolve for one target; none if only numeric addresses are used.
    func places(for target: AddressBook.Target) -> [Place] {
        let host = Place(host: target.host, port: target.port)
        let own = !proxyLooksUp && Self.isName(host.host) ? [host] : []
        return own + (proxy.map { [$0] } ?? [])
    }

    /// Whether libcurl would query the resolver for this host; it resolves numbers and localhost by itself.
    private static func isName(_ host: String) -> Bool {
        if host.isEmpty || host.contains(":") || host == "localhost" || host.hasSuffix(".localhost") { return false }
        var address = in_addr()
        return unsafe inet_pton(AF_INET, host, &address) != 1
    }

    /// The parts of a proxy as libcurl parses them; the default port is 1080, with `https` 443.
    private static func parse(_ text: String) -> (scheme: String, place: Place)? {
        withParts(of: [text], CURLU_NON_SUPPORT_SCHEME | CURLU_GUESS_SCHEME) { part in
            guard let scheme = part(CURLUPART_SCHEME, 0)?.lowercased(), let host = part(CURLUPART_HOST, 0)?.lowercased()
            else { return nil }
            let port = part(CURLUPART_PORT, 0).flatMap { Int($0) } ?? (scheme == "https" ? 443 : 1080)
            return (scheme, Place(host: host, port: port))
        }
    }
}

/// Calls a function with the parts of an address, as curl_url(3) parses them; nil for an address that it refuses.
///
/// - Parameters:
///   - texts: The address, after the one that it is relative to.
///   - flags: The rules of addresses.
///   - read: Takes a function that returns a part.
/// - Returns: The result.
private func withParts<Value>(
    of texts: [String], _ flags: Int32, _ read: (_ part: (CURLUPart, Int32) -> String?) -> Value?
) -> Value? {
    guard let handle = unsafe curl_url() else { return nil }
    defer { unsafe curl_url_cleanup(handle) }
    for text in texts {
        guard unsafe curl_url_set(handle, CURLUPART_URL, text, UInt32(flags)) == CURLUE_OK else { return nil }
    }
    return read { part, flags in
        var value: UnsafeMutablePointer<CChar>?
        guard unsafe curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK, let value = unsafe value else {
            return nil
        }
        defer { unsafe curl_free(value) }
        return unsafe String(cString: value)
    }
}

/// The known addresses of names, and the queries under way; takes the time as a parameter.
///
/// Addresses are used for a minute without a new query. After that they are still used, for ten minutes in all, while the name is
/// resolved again: a request with an open connection needs no address, and a hanging resolver must not stop it.
struct NameBook {
    /// The age up to which addresses are used without a new query, as in libcurl's own cache.
    static let freshFor = Duration.seconds(60)
    /// The age up to which addresses are used at all.
    static let usableFor = Duration.seconds(600)
    /// The most names kept; there are as many as allowed hosts, and a proxy.
    static let namesLimit = 64

    private var entries: [String: (addresses: [String], learned: ContinuousClock.Instant)] = [:]
    private var underway: Set<String> = []

    /// Looks up a name in the book, and marks a needed look-up as under way.
    ///
    /// - Returns: The usable addresses, nil for a caller that waits for the look-up, and whether it begins that.
    mutating func ask(_ name: String, now: ContinuousClock.Instant) -> (known: [String]?, looksUp: Bool) {
        let entry = entries[name].flatMap { now - $0.learned <= Self.usableFor ? $0 : nil }
        if let entry, now - entry.learned <= Self.freshFor { return (entry.addresses, false) }
        return (entry?.addresses, underway.insert(name).inserted)
    }

    /// Records the end of a look-up; a failed look-up leaves the known addresses as they are.
    mutating func found(_ name: String, _ addresses: [String]?, now: ContinuousClock.Instant) {
        underway.remove(name)
        guard let addresses, !addresses.isEmpty else { return }
        if entries[name] == nil, entries.count >= Self.namesLimit { entries = [:] }
        entries[name] = (addresses, now)
    }

    /// Removes the addresses of a name after none of them answered.
    mutating func doubt(_ name: String) {
        entries[name] = nil
    }
}

// MARK: - Addresses

/// The URLs to which requests may go, decided from their parts as libcurl itself parses them.
struct AddressBook: Sendable {
    /// A URL to which requests may go.
    struct Target: Sendable, Equatable {
        var url: String
        /// `https://host:443`: scheme, host in lower case and port, which is always present.
        var origin: String
        var host: String
        var port: Int
        var isSecure: Bool
        /// Whether the user named the origin, which permits any scheme and any address.
        var isTrusted: Bool
    }

    private let hosts: Set<String>
    private let trustedOrigins: Set<String>

    /// - Throws: `.unsendable` if an origin does not parse.
    init(hosts: Set<String>, trustedOrigins: Set<String>) throws(Failure) {
        self.hosts = hosts
        var origins: Set<String> = []
        for text in trustedOrigins {
            guard let parsed = Self.parse(text, base: nil) else {
                throw .unsendable("An origin is not an http or https URL; write it as http://host:port.")
            }
            origins.insert(parsed.origin)
        }
        self.trustedOrigins = origins
    }

    /// The target of a request's own URL.
    func target(_ url: String) throws(Failure) -> Target {
        guard var parsed = Self.parse(url, base: nil) else {
            throw .unsendable("The URL is not one that may be asked; it must be plain http or https.")
        }
        parsed.isTrusted = trustedOrigins.contains(parsed.origin)
        guard parsed.isTrusted || isListed(parsed) else {
            throw .unsendable("\(parsed.host): this host is not on the list of hosts that may be asked.")
        }
        return parsed
    }

    /// The target of a `Location:` header, relative to the URL that sent it.
    ///
    /// A trusted origin is reachable by redirect only from itself, so that no other host can lead to it.
    func redirect(_ location: String, from origin: Target) throws(Failure) -> Target {
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

    /// The parts of a URL by curl_url(3).
    ///
    /// Nil for other schemes, user info, control characters, blanks and bytes that are not ASCII.
    private static func parse(_ text: String, base: String?) -> Target? {
        // Servers accept 8 KiB at most.
        guard text.utf8.count <= 8_192, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        return withParts(of: [base, text].compactMap(\.self), CURLU_DISALLOW_USER) { part in
            guard let scheme = part(CURLUPART_SCHEME, 0), scheme == "https" || scheme == "http",
                let host = part(CURLUPART_HOST, 0)?.lowercased(), !host.isEmpty,
                let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT), let number = Int(port),
                let url = part(CURLUPART_URL, 0)
            else { return nil }
            return Target(
                url: url, origin: "\(scheme)://\(host):\(port)", host: host, port: number,
                isSecure: scheme == "https", isTrusted: false)
        }
    }

    // MARK: - Public addresses

    /// Whether this address is on the public internet: a host name from outside may lead to no other.
    ///
    /// A name on the list of hosts can be made to point into the private network (DNS answers are not trusted either), so the
    /// address itself is checked when the socket is opened (libcurl-security(3)).
    ///
    /// Refused are: unspecified, loopback, private, link-local, carrier-grade NAT, multicast and reserved
    /// addresses of IPv4, the same inside IPv6 (mapped, compatible, NAT64, 6to4), and unique local, link-local and multicast ones
    /// of IPv6 (the IANA special-purpose registries).
    ///
    /// Benchmark addresses of IPv4 (198.18.0.0/15) are admitted: no network has hosts there, and tunnels of Clash and sing-box answer every
    /// name with one ("fake-ip"). So are the local prefixes of NAT64 (64:ff9b:1::/48, RFC 8215) with a public address at the end.
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
            return (bytes[4..<12].allSatisfy { $0 == 0 } || bytes[4..<6].elementsEqual([0, 1]))
                && isPublicIPv4(Array(bytes[12...]))
        }
        if bytes.starts(with: [0x20, 0x02]) { return isPublicIPv4(Array(bytes[2..<6])) }
        // All assigned addresses are in 2000::/3; Teredo (2001::/32) hides an IPv4 address.
        return bytes[0] & 0xE0 == 0x20 && !bytes.starts(with: [0x20, 0x01, 0x00, 0x00])
    }
}
