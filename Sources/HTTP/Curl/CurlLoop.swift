import CCurl

/// The loop: takes commands, moves bytes, ends what is late, sleeps.
///
/// ## Concurrency
///
/// Made by one thread, then used by the loop's thread alone. The multi handles and all easy handles are touched nowhere else
/// (libcurl-thread(3)); `CurlMailbox` is the way in. Sinks are called from here.
final class CurlLoop {
    /// Redirects followed for one request; real ones need one.
    private static let hopsLimit = 3
    /// Easy handles kept for reuse; more were made only in a burst.
    private static let spareLimit = 64
    /// The longest sleep, so that libcurl can tidy its connections up.
    private static let longestSleep = Duration.seconds(60)
    /// The longest sleep while an old pool has something under way, since libcurl 7.88 waits for one multi handle only.
    private static let sleepBesideRetired = Duration.milliseconds(10)
    private static let lackingOptions =
        "The network library refuses an option that a safe request needs; install libcurl 7.88 or later."

    private let transferClass: TransferClass
    private let idleConnections: Int
    private let loopGuard = LoopGuard()
    /// What new exchanges begin on.
    private var pool: CurlPool
    /// Given up, with exchanges still under way.
    private var retired: [CurlPool] = []
    let mailbox: CurlMailbox
    private let book: AddressBook
    private let ledger: RequestLedger
    private let names: NameNeeds
    private let resolver: NameResolver
    private let doubt: ConnectionDoubt
    private let observer: (any TransferObserver)?
    private let options: CurlOptions
    private let stallTimeout: Duration
    /// All transfers that have not ended.
    private var flights: [ObjectIdentifier: CurlExchange] = [:]
    private var spares: [CurlEasy] = []
    private var nextCheck = ContinuousClock.now
    private var ended = false

    /// A loop that is not running yet, nil if memory or descriptors are exhausted.
    init?(
        _ transferClass: TransferClass, book: AddressBook, configuration: CurlTransport.Configuration,
        ledger: RequestLedger, resolver: NameResolver, doubt: ConnectionDoubt, observer: (any TransferObserver)?
    ) {
        let limits = configuration.limits
        // Those of one host.
        idleConnections = transferClass == .bulk ? limits.bodies.all : limits.connections
        guard let pool = CurlPool(transferClass, idle: idleConnections, loopGuard: loopGuard) else { return nil }
        self.pool = pool
        self.transferClass = transferClass
        mailbox = CurlMailbox(wakes: pool)
        self.book = book
        self.ledger = ledger
        self.resolver = resolver
        self.doubt = doubt
        self.observer = observer
        options = CurlOptions(
            userAgent: configuration.userAgent, proxy: configuration.proxy ?? "",
            connectTimeout: configuration.connectTimeout, certificates: configuration.certificates)
        names = NameNeeds(proxy: options.proxy)
        stallTimeout = configuration.stallTimeout
    }

    /// Runs until a shutdown is asked for; then everything is cancelled and the handles are freed.
    func run() {
        while true {
            perform(mailbox.take())
            if ended { break }
            loopGuard.beginTurn(isBusy: !flights.isEmpty)
            move()
            let now = ContinuousClock.now
            if now >= nextCheck { expire(now) }
            loopGuard.endTurn(isBusy: !flights.isEmpty)
            pool.wait(milliseconds: sleep())
        }
        for flight in flights.values { finish(flight, .failure(.cancelled)) }
        for case .begin(let transfer) in mailbox.close() { transfer.end(.failure(.cancelled)) }
    }

    /// Moves bytes on every pool, and lets go of old ones that have done their work.
    private func move() {
        for pool in retired + [pool] {
            for (flight, code) in pool.turn() { complete(flight, code) }
        }
        retired.removeAll { $0.isEmpty }
    }

    private func sleep() -> Int32 {
        var sleep = flights.isEmpty ? Self.longestSleep : min(nextCheck - .now, Self.longestSleep)
        if !retired.isEmpty {
            sleep = min(sleep, retired.contains { $0.hasMoved } ? .zero : Self.sleepBesideRetired)
        }
        return Int32(max(0, (sleep / .milliseconds(1)).rounded(.up)))
    }

    // MARK: - Commands

    private func perform(_ commands: [CurlCommand]) {
        for command in commands {
            switch command {
            case .begin(let transfer): admit(transfer)
            case .cancel(let transfer):
                if let flight = flights[ObjectIdentifier(transfer)] { finish(flight, .failure(.cancelled)) }
            case .resolved(let transfer, let name, let trouble):
                if let flight = flights[ObjectIdentifier(transfer)] { resolved(flight, name, trouble) }
            case .echo(let answer): answer()
            case .shutdown: ended = true
            }
        }
    }

    private func admit(_ transfer: Transfer) {
        let request = transfer.request
        do throws(HTTPError) {
            try RequestRule.check(request)
            let target = try book.target(request.url)
            let flight = CurlExchange(transfer, target: target, ledger: ledger, observer: observer)
            flights[ObjectIdentifier(transfer)] = flight
            nextCheck = min(nextCheck, request.deadline)
            begin(flight)
        } catch {
            observer?.ended(request, TransferOutcome(failure: error))
            transfer.end(.failure(error))
        }
    }

    // MARK: - Exchanges

