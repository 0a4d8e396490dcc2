import Rankings
import Glibc
import Synchronization

/// The request queue before a transport: all waiting happens here, and the transport begins each request that it receives at once.
///
/// A state for each host decides which requests may go (`HostState`). A status that requests a pause (429), or a 503 with
/// `Retry-After`, begins a cool-down of its host: a request that has time waits and is sent (or sent again) afterwards, unseen by
/// its sink; other requests end with `.limited`. Requests to the service's interface (`.api`) have a rate limit and cool-downs of
/// their own: a request that has not had its turn in time ends with `.crowded`, or with `.limited` because of such a cool-down, and
/// each answer goes to its sink after its verdict (`HTTPRequest.judge`).
///
/// A front that turns programs away (`FrontPage`) closes its host for every request: requests under way are cancelled, and requests
/// that cannot wait for the probe end with `.turnedAway`.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards hosts and requests; the transport and sinks are called outside it, in order, by one thread
/// at a time. Requests that were never sent are ended from a task.
package final class RequestQueue: Transport {
    /// A change of a host's state for displays and logs.
    package enum News: Hashable, Sendable {
        /// The host requested a pause of so many seconds.
        case limited(host: String, seconds: Int64)
        /// The service accepts no queries until then, in Unix seconds.
        case serviceClosed(host: String, until: Int64)
        /// The front of the host turned a request away: a sentence.
        case turnedAway(String)
        /// The host accepts requests again after a refusal of its front.
        case letIn(host: String)
    }

    /// The rules of a queue besides its slots.
    package struct Rules: Sendable {
        /// The rate limit of the service's interface.
        package var rate = RequestRate(burst: HostState.most, perSecond: Double(HostState.most))
        /// The statuses that request a pause, with or without `Retry-After`.
        package var tooOften: Set<Int> = [429]
        /// The pauses left over from before a restart, by hosts with their ports.
        package var pauses: [String: HostPause] = [:]
        /// Returns the time of cool-downs in Unix seconds.
        package var wallClock: @Sendable () -> Int64
        /// The clock of deadlines and waits.
        package var time = TimeSource.system
        /// Returns the means of requests; called for each request of the interface and while a front blocks a host.
        package var means: @Sendable () -> AskingMeans = { AskingMeans() }
        /// Returns a sentence with the reason why no requests go to a host, for a pause with a front.
        package var explain: @Sendable (String, HostPause) -> String = { host, _ in "\(host) turns programs away" }
        /// Receives each change, with the pauses of all hosts, to persist them.
        package var report: @Sendable (News, _ all: [String: HostPause]) -> Void = { _, _ in }

        package init(wallClock: @escaping @Sendable () -> Int64 = TimeSource.wallClock) {
            self.wallClock = wallClock
        }
    }

    /// A request in the queue, waiting or under way.
    fileprivate struct Request {
        let host: String
        /// The owner's transfer.
        let owner: Transfer
        let queue: RequestQueue
        /// The time between arrival and deadline.
        let time: Duration
        /// The mark of the means with which it was sent last.
        var mark = ""
        /// The transfer at the transport; nil while it waits.
        var sent: SentTransfer?
        /// Whether it was turned away, or cancelled because others were.
        var isStopped = false
        /// Whether the owner's sink has seen an answer, after which it cannot be sent again unseen.
        var isAnswered = false

        init(_ owner: Transfer, host: String, since now: ContinuousClock.Instant, in queue: RequestQueue) {
            self.owner = owner
            self.host = host
            self.queue = queue
            time = owner.request.deadline - now
        }

        /// The time after which sending the request is pointless, as of now.
        func waitsUntil(_ now: ContinuousClock.Instant) -> ContinuousClock.Instant {
            let request = owner.request
            guard request.waitsForTurn else { return request.deadline }
            return owner.priority == .preload ? request.deadline + request.patience : now + max(time, request.turn)
        }
    }

    /// A step to take outside the lock.
    fileprivate typealias Step = @Sendable (any Transport) -> Void

    fileprivate struct State {
        var hosts: [String: HostState]
        var requests: [Int: Request] = [:]
        var nextID = 0
        var means = AskingMeans()
        /// The mark of the means with a clearance that had no effect.
        var spent: String?
        let explain: @Sendable (String, HostPause) -> String
        /// The hosts that changed since their requests were last examined.
        var changed: [String] = []
        var steps: [Step] = []
        /// Whether a thread is taking steps.
        var isStepping = false
        /// The time at which the timer fires.
        var wake: ContinuousClock.Instant?
        var timer: Task<Void, Never>?
    }

    /// The first pause after an answer that states none, in seconds; it doubles up to an hour.
    private static let usualPause: Int64 = 5
    /// The most hosts kept; there are two, and hosts in addresses from outside.
    private static let hostsLimit = 64

    private let transport: any Transport
    /// Nil if the queue only enforces slots.
    private let rules: Rules?
    private let rate: RequestRate
    private let time: TimeSource
    private let wallClock: @Sendable () -> Int64
    private let state: Mutex<State>

    package let limits: HostLimits

    /// - Parameters:
    ///   - transport: The transport, which begins each request at once.
    ///   - rules: The rules of pauses and rate limits; nil for none.
    package init(_ transport: any Transport, rules: Rules? = nil) {
        let limits = transport.limits
        self.transport = transport
        self.limits = limits
        self.rules = rules
        let clocks = rules ?? Rules()
        (time, wallClock, rate) = (clocks.time, clocks.wallClock, clocks.rate)
        var first = State(
            hosts: clocks.pauses.mapValues { HostState(limits, pause: $0, rate: clocks.rate) }, explain: clocks.explain)
        first.take(clocks.means())
        state = Mutex(first)
    }

    deinit {
        state.withLock { $0.timer }?.cancel()
    }

    /// The hosts with a pause, and its end.
    package var pauses: [String: HostPause] {
        let wall = wallClock()
        return state.withLock { $0.pauses(wall) }.filter { $0.value.end > wall }
    }

    /// The queries to the service that may go at once, and the end of its cool-down in Unix seconds, for status displays.
    package var service: (tokens: Double, closedUntil: Int64?) {
        let (now, wall) = (time.now(), wallClock())
        var service = state.withLock { $0.hosts.values.lazy.compactMap(\.service).first } ?? ServiceLine(rate)
        return service.state(now: now, wall: wall)
    }

    /// The numbers of requests under way and waiting, for status displays.
    package var counts: (active: Int, queued: Int) {
        state.withLock { state in
            state.hosts.values.reduce((0, 0)) { ($0.0 + $1.counts.active, $0.1 + $1.counts.queued) }
        }
    }

    package func begin(_ transfer: Transfer) {
        let host = Self.host(of: transfer.request.url)
        let isFollowed = transfer.request.purpose == .api || state.withLock { $0.hosts[host]?.front } != nil
        let means = isFollowed ? rules?.means() : nil
        let id = change(host) { state, now, _ in
            if let means { state.take(means) }
            if state.hosts.count >= Self.hostsLimit { state.hosts = state.hosts.filter { !$0.value.isIdle } }
            state.hosts[host] = state.hosts[host] ?? newHost(transfer.request.url.hasPrefix("https:"))
            state.nextID += 1
            state.requests[state.nextID] = Request(transfer, host: host, since: now, in: self)
            state.join(state.nextID, now)
            return state.nextID
        }
        transfer.carry { [self] transfer in ownerChanged(transfer, id, host) }
    }

    /// Begins a pause that a part of a host requested of another machine, unless a longer one is under way; no news is reported.
    package func pause(_ host: String, _ part: HostPart, forSeconds seconds: Int64) {
        change(host) { state, _, wall in
            if state.hosts.count < Self.hostsLimit { state.hosts[host] = state.hosts[host] ?? newHost() }
            state.hosts[host]?.close(part, forSeconds: seconds, wall: wall)
        }
    }

    private func newHost(_ isSecure: Bool = true) -> HostState {
        HostState(limits, isSecure: isSecure, burst: rules == nil ? HostState.most : HostState.few, rate: rate)
    }

    /// The host of a URL in lower case, with the port if the URL names one: `images.example`.
    package static func host(of url: String) -> String {
        // By bytes: this is found for each of the requests of a burst.
        let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) ?? url.endIndex
        let rest = url.utf8[colon...].starts(with: "://".utf8) ? url.utf8[colon...].dropFirst(3) : url.utf8[...]
        let parts = rest.prefix { !"/?#".utf8.contains($0) }
            .split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        return parts.last.map { Substring($0).lowercased() } ?? ""
    }

    /// Handles a cancellation, a withdrawal or a change of the priority by the owner of a request.
    private func ownerChanged(_ owner: Transfer, _ id: Int, _ host: String) {
        let sent: SentTransfer? = change(host) { state, now, _ in
            guard let request = state.requests[id] else { return nil }
            if owner.isCancelled || owner.isWithdrawn, state.hosts[host]?.leave(id) == true {
                state.end(id, .cancelled)
            } else if !owner.isCancelled {
                state.hosts[host]?.setPriority(id, owner.priority, deadline: request.waitsUntil(now))
            }
            return owner.isCancelled ? request.sent : nil
        }
        sent?.cancel()
    }

    // MARK: - Answers

    /// Handles the head of an answer; false if it is a refusal, which the sink need not see.
    fileprivate func answered(_ sent: SentTransfer, _ head: HTTPAnswer) -> Bool {
        let (id, host) = (sent.id, sent.host)
        let verdict = verdict(on: head, sent.request)
        let isRefused = if case .limited = verdict { true } else { false }
        let news: News? = change(host) { state, now, wall in
            if sent.request.transferClass == .metadata, !head.version.isEmpty {
                state.hosts[host]?.learn(isMultiplexed: !head.version.hasPrefix("1"))
            }
            if !isRefused { state.requests[id]?.isAnswered = true }
            let front = state.hosts[host]?.front
            let end = state.hosts[host]?.settle(id, verdict, now: now, wall: wall)
            if let end { return .limited(host: host, seconds: end - wall) }
            guard let front, state.hosts[host]?.front == nil else { return nil }
            state.hosts[host]?.way?.isProven = true
            return front.step < 0 ? nil : .letIn(host: host)
        }
        if let news { report(news) }
        return !isRefused
    }

    /// Records the verdict of an answer of the service's interface.
    fileprivate func judged(_ sent: SentTransfer, _ verdict: AnswerVerdict) {
        let end = change(sent.host) { state, _, wall in state.hosts[sent.host]?.judge(sent.id, verdict, wall: wall) }
        if let end { report(.serviceClosed(host: sent.host, until: end)) }
    }

    private func verdict(on head: HTTPAnswer, _ request: HTTPRequest) -> AnswerVerdict {
        // The front has let the request through, whatever the interface answers.
        guard let rules, request.purpose != .api else { return .fine }
        let isAsked = head.status == 503 && head.pause(now: 0) != nil
        if isAsked || rules.tooOften.contains(head.status) {
            return .limited(by: head, usual: Self.usualPause, now: wallClock())
        }
        return head.status >= 500 ? .unknown : .fine
    }

    /// Classifies an answer by its head: the service's own answer, or a refusal of a front.
    fileprivate func look(_ head: HTTPAnswer) -> FrontPage.Look { rules == nil ? .none : FrontPage.look(head) }

    /// Handles a refusal of a front: no other request is sent, and the requests under way to the host are cancelled.
    fileprivate func turnedAway(_ sent: SentTransfer, _ refusal: FrontRefusal, by family: AddressFamily?) {
        guard let rules else { return }
        // The means were not queried for every request.
        let means = rules.means()
        let host = sent.host
        let (sentence, stopped): (String?, [Transfer]) = change(host) { state, _, wall in
            state.take(means)
            state.requests[sent.id]?.isStopped = true
            let mark = state.requests[sent.id]?.mark ?? ""
            if host == state.means.site { state.spent = mark }
            let isKnown = state.hosts[host]?.front.map { $0.step >= 0 } ?? false
            // A front may accept one family of addresses and block the other; a browser check does not depend on the family.
            let isFirst = refusal == .block && state.hosts[host]?.way == nil && !isKnown
            let other = isFirst ? family?.other : nil
            // A request sent before a login says nothing about requests sent after it.
            let hasOtherWay = other != nil || mark != state.means.mark
            let end = state.hosts[host]?.turnAway(
                sent.id, refusal, mark: mark, hasOtherWay: hasOtherWay, wall: wall)
            guard end != nil else { return (nil, []) }
            if refusal == .block { state.hosts[host]?.way = other.map { ($0, false) } }
            return (hasOtherWay ? nil : state.sentence(on: host, wall), state.stop(to: host, but: sent.id))
        }
        for transfer in stopped { transfer.cancel() }
        if let sentence { report(.turnedAway(sentence)) }
    }

    /// Handles the end of a refusal's answer: its request waits with the others, or ends as they do.
    fileprivate func refused(_ sent: SentTransfer) {
        let (id, host) = (sent.id, sent.host)
        change(host) { state, now, wall in
            state.hosts[host]?.giveBack(id, wall: wall)
            state.hosts[host]?.end(id, now: now, wall: wall)
            guard let request = state.requests[id] else { return }
            state.requests[id]?.sent = nil
            state.requests[id]?.isStopped = false
            guard !request.owner.isCancelled else { return state.end(id, .cancelled) }
            // Its cookies are from before a login, and would be turned away again.
            guard !request.isStopped || request.mark == state.means.mark else {
                return state.end(id, .turnedAway(state.sentence(on: host, wall)))
            }
            state.join(id, now)
        }
    }

    /// Handles the end of a request, with an answer that was passed on or without an answer.
    ///
    /// - Returns: The result for its sink; nil if the request is sent again.
    fileprivate func ended(_ sent: SentTransfer, _ result: Result<Void, Failure>) -> Result<Void, Failure>? {
        enum End { case final(Result<Void, Failure>), again, noWay }
        let (id, host) = (sent.id, sent.host)
        let end: End = change(host) { state, now, wall in
            guard let request = state.requests[id] else { return .final(result) }
            let leadsNowhere = if case .failure(.unreachable) = result { true } else { false }
            let isSilent = if case .failure(.timedOut) = result { !request.isAnswered } else { false }
            if leadsNowhere || isSilent, state.hosts[host]?.way?.isProven == false { return .noWay }
            // The family may lead nowhere on another network: the next request may use both families.
            if leadsNowhere { state.hosts[host]?.way = nil }
            var isStopped = request.isStopped && !request.owner.isCancelled
            if case .failure(.cancelled) = result {} else { isStopped = false }
            if isStopped, !request.isAnswered { return .again }
            state.hosts[host]?.end(id, now: now, wall: wall)
            state.requests[id] = nil
            return .final(isStopped ? .failure(.turnedAway(state.sentence(on: host, wall))) : result)
        }
        switch end {
        case .final(let result): return result
        case .noWay: turnedAway(sent, .block, by: nil)
        case .again: break
        }
        refused(sent)
        return nil
    }

    private func report(_ news: News) {
        let wall = wallClock()
        rules?.report(news, state.withLock { $0.pauses(wall) })
    }

    // MARK: - Steps

    /// Changes the state of one or several hosts, then takes the steps that are possible now.
    private func change<Value: Sendable>(
        _ host: String?, _ body: (inout State, _ now: ContinuousClock.Instant, _ wall: Int64) -> Value
    ) -> Value {
        let (now, wall) = (time.now(), wallClock())
        let (value, steps, wake) = state.withLock { state in
            let value = body(&state, now, wall)
            if let host { state.changed.append(host) }
            let wake = state.advance(now: now, wall: wall)
            return (value, state.takeSteps(), wake)
        }
        perform(steps)
        if let wake { setTimer(to: wake, now: now) }
        return value
    }

    /// Takes steps until there are none; steps that other threads and sinks add meanwhile are taken here too.
    private func perform(_ steps: [Step]) {
        var steps = steps
        while !steps.isEmpty {
            for step in steps { step(transport) }
            steps = state.withLock { state in
                state.isStepping = false
                return state.takeSteps()
            }
        }
    }

    private func setTimer(to wake: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        let timer = Task { [weak self, time] in
            do { try await time.sleep(wake - now) } catch { return }
            self?.change(nil) { state, _, _ in
                state.wake = nil
                state.changed = Array(state.hosts.keys)
            }
        }
        let needless = state.withLock { state in
            // Another thread has set an earlier timer meanwhile.
            guard state.wake == wake else { return Optional(timer) }
            defer { state.timer = timer }
            return state.timer
        }
        needless?.cancel()
    }
}

