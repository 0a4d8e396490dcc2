import Rankings
import CCurl
import Glibc
import Synchronization
import System

/// One multi handle: connections that are used, and retired, together.
///
/// libcurl 7.88 keeps a shared connection after a late transfer on it was removed, however dead the connection is, and gives it to
/// the next transfer. So connections are never doubted one by one: a new pool is made for new exchanges, and the old one is freed,
/// with all its connections, after its last exchange has ended.
///
/// ## Concurrency
///
/// Made by one thread, then used by the loop's thread alone.
@safe final class CurlPool {
    /// The age after which idle connections are not used: routers forget them silently, the first after some minutes.
    static let longestIdle = Duration.seconds(60)
    /// The most streams of one HTTP/2 connection.
    private static let streams = 128

    let multi: UnsafeMutableRawPointer
    /// The guard of its sockets; the last callback of its connections needs it.
    let loopGuard: LoopGuard
    let made = UptimeClock.now
    /// The time at which the last exchange began here, or bytes came.
    private(set) var lastUse = ContinuousClock.now
    /// Whether bytes came in the last turn.
    private(set) var hasMoved = false
    /// The number of exchanges under way.
    private var flying = 0
    /// The time at which bytes last came from each origin.
    private var heard: [String: ContinuousClock.Instant] = [:]
    /// Whether the answers of each origin were in HTTP/2; both values for one that changes.
    private var speakHTTP2: [String: Set<Bool>] = [:]

    /// Makes an empty pool; nil if memory or descriptors are exhausted.
    ///
    /// - Parameters:
    ///   - transferClass: The class of its transfers; bodies share no connection.
    ///   - idle: The most connections to one host, all of which are kept while idle.
    ///   - loopGuard: The guard of its sockets.
    init?(_ transferClass: TransferClass, idle: Int, loopGuard: LoopGuard) {
        guard let multi = unsafe curl_multi_init() else { return nil }
        // Without descriptors for its wake-up libcurl makes a handle all the same, whose loop would sleep through every command.
        guard unsafe curl_multi_wakeup(multi) == CURLM_OK else {
            _ = unsafe curl_multi_cleanup(multi)
            return nil
        }
        self.loopGuard = loopGuard
        unsafe self.multi = unsafe multi
        let pipelining = transferClass == .bulk ? Int(CURLPIPE_NOTHING) : Int(CURLPIPE_MULTIPLEX)
        _ = unsafe rankfs_curl_multi_setopt_long(multi, CURLMOPT_PIPELINING, pipelining)
        _ = unsafe rankfs_curl_multi_setopt_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, Self.streams)
        _ = unsafe rankfs_curl_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, idle)
        // After a GOAWAY libcurl 7.88 sends each stream again on a connection of its own.
        _ = unsafe rankfs_curl_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, idle)
    }

    deinit {
        _ = unsafe curl_multi_cleanup(multi)
    }

    /// Whether no exchange is under way.
    var isEmpty: Bool { flying == 0 }

    /// Whether its idle connections are too old, by a clock that goes on while the machine is suspended.
    func isStale(_ now: ContinuousClock.Instant) -> Bool {
        isEmpty && now - lastUse > Self.longestIdle
    }

    /// Gives a handle to libcurl.
    func begin(_ easy: CurlEasy) {
        lastUse = .now
        flying += 1
        _ = unsafe curl_multi_add_handle(multi, easy.pointer)
    }

    /// Takes a handle from libcurl; its connection is kept only if the exchange was complete or others share it.
    func end(_ easy: CurlEasy) {
        _ = unsafe curl_multi_remove_handle(multi, easy.pointer)
        flying -= 1
    }

    /// Moves bytes; returns the handles that libcurl has finished.
    func turn() -> [(easy: UInt, code: CURLcode)] {
        hasMoved = false
        var running: Int32 = 0
        _ = unsafe curl_multi_perform(multi, &running)
        var left: Int32 = 0
        var ended: [(easy: UInt, code: CURLcode)] = []
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            guard let easy = unsafe message.pointee.easy_handle else { continue }
            ended.append((UInt(bitPattern: easy), unsafe rankfs_curl_message_result(message)))
        }
        return ended
    }

    /// Sleeps until there is work or the mailbox wakes it.
    func wait(milliseconds: Int32) {
        _ = unsafe curl_multi_poll(multi, nil, 0, milliseconds, nil)
    }

    // MARK: - Observations

    /// Records that bytes came from an origin.
    func heard(_ origin: String, now: ContinuousClock.Instant) {
        hasMoved = true
        lastUse = .now
        heard[origin] = now
    }

    /// The time at which bytes last came from an origin, on any connection.
    func lastHeard(_ origin: String) -> ContinuousClock.Instant? { heard[origin] }

    /// Records the protocol of an answer.
    func answered(_ origin: String, isHTTP2: Bool) { speakHTTP2[origin, default: []].insert(isHTTP2) }

    /// Whether an origin's requests share connections; nil before it has answered.
    func multiplexes(_ origin: String) -> Bool? { speakHTTP2[origin]?.contains(true) }

    /// Whether one origin answered in both protocols; then neither body is trustworthy.
    ///
    /// libcurl 7.88.1 may have put a request on a connection of another request that cannot be shared.
    func isMixed(_ origin: String) -> Bool { speakHTTP2[origin]?.count == 2 }
}

