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
