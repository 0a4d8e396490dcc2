import Glibc
import Synchronization

/// One door to each host: a host that asks to be left alone is, by whatever kind of request.
///
/// A status that says so (429), or a 503 with `Retry-After`, closes its host: what has time waits and is sent (or sent again)
/// afterwards, unseen by its sink; the rest ends with `.limited`. Requests to the service's interface (`.api`) pass by: they have
/// a gate of their own.
///
/// What stands in front of a host and turns programs away (`FrontPage`) closes it for everybody: what is under way is cancelled,
/// and what has no time to wait for the probe ends with `.turnedAway`.
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
        /// Of what it was asked with when it was sent last.
        var mark = ""
        /// How often it was sent.
        var tries = 0
        /// Whether it was sent and has not ended.
        var isOut = false
        /// Set while it is under way.
        var transfer: (any Transfer)?
        var isCancelled = false
        /// Turned away, or cancelled because others were.
        var isStopped = false
        /// Whether its sink has seen an answer, after which it cannot be sent again unseen.
        var isAnswered = false
    }

    /// The family of addresses by which a host is asked that turned the other one away.
    private struct Way {
        let family: AddressFamily
        var isProven = false
    }

    /// What a change of a host's state is worth telling.
    package enum News: Hashable, Sendable {
        /// The host asked to be left alone for so many seconds.
        case limited(host: String, seconds: Int64)
        /// What stands in front of it turned a request away: as a sentence.
        case turnedAway(String)
        /// It lets requests in again.
        case letIn(host: String)
    }

    /// What is to be done outside the lock.
    private enum Step {
        case send(Int, HTTPRequest, any ResponseSink, try: Int)
        case end(any ResponseSink, HTTPError)
    }

    private struct State {
        var hosts: [String: HostCoolDown] = [:]
        var ways: [String: Way] = [:]
        var means = AskingMeans()
        /// The mark of means whose clearance has not helped.
        var spent: String?
        let explain: @Sendable (String, HostPause) -> String
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
                deadline: entry.request.deadline, hasGate: entry.request.purpose == .api)
        }

        /// Takes in what is asked with now: by other means than those that were turned away one probe goes at once.
        mutating func take(_ means: AskingMeans) {
            guard means != self.means else { return }
            self.means = means
            for (name, host) in hosts where host.front.map({ $0.mark != means.mark }) == true {
                hosts[name]?.probeAgain()
            }
        }

        /// Why a host is not asked, for those who wanted to.
        func turnedAway(from host: String, wall: Int64) -> HTTPError {
            let pause = hosts[host]?.pause(wall: wall) ?? HostPause(end: wall)
            return .turnedAway(explain(host, pause))
        }

        /// What is sent for a request: by another way, or with another name, than it was made with.
        func outgoing(_ entry: Request) -> HTTPRequest {
            var request = entry.request
            request.family = ways[entry.host]?.family
            if let agent = means.userAgent { request.headers.append("User-Agent: \(agent)") }
            if let clearance = clearance(for: entry.host) {
                let session = request.headers.firstIndex { $0.hasPrefix("Cookie: ") }
                // RFC 6265, 5.4: one header for all.
                if let session { request.headers[session] += "; \(clearance)" }
                if session == nil { request.headers.append("Cookie: \(clearance)") }
            }
            return request
        }

        /// What proves a check to a host, unless that has come again.
        private func clearance(for host: String) -> String? {
            host == means.site && means.mark != spent && means.mark != hosts[host]?.front?.mark ? means.clearance : nil
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
                    case .turnAway(let id): end(id, turnedAway(from: host, wall: wall))
                    case .late(let id): end(id, .timedOut)
                    case .send(let id):
                        requests[id]?.tries += 1
                        requests[id]?.mark = means.mark
                        requests[id]?.isOut = true
                        guard let entry = requests[id] else { continue }
                        steps.append(.send(id, outgoing(entry), entry.sink, try: entry.tries))
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
    private let means: @Sendable () -> AskingMeans
    private let tell: @Sendable (News, _ all: [String: HostPause]) -> Void
    private let state: Mutex<State>

    /// A door before a transport.
    ///
    /// - Parameters:
    ///   - transport: The way to the network.
    ///   - tooOften: Statuses that ask for a pause, with or without `Retry-After`.
    ///   - pauses: Those left over from before a restart, by hosts with their ports.
    ///   - wallClock: Unix seconds, for cool-downs.
    ///   - time: Measures deadlines and waits.
    ///   - means: What is asked with, looked up with each request of the interface and while a front is in the way.
    ///   - explain: A sentence on why a host is not asked, for a pause with a front.
    ///   - tell: Told what changes, with the pauses of all hosts, to persist them.
    package init(
        _ transport: any Transport, tooOften: Set<Int> = [429], pauses: [String: HostPause] = [:],
        wallClock: @escaping @Sendable () -> Int64, time: TimeSource = .system,
        means: @escaping @Sendable () -> AskingMeans = { AskingMeans() },
        explain: @escaping @Sendable (String, HostPause) -> String = { host, _ in "\(host) turns programs away" },
        tell: @escaping @Sendable (News, _ all: [String: HostPause]) -> Void = { _, _ in }
    ) {
        self.transport = transport
        self.tooOften = tooOften
        self.time = time
        self.wallClock = wallClock
        self.means = means
        self.tell = tell
        var first = State(hosts: pauses.mapValues { HostCoolDown($0) }, explain: explain)
        first.take(means())
        state = Mutex(first)
    }

    deinit {
        state.withLock { $0.timer }?.cancel()
    }

    /// The hosts that are left alone now, and until when.
    package var pauses: [String: HostPause] {
        let wall = wallClock()
        return state.withLock { $0.hosts.compactMapValues { $0.pause(wall: wall) } }.filter { $0.value.end > wall }
    }

    package var slots: TransferSlots { transport.slots }

    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        let host = Self.host(of: request.url)
        let looks = request.purpose == .api || state.withLock { $0.hosts[host]?.front } != nil
        let means = looks ? means() : nil
        let id = change { state, wall in
            state.forgetStrangers(wall: wall)
            if let means { state.take(means) }
            state.nextID += 1
            state.requests[state.nextID] = Request(request: request, sink: sink, host: host)
            state.join(state.nextID)
            return state.nextID
        }
        return HeldTransfer(id: id, door: self)
    }

    /// `images.example`, with the port if one is named; the same for any spelling of a host.
    package static func host(of url: String) -> String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return (authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "").lowercased()
    }

    // MARK: - What owners do

    func setPriority(_ id: Int, _ priority: TransferPriority) {
        let transfer = state.withLock { state in
            guard let request = state.requests[id] else { return (any Transfer)?.none }
            state.requests[id]?.request.priority = priority
            state.hosts[request.host]?.setPriority(id, priority)
            return request.transfer
        }
        transfer?.setPriority(priority)
    }

    func cancel(_ id: Int) {
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
    func answered(_ id: Int, _ head: HTTPAnswer) -> Bool {
        let verdict = verdict(on: head, hasGate: state.withLock { $0.requests[id]?.request.purpose } == .api)
        settle(id, verdict)
        if case .limited = verdict { return false }
        state.withLock { $0.requests[id]?.isAnswered = true }
        return true
    }

    /// What stands in front of the host has turned a request away: nobody else asks, and what is under way there is cancelled.
    func turnedAway(_ id: Int, _ refusal: FrontRefusal, by family: AddressFamily?) {
        // Not every request has looked them up.
        let means = means()
        let (news, stopped): (News?, [any Transfer]) = change { state, wall in
            state.take(means)
            guard let (host, mark) = state.requests[id].map({ ($0.host, $0.mark) }) else { return (nil, []) }
            state.requests[id]?.isStopped = true
            if host == state.means.site { state.spent = mark }
            let isKnown = state.hosts[host]?.front.map { $0.step >= 0 } ?? false
            // One family of addresses may be let in where the other is not; of which of them a check is no question.
            let other = refusal == .block && state.ways[host] == nil && !isKnown ? family?.other : nil
            // What was sent before a login says nothing of what is sent after it.
            let hasOtherWay = other != nil || mark != state.means.mark
            let end = state.hosts[host]?.turnAway(id, refusal, mark: mark, hasOtherWay: hasOtherWay, wall: wall)
            guard end != nil else { return (nil, []) }
            if refusal == .block { state.ways[host] = other.map { Way(family: $0) } }
            var transfers: [any Transfer] = []
            for (number, request) in state.requests
            where number != id && request.host == host && request.isOut {
                state.requests[number]?.isStopped = true
                if let transfer = request.transfer { transfers.append(transfer) }
            }
            guard !hasOtherWay, case .turnedAway(let sentence) = state.turnedAway(from: host, wall: wall) else {
                return (nil, transfers)
            }
            return (.turnedAway(sentence), transfers)
        }
        for transfer in stopped { transfer.cancel() }
        if let news { tellAll(news) }
    }

    /// A request was refused, and that answer has ended: it waits with the others, or ends as they do.
    func refused(_ id: Int) {
        let now = time.now()
        change { state, wall in
            guard let request = state.requests[id] else { return }
            _ = state.hosts[request.host]?.settle(id, .unknown, now: now, wall: wall)
            guard !request.isCancelled else { return state.end(id, .cancelled) }
            // Its cookies are from before a login, and would be turned away again.
            guard !request.isStopped || request.mark == state.means.mark else {
                return state.end(id, state.turnedAway(from: request.host, wall: wall))
            }
            state.requests[id]?.transfer = nil
            state.requests[id]?.isStopped = false
            state.requests[id]?.isOut = false
            state.join(id)
        }
    }

    /// A request has ended, with an answer that was passed on or without any: what its sink is told, nil if it is sent again.
    func ended(_ id: Int, _ result: Result<Void, HTTPError>) -> Result<Void, HTTPError>? {
        let (isOnTrial, request) = state.withLock { state in
            (state.requests[id].flatMap { state.ways[$0.host] }?.isProven == false, state.requests[id])
        }
        guard let request else { return result }
        let leadsNowhere = if case .failure(.unreachable) = result { true } else { false }
        let isSilent = if case .failure(.timedOut) = result { !request.isAnswered } else { false }
        if isOnTrial, leadsNowhere || isSilent {
            // There is no other way.
            turnedAway(id, .block, by: nil)
            refused(id)
            return nil
        }
        if leadsNowhere {
            // On another network it may lead nowhere: the next request goes by whichever there is.
            state.withLock { $0.ways[request.host] = nil }
        }
        guard request.isStopped, !request.isCancelled, case .failure(.cancelled) = result else {
            settle(id, .unknown)
            state.withLock { $0.requests[id] = nil }
            return result
        }
        guard request.isAnswered else {
            refused(id)
            return nil
        }
        settle(id, .unknown)
        let wall = wallClock()
        return state.withLock { state in
            state.requests[id] = nil
            return .failure(state.turnedAway(from: request.host, wall: wall))
        }
    }

    private func settle(_ id: Int, _ verdict: GateVerdict) {
        let now = time.now()
        let news: News? = change { state, wall in
            guard let host = state.requests[id]?.host, let front = state.hosts[host].map(\.front) else { return nil }
            let end = state.hosts[host]?.settle(id, verdict, now: now, wall: wall)
            if let front, state.hosts[host]?.front == nil {
                state.ways[host]?.isProven = true
                if end == nil { return front.step < 0 ? nil : .letIn(host: host) }
            }
            return end.map { .limited(host: host, seconds: $0 - wall) }
        }
        if let news { tellAll(news) }
    }

    private func tellAll(_ news: News) {
        let wall = wallClock()
        tell(news, state.withLock { $0.hosts.compactMapValues { $0.pause(wall: wall) } })
    }

    private func verdict(on head: HTTPAnswer, hasGate: Bool) -> GateVerdict {
        // Whatever the service says: the front has let it through.
        if hasGate { return .fine }
        let isAsked = head.status == 503 && head.retryAfter.value != nil
        if isAsked || tooOften.contains(head.status) {
            return .limited(by: head, usual: Self.usualPause, now: wallClock())
        }
        return head.status >= 500 ? .unknown : .fine
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
                return (entry.isCancelled || entry.isStopped, entry.request.priority)
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
        let needless = state.withLock { state in
            // Somebody else has set an earlier one meanwhile.
            guard state.wake == wake else { return Optional(timer) }
            defer { state.timer = timer }
            return state.timer
        }
        needless?.cancel()
    }

    private func timerWentOff() {
        change { state, _ in state.wake = nil }
    }
}
