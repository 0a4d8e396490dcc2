import Glibc
import Synchronization

/// One door to each host of pictures: a host that asks to be left alone is, by whatever kind of request.
///
/// A status that says so (429), or a 503 with `Retry-After`, closes its host: what has time waits and is sent (or sent again)
/// afterwards, unseen by its sink; the rest ends with `.limited`. Requests to the service's interface (`.api`) pass by: they have
/// a gate of their own.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards the hosts and the requests; transports and sinks are called outside it. What was never
/// sent is ended from a task.
package final class CoolDownTransport: Transport {
    private struct Request {
        var request: HTTPRequest
        let sink: any ResponseSink
        let host: String
        /// How often it was sent.
        var tries = 0
        /// Set while it is under way.
        var transfer: (any Transfer)?
        var isCancelled = false
    }

    /// What is to be done outside the lock.
    private enum Step {
        case send(Int, HTTPRequest, any ResponseSink, try: Int)
        case end(any ResponseSink, HTTPError)
    }

    private struct State {
        var hosts: [String: HostCoolDown] = [:]
        var requests: [Int: Request] = [:]
        var nextID = 0
        var steps: [Step] = []
        /// When the timer will go off.
        var wake: ContinuousClock.Instant?
        var timer: Task<Void, Never>?

        mutating func join(_ id: Int) {
            guard let entry = requests[id] else { return }
            hosts[entry.host, default: HostCoolDown()].join(
                id, priority: entry.request.priority, transferClass: entry.request.transferClass,
                deadline: entry.request.deadline)
        }

        mutating func end(_ id: Int, _ error: HTTPError) {
            if let entry = requests.removeValue(forKey: id) { steps.append(.end(entry.sink, error)) }
        }

        /// Names of hosts come from outside, so they are not kept for ever.
        mutating func forgetStrangers(wall: Int64) {
            if hosts.count >= hostsLimit { hosts = hosts.filter { !$0.value.isIdle(wall: wall) } }
        }

        /// Asks every host what may go now; returns what is to be done, and when to ask again at the latest.
        mutating func advance(now: ContinuousClock.Instant, wall: Int64) -> ([Step], ContinuousClock.Instant?) {
            for host in Array(hosts.keys) {
                for action in hosts[host]?.next(now: now, wall: wall) ?? [] {
                    switch action {
                    case .refuse(let id, let seconds): end(id, .limited(retryAfter: seconds))
                    case .late(let id): end(id, .timedOut)
                    case .send(let id):
                        requests[id]?.tries += 1
                        guard let entry = requests[id] else { continue }
                        steps.append(.send(id, entry.request, entry.sink, try: entry.tries))
                    }
                }
            }
            defer { steps = [] }
            return (steps, hosts.values.compactMap { $0.wake(now: now, wall: wall) }.min())
        }
    }

    /// The pause after an answer that names none, in seconds, the first time; it doubles up to an hour.
    private static let usualPause: Int64 = 5
    /// Hosts remembered; there are two, and what addresses from outside name.
    fileprivate static let hostsLimit = 64

    private let transport: any Transport
    private let time: TimeSource
    private let tooOften: Set<Int>
    private let wallClock: @Sendable () -> Int64
    private let onClose: @Sendable (_ host: String, _ seconds: Int64, _ all: [String: Int64]) -> Void
    private let state: Mutex<State>

    /// A door before a transport.
    ///
    /// - Parameters:
    ///   - transport: The way to the network.
    ///   - tooOften: Statuses that ask for a pause, with or without `Retry-After`.
    ///   - closedUntil: Cool-downs left over from before a restart: hosts with their ports, and Unix seconds.
    ///   - wallClock: Unix seconds, for cool-downs.
    ///   - time: Measures deadlines and waits.
    ///   - onClose: Told each new cool-down: its host, its length, and the ends of all, in Unix seconds, to persist them.
    package init(
        _ transport: any Transport, tooOften: Set<Int> = [429], closedUntil: [String: Int64] = [:],
        wallClock: @escaping @Sendable () -> Int64, time: TimeSource = .system,
        onClose: @escaping @Sendable (_ host: String, _ seconds: Int64, _ all: [String: Int64]) -> Void = { _, _, _ in }
    ) {
        self.transport = transport
        self.tooOften = tooOften
        self.time = time
        self.wallClock = wallClock
        self.onClose = onClose
        state = Mutex(State(hosts: closedUntil.mapValues { HostCoolDown(closedUntil: $0) }))
    }

    deinit {
        state.withLock { $0.timer }?.cancel()
    }

    /// The hosts that are left alone now, and until when, in Unix seconds.
    package var closedUntil: [String: Int64] {
        let wall = wallClock()
        return state.withLock { $0.hosts.compactMapValues { $0.closedUntil(wall: wall) } }
    }

    package var slots: TransferSlots { transport.slots }

    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        guard request.purpose != .api else { return transport.start(request, sink: sink) }
        let id = change { state, wall in
            state.forgetStrangers(wall: wall)
            state.nextID += 1
            let host = Self.host(of: request.url)
            state.requests[state.nextID] = Request(request: request, sink: sink, host: host)
            state.join(state.nextID)
            return state.nextID
        }
        return HeldTransfer(id: id, door: self)
    }

    /// `images.example`, with the port if one is named; the same for any spelling of a host.
    static func host(of url: String) -> String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return (authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "").lowercased()
    }

    // MARK: - What owners do

    fileprivate func setPriority(_ id: Int, _ priority: TransferPriority) {
        let transfer = state.withLock { state in
            guard let request = state.requests[id] else { return (any Transfer)?.none }
            state.requests[id]?.request.priority = priority
            state.hosts[request.host]?.setPriority(id, priority)
            return request.transfer
        }
        transfer?.setPriority(priority)
    }

    fileprivate func cancel(_ id: Int) {
        let transfer = change { state, _ in
            guard let request = state.requests[id] else { return (any Transfer)?.none }
            state.requests[id]?.isCancelled = true
            if state.hosts[request.host]?.leave(id) == true { state.end(id, .cancelled) }
            return request.transfer
        }
        transfer?.cancel()
    }

    // MARK: - What answers do

    /// An answer's head has come; false if it is a refusal, which its sink need not see.
    fileprivate func answered(_ id: Int, _ head: HTTPHead) -> Bool {
        let verdict = verdict(on: head)
        settle(id, verdict)
        if case .limited = verdict { return false }
        return true
    }

    /// A request was refused, and that answer has ended: it waits with the others, or ends as they do.
    fileprivate func refused(_ id: Int) {
        change { state, _ in
            guard let request = state.requests[id] else { return }
            guard !request.isCancelled else { return state.end(id, .cancelled) }
            state.requests[id]?.transfer = nil
            state.join(id)
        }
    }

    /// A request has ended, with an answer that was passed on or without any.
    fileprivate func ended(_ id: Int) {
        settle(id, .unknown)
        state.withLock { $0.requests[id] = nil }
    }

    private func settle(_ id: Int, _ verdict: GateVerdict) {
        let now = time.now()
        let closed: (host: String, seconds: Int64, all: [String: Int64])? = change { state, wall in
            guard let host = state.requests[id]?.host,
                let end = state.hosts[host]?.settle(id, verdict, now: now, wall: wall)
            else { return nil }
            return (host, end - wall, state.hosts.compactMapValues { $0.closedUntil(wall: wall) })
        }
        if let closed { onClose(closed.host, closed.seconds, closed.all) }
    }

    private func verdict(on head: HTTPHead) -> GateVerdict {
        let pause = RetryAfter.asked(by: head, now: wallClock())
        switch head.status {
        case let status where tooOften.contains(status):
            return .limited(seconds: pause ?? Self.usualPause, told: pause != nil)
        case 503: return pause.map { .limited(seconds: $0, told: true) } ?? .unknown
        case 500...: return .unknown
        default: return .fine
        }
    }

    // MARK: - Steps

    /// Changes the state, then does what may be done now.
    private func change<Result>(_ body: (inout State, _ wall: Int64) -> Result) -> Result {
        let (now, wall) = (time.now(), wallClock())
        let (result, steps, wake) = state.withLock { state in
            let result = body(&state, wall)
            let (steps, wake) = state.advance(now: now, wall: wall)
            // One that goes off earlier looks again.
            let isNews = wake.map { wake in state.wake.map { wake < $0 } ?? true } ?? false
            if isNews { state.wake = wake }
            return (result, steps, isNews ? wake : nil)
        }
        for step in steps { perform(step) }
        if let wake { setTimer(to: wake, now: now) }
        return result
    }

    private func perform(_ step: Step) {
        switch step {
        case .end(let sink, let error): Task { sink.finish(.failure(error)) }
        case .send(let id, let request, let sink, let number):
            let transfer = transport.start(request, sink: Doorkeeper(id: id, door: self, sink: sink))
            let (isCancelled, priority) = state.withLock { state in
                // It may have ended, or been sent again, before `start` returned.
                guard let entry = state.requests[id], entry.tries == number else { return (false, request.priority) }
                state.requests[id]?.transfer = transfer
                return (entry.isCancelled, entry.request.priority)
            }
            if isCancelled { transfer.cancel() }
            if priority != request.priority { transfer.setPriority(priority) }
        }
    }

    private func setTimer(to wake: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        let timer = Task { [weak self, time] in
            do { try await time.sleep(wake - now) } catch { return }
            self?.timerWentOff()
        }
        let old = state.withLock { state in
            defer { state.timer = timer }
            return state.timer
        }
        old?.cancel()
    }

    private func timerWentOff() {
        change { state, _ in state.wake = nil }
    }
}