    /// Begins an exchange, or waits until the names that it needs are known.
    private func begin(_ flight: CurlExchange) {
        guard let addresses = addresses(for: flight) else { return }
        guard let easy = spares.popLast() ?? CurlEasy() else {
            return finish(flight, .failure(.unreachable("No memory is left for another transfer.")))
        }
        let now = ContinuousClock.now
        if pool.isStale(now) || doubt.isAfter(pool.made) { retire() }
        let meter = PaceMeter(window: stallTimeout, now: now)
        nextCheck = min(nextCheck, meter.nextLook)
        flight.beginExchange(easy: easy, pool: pool, meter: meter, proxied: !options.proxy.isEmpty, now: now)
        guard options.apply(flight, addresses: addresses, to: easy) else {
            return finish(flight, .failure(.refused(Self.lackingOptions)))
        }
        pool.begin(flight, easy, now: now)
        ledger.count(flight.request.purpose) { counts in
            switch flight.request.method {
            case .head: counts.head += 1
            case .get: counts.get += 1
            case .put, .delete: counts.write += 1
            }
        }
    }

    /// The addresses of every name that a flight needs; nil while one of them is looked up.
    private func addresses(for flight: CurlExchange) -> [NameNeeds.Place: [String]]? {
        var all: [NameNeeds.Place: [String]] = [:]
        for place in names.places(for: flight.target) {
            let (transfer, name, mailbox) = (flight.transfer, place.host, mailbox)
            let known = resolver.addresses(of: name) { result in
                var trouble: NameTrouble?
                if case .failure(let error) = result { trouble = error }
                _ = mailbox.post(.resolved(transfer, name, trouble))
            }
            guard let known else {
                flight.awaitedName = name
                return nil
            }
            all[place] = known
        }
        return all
    }

    /// A name has been looked up; one that the flight does not wait for any more is nothing to it.
    private func resolved(_ flight: CurlExchange, _ name: String, _ trouble: NameTrouble?) {
        guard flight.awaitedName == name else { return }
        flight.awaitedName = nil
        guard let trouble else { return begin(flight) }
        let isProxy = name != flight.target.host
        finish(flight, .failure(CurlFailure.error(trouble, name: name, isProxy: isProxy)))
    }

    /// Begins a flight again that the sink has seen nothing of.
    private func again(_ flight: CurlExchange) {
        detach(flight)
        begin(flight)
    }

    /// Takes libcurl off a flight.
    ///
    /// A handle that may have shared a connection is not used again: libcurl 7.88.1 can leave it in a state that a reset does
    /// not mend.
    private func detach(_ flight: CurlExchange) {
        flight.awaitedName = nil
        guard let easy = flight.easy else { return }
        flight.pool?.end(easy)
        flight.easy = nil
        flight.pool = nil
        guard transferClass == .bulk || !flight.target.isSecure else { return }
        easy.reset()
        if spares.count < Self.spareLimit { spares.append(easy) }
    }

    private func finish(_ flight: CurlExchange, _ result: Result<Void, HTTPError>) {
        detach(flight)
        flights[ObjectIdentifier(flight.transfer)] = nil
        if case .failure(let error) = result, flight.wasSent {
            ledger.count(flight.request.purpose) { $0.failed(error) }
        }
        flight.finish(result)
    }

    private func complete(_ flight: CurlExchange, _ code: CURLcode) {
        let origin = flight.target.origin
        if flight.pool?.isMixed(origin) == true {
            retire(flight.pool)
            return finish(flight, .failure(.broken("\(flight.target.host): the answer came in two protocols at once.")))
        }
        if code == CURLE_COULDNT_CONNECT || code == CURLE_OPERATION_TIMEDOUT {
            for place in names.places(for: flight.target) { resolver.doubt(place.host) }
        }
        if flight.brokeUnseen(code) {
            goOnAfresh(flight, .unreachable(""))
        } else if flight.failure == nil, let location = flight.location {
            follow(flight, location)
        } else {
            finish(flight, flight.outcome(code))
        }
    }

    private func follow(_ flight: CurlExchange, _ location: String) {
        do throws(HTTPError) {
            guard flight.hops < Self.hopsLimit else {
                throw .redirectRefused("\(flight.target.host): too many redirects.")
            }
            let next = try book.redirect(location, from: flight.target)
            detach(flight)
            if next.origin != flight.target.origin {
                flight.headers = RequestRule.headersForAnotherHost(flight.headers)
            }
            flight.target = next
            flight.hops += 1
            begin(flight)
        } catch {
            finish(flight, .failure(error))
        }
    }

    // MARK: - Time

    /// Ends what is past its deadline or crawls, tries again what an old connection is silent about, and computes when to look
    /// again.
    private func expire(_ now: ContinuousClock.Instant) {
        nextCheck = now.advanced(by: Self.longestSleep)
        for flight in Array(flights.values) {
            if now >= flight.request.deadline || (flight.easy != nil && flight.meter.crawls(at: now)) {
                retire(flight.pool)
                finish(flight, .failure(.timedOut))
                continue
            }
            if flight.isLeftUnanswered(now) { goOnAfresh(flight, .timedOut) }
            nextCheck = min(nextCheck, flight.request.deadline)
            if flight.easy != nil { nextCheck = min(nextCheck, flight.meter.nextLook) }
        }
    }

    /// Sends a request once more, on a new connection; the sink has seen nothing of the first try.
    private func goOnAfresh(_ flight: CurlExchange, _ error: HTTPError) {
        retire(flight.pool)
        ledger.count(flight.request.purpose) { $0.failed(error) }
        flight.hasGoneAgain = true
        again(flight)
    }

    /// Lets nothing begin any more on the connections of the present pool: one of them failed silently, and the others may have.
    private func retire(_ doubted: CurlPool?) {
        guard doubted === pool else { return }
        retire()
        doubt.raise(pool.made)
    }

    private func retire() {
        guard let fresh = CurlPool(transferClass, idle: idleConnections, loopGuard: loopGuard) else { return }
        // An empty one is freed in the next turn.
        retired.append(pool)
        pool = fresh
        mailbox.wakes(fresh)
    }
}
