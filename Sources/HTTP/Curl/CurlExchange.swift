import CCurl

/// One transfer from its beginning to its end, over all its redirects.
///
/// ## Concurrency
///
/// Belongs to the loop's thread; libcurl's callbacks come on it too. Not sendable on purpose.
final class CurlExchange {
    /// Bytes of a redirect's own body that are read to keep the connection; more are not worth it.
    private static let redirectBodyLimit: Int64 = 64 * 1024
    /// How long a request waits for the first byte on a connection that was there before, at most; then it is sent again on a
    /// new one.
    ///
    /// More than a service in trouble takes for an answer, since each too early one costs it a request; and so little that
    /// a new connection and its answer fit into the 12 s after which a person gives up.
    private static let patience = Duration.seconds(4)

    let transfer: Transfer
    var target: AddressBook.Target
    /// Header lines that may still be sent; fewer after a redirect to another host.
    var headers: [String]
    var hops = 0

    /// Set while libcurl works for it.
    var easy: CurlEasy?
    /// Whose connections it is on; set while libcurl works for it.
    var pool: CurlPool?
    /// The name that it waits for.
    var awaitedName: String?
    /// Whether it was sent once more on a new connection, which happens once.
    var hasGoneAgain = false
    var meter: PaceMeter
    private var begun = ContinuousClock.now
    /// When the last byte of this exchange came.
    private var heard: ContinuousClock.Instant?
    private var check: AnswerCheck
    private var checksAddress = true
    private var isProxied = false
    /// Whether the text of an error was cut off: what came of it is all that there is to know.
    private var isCutShort = false
    private var redirectBody: Int64 = 0
    /// Bytes of the request's content that libcurl has taken, and when it last took some.
    var sent: Int64 = 0
    private var lastSent: ContinuousClock.Instant?

    /// Why this side ended the transfer.
    private(set) var failure: HTTPError?
    /// Where the answer leads.
    private(set) var location: String?
    /// An address that was refused; the reason if no other one could be reached.
    private var addressRefused = false
    /// Why there was no socket for it, if there are too many open files.
    var lackOfDescriptors: String?
    /// Whether the sink has seen the head, after which nothing can be begun again unseen.
    private(set) var headDelivered = false
    /// Whether libcurl ever worked for it: what never found an address was never sent.
    private(set) var wasSent = false
    private let ledger: RequestLedger
    private let observer: (any TransferObserver)?
    private let taken = ContinuousClock.now
    /// What the sink was given.
    private var status: Int?
    private var bodyBytes: Int64 = 0

    init(
        _ transfer: Transfer, target: AddressBook.Target, ledger: RequestLedger,
        observer: (any TransferObserver)? = nil
    ) {
        self.transfer = transfer
        self.target = target
        meter = PaceMeter(window: .zero, now: begun)
        self.ledger = ledger
        self.observer = observer
        headers = transfer.request.headers
        check = AnswerCheck(transfer.request, host: target.host)
    }

    var request: HTTPRequest { transfer.request }

    /// Makes ready for the next exchange, the first or one after a redirect.
    ///
    /// - Parameters:
    ///   - easy: A fresh easy handle.
    ///   - pool: Whose connections it will use.
    ///   - meter: Its pace, counted from now.
    ///   - proxied: Whether a proxy connects in our place, so that only its address is seen here.
    ///   - now: The present instant.
    func beginExchange(easy: CurlEasy, pool: CurlPool, meter: PaceMeter, proxied: Bool, now: ContinuousClock.Instant) {
        self.easy = easy
        self.pool = pool
        self.meter = meter
        begun = now
        heard = nil
        wasSent = true
        check = AnswerCheck(request, host: target.host)
        checksAddress = !target.isTrusted && !proxied
        isProxied = proxied
        isCutShort = false
        redirectBody = 0
        sent = 0
        lastSent = nil
        failure = nil
        location = nil
        addressRefused = false
        lackOfDescriptors = nil
        transfer.sink.begun()
    }

