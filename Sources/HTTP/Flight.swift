import CCurl

/// One transfer from `start` to `finish`, over all its redirects.
///
/// ## Concurrency
///
/// Belongs to the loop's thread; libcurl's callbacks come on it too. Not sendable on purpose.
final class Flight {
    /// Bytes of a redirect's own body that are read to keep the connection; more are not worth it.
    private static let redirectBodyLimit: Int64 = 64 * 1024

    let id: Int
    let request: HTTPRequest
    let sink: any ResponseSink
    var priority: TransferPriority
    var target: AddressBook.Target
    /// Header lines that may still be sent; fewer after a redirect to another host.
    var headers: [String]
    var hops = 0

    /// Set while libcurl works for it.
    var easy: CurlEasy?
    var meter: PaceMeter
    private var check: AnswerCheck
    private var checksAddress = true
    private var redirectBody: Int64 = 0

    /// Why this side ended the transfer.
    private(set) var failure: HTTPError?
    /// Where the answer leads.
    private(set) var location: String?
    /// An address that was refused; the reason if no other one could be reached.
    private var addressRefused = false
    /// Whether the sink has seen the head, after which nothing can be begun again unseen.
    private(set) var headDelivered = false
    /// Whether libcurl ever worked for it: what never left the queue was never sent.
    private(set) var wasSent = false
    private let ledger: RequestLedger

    init(
        id: Int, request: HTTPRequest, sink: any ResponseSink, target: AddressBook.Target, meter: PaceMeter,
        ledger: RequestLedger
    ) {
        self.id = id
        self.request = request
        self.sink = sink
        self.target = target
        self.meter = meter
        self.ledger = ledger
        priority = request.priority
        headers = request.headers
        check = AnswerCheck(request, host: target.host)
    }

    /// Makes ready for the next exchange, the first or one after a redirect.
    ///
    /// - Parameters:
    ///   - easy: A fresh easy handle.
    ///   - meter: Its pace, counted from now.
    ///   - proxied: Whether a proxy connects in our place, so that only its address is seen here.
    func beginExchange(easy: CurlEasy, meter: PaceMeter, proxied: Bool) {
        self.easy = easy
        self.meter = meter
        wasSent = true
        check = AnswerCheck(request, host: target.host)
        checksAddress = !target.isTrusted && !proxied
        redirectBody = 0
        failure = nil
        location = nil
        addressRefused = false
    }

    /// One header line; false ends the exchange.
    func receiveHeader(_ line: UnsafeRawBufferPointer) -> Bool {
        meter.received(line.count)
        do throws(HTTPError) {
            switch unsafe try check.line(line) {
            case .none: break
            case .redirect(let location):
                ledger.count(request.purpose) { $0.redirected += 1 }
                self.location = location
            case .head(let head):
                headDelivered = true
                ledger.count(request.purpose) { $0.answered(head.status) }
                guard sink.head(head) else { throw .cancelled }
            }
            return true
        } catch {
            failure = error
            return false
        }
    }

    /// Some bytes of the body; false ends the exchange.
    func receiveBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        meter.received(bytes.count)
        if location != nil {
            redirectBody += Int64(bytes.count)
            return redirectBody <= Self.redirectBodyLimit
        }
        do throws(HTTPError) {
            guard check.headSeen else { throw .invalidAnswer("\(target.host): a body came without headers.") }
            try check.body(bytes.count)
            ledger.count(request.purpose) { $0.receivedBytes += Int64(bytes.count) }
            guard unsafe sink.body(bytes) else { throw .cancelled }
            return true
        } catch {
            failure = error
            return false
        }
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
        guard code == CURLE_OK else {
            if addressRefused, code == CURLE_COULDNT_CONNECT {
                let reason = "\(target.host): the name leads to a private address, which is never asked."
                return .failure(hops > 0 ? .redirectRefused(reason) : .refused(reason))
            }
            let connectionError = easy?.number(CURLINFO_OS_ERRNO) ?? 0
            return .failure(
                CurlFailure.error(
                    code, host: target.host, headSeen: check.headSeen, connectionError: connectionError))
        }
        return Result { () throws(HTTPError) in try check.end(transferred: easy?.transferred ?? 0) }
    }
}
