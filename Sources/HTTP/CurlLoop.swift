package import Rankings
import CCurl
import Glibc
import Synchronization
import System

/// The loop of a network thread: takes commands, moves bytes, ends late transfers, sleeps.
///
/// ## Concurrency
///
/// Made by one thread, then used by the loop's thread alone. The multi handles and all easy handles are used nowhere else
/// (libcurl-thread(3)); `CurlWorker` is the only way in. Sinks are called from here.
final class CurlLoop {
    /// The most redirects followed for one request; real services need one.
    private static let hopsLimit = 3
    /// The most easy handles kept for reuse; more exist only in a burst.
    private static let spareLimit = 64
    /// The longest sleep, so that libcurl can clean up its connections.
    private static let longestSleep = Duration.seconds(60)
    /// The longest sleep while a retired pool has exchanges under way, since libcurl 7.88 waits for one multi handle only.
    private static let sleepBesideRetired = Duration.milliseconds(10)
    private static let lackingOptions =
        "The network library refuses an option that a safe request needs; install libcurl 7.88 or later."

    private let transferClass: TransferClass
    private let connections: Int
    /// The pool for new exchanges.
    private var pool: CurlPool
    /// The retired pools, with exchanges still under way.
    private var retired: [CurlPool] = []
    private let worker: CurlWorker
    private let means: CurlMeans
    /// All transfers that have not ended.
    private var flights: [ObjectIdentifier: CurlExchange] = [:]
    /// The transfers that libcurl works on, by its handles.
    private var flying: [UInt: CurlExchange] = [:]
    private var spares: [CurlEasy] = []
    private var nextCheck = UptimeClock.now
    private var isEnding = false

    /// Makes a loop that is not running yet.
    ///
    /// - Parameters:
    ///   - worker: Its thread and the way to it.
    ///   - transferClass: The class of its transfers.
    ///   - pool: The pool that the worker wakes.
    ///   - connections: The most connections to one host.
    ///   - means: The objects and settings shared with other loops.
    init(
        _ worker: CurlWorker, _ transferClass: TransferClass, _ pool: CurlPool, connections: Int, _ means: CurlMeans
    ) {
        self.worker = worker
        self.pool = pool
        self.transferClass = transferClass
        self.connections = connections
        self.means = means
    }

    /// Runs until a shutdown is requested; then everything is cancelled and the handles are freed.
    func run() {
        while true {
            for command in worker.take() { command(self) }
            if isEnding { break }
            pool.loopGuard.beginTurn(isBusy: !flights.isEmpty)
            move()
            let now = UptimeClock.now
            if now >= nextCheck { expire(now) }
            pool.loopGuard.endTurn(isBusy: !flights.isEmpty)
            pool.wait(milliseconds: sleep())
        }
        for flight in flights.values { finish(flight, .failure(.cancelled)) }
        for command in worker.close() { command(self) }
    }

    /// Moves bytes on every pool, and releases retired pools without exchanges.
    private func move() {
        for pool in retired + [pool] {
            for (easy, code) in pool.turn() {
                if let flight = flying[easy] { complete(flight, code) }
            }
        }
        retired.removeAll { $0.isEmpty }
    }

    private func sleep() -> Int32 {
        var sleep = flights.isEmpty ? Self.longestSleep : min(nextCheck - UptimeClock.now, Self.longestSleep)
        if !retired.isEmpty {
            sleep = min(sleep, retired.contains { $0.hasMoved } ? .zero : Self.sleepBesideRetired)
        }
        return Int32(max(0, (sleep / .milliseconds(1)).rounded(.up)))
    }

    // MARK: - Commands

    /// Begins a transfer; after the end of the loop the transfer ends at once.
    func begin(_ transfer: Transfer) {
        guard !isEnding else { return transfer.end(.failure(.cancelled)) }
        let request = transfer.request
        do throws(Failure) {
            try request.check()
            let target = try means.book.target(request.url)
            let flight = CurlExchange(transfer, target: target, means)
            flights[ObjectIdentifier(transfer)] = flight
            let now = UptimeClock.now
            nextCheck = min(nextCheck, now + CurlExchange.patience(within: request.deadline - now))
            begin(flight)
        } catch {
            means.observer?.ended(request, TransferOutcome(failure: error))
            worker.ended()
            transfer.end(.failure(error))
        }
    }