    /// One header line; false ends the exchange.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        listen(line.count)
        if unsafe line.starts(with: "HTTP/".utf8) {
            pool?.answered(target.origin, isHTTP2: unsafe line.starts(with: "HTTP/2".utf8))
        }
        do throws(HTTPError) {
            switch unsafe try check.line(line) {
            case .none: break
            case .redirect(let location):
                ledger.count(request.purpose) { $0.redirected += 1 }
                self.location = location
            case .head(let head):
                headDelivered = true
                status = head.status
                ledger.count(request.purpose) { $0.answered(head.status) }
                observer?.answered(request)
                var head = head
                if !isProxied { head.family = easy?.family }
                guard transfer.sink.head(head) else { throw .cancelled }
            }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Some bytes of the body; false ends the exchange.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        listen(bytes.count)
        if location != nil {
            redirectBody += Int64(bytes.count)
            return redirectBody <= Self.redirectBodyLimit
        }
        do throws(HTTPError) {
            guard check.headSeen else { throw .invalidAnswer("\(target.host): a body came without headers.") }
            guard try check.body(bytes.count) else {
                isCutShort = true
                return false
            }
            bodyBytes += Int64(bytes.count)
            ledger.count(request.purpose) { $0.receivedBytes += Int64(bytes.count) }
            guard unsafe transfer.sink.body(bytes) else { throw .cancelled }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Copies the next bytes to send; 0 at the end, nil if they cannot be read.
    func send(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let content = request.content, sent < content.length else { return 0 }
        let room = unsafe UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(min(Int64(buffer.count), content.length - sent))))
        // Fewer bytes than were promised are no content.
        guard let count = unsafe content.read(sent, room), count > 0 else {
            failure = .refused("What was to be sent can no longer be read.")
            return nil
        }
        sent += Int64(count)
        lastSent = ContinuousClock.now
        meter.received(count)
        return count
    }

    private func listen(_ count: Int) {
        meter.received(count)
        let now = ContinuousClock.now
        heard = now
        pool?.heard(target.origin, now: now)
    }

    // MARK: - Once more

    /// Whether it may be sent again unseen: all requests are safe to repeat (RFC 9110, 9.2.1).
    private var mayGoAgain: Bool {
        !hasGoneAgain && !headDelivered && failure == nil && location == nil && easy != nil
    }

    /// Whether the exchange is, or was, on a connection that others had used before or use as well.
    private var isOnSharedConnection: Bool {
        guard let easy, let pool else { return false }
        return pool.multiplexes(target.origin) == true || easy.number(CURLINFO_NUM_CONNECTS) == 0
    }

    /// Whether an old connection has been silent for too long, so that a new one is worth a try.
    func isLeftUnanswered(_ now: ContinuousClock.Instant) -> Bool {
        // One that has never brought anything is new.
        guard mayGoAgain, isOnSharedConnection, let pool, let lastHeard = pool.lastHeard(target.origin) else {
            return false
        }
        // A multiplexed one lives as long as anybody is answered.
        let last = pool.multiplexes(target.origin) == true ? lastHeard : heard
        let left = (request.content?.length ?? 0) - sent
        guard let silent = Self.silence(since: [begun, last, lastSent], left: left, now) else { return false }
        return silent >= Self.patience(within: request.deadline - begun)
    }

    /// For how long an answer has been due: since something was last heard or sent; nil while content is left to be sent.
    static func silence(
        since moments: [ContinuousClock.Instant?], left: Int64, _ now: ContinuousClock.Instant
    ) -> Duration? {
        guard left <= 0 else { return nil }
        return moments.compactMap { $0 }.max().map { now - $0 }
    }

    /// How long silence is borne by a request that has so much time, so that a second try has twice as much.
    static func patience(within time: Duration) -> Duration { min(patience, time / 3) }

    /// Whether a connection that is not its own ended before the answer: closed meanwhile, or with a GOAWAY.
    func brokeUnseen(_ code: CURLcode) -> Bool {
        switch code {
        case CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_GOT_NOTHING, CURLE_PARTIAL_FILE:
            mayGoAgain && isOnSharedConnection
        default: false
        }
    }

    // MARK: - The end

    /// Tells the end, the last thing that is heard of it.
    func finish(_ result: Result<Void, HTTPError>) {
        if let observer {
            let failure: HTTPError? = if case .failure(let error) = result { error } else { nil }
            observer.ended(
                request,
                TransferOutcome(
                    status: status, bytes: bodyBytes, duration: ContinuousClock.now - taken, failure: failure))
        }
        transfer.end(result)
    }

    /// Whether this address may be connected to.
    func mayConnect(to address: UnsafePointer<sockaddr>) -> Bool {
        guard checksAddress, unsafe !AddressRule.isPublic(address) else { return true }
        addressRefused = true
        return false
    }

    /// The outcome of an exchange that libcurl has ended and that is no redirect.
    func outcome(_ code: CURLcode) -> Result<Void, HTTPError> {
        if let failure { return .failure(failure) }
        if isCutShort { return .success(()) }
        guard code == CURLE_OK else {
            if let lackOfDescriptors, code == CURLE_COULDNT_CONNECT { return .failure(.exhausted(lackOfDescriptors)) }
            if addressRefused, code == CURLE_COULDNT_CONNECT {
                let reason = "\(target.host): the name leads to a private address, which is never asked."
                return .failure(hops > 0 ? .redirectRefused(reason) : .refused(reason))
            }
            return .failure(
                CurlFailure.error(
                    CurlFailure.Evidence(code, host: target.host, headSeen: check.headSeen, from: easy)))
        }
        return Result { () throws(HTTPError) in try check.end(transferred: easy?.transferred ?? 0) }
    }
}
