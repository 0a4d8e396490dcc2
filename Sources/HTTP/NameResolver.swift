import CCurl
import Glibc
import Synchronization

/// Why a name has no addresses.
enum NameTrouble: Error, Hashable, Sendable {
    /// There is no host of this name.
    case unknown
    /// Nobody could be asked.
    case unanswered
}

/// Looks names up on threads of its own, so that a resolver that hangs holds up only those who need that name.
///
/// libcurl 7.88 waits for its resolver's thread whenever a transfer is taken away, and everybody's transfers wait with it.
/// `CURLOPT_QUICK_EXIT` ends that wait (0.000 s) but bounds nothing: with a getaddrinfo(3) that hangs for 6 s, 500 requests for one
/// name are 500 threads, and 100 requests that are given up one after the other leave 100, which nobody can count since they are
/// detached; an address past `CURLOPT_DNS_CACHE_TIMEOUT` is dropped before the look-up, whose 6 s everybody then waits for.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the book and who waits; nothing foreign is called under it. A thread that hangs keeps
/// the resolver alive until it returns, and is never waited for.
final class NameResolver: Sendable {
    /// Looks one name up and may block; the addresses are numeric, in the order of preference.
    typealias LookUp = @Sendable (String) -> Result<[String], NameTrouble>
    /// Told what a look-up found.
    typealias Waiter = @Sendable (Result<[String], NameTrouble>) -> Void

    private struct State {
        var book = NameBook()
        var waiters: [String: [Waiter]] = [:]
        var threads = 0
        /// Names that wait for a thread.
        var queue: [String] = []

        /// Puts a name in the queue; true if a thread is to be started for it.
        mutating func enqueue(_ name: String) -> Bool {
            queue.append(name)
            guard threads < mostThreads else { return false }
            threads += 1
            return true
        }

        /// The next name for a thread; nil ends it.
        mutating func next() -> String? {
            guard !queue.isEmpty else {
                threads -= 1
                return nil
            }
            return queue.removeFirst()
        }
    }

    /// Look-ups at once: more than there are hosts to ask, so that each may hang by itself.
    private static let mostThreads = 8

    private let state = Mutex(State())
    private let lookUp: LookUp

    init(lookUp: @escaping LookUp = NameResolver.askSystem) {
        self.lookUp = lookUp
    }

    /// A name's addresses if they are known; otherwise nil, and the waiter is told once, on another thread.
    func addresses(of name: String, otherwise waiter: @escaping Waiter) -> [String]? {
        let (known, starts) = state.withLock { state -> ([String]?, Bool) in
            switch state.book.ask(name, now: .now) {
            case .known(let addresses, let looksUp): return (addresses, looksUp && state.enqueue(name))
            case .wait(let looksUp):
                state.waiters[name, default: []].append(waiter)
                return (nil, looksUp && state.enqueue(name))
            }
        }
        if starts, !OwnThread.start({ [self] in work() }) { giveUp() }
        return known
    }

    /// Forgets a name's addresses, at which nobody answered.
    func doubt(_ name: String) {
        state.withLock { $0.book.doubt(name) }
    }

    /// A thread's life: names, until none waits.
    private func work() {
        while let name = state.withLock({ $0.next() }) { settle(name, lookUp(name)) }
    }

    private func settle(_ name: String, _ result: Result<[String], NameTrouble>) {
        let waiters = state.withLock { state in
            state.book.found(name, try? result.get(), now: .now)
            return state.waiters.removeValue(forKey: name) ?? []
        }
        for waiter in waiters { waiter(result) }
    }

    /// No thread can be had: unless another one works, nobody will look these names up.
    private func giveUp() {
        let names = state.withLock { state in
            state.threads -= 1
            guard state.threads == 0 else { return [String]() }
            defer { state.queue = [] }
            return state.queue
        }
        for name in names { settle(name, .failure(.unanswered)) }
    }