/// The sockets of one loop, for the case that the loop does not return from libcurl.
///
/// libcurl 7.88 reads for as long as bytes can be read: a server that sends control frames of HTTP/2 without end (SETTINGS, PING,
/// empty DATA) keeps curl_multi_perform(3) from returning, and no deadline helps. While transfers are under way a task checks every
/// now and then whether the loop turns; if not, it shuts the loop's sockets down, so that nothing can be read from them and the
/// transfers fail.
///
/// ## Concurrency
///
/// The loop's thread reports, a task checks; one mutex guards all state. Descriptors are closed under it, so that the number of a
/// closed descriptor that is in use again elsewhere is never shut down.
final class LoopGuard: Sendable {
    private struct State {
        var sockets: Set<Int32> = []
        /// The time at which the loop began its turn; nil while it sleeps.
        var turnBegan: ContinuousClock.Instant?
        var isBusy = false
        var isWatched = false
    }

    /// The time after which a turn counts as hanging: turns take milliseconds, with a slow disk below a sink longer.
    static let longestTurn = Duration.seconds(5)
    /// The time between two checks.
    private static let pause = Duration.seconds(1)

    private let state = Mutex(State())

    /// Records that the loop begins a turn.
    func beginTurn(isBusy: Bool) {
        let now = UptimeClock.now
        let starts = state.withLock { state in
            state.turnBegan = now
            state.isBusy = isBusy
            defer { state.isWatched = state.isWatched || isBusy }
            return isBusy && !state.isWatched
        }
        guard starts else { return }
        Task.detached { [self] in
            repeat { try? await Task.sleep(for: Self.pause) } while look(UptimeClock.now)
        }
    }

    /// Records that the loop goes to sleep.
    func endTurn(isBusy: Bool) {
        state.withLock { state in
            state.turnBegan = nil
            state.isBusy = isBusy
        }
    }

    /// Checks whether the loop turns; false if there is nothing more to check.
    func look(_ now: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            if let began = state.turnBegan {
                if now - began > Self.longestTurn { for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) } }
            } else if !state.isBusy {
                state.isWatched = false
            }
            return state.isWatched
        }
    }

    /// Records a socket that was opened for the loop.
    func opened(_ socket: Int32) {
        state.withLock { _ = $0.sockets.insert(socket) }
    }

    /// Closes one of the loop's sockets.
    func close(_ socket: Int32) -> Int32 {
        state.withLock { state in
            state.sockets.remove(socket)
            return Glibc.close(socket)
        }
    }
}

// MARK: - Easy handles

/// One libcurl easy handle, which is reused, so that its buffers are made once.
///
/// ## Concurrency
///
/// Belongs to the loop's thread from first to last.
@safe final class CurlEasy {
    let pointer: UnsafeMutableRawPointer
    /// The identity of the handle in libcurl.
    var id: UInt { unsafe UInt(bitPattern: pointer) }
    /// The lists of options, which libcurl does not copy.
    private var lists: [UnsafeMutablePointer<curl_slist>?] = unsafe []
    /// Whether libcurl has accepted every essential option since the last reset.
    ///
    /// Without one of them the request would differ from the intended one, or would not be safe.
    private(set) var isSafe = true