extension RequestQueue.State {
    func pauses(_ wall: Int64) -> [String: HostPause] { hosts.compactMapValues { $0.pause(wall: wall) } }

    /// Adds a request to the waiting ones of its host.
    mutating func join(_ id: Int, _ now: ContinuousClock.Instant) {
        guard let request = requests[id] else { return }
        let asked = request.owner.request
        hosts[request.host]?.join(
            id,
            HostState.Entry(
                priority: request.owner.priority, transferClass: asked.transferClass,
                deadline: request.waitsUntil(now), longestPause: asked.longestPause, isPaced: asked.purpose == .api))
    }

    /// Ends a request that is not under way.
    mutating func end(_ id: Int, _ error: Failure) {
        guard let owner = requests.removeValue(forKey: id)?.owner else { return }
        steps.append { _ in Task { owner.end(.failure(error)) } }
    }

    /// Marks the requests under way to a host as stopped, but for one; returns the transfers to cancel.
    mutating func stop(to host: String, but other: Int) -> [Transfer] {
        var stopped: [Transfer] = []
        for (id, request) in requests where request.host == host && id != other {
            guard let sent = request.sent else { continue }
            requests[id]?.isStopped = true
            stopped.append(sent)
        }
        return stopped
    }

    /// Records the present means; a host that refused other means gets one probe at once.
    mutating func take(_ means: AskingMeans) {
        guard means != self.means else { return }
        self.means = means
        for (name, host) in hosts where host.front.map({ $0.mark != means.mark }) == true {
            hosts[name]?.probeAgain()
            changed.append(name)
        }
    }