    /// Ends a transfer that its owner has cancelled.
    func cancel(_ transfer: Transfer) {
        if let flight = flights[ObjectIdentifier(transfer)] { finish(flight, .failure(.cancelled)) }
    }

    /// Ends the loop.
    func end() { isEnding = true }

    // MARK: - Exchanges

    /// Begins an exchange, or waits until the addresses of its names are known.
    private func begin(_ flight: CurlExchange) {
        guard let addresses = addresses(for: flight) else { return }
        guard let easy = spares.popLast() ?? CurlEasy() else {
            return finish(flight, .failure(.unreachable("No memory is left for another transfer.")))
        }
        let now = UptimeClock.now
        if pool.isStale(.now) || means.isDoubted(pool.made) { retire() }
        let meter = PaceMeter(window: means.configuration.stallTimeout, now: now)
        nextCheck = min(nextCheck, meter.nextLook)
        flight.beginExchange(
            easy: easy, pool: pool, meter: meter, proxied: means.configuration.proxy?.isEmpty == false, now: now)
        guard means.configuration.apply(flight, addresses: addresses, to: easy) else {
            return finish(flight, .failure(.unsendable(Self.lackingOptions)))
        }
        flying[easy.id] = flight
        pool.begin(easy)
        means.count(flight.request.purpose) { counts in
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
        for place in means.names.places(for: flight.target) {
            let (transfer, name) = (flight.transfer, place.host)
            let known = means.resolver.addresses(of: name) { [worker] found in
                _ = worker.post { loop in loop.resolved(transfer, name, found) }
            }
            guard let known else {
                flight.awaitedName = name
                return nil
            }
            all[place] = known
        }
        return all
    }

    /// Handles the end of a look-up; a name that the transfer no longer waits for is ignored.
    private func resolved(_ transfer: Transfer, _ name: String, _ found: [String]?) {
        guard let flight = flights[ObjectIdentifier(transfer)], flight.awaitedName == name else { return }
        flight.awaitedName = nil
        if let found, !found.isEmpty { return begin(flight) }
        let isProxy = name != flight.target.host
        finish(flight, .failure(CurlFailure.ofName(name, exists: found == nil, isProxy: isProxy)))
    }

    /// Detaches a flight from libcurl.
    ///
    /// A handle that may have shared a connection is not used again: libcurl 7.88.1 can leave it in a state that a reset does not
    /// repair.
    private func detach(_ flight: CurlExchange) {
        flight.awaitedName = nil
        guard let easy = flight.easy else { return }
        if flying.removeValue(forKey: easy.id) != nil { flight.pool?.end(easy) }
        flight.easy = nil
        flight.pool = nil
        guard transferClass == .bulk || !flight.target.isSecure else { return }
        easy.reset()
        if spares.count < Self.spareLimit { spares.append(easy) }
    }

    private func finish(_ flight: CurlExchange, _ result: Result<Void, Failure>) {
        detach(flight)
        flights[ObjectIdentifier(flight.transfer)] = nil
        worker.ended()
        if case .failure(let error) = result, flight.wasSent {
            means.count(flight.request.purpose) { $0.failed(error) }
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
            for place in means.names.places(for: flight.target) { means.resolver.doubt(place.host) }
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
        do throws(Failure) {
            guard flight.hops < Self.hopsLimit else {
                throw .redirectRefused("\(flight.target.host): too many redirects.")
            }
            let next = try means.book.redirect(location, from: flight.target)
            detach(flight)
            if next.origin != flight.target.origin {
                flight.headers = HTTPRequest.headersForAnotherHost(flight.headers)
            }
            flight.target = next
            flight.hops += 1
            begin(flight)
        } catch {
            finish(flight, .failure(error))
        }
    }

    // MARK: - Time

    /// Ends transfers that are late or too slow, retries requests on silent connections, and computes the time of the next check.
    private func expire(_ now: ContinuousClock.Instant) {
        nextCheck = now.advanced(by: Self.longestSleep)
        for flight in Array(flights.values) {
            // What is sent has its deadline alone: a server may take long to store it, and says nothing meanwhile.
            let crawls = flight.easy != nil && flight.request.content == nil && flight.meter.crawls(at: now)
            if now >= flight.request.deadline || crawls {
                retire(flight.pool)
                finish(flight, .failure(.timedOut))
                continue
            }
            if let moment = flight.secondTry, moment <= now { goOnAfresh(flight, .timedOut) }
            nextCheck = min(nextCheck, flight.request.deadline, flight.secondTry ?? flight.request.deadline)
            if flight.easy != nil, flight.request.content == nil { nextCheck = min(nextCheck, flight.meter.nextLook) }
        }
    }

    /// Sends a request once more, on a new connection; the sink has seen nothing of the first try.
    private func goOnAfresh(_ flight: CurlExchange, _ error: Failure) {
        retire(flight.pool)
        means.count(flight.request.purpose) { $0.failed(error) }
        flight.hasGoneAgain = true
        detach(flight)
        begin(flight)
    }

    /// Retires the present pool after a silent failure: its other connections may have failed too.
    private func retire(_ doubted: CurlPool?) {
        guard doubted === pool else { return }
        retire()
        means.doubt(pool.made)
    }

    private func retire() {
        guard let fresh = CurlPool(transferClass, idle: connections, loopGuard: pool.loopGuard) else { return }
        // An empty pool is freed in the next turn.
        retired.append(pool)
        pool = fresh
        worker.wakes(fresh)
    }
}

/// The thread of a loop, and the only way to it: a list of commands, and libcurl's wake-up.
///
/// ## Concurrency
///
/// Any thread posts; only the loop takes. The thread runs from `init` to `shutdown`. The mutex also guards the life of the multi
/// handle against `curl_multi_wakeup`, the one libcurl function that other threads may call (curl_multi_wakeup(3)): it is called
/// under the lock, which is safe because it only writes to a non-blocking socket.
final class CurlWorker: Sendable {
    /// A command that runs on the loop's thread.
    typealias Command = @Sendable (CurlLoop) -> Void

    private struct State {
        var commands: [Command] = []
        /// The multi handle's address, as a number because pointers are not sendable; nil once the loop has ended.
        var multi: UInt?
        /// Nil after the thread was joined.
        var thread: pthread_t?
    }

    /// libcurl's global set-up, done once in the process (curl_global_init(3)).
    private static let isCurlReady: Bool = rankfs_curl_global_init() == CURLE_OK

    private let state: Mutex<State>
    private let load = Atomic<Int>(0)

    /// Starts a thread for the transfers of one class.
    ///
    /// - Throws: `.unsendable` if libcurl or the thread cannot be started.
    init(_ transferClass: TransferClass, connections: Int, _ means: CurlMeans) throws(Failure) {
        guard Self.isCurlReady, let pool = CurlPool(transferClass, idle: connections, loopGuard: LoopGuard()) else {
            throw .unsendable("libcurl cannot be started; is memory or the number of open files exhausted?")
        }
        // The pointer stays valid until `wakes` or `close`, which the loop calls before it frees the pool.
        state = Mutex(State(multi: unsafe UInt(bitPattern: pool.multi)))
        let loop = CurlLoop(self, transferClass, pool, connections: connections, means)
        guard let thread = OwnThread.startJoinable({ loop.run() }) else {
            throw .unsendable("No thread can be started for the network; is the limit of processes reached?")
        }
        state.withLock { $0.thread = thread }
    }

    /// The number of its transfers that have not ended.
    var underWay: Int { load.load(ordering: .relaxed) }

    /// Hands a transfer to the loop.
    func begin(_ transfer: Transfer) {
        load.add(1, ordering: .relaxed)
        guard post({ $0.begin(transfer) }) else { return transfer.end(.failure(.cancelled)) }
        transfer.carry { [self] transfer in
            if transfer.isCancelled { _ = post { $0.cancel(transfer) } }
        }
    }

    /// Hands a command to the loop; false if the loop has ended.
    func post(_ command: @escaping Command) -> Bool {
        state.withLock { state in
            guard let multi = state.multi else { return false }
            state.commands.append(command)
            if state.commands.count == 1 { _ = unsafe curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
            return true
        }
    }

    /// Whether the caller is the loop's thread, within a sink.
    var isCurrentThread: Bool {
        state.withLock { $0.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false }
    }

    /// Cancels everything and wakes the loop; a second call has no effect.
    ///
    /// - Parameter waits: Whether to return only after the thread has ended; false within a sink.
    func shutdown(waits: Bool = true) {
        guard let running = state.withLock({ $0.thread.take() }) else { return }
        _ = post { $0.end() }
        if waits {
            pthread_join(running, nil)
        } else {
            pthread_detach(running)
        }
    }

    // MARK: - For the loop

    /// Records the end of a transfer.
    func ended() { load.subtract(1, ordering: .relaxed) }

    /// Sets the pool that the loop waits for from now on.
    func wakes(_ pool: CurlPool) {
        let multi = unsafe UInt(bitPattern: pool.multi)
        state.withLock { state in
            state.multi = multi
            // Commands posted since the last `take` woke the old pool.
            if !state.commands.isEmpty { _ = unsafe curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
        }
    }

    /// Takes all commands since the last call.
    func take() -> [Command] {
        state.withLock { state in
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Refuses further commands and returns the last ones.
    func close() -> [Command] {
        state.withLock { $0.multi = nil }
        return take()
    }
}

// MARK: - The transport

/// The transport over libcurl, which begins each transfer at once: three threads, each with multi handles of its own.
///
/// One thread carries bodies on connections with HTTP/1.1 only, the others small answers on connections that may use HTTP/2; the
/// second of them takes those that are more than the streams of one connection. No two threads share a connection: libcurl 7.88.1
/// puts a request that prefers HTTP/2 on a connection where a request restricted to HTTP/1.1 is under way, and then each request
/// reads bytes of the other.
///
/// ## Concurrency
///
/// Any thread may call. The threads run from `init` to `shutdown`; they sleep without waking while no transfer is under way.
package final class CurlTransport: Transport {
    package typealias Configuration = CurlConfiguration

    package let limits: HostLimits

    /// The worker for bodies: HTTP/1.1 only, one connection each.
    private let bulk: CurlWorker
    /// The workers for small answers: HTTP/2 where it is offered, one connection to a host each.
    private let metadata: [CurlWorker]
    private let means: CurlMeans

    /// Starts the transport's threads.
    ///
    /// - Parameters:
    ///   - configuration: The limits and rules.
    ///   - observer: The observer of every request.
    /// - Throws: `.unsendable` if an origin does not parse, or if libcurl or a thread cannot be started; `.untrusted` if the file of
    ///   certificates cannot be read or holds none.
    package convenience init(
        _ configuration: Configuration, observer: (any TransferObserver)? = nil
    ) throws(Failure) {
        try self.init(configuration, resolver: NameResolver(), observer: observer)
    }

    /// Makes a transport with a resolver of its own, for tests.
    init(
        _ configuration: Configuration, resolver: NameResolver, observer: (any TransferObserver)? = nil
    ) throws(Failure) {
        means = try CurlMeans(configuration, resolver, observer)
        if let path = configuration.certificates { try Certificates.check(file: path) }
        limits = configuration.limits
        var workers: [CurlWorker] = []
        do throws(Failure) {
            workers.append(try CurlWorker(.bulk, connections: limits.bodies.all, means))
            for _ in 0..<HostLimits.sharedConnections {
                workers.append(try CurlWorker(.metadata, connections: limits.connections, means))
            }
        } catch {
            for worker in workers { worker.shutdown() }
            throw error
        }
        (bulk, metadata) = (workers[0], Array(workers[1...]))
    }

    deinit {
        shutdown()
    }

    package func begin(_ transfer: Transfer) {
        switch transfer.request.transferClass {
        case .bulk: bulk.begin(transfer)
        case .metadata: nextForSmallAnswer.begin(transfer)
        }
    }

    /// The first worker with a free stream: a second connection is opened for what one does not carry.
    private var nextForSmallAnswer: CurlWorker {
        metadata.first { $0.underWay < HostLimits.streamsOfOne } ?? metadata[metadata.count - 1]
    }

    /// The requests sent for each purpose since the start, and their outcomes.
    package var requestCounts: [(purpose: RequestPurpose, counts: RequestCounts)] { means.allCounts }

    /// Calls back from a loop's thread after a turn of every loop: at once unless a loop hangs, whatever the state of the network.
    ///
    /// After the shutdown no call comes.
    package func echo(_ answer: @escaping @Sendable () -> Void) {
        let turns = metadata.reduce(answer) { next, worker in { @Sendable in _ = worker.post { _ in next() } } }
        _ = bulk.post { _ in turns() }
    }

    /// Cancels everything, wakes the loops and joins their threads.
    ///
    /// Blocks until all sinks have received the end. Requests started later end with `.cancelled` at once. Within a sink no thread
    /// is joined, since the caller runs on one of them.
    package func shutdown() {
        let workers = [bulk] + metadata
        let isFromWithin = workers.contains(where: \.isCurrentThread)
        for worker in workers { worker.shutdown(waits: !isFromWithin) }
    }
}
