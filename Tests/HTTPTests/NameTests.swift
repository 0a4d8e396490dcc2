import Foundation
import Glibc
import Synchronization
import Testing

@testable import HTTP

@Suite("NameBook")
struct NameBookTests {
    private let start = ContinuousClock.now

    @Test func manyWaitForOneLookUp() {
        var book = NameBook()
        #expect(book.ask("a", now: start) == (nil, true))
        #expect(book.ask("a", now: start) == (nil, false))
        #expect(book.ask("b", now: start) == (nil, true))
        book.found("a", ["192.0.2.1"], now: start)
        #expect(book.ask("a", now: start) == (["192.0.2.1"], false))
        #expect(book.ask("b", now: start) == (nil, false))
        book.found("b", nil, now: start)
        #expect(book.ask("b", now: start) == (nil, true))
    }

    @Test func oldAddressesAreUsedWhileTheNameIsLookedUp() {
        var book = NameBook()
        _ = book.ask("a", now: start)
        book.found("a", ["192.0.2.1"], now: start)
        let later = start + NameBook.freshFor + .seconds(1)
        #expect(book.ask("a", now: later) == (["192.0.2.1"], true))
        #expect(book.ask("a", now: later) == (["192.0.2.1"], false))
        book.found("a", nil, now: later)
        #expect(book.ask("a", now: later) == (["192.0.2.1"], true))
        book.found("a", ["192.0.2.2"], now: later)
        #expect(book.ask("a", now: later) == (["192.0.2.2"], false))
        let muchLater = later + NameBook.usableFor + .seconds(1)
        #expect(book.ask("a", now: muchLater) == (nil, true))
        book.found("a", ["192.0.2.3"], now: muchLater)
        book.doubt("a")
        #expect(book.ask("a", now: muchLater) == (nil, true))
    }

    @Test func keepsFewNames() {
        var book = NameBook()
        for number in 0...NameBook.namesLimit { book.found("\(number)", ["192.0.2.1"], now: start) }
        #expect(book.ask("0", now: start) == (nil, true))
        #expect(book.ask("\(NameBook.namesLimit)", now: start) == (["192.0.2.1"], false))
    }
}

@Suite("NameNeeds")
struct NameNeedsTests {
    private func hosts(_ url: String, proxy: String) throws -> [String] {
        let book = try AddressBook(hosts: [], trustedOrigins: [url])
        return NameNeeds(proxy: proxy).places(for: try book.target(url)).map { "\($0.host):\($0.port)" }
    }

    @Test(arguments: [
        ("https://a.example", "", ["a.example:443"]), ("http://a.example:81", "", ["a.example:81"]),
        ("http://127.0.0.1:81", "", []), ("http://[::1]:81", "", []), ("http://localhost:81", "", []),
        ("https://a.example", "http://p.example:3128", ["p.example:3128"]),
        ("https://a.example", "p.example", ["p.example:1080"]),
        ("https://a.example", "https://p.example", ["p.example:443"]),
        ("https://a.example", "http://10.0.0.1:3128", []),
        ("https://a.example", "socks5://10.0.0.1", ["a.example:443"]),
        ("https://a.example", "socks5://p.example", ["a.example:443", "p.example:1080"]),
        ("https://a.example", "socks5h://p.example", ["p.example:1080"]),
    ])
    func looksUpWhatIsReachedByName(_ url: String, _ proxy: String, _ expected: [String]) throws {
        #expect(try hosts(url, proxy: proxy) == expected)
    }
}

/// A resolver that knows some names, and hangs on others until it is let go.
private final class HeldNames: Sendable {
    private let known: [String: [String]?]
    private let released = DispatchSemaphore(value: 0)
    let asked = Mutex<[String]>([])

    init(_ known: [String: [String]?]) { self.known = known }

    func lookUp(_ name: String) -> [String]? {
        asked.withLock { $0.append(name) }
        if let answer = known[name] { return answer }
        _ = released.wait(timeout: .now() + 30)
        released.signal()
        return nil
    }

    func release() { released.signal() }
}

@Suite("CurlTransport and names", .timeLimit(.minutes(1)))
struct NameResolutionTests {
    private func transport(
        _ names: HeldNames, origins: [String], proxy: String? = nil, hosts: Set<String> = []
    ) throws -> CurlTransport {
        try CurlTransport(
            CurlTransport.Configuration(
                limits: HostLimits(connections: 4), userAgent: "rankfs-test", proxy: proxy, hosts: hosts,
                trustedOrigins: Set(origins),
                connectTimeout: .seconds(20), stallTimeout: .seconds(20)),
            resolver: NameResolver(lookUp: names.lookUp))
    }

    private func start(
        _ transport: CurlTransport, _ url: String, deadline: Duration = .seconds(20), family: AddressFamily? = nil
    ) -> Recorder {
        var request = HTTPRequest(
            url: url, transferClass: .metadata, deadline: .now.advanced(by: deadline), bodyLimit: 1 << 20)
        request.family = family
        let recorder = Recorder()
        _ = transport.start(request, sink: recorder)
        return recorder
    }

    private func fetch(
        _ transport: CurlTransport, _ url: String, deadline: Duration = .seconds(20), family: AddressFamily? = nil
    ) async -> Recorder.Record {
        await start(transport, url, deadline: deadline, family: family).end()
    }