    /// Sends or ends the requests of changed hosts.
    ///
    /// - Returns: The time of the next examination of all hosts, if it is earlier than the planned one.
    mutating func advance(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        var earliest: ContinuousClock.Instant?
        for host in changed {
            for action in hosts[host]?.next(now: now, wall: wall) ?? [] { follow(action, host, now, wall) }
            if let wake = hosts[host]?.wake(now: now, wall: wall) { earliest = min(earliest ?? wake, wake) }
        }
        changed.removeAll(keepingCapacity: true)
        guard let earliest, wake.map({ earliest < $0 }) ?? true else { return nil }
        wake = earliest
        return earliest
    }

    private mutating func follow(
        _ action: HostState.Action, _ host: String, _ now: ContinuousClock.Instant, _ wall: Int64
    ) {
        switch action {
        case .refuse(let id, let seconds): end(id, .limited(retryAfter: seconds))
        case .turnAway(let id): end(id, .turnedAway(sentence(on: host, wall)))
        case .late(let id): end(id, .timedOut)
        case .crowded(let id, let seconds): end(id, .crowded(seconds: seconds))
        case .send(let id):
            guard var request = requests[id] else { return }
            let sent = SentTransfer(outgoing(request, now), id, of: request)
            (request.sent, request.mark, request.isAnswered) = (sent, means.mark, false)
            requests[id] = request
            steps.append { $0.begin(sent) }
        }
    }

