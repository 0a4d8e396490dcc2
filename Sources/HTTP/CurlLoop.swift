import CCurl
import Glibc

/// The loop: takes commands, lets waiting transfers go, moves bytes, ends what is late, sleeps.
///
/// ## Concurrency
///
/// Made by one thread, then used by the loop's thread alone. The multi handle and all easy handles are touched nowhere else
/// (libcurl-thread(3)); `CurlMailbox` is the way in. Sinks are called from here.
@safe final class CurlLoop {
    /// Redirects followed for one request; real ones need one.
    private static let hopsLimit = 3
    /// Easy handles kept for reuse; more were made only in a burst.
    private static let spareLimit = 64
    /// Bulk connections to one host: more than any server allows one client.
    private static let mostConnections = 256
    /// Streams of one HTTP/2 connection.
    private static let streams = 128
    private static let lackingOptions =
        "The network library refuses an option that a safe request needs; install libcurl 7.88 or later."
    /// The longest sleep, so that libcurl can tidy its connections up.
    private static let longestSleep = Duration.seconds(60)

    private let multi: UnsafeMutableRawPointer
    private let mailbox: CurlMailbox
    private let book: AddressBook
    private let ledger: RequestLedger
    private let options: CurlOptions
    private let stallTimeout: Duration
    private var queue: TransferQueue
    /// All transfers that have not finished, by number.
    private var flights: [Int: Flight] = [:]
    /// Those that libcurl works for, by easy handle.
    private var flying: [UnsafeMutableRawPointer: Flight] = unsafe [:]
    private var spares: [CurlEasy] = []
    private var nextCheck = ContinuousClock.now
    private var ended = false

    init(
        _ transferClass: TransferClass, multi: UnsafeMutableRawPointer, mailbox: CurlMailbox, book: AddressBook,
        configuration: CurlTransport.Configuration, ledger: RequestLedger
    ) {
        unsafe self.multi = unsafe multi
        self.mailbox = mailbox
        self.book = book
        self.ledger = ledger
        options = CurlOptions(
            userAgent: configuration.userAgent, proxy: configuration.proxy ?? "",
            connectTimeout: configuration.connectTimeout, certificates: configuration.certificates)
        stallTimeout = configuration.stallTimeout
        let limits = TransferQueue.Limits(bulk: min(max(1, configuration.connections), Self.mostConnections))
        queue = TransferQueue(limits: limits)
        _ = unsafe rankfs_curl_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        _ = unsafe rankfs_curl_multi_setopt_long(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, Self.streams)
        // Idle connections kept: those of one host.
        let idle = transferClass == .bulk ? limits.bulk : limits.metadata
        _ = unsafe rankfs_curl_multi_setopt_long(multi, CURLMOPT_MAXCONNECTS, idle)
    }

    /// Runs until a shutdown is asked for; then everything is cancelled and the handles are freed.
    func run() {
        while true {
            perform(mailbox.take())
            if ended { break }
            launch()
            var running: Int32 = 0
            _ = unsafe curl_multi_perform(multi, &running)
            collect()
            let now = ContinuousClock.now
            if now >= nextCheck { expire(now) }
            launch()
            mailbox.publish(active: queue.activeCount, queued: queue.waitingCount)
            let sleep = flights.isEmpty ? Self.longestSleep : min(nextCheck - .now, Self.longestSleep)
            let milliseconds = Int32(max(0, (sleep / .milliseconds(1)).rounded(.up)))
            _ = unsafe curl_multi_poll(multi, nil, 0, milliseconds, nil)
        }
        for flight in flights.values.sorted(by: { $0.id < $1.id }) { finish(flight, .failure(.cancelled)) }
        for case .start(_, _, let sink) in mailbox.close() { sink.finish(.failure(.cancelled)) }
        spares = []
        _ = unsafe curl_multi_cleanup(multi)
    }

    // MARK: - Commands

    private func perform(_ commands: [CurlCommand]) {
        for command in commands {
            switch command {
            case .start(let id, let request, let sink): admit(id, request, sink)
            case .setPriority(let id, let priority):
                flights[id]?.priority = priority
                queue.setPriority(id, priority)
            case .cancel(let id):
                if let flight = flights[id] { finish(flight, .failure(.cancelled)) }
            case .echo(let answer): answer()
            case .shutdown: ended = true
            }
        }
    }

    private func admit(_ id: Int, _ request: HTTPRequest, _ sink: any ResponseSink) {
        do throws(HTTPError) {
            try RequestRule.check(request)
            let target = try book.target(request.url)
            let meter = PaceMeter(window: stallTimeout, now: .now)
            let flight = Flight(
                id: id, request: request, sink: sink, target: target, meter: meter, ledger: ledger)
            flights[id] = flight
            nextCheck = min(nextCheck, request.deadline)
            enqueue(flight)
        } catch {
            sink.finish(.failure(error))
        }
    }