    init?() {
        guard let pointer = unsafe curl_easy_init() else { return nil }
        unsafe self.pointer = unsafe pointer
    }

    deinit {
        unsafe curl_easy_cleanup(pointer)
        unsafe lists.forEach { unsafe curl_slist_free_all($0) }
    }

    /// Resets every option; connections and resolved names belong to the multi handle and stay.
    func reset() {
        unsafe curl_easy_reset(pointer)
        unsafe lists.forEach { unsafe curl_slist_free_all($0) }
        unsafe lists = unsafe []
        isSafe = true
    }

    /// Sets an optional numeric option; an option that libcurl refuses stays as it was.
    ///
    /// libcurl 7.88.1 refuses even known options: `CURLOPT_BUFFERSIZE` while the handle has a buffer, which a transfer on a shared
    /// connection can leave in place.
    func prefer(_ option: CURLoption, _ value: Int) {
        _ = unsafe rankfs_curl_easy_setopt_long(pointer, option, value)
    }

    /// Sets an essential numeric option.
    func set(_ option: CURLoption, _ value: Int) {
        note(unsafe rankfs_curl_easy_setopt_long(pointer, option, value))
    }

    /// Sets an essential option with text, which libcurl copies.
    func set(_ option: CURLoption, _ value: String) {
        note(unsafe rankfs_curl_easy_setopt_string(pointer, option, value))
    }

    /// Sets an essential option with lines.
    func set(_ option: CURLoption, _ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else {
                note(CURLE_OUT_OF_MEMORY)
                break
            }
            unsafe list = unsafe longer
        }
        unsafe lists.append(list)
        note(unsafe rankfs_curl_easy_setopt_list(pointer, option, list))
    }

    /// Records the result of an essential option.
    func note(_ code: CURLcode) {
        if code != CURLE_OK { isSafe = false }
    }

    /// A number that libcurl reports about the last transfer.
    func number(_ info: CURLINFO) -> Int {
        var value = 0
        _ = unsafe rankfs_curl_easy_getinfo_long(pointer, info, &value)
        return value
    }

    /// The family of the address that answers; nil without one.
    var family: AddressFamily? {
        let address = unsafe String(cString: rankfs_curl_easy_getinfo_address(pointer))
        return address.isEmpty ? nil : AddressFamily(of: address)
    }

    /// Bytes of the body that came over the wire.
    var transferred: Int64 {
        var value: curl_off_t = 0
        _ = unsafe rankfs_curl_easy_getinfo_offset(pointer, CURLINFO_SIZE_DOWNLOAD_T, &value)
        return Int64(value)
    }
}

// MARK: - Failures

/// The known facts about the end of an exchange, and the error that follows: a sentence with cause and remedy.
struct CurlFailure {
    /// The result code (libcurl-errors(3)).
    var code: CURLcode
    /// The host, for the sentence.
    var host: String
    /// Whether a whole head had come.
    var headSeen = false
    /// `errno` of the connection (CURLINFO_OS_ERRNO(3)), 0 if unknown.
    var connectionError = 0
    /// The defect of the certificate, as OpenSSL's number (CURLINFO_SSL_VERIFYRESULT(3), openssl-verify(1)).
    var verification = 0
    /// The defect of a proxy's own certificate (CURLINFO_PROXY_SSL_VERIFYRESULT(3)).
    var proxyVerification = 0
    /// A proxy's answer to CONNECT (CURLINFO_HTTP_CONNECTCODE(3)), 0 for none.
    var proxyStatus = 0