    /// Takes the steps for a thread; none while another thread takes some.
    mutating func takeSteps() -> [RequestQueue.Step] {
        guard !isStepping, !steps.isEmpty else { return [] }
        isStepping = true
        defer { steps = [] }
        return steps
    }

    /// The reason why no requests go to a host, as a sentence.
    func sentence(on host: String, _ wall: Int64) -> String {
        explain(host, hosts[host]?.pause(wall: wall) ?? HostPause(end: wall))
    }

    /// Makes the request to send, with the address family, User-Agent and cookies of the present.
    ///
    /// The time of a patient request begins now.
    private func outgoing(_ request: RequestQueue.Request, _ now: ContinuousClock.Instant) -> HTTPRequest {
        var sent = request.owner.request
        if sent.waitsForTurn { sent.deadline = now + request.time }
        sent.family = hosts[request.host]?.way?.family
        if let agent = means.userAgent { sent.headers.append("User-Agent: \(agent)") }
        if let clearance = clearance(for: request.host) {
            // RFC 6265, 5.4: one header for all cookies.
            if let session = sent.headers.firstIndex(where: { $0.hasPrefix("Cookie: ") }) {
                sent.headers[session] += "; \(clearance)"
            } else {
                sent.headers.append("Cookie: \(clearance)")
            }
        }
        return sent
    }