    /// Queues for the flight's present origin; by its number, so that one that goes on keeps its place.
    private func enqueue(_ flight: Flight) {
        let lane = TransferQueue.Lane(origin: flight.target.origin, transferClass: flight.request.transferClass)
        queue.enqueue(flight.id, lane: lane, priority: flight.priority, order: flight.id)
    }

    // MARK: - Exchanges

    private func launch() {
        for action in queue.next() {
            switch action {
            case .start(let id):
                if let flight = flights[id] { begin(flight) }
            case .preempt(let id):
                if let flight = flights[id] { preempt(flight) }
            }
        }
    }

    private func begin(_ flight: Flight) {
        guard let easy = spares.popLast() ?? CurlEasy() else {
            return finish(flight, .failure(.unreachable("No memory is left for another transfer.")))
        }
        let meter = PaceMeter(window: stallTimeout, now: .now)
        nextCheck = min(nextCheck, meter.nextLook)
        flight.beginExchange(easy: easy, meter: meter, proxied: !options.proxy.isEmpty)
        guard options.apply(flight, to: easy) else {
            return finish(flight, .failure(.refused(Self.lackingOptions)))
        }
        unsafe flying[easy.pointer] = flight
        _ = unsafe curl_multi_add_handle(multi, easy.pointer)
        ledger.count(flight.request.purpose) { counts in
            switch flight.request.method {
            case .head: counts.head += 1
            case .get: counts.get += 1
            }
        }
    }

    /// Gives the slot to a reader.
    ///
    /// What the sink has not seen begins again later; otherwise the owner may resume by range.
    private func preempt(_ flight: Flight) {
        guard flight.headDelivered else {
            detach(flight)
            ledger.count(flight.request.purpose) { $0.failed(.cancelled) }
            return enqueue(flight)
        }
        finish(flight, .failure(.broken("\(flight.target.host): preempted by a more urgent transfer.")))
    }

    /// Takes libcurl off a flight.
    ///
    /// Its connection is kept only if the exchange was complete. A handle that may have shared a connection is not used again:
    /// libcurl 7.88.1 can leave it in a state that a reset does not mend.
    private func detach(_ flight: Flight) {
        guard let easy = flight.easy else { return }
        _ = unsafe curl_multi_remove_handle(multi, easy.pointer)
        unsafe flying[easy.pointer] = nil
        flight.easy = nil
        guard flight.request.transferClass == .bulk || !flight.target.isSecure else { return }
        easy.reset()
        if spares.count < Self.spareLimit { spares.append(easy) }
    }

    private func finish(_ flight: Flight, _ result: Result<Void, HTTPError>) {
        detach(flight)
        queue.remove(flight.id)
        flights[flight.id] = nil
        if case .failure(let error) = result, flight.wasSent {
            ledger.count(flight.request.purpose) { $0.failed(error) }
        }
        flight.sink.finish(result)
    }

    private func collect() {
        var left: Int32 = 0
        var ended: [(Flight, CURLcode)] = []
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            let easy = unsafe message.pointee.easy_handle
            guard let easy = unsafe easy, let flight = unsafe flying[easy] else { continue }
            ended.append((flight, unsafe rankfs_curl_message_result(message)))
        }
        for (flight, code) in ended { complete(flight, code) }
    }

    private func complete(_ flight: Flight, _ code: CURLcode) {
        if flight.easy?.number(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) {
            queue.learnMultiplexing(origin: flight.target.origin)
        }
        if flight.failure == nil, let location = flight.location {
            follow(flight, location)
        } else {
            finish(flight, flight.outcome(code))
        }
    }

    private func follow(_ flight: Flight, _ location: String) {
        do throws(HTTPError) {
            guard flight.hops < Self.hopsLimit else {
                throw .redirectRefused("\(flight.target.host): too many redirects.")
            }
            let next = try book.redirect(location, from: flight.target)
            detach(flight)
            queue.remove(flight.id)
            if next.origin != flight.target.origin {
                flight.headers = RequestRule.headersForAnotherHost(flight.headers)
            }
            flight.target = next
            flight.hops += 1
            enqueue(flight)
        } catch {
            finish(flight, .failure(error))
        }
    }

    // MARK: - Time

    /// Ends what is past its deadline or crawls, and computes when to look again.
    private func expire(_ now: ContinuousClock.Instant) {
        nextCheck = now.advanced(by: Self.longestSleep)
        for flight in Array(flights.values) {
            if now >= flight.request.deadline || (flight.easy != nil && flight.meter.crawls(at: now)) {
                finish(flight, .failure(.timedOut))
                continue
            }
            nextCheck = min(nextCheck, flight.request.deadline)
            if flight.easy != nil { nextCheck = min(nextCheck, flight.meter.nextLook) }
        }
    }
}