    /// The error.
    var failure: Failure {
        if proxyStatus >= 300 { return .unreachable(refusal) }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return Self.ofName(host, exists: true, isProxy: false)
        case CURLE_COULDNT_RESOLVE_PROXY: return Self.ofName(host, exists: true, isProxy: true)
        case CURLE_COULDNT_CONNECT:
            return .unreachable("\(host): no connection can be made; is the network up?")
        case CURLE_PROXY:
            return .unreachable("The proxy does not do what is asked of it; check the option proxy.")
        case CURLE_OPERATION_TIMEDOUT:
            return .timedOut
        case CURLE_SSL_CONNECT_ERROR where connectionError != 0:
            return .unreachable("\(host): the connection ended while it was being secured.")
        case CURLE_SSL_CACERT_BADFILE:
            return .untrusted("\(host): the file of certificates can no longer be read; check the option ca_file.")
        case CURLE_PEER_FAILED_VERIFICATION where proxyVerification != 0:
            return .untrusted("The proxy's own certificate: \(Self.certificate(proxyVerification))")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
            return .untrusted("\(host): \(Self.certificate(verification))")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .untrusted(
                "\(host): the connection cannot be secured; is something in between, or does this port not speak TLS?")
        // "Unsupported protocol" is HTTP/0.9 here, since every URL was checked; "out of memory", or from libcurl 8.6 on "too large"
        // (CURLE_TOO_LARGE, libcurl-errors(3)), an overlong header line.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_OUT_OF_MEMORY, CURLcode(rawValue: 100):
            return .invalidAnswer("\(host): the answer is not HTTP.")
        case CURLE_BAD_CONTENT_ENCODING:
            return .invalidAnswer("\(host): the body cannot be decompressed.")
        case CURLE_URL_MALFORMAT:
            return .unsendable("\(host): the URL cannot be asked.")
        default:
            return headSeen
                ? .broken("\(host): the connection ended in the middle of the answer.")
                : .unreachable("\(host): the connection ended before an answer.")
        }
    }

    /// The error of a name without addresses, which may exist if it could not be looked up.
    static func ofName(_ name: String, exists: Bool, isProxy: Bool) -> Failure {
        switch (exists, isProxy) {
        case (false, false):
            .unreachable("\(name): there is no host of this name; is it spelled right, and is the network up?")
        case (true, false): .unreachable("\(name): the name cannot be resolved; is the network up?")
        case (false, true): .unreachable("There is no host of the proxy's name; check the option proxy.")
        case (true, true): .unreachable("The proxy's name cannot be resolved; check the option proxy.")
        }
    }

    private var refusal: String {
        switch proxyStatus {
        case 407:
            "The proxy asks who you are (407); write a name and a password into the option proxy, as "
                + "http://name:password@host:port."
        case 403: "The proxy refuses connections to \(host) (403); ask who runs it, or change the option proxy."
        default:
            "The proxy cannot connect to \(host) (it answered \(proxyStatus)); check the option proxy, or try again later."
        }
    }

    /// The sentence about a certificate; the numbers are OpenSSL's `X509_V_ERR_…` (openssl-verify(1)).
    private static func certificate(_ verification: Int) -> String {
        switch verification {
        case 9: "the certificate is not valid yet; is this machine's clock right?"
        case 10:
            "the certificate has expired; is this machine's clock right? If it is, who runs the host must renew it."
        case 2, 18, 19, 20, 21, 27:
            "the certificate is not signed by an authority known here; something in this network may be in between "
                + "(a portal, a proxy). If the host is your own, name the authority's file with the option ca_file."
        case 23: "the certificate was revoked; who runs the host must renew it."
        // libcurl compares names by itself, after the other checks, and leaves the number at its initial value (1).
        case 0, 1, 62:
            "the certificate is for another host; something in this network may be in between (a portal, a proxy), "
                + "or the address names the host in another way than its certificate."
        default: "the certificate is not in order (OpenSSL's number \(verification)); who runs the host must mend it."
        }
    }
}

extension CurlFailure {
    /// Collects the facts about an exchange's end from its handle.
    init(_ code: CURLcode, host: String, headSeen: Bool, from easy: CurlEasy?) {
        self.init(code: code, host: host, headSeen: headSeen)
        guard let easy else { return }
        connectionError = easy.number(CURLINFO_OS_ERRNO)
        verification = easy.number(CURLINFO_SSL_VERIFYRESULT)
        proxyVerification = easy.number(CURLINFO_PROXY_SSL_VERIFYRESULT)
        proxyStatus = easy.number(CURLINFO_HTTP_CONNECTCODE)
    }
}