    /// The cookies that prove a browser check to a host; nil if the check has come again.
    private func clearance(for host: String) -> String? {
        host == means.site && means.mark != spent && means.mark != hosts[host]?.front?.mark ? means.clearance : nil
    }
}

/// A request as the queue sends it, once or again: its answer goes to the owner's sink, unless it is withheld.
///
/// ## Concurrency
///
/// The transport calls by one thread at a time.
private final class SentTransfer: Transfer, @unchecked Sendable {
    // `@unchecked` because answers come by one thread at a time.

    let id: Int
    let host: String
    private let owner: Transfer
    private let queue: RequestQueue
    /// An answer that needs examination before the owner's sink sees it, and the part of its text that has come.
    private var held: HTTPResponse?
    /// Whether the answer is a refusal, whose text is read to the end, so that the connection is kept.
    private var isRefused = false

    init(_ request: HTTPRequest, _ id: Int, of place: RequestQueue.Request) {
        self.id = id
        (host, owner, queue) = (place.host, place.owner, place.queue)
        super.init(request, sink: place.owner.sink)
    }

    override func head(_ head: HTTPAnswer) -> Bool {
        switch queue.look(head) {
        case .none where head.status < 400 || request.judge == nil:
            if let judge = request.judge { queue.judged(self, judge(HTTPResponse(head: head, body: []))) }
            return pass(head)
        case .none, .needsText:
            held = HTTPResponse(head: head, body: [])
            return true
        case .refusal(let refusal):
            refuse(refusal, head)
            return false
        }
    }

    private func refuse(_ refusal: FrontRefusal, _ head: HTTPAnswer) {
        isRefused = true
        queue.turnedAway(self, refusal, by: head.family)
    }

    /// Passes a head to the owner's sink, except a refusal.
    private func pass(_ head: HTTPAnswer) -> Bool {
        if queue.answered(self, head) { return super.head(head) }
        isRefused = true
        return true
    }

    override func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        if isRefused { return true }
        guard held != nil else { return unsafe super.body(bytes) }
        // No longer than the text of any error (`AnswerCheck.errorBodyLimit`).
        unsafe held?.body.append(contentsOf: bytes)
        return true
    }

    override func finish(_ result: Result<Void, Failure>) {
        var result = result
        if let response = held.take() {
            if let refusal = response.frontRefusal {
                refuse(refusal, response.head)
            } else {
                if case .success = result, let judge = request.judge { queue.judged(self, judge(response)) }
                if !pass(response.head) || !(unsafe response.body.withUnsafeBytes { unsafe body($0) }) {
                    result = .failure(.cancelled)
                }
            }
        }
        if isRefused {
            queue.refused(self)
        } else if let result = queue.ended(self, result) {
            owner.end(result)
        }
    }
}
