import CCurl
import Glibc
import Synchronization

/// When a connection last failed silently: those of other pools that were there then are doubted as well, since it is mostly
/// the network that changed.
///
/// ## Concurrency
///
/// Any thread may call.
final class ConnectionDoubt: Sendable {
    private let last = Mutex<ContinuousClock.Instant?>(nil)

    /// Doubts what was connected before this instant.
    func raise(_ instant: ContinuousClock.Instant) {
        last.withLock { $0 = max($0 ?? instant, instant) }
    }

    /// Whether what was connected at this instant is doubted.
    func isAfter(_ instant: ContinuousClock.Instant) -> Bool {
        last.withLock { $0.map { $0 > instant } ?? false }
    }
}

/// One multi handle: connections that are used, and given up, together.
///
/// libcurl 7.88 keeps a shared connection after a transfer on it was taken away for being late, however dead it is, and hands
/// it to the next one. So connections are never doubted one by one: a new pool is made for what begins from then on, and the
/// old one is freed, with all its connections, once what is under way on it has ended.
///
/// ## Concurrency
///
/// Made by one thread, then used by the loop's thread alone.
@safe final class CurlPool {
    /// Idle connections older than this are not used: routers forget them silently, the first after some minutes.
    static let longestIdle = Duration.seconds(60)
    /// Streams of one HTTP/2 connection.
    private static let streams = 128

    let multi: UnsafeMutableRawPointer
    /// Where its sockets are known; its connections' last callback needs it.
    let loopGuard: LoopGuard
    let made = ContinuousClock.now
    /// When the last exchange began here, or bytes came.
    private(set) var lastUse = ContinuousClock.now
    /// Whether bytes came in the last turn.
    private(set) var hasMoved = false
    /// Exchanges under way.
    private var flying = 0
    private var origins: [String: Origin] = [:]

    /// What was heard from one origin.
    private struct Origin {
        var heard: ContinuousClock.Instant?
        var speaksHTTP1 = false
        var speaksHTTP2 = false
    }

    /// An empty pool, nil if memory or descriptors are exhausted.
    ///
    /// - Parameters:
    ///   - transferClass: What it carries; bodies share no connection.
    ///   - idle: Connections to one host, all of which are kept while idle.
    ///   - loopGuard: Where its sockets are to be known.
    init?(_ transferClass: TransferClass, idle: Int, loopGuard: LoopGuard) {
        guard let multi = unsafe curl_multi_init() else { return nil }
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

    /// Whether nothing is under way.
    var isEmpty: Bool { flying == 0 }

    /// Whether its idle connections are too old, by a clock that goes on while the machine sleeps.
    func isStale(_ now: ContinuousClock.Instant) -> Bool {
        isEmpty && now - lastUse > Self.longestIdle
    }

    /// Lets libcurl work with a handle.
    func begin(_ easy: CurlEasy, now: ContinuousClock.Instant) {
        lastUse = now
        flying += 1
        _ = unsafe curl_multi_add_handle(multi, easy.pointer)
    }

    /// Takes a handle from libcurl; its connection is kept only if the exchange was complete or others share it.
    func end(_ easy: CurlEasy) {
        _ = unsafe curl_multi_remove_handle(multi, easy.pointer)
        flying -= 1
    }

    /// Moves bytes; returns the handles with which libcurl has done.
    func turn() -> [(easy: CurlEasy.ID, code: CURLcode)] {
        hasMoved = false
        var running: Int32 = 0
        _ = unsafe curl_multi_perform(multi, &running)
        var left: Int32 = 0
        var ended: [(easy: CurlEasy.ID, code: CURLcode)] = []
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            guard let easy = unsafe message.pointee.easy_handle else { continue }
            ended.append((unsafe CurlEasy.ID(easy), unsafe rankfs_curl_message_result(message)))
        }
        return ended
    }

    /// Sleeps until something happens or the mailbox wakes it.
    func wait(milliseconds: Int32) {
        _ = unsafe curl_multi_poll(multi, nil, 0, milliseconds, nil)
    }

    // MARK: - What is heard

    /// Notes that bytes came from an origin.
    func heard(_ origin: String, now: ContinuousClock.Instant) {
        hasMoved = true
        lastUse = now
        origins[origin, default: Origin()].heard = now
    }

    /// When bytes last came from an origin, on whatever connection.
    func lastHeard(_ origin: String) -> ContinuousClock.Instant? { origins[origin]?.heard }

    /// Notes the protocol of an answer.
    func answered(_ origin: String, isHTTP2: Bool) {
        if isHTTP2 {
            origins[origin, default: Origin()].speaksHTTP2 = true
        } else {
            origins[origin, default: Origin()].speaksHTTP1 = true
        }
    }

    /// Whether an origin's requests share connections; nil before it has answered.
    func multiplexes(_ origin: String) -> Bool? {
        origins[origin].flatMap { $0.speaksHTTP2 ? true : $0.speaksHTTP1 ? false : nil }
    }

    /// Whether one origin answered in both protocols, so that libcurl 7.88.1 may have put a request on a connection of another
    /// that cannot be shared; then neither body is to be believed.
    func isMixed(_ origin: String) -> Bool {
        origins[origin].map { $0.speaksHTTP1 && $0.speaksHTTP2 } ?? false
    }
}

/// The sockets of one loop, for when it does not come back from libcurl.
///
/// libcurl 7.88 reads for as long as something can be read: a server that sends control frames of HTTP/2 without end (SETTINGS,
/// PING, empty DATA) keeps curl_multi_perform(3) from returning, and no deadline helps. While transfers are under way a task looks
/// every now and then whether the loop goes round; if not, it shuts its sockets down, so that nothing can be read from them and
/// the transfers fail.
///
/// ## Concurrency
///
/// The loop's thread tells, a task looks; one mutex guards all. Descriptors are closed under it, so that the number of one that
/// was closed, and now is somebody else's, is never shut down.
final class LoopGuard: Sendable {
    private struct State {
        var sockets: Set<Int32> = []
        /// When the loop went to work; nil while it sleeps.
        var turnBegan: ContinuousClock.Instant?
        var isBusy = false
        var isWatched = false
    }

    /// A turn takes milliseconds; a slow disk below a sink makes it longer.
    static let longestTurn = Duration.seconds(5)
    /// Time between two looks.
    private static let pause = Duration.seconds(1)

    private let state = Mutex(State())

    /// The loop goes to work.
    func beginTurn(isBusy: Bool) {
        let now = ContinuousClock.now
        let starts = state.withLock { state in
            state.turnBegan = now
            state.isBusy = isBusy
            defer { state.isWatched = state.isWatched || isBusy }
            return isBusy && !state.isWatched
        }
        guard starts else { return }
        Task.detached { [self] in
            repeat { try? await Task.sleep(for: Self.pause) } while look(.now)
        }
    }

    /// The loop goes to sleep.
    func endTurn(isBusy: Bool) {
        state.withLock { state in
            state.turnBegan = nil
            state.isBusy = isBusy
        }
    }

    /// Looks whether the loop goes round; false if there is nothing to look at any more.
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

    /// A socket was opened for the loop.
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