    @Test func aNameThatHangsHoldsUpNobodyElse() async throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.script("/a", answer("fine"))
        let names = HeldNames(["good.example": ["127.0.0.1"]])
        let (hung, good) = ("http://hung.example:\(server.port)", "http://good.example:\(server.port)")
        let transport = try transport(names, origins: [hung, good])
        let waiting = (0..<40).map { _ in start(transport, "\(hung)/a", deadline: .seconds(50)) }
        #expect(Kind(await fetch(transport, "\(hung)/a", deadline: .milliseconds(100)).result) == .timedOut)
        for _ in 0..<3 { #expect(await fetch(transport, "\(good)/a").body == Array("fine".utf8)) }
        // The thread that hangs is not waited for.
        transport.shutdown()
        for recorder in waiting { #expect(Kind(await recorder.end().result) == .cancelled) }
        #expect(names.asked.withLock { $0.sorted() } == ["good.example", "hung.example"])
        names.release()
    }

    @Test func namesWithoutAddressesAreToldApart() async throws {
        let names = HeldNames(["no.example": [], "later.example": nil])
        let transport = try transport(names, origins: ["http://no.example", "http://later.example"])
        defer { transport.shutdown() }
        for (name, words) in [("no.example", "there is no host of this name"), ("later.example", "cannot be resolved")]
        {
            guard case .failure(.unreachable(let sentence)) = await fetch(transport, "http://\(name)/").result else {
                Issue.record("answered")
                continue
            }
            #expect(sentence.hasPrefix("\(name): ") && sentence.contains(words))
        }
    }

    @Test func onlyTheProxyIsLookedUp() async throws {
        let proxy = try ScriptedServer()
        defer { proxy.stop() }
        proxy.script("http://a.example/", answer("through"))
        let names = HeldNames(["p.example": ["127.0.0.1"]])
        let transport = try transport(
            names, origins: ["http://a.example"], proxy: "http://p.example:\(proxy.port)")
        defer { transport.shutdown() }
        #expect(await fetch(transport, "http://a.example/").body == Array("through".utf8))
        #expect(names.asked.withLock { $0 } == ["p.example"])
    }

    @Test(arguments: [("407", "the option proxy"), ("403", "refuses connections")])
    func aProxyThatRefusesIsCalledSo(_ status: String, _ words: String) async throws {
        let proxy = try ScriptedServer()
        defer { proxy.stop() }
        proxy.script("a.example:443", answer("no", status: "\(status) No"))
        let transport = try transport(
            HeldNames([:]), origins: [], proxy: proxy.origin, hosts: ["a.example"])
        defer { transport.shutdown() }
        guard case .failure(.unreachable(let sentence)) = await fetch(transport, "https://a.example/").result else {
            Issue.record("answered")
            return
        }
        #expect(sentence.contains(status) && sentence.contains(words))
    }

    /// Private addresses are refused however a name was looked up.
    @Test func aPublicNameThatLeadsInsideIsRefused() async throws {
        let names = HeldNames(["a.example": ["127.0.0.1", "::1"]])
        let transport = try transport(names, origins: [], hosts: ["a.example"])
        defer { transport.shutdown() }
        #expect(Kind(await fetch(transport, "https://a.example/").result) == .unsendable)
    }

    /// Connections of the other family are not used either, although they lead to the same name.
    @Test func aRequestMayBeKeptToOneFamilyOfAddresses() async throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.script("/a", answer("fine"))
        let names = HeldNames(["both.example": ["::1", "127.0.0.1"]])
        let origin = "http://both.example:\(server.port)"
        let transport = try transport(names, origins: [origin])
        defer { transport.shutdown() }
        let first = await fetch(transport, "\(origin)/a")
        #expect(first.head?.family == .ipv4 && first.body == Array("fine".utf8))
        for (family, kind) in [(AddressFamily.ipv6, Kind.unreachable), (.ipv4, .success)] {
            #expect(Kind(await fetch(transport, "\(origin)/a", family: family).result) == kind)
        }
    }

    /// An address that answers nothing at all: its queue of connections is full, and the kernel drops what comes.
    @Test func addressesThatLeadNowhereAreStoodBeside() async throws {
        let server = try ScriptedServer()
        defer { server.stop() }
        server.script("/a", answer("fine"))
        let silent = try #require(SilentAddress(port: server.port), "needs IPv6 on loopback")
        let names = HeldNames(["both.example": ["::1", "127.0.0.1"]])
        let origin = "http://both.example:\(server.port)"
        let transport = try transport(names, origins: [origin])
        defer { transport.shutdown() }
        // Far less than connecting to the silent one may take.
        #expect(await fetch(transport, "\(origin)/a", deadline: .seconds(5)).body == Array("fine".utf8))
        withExtendedLifetime(silent) {}
    }
}

/// `::1` at some port, listening but never accepting, with a queue that is full.
private final class SilentAddress {
    private var descriptors: [Int32] = []

    init?(port: UInt16) {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        address.sin6_port = port.bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        func perform(_ call: (UnsafePointer<sockaddr>) -> Int32) -> Int32 {
            withUnsafePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0) } }
        }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let listener = socket(AF_INET6, type, 0)
        descriptors = [listener]
        var one: Int32 = 1
        setsockopt(listener, Int32(IPPROTO_IPV6), IPV6_V6ONLY, &one, 4)
        guard perform({ bind(listener, $0, length) }) == 0, listen(listener, 0) == 0 else { return nil }
        // A queue of 0 holds one; the next ones are dropped.
        for _ in 0..<4 {
            let descriptor = socket(AF_INET6, type, 0)
            descriptors.append(descriptor)
            _ = perform { connect(descriptor, $0, length) }
        }
    }

    deinit { for descriptor in descriptors { close(descriptor) } }
}