    /// getaddrinfo(3).
    static func askSystem(_ name: String) -> Result<[String], NameTrouble> {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = unsafe getaddrinfo(name, nil, &hints, &list)
        guard code == 0 else { return .failure(code == EAI_NONAME || code == noData ? .unknown : .unanswered) }
        defer { unsafe freeaddrinfo(list) }
        var addresses: [String] = []
        var next = unsafe list
        while let entry = unsafe next, addresses.count < mostAddresses {
            if let text = unsafe numeric(entry.pointee), !addresses.contains(text) { addresses.append(text) }
            unsafe next = unsafe entry.pointee.ai_next
        }
        return addresses.isEmpty ? .failure(.unknown) : .success(addresses)
    }

    /// `EAI_NODATA`, which Glibc keeps back from Swift: the name exists, with no address.
    private static let noData: Int32 = -5
    /// Addresses used of one name.
    private static let mostAddresses = 16

    /// An address as digits; nil for other families and for one that only means something on one link.
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

/// What is known of names, and which are being looked up; told the time, never asking it.
///
/// Addresses are used for a minute without asking again. After that they are still used, for ten minutes in all, while the
/// name is looked up anew: who has a connection needs no address, and a resolver that hangs must not stop him.
struct NameBook {
    /// What somebody who needs addresses has to do.
    enum Answer: Equatable {
        /// Use these; look the name up besides if told.
        case known([String], looksUp: Bool)
        /// Wait for the look-up; begin it if told.
        case wait(looksUp: Bool)
    }

    private struct Entry {
        var addresses: [String]
        var learned: ContinuousClock.Instant
    }

    /// How long addresses are used without asking again: what libcurl does with its own.
    static let freshFor = Duration.seconds(60)
    /// How long they are used at all.
    static let usableFor = Duration.seconds(600)
    /// Names kept; there are as many as hosts that may be asked, and a proxy.
    static let namesLimit = 64

    private var entries: [String: Entry] = [:]
    private var underway: Set<String> = []

    /// Asks for a name's addresses.
    mutating func ask(_ name: String, now: ContinuousClock.Instant) -> Answer {
        if let entry = entries[name] {
            let age = now - entry.learned
            if age <= Self.freshFor { return .known(entry.addresses, looksUp: false) }
            if age <= Self.usableFor { return .known(entry.addresses, looksUp: underway.insert(name).inserted) }
        }
        return .wait(looksUp: underway.insert(name).inserted)
    }

    /// Takes in the end of a look-up; what is known stays if it failed.
    mutating func found(_ name: String, _ addresses: [String]?, now: ContinuousClock.Instant) {
        underway.remove(name)
        guard let addresses else { return }
        if entries[name] == nil, entries.count >= Self.namesLimit { entries = [:] }
        entries[name] = Entry(addresses: addresses, learned: now)
    }

    /// Forgets addresses at which nobody answered.
    mutating func doubt(_ name: String) {
        entries[name] = nil
    }
}

// MARK: - Addresses

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

// MARK: - Threads

/// Threads that block, which tasks must not.
enum OwnThread {
    /// Starts a thread that runs the body once; false if there can be none.
    ///
    /// What the body holds is handed over: after this only the new thread uses it.
    static func start(_ body: sending @escaping () -> Void) -> Bool {
        guard let thread = startJoinable(body) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Starts a thread that must be joined or detached; nil if there can be none.
    static func startJoinable(_ body: sending @escaping () -> Void) -> pthread_t? {
        var thread = pthread_t()
        // Retained for the thread, which releases it when it takes it.
        let context = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
        guard unsafe pthread_create(&thread, nil, ownThreadMain, context) == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(context).release()
            return nil
        }
        return thread
    }

    fileprivate final class Body {
        let run: () -> Void
        init(_ run: @escaping () -> Void) { self.run = run }
    }
}

/// Signals are for other threads; a SIGPIPE from a closed connection must reach nobody (CURLOPT_NOSIGNAL(3)).
private func ownThreadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    unsafe Unmanaged<OwnThread.Body>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