/// A request as its owner sees it.
private final class HeldTransfer: Transfer {
    private let id: Int
    private let door: CoolDownTransport

    init(id: Int, door: CoolDownTransport) {
        self.id = id
        self.door = door
    }

    func setPriority(_ priority: TransferPriority) { door.setPriority(id, priority) }
    func cancel() { door.cancel(id) }
}

/// Looks at an answer before its sink does, and keeps refusals to itself.
///
/// ## Concurrency
///
/// Called on the transport's thread, one call at a time.
private final class Doorkeeper: ResponseSink {
    private let id: Int
    private let door: CoolDownTransport
    private let sink: any ResponseSink
    private let isRefused = Atomic(false)

    init(id: Int, door: CoolDownTransport, sink: any ResponseSink) {
        self.id = id
        self.door = door
        self.sink = sink
    }

    func begun() { sink.begun() }

    func head(_ head: HTTPHead) -> Bool {
        guard door.answered(id, head) else {
            isRefused.store(true, ordering: .relaxed)
            // Its text is read to the end, so that the connection is kept.
            return true
        }
        return sink.head(head)
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if isRefused.load(ordering: .relaxed) { return true }
        return unsafe sink.body(bytes)
    }

    func finish(_ result: Result<Void, HTTPError>) {
        if isRefused.load(ordering: .relaxed) {
            door.refused(id)
        } else {
            door.ended(id)
            sink.finish(result)
        }
    }
}
