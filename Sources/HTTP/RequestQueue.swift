import Glibc
import Synchronization

/// The queue before a transport: whatever waits, waits here, and what goes on to the transport begins at once.
///
/// A state for each host says which requests may go (`HostState`). A status that asks for a pause (429), or a 503 with
/// `Retry-After`, begins a cool-down of its host: a request that has time waits and is sent (or sent again) afterwards, unseen by
/// its sink; the others end with `.limited`. Requests to the service's interface (`.api`) wait for a slot only: they have a rate
/// limit of their own.
///
/// What stands in front of a host and turns programs away (`FrontPage`) closes it for every request: what is under way is
/// cancelled, and what has no time to wait for the probe ends with `.turnedAway`.
///
/// ## Concurrency
///
/// Any thread may call. One mutex guards hosts and requests; the transport and sinks are called outside it, in order, by one
/// thread at a time. What was never sent is ended from a task.
package final class RequestQueue: Transport {
    /// A change of a host's state for displays and logs.
    package enum News: Hashable, Sendable {
        /// The host asked to be left alone for so many seconds.
        case limited(host: String, seconds: Int64)
        /// What stands in front of it turned a request away: as a sentence.
        case turnedAway(String)
        /// It lets requests in again.
        case letIn(host: String)
    }

    /// What a queue obeys besides its slots.
    package struct Rules: Sendable {
        /// Statuses that ask for a pause, with or without `Retry-After`.
        package var tooOften: Set<Int> = [429]
        /// Pauses left over from before a restart, by hosts with their ports.
        package var pauses: [String: HostPause] = [:]
        /// Unix seconds, for cool-downs.
        package var wallClock: @Sendable () -> Int64
        /// Measures deadlines and waits.
        package var time = TimeSource.system
        /// What hosts are asked with, looked up with each request of the interface and while a front is in the way.
        package var means: @Sendable () -> AskingMeans = { AskingMeans() }
        /// A sentence on why a host is not asked, for a pause with a front.
        package var explain: @Sendable (String, HostPause) -> String = { host, _ in "\(host) turns programs away" }
        /// Receives each change, with the pauses of all hosts, to persist them.
        package var report: @Sendable (News, _ all: [String: HostPause]) -> Void = { _, _ in }

        package init(wallClock: @escaping @Sendable () -> Int64 = { Int64(Glibc.time(nil)) }) {
            self.wallClock = wallClock
        }
    }

    /// Something to do outside the lock.
    fileprivate enum Step {
        case begin(Transfer)
        case end(Transfer, HTTPError)
    }

    fileprivate struct State {
        var hosts: [String: HostState]
        var requests: [Int: QueuedRequest] = [:]
        var nextID = 0
        var means = AskingMeans()
        /// The mark of means whose clearance has not helped.
        var spent: String?
        let explain: @Sendable (String, HostPause) -> String
        /// Hosts whose requests may do something else since they last were looked at.
        var changed: [String] = []
        var steps: [Step] = []
        /// Whether a thread takes steps.
        var isStepping = false
        /// When the timer will go off.
        var wake: ContinuousClock.Instant?
        var timer: Task<Void, Never>?
    }

    /// The pause after an answer that names none, in seconds, the first time; it doubles up to an hour.
    private static let usualPause: Int64 = 5
    /// Hosts remembered; there are two, and what addresses from outside name.
    private static let hostsLimit = 64

    private let transport: any Transport
    /// Nil for slots alone.
    private let rules: Rules?
    private let time: TimeSource
    private let wallClock: @Sendable () -> Int64
    private let state: Mutex<State>

    package let limits: HostLimits

    /// - Parameters:
    ///   - transport: Begins at once what it is given.
    ///   - rules: Which hosts to leave alone, and when; nil for never.
    package init(_ transport: any Transport, rules: Rules? = nil) {
        let limits = transport.limits
        self.transport = transport
        self.limits = limits
        self.rules = rules
        let clocks = rules ?? Rules()
        (time, wallClock) = (clocks.time, clocks.wallClock)
        var first = State(
            hosts: clocks.pauses.mapValues { HostState(limits, pause: $0) }, explain: clocks.explain)
        first.take(clocks.means())
        state = Mutex(first)
    }

    deinit {
        state.withLock { $0.timer }?.cancel()
    }

    /// The hosts that are left alone now, and until when.
    package var pauses: [String: HostPause] {
        let wall = wallClock()
        return state.withLock { $0.pauses(wall) }.filter { $0.value.end > wall }
    }

    /// Requests under way and waiting, for status displays.
    package var counts: (active: Int, queued: Int) {
        state.withLock { state in
            state.hosts.values.reduce((0, 0)) { ($0.0 + $1.counts.active, $0.1 + $1.counts.queued) }
        }
    }

    package func begin(_ transfer: Transfer) {
        let host = Self.host(of: transfer.request.url)
        let isFollowed = transfer.request.purpose == .api || state.withLock { $0.hosts[host]?.front } != nil
        let means = isFollowed ? rules?.means() : nil
        let request = change(host) { state, _, _ in
            if let means { state.take(means) }
            if state.hosts.count >= Self.hostsLimit { state.hosts = state.hosts.filter { !$0.value.isIdle } }
            if state.hosts[host] == nil {
                state.hosts[host] = HostState(
                    limits, isSecure: transfer.request.url.hasPrefix("https:"),
                    burst: rules == nil ? HostState.most : HostState.few)
            }
            state.nextID += 1
            let request = QueuedRequest(state.nextID, host: host, transfer, in: self)
            state.requests[request.id] = request
            state.join(request)
            return request
        }
        transfer.carry { [self] _ in ownerChanged(request) }
    }

    /// `images.example`, with the port if one is named; the same for any spelling of a host.
    package static func host(of url: String) -> String {
        let rest = url.firstRange(of: "://").map { url[$0.upperBound...] } ?? url[...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return (authority.split(separator: "@", omittingEmptySubsequences: false).last ?? "").lowercased()
    }

    /// The owner has cancelled a request or changed its priority.
    private func ownerChanged(_ request: QueuedRequest) {
        let transfer = request.transfer
        let sent = change(request.host) { state, _, _ in
            guard transfer.isCancelled else {
                state.hosts[request.host]?.setPriority(request.id, transfer.priority)
                return Transfer?.none
            }
            if state.hosts[request.host]?.leave(request.id) == true { state.end(request, .cancelled) }
            return request.attempt.withLock { $0.sent }
        }
        sent?.cancel()
    }

    // MARK: - What answers do

    /// An answer's head has come; false if it is a refusal, which its sink need not see.
    fileprivate func answered(_ request: QueuedRequest, _ head: HTTPAnswer) -> Bool {
        let verdict = verdict(on: head, request.transfer.request)
        let isRefused = if case .limited = verdict { true } else { false }
        let news: News? = change(request.host) { state, now, wall in
            if request.transfer.request.transferClass == .metadata, !head.version.isEmpty {
                state.hosts[request.host]?.learn(isMultiplexed: !head.version.hasPrefix("1"))
            }
            if !isRefused { request.attempt.withLock { $0.isAnswered = true } }
            let front = state.hosts[request.host]?.front
            let end = state.hosts[request.host]?.settle(request.id, verdict, now: now, wall: wall)
            if let end { return .limited(host: request.host, seconds: end - wall) }
            guard let front, state.hosts[request.host]?.front == nil else { return nil }
            state.hosts[request.host]?.way?.isProven = true
            return front.step < 0 ? nil : .letIn(host: request.host)
        }
        if let news { report(news) }
        return !isRefused
    }

    private func verdict(on head: HTTPAnswer, _ request: HTTPRequest) -> GateVerdict {
        // Whatever the interface says: the front has let it through.
        guard let rules, request.purpose != .api else { return .fine }
        let isAsked = head.status == 503 && head.retryAfter.value != nil
        if isAsked || rules.tooOften.contains(head.status) {
            return .limited(by: head, usual: Self.usualPause, now: wallClock())
        }
        return head.status >= 500 ? .unknown : .fine
    }

    /// How a front turns a request away with an answer, as far as its head tells.
    fileprivate func look(_ head: HTTPAnswer) -> FrontPage.Look { rules == nil ? .none : FrontPage.look(head) }

    /// What stands in front of the host has turned a request away: no other is sent, and those under way there are cancelled.
    fileprivate func turnedAway(_ request: QueuedRequest, _ refusal: FrontRefusal, by family: AddressFamily?) {
        guard let rules else { return }
        // Not every request has looked them up.
        let means = rules.means()
        let host = request.host
        let (sentence, stopped): (String?, [Transfer]) = change(host) { state, _, wall in
            state.take(means)
            let mark = request.attempt.withLock { attempt in
                attempt.isStopped = true
                return attempt.mark
            }
            if host == state.means.site { state.spent = mark }
            let isKnown = state.hosts[host]?.front.map { $0.step >= 0 } ?? false
            // One family of addresses may be let in where the other is not; of which of them a check is no question.
            let isFirst = refusal == .block && state.hosts[host]?.way == nil && !isKnown
            let other = isFirst ? family?.other : nil
            // What was sent before a login says nothing of what is sent after it.
            let hasOtherWay = other != nil || mark != state.means.mark
            let end = state.hosts[host]?.turnAway(
                request.id, refusal, mark: mark, hasOtherWay: hasOtherWay, wall: wall)
            guard end != nil else { return (nil, []) }
            if refusal == .block { state.hosts[host]?.way = other.map { HostState.Way(family: $0) } }
            let stopped = state.requests.values.filter { $0.host == host && $0.id != request.id }.compactMap {
                $0.stop()
            }
            return (hasOtherWay ? nil : state.sentence(on: host, wall), stopped)
        }
        for transfer in stopped { transfer.cancel() }
        if let sentence { report(.turnedAway(sentence)) }
    }

    /// A request was refused, and that answer has ended: it waits with the others, or ends as they do.
    fileprivate func refused(_ request: QueuedRequest) {
        change(request.host) { state, now, wall in
            state.hosts[request.host]?.end(request.id, now: now, wall: wall)
            let attempt = request.takeAttempt()
            guard !request.transfer.isCancelled else { return state.end(request, .cancelled) }
            // Its cookies are from before a login, and would be turned away again.
            guard !attempt.isStopped || attempt.mark == state.means.mark else {
                return state.end(request, .turnedAway(state.sentence(on: request.host, wall)))
            }
            state.join(request)
        }
    }

    /// A request has ended, with an answer that was passed on or without any.
    ///
    /// - Returns: What its sink gets; nil if the request is sent again.
    fileprivate func ended(
        _ request: QueuedRequest, _ result: Result<Void, HTTPError>
    ) -> Result<Void, HTTPError>? {
        enum End { case final(Result<Void, HTTPError>), again, noWay }
        let host = request.host
        let end: End = change(host) { state, now, wall in
            let attempt = request.attempt.withLock { $0 }
            let leadsNowhere = if case .failure(.unreachable) = result { true } else { false }
            let isSilent = if case .failure(.timedOut) = result { !attempt.isAnswered } else { false }
            if leadsNowhere || isSilent, state.hosts[host]?.way?.isProven == false { return .noWay }
            // On another network it may lead nowhere: the next request goes by whichever there is.
            if leadsNowhere { state.hosts[host]?.way = nil }
            var isStopped = attempt.isStopped && !request.transfer.isCancelled
            if case .failure(.cancelled) = result {} else { isStopped = false }
            if isStopped, !attempt.isAnswered { return .again }
            state.hosts[host]?.end(request.id, now: now, wall: wall)
            state.requests[request.id] = nil
            _ = request.takeAttempt()
            return .final(isStopped ? .failure(.turnedAway(state.sentence(on: host, wall))) : result)
        }
        switch end {
        case .final(let result): return result
        case .noWay: turnedAway(request, .block, by: nil)
        case .again: break
        }
        refused(request)
        return nil
    }

    private func report(_ news: News) {
        let wall = wallClock()
        rules?.report(news, state.withLock { $0.pauses(wall) })
    }

    // MARK: - Steps

    /// Changes the state, of a host or of several, then does what may be done now.
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

    /// Takes steps until there are none; those that other threads, and sinks meanwhile, add are taken here as well.
    private func perform(_ steps: [Step]) {
        var steps = steps
        while !steps.isEmpty {
            for step in steps {
                switch step {
                case .begin(let transfer): transport.begin(transfer)
                case .end(let transfer, let error): Task { transfer.end(.failure(error)) }
                }
            }
            steps = state.withLock { state in
                state.isStepping = false
                return state.takeSteps()
            }
        }
    }

    private func setTimer(to wake: ContinuousClock.Instant, now: ContinuousClock.Instant) {
        let timer = Task { [weak self, time] in
            do { try await time.sleep(wake - now) } catch { return }
            self?.timerWentOff()
        }
        let needless = state.withLock { state in
            // Another thread has set an earlier one meanwhile.
            guard state.wake == wake else { return Optional(timer) }
            defer { state.timer = timer }
            return state.timer
        }
        needless?.cancel()
    }

    private func timerWentOff() {
        change(nil) { state, _, _ in
            state.wake = nil
            state.changed = Array(state.hosts.keys)
        }
    }
}

extension RequestQueue.State {
    func pauses(_ wall: Int64) -> [String: HostPause] { hosts.compactMapValues { $0.pause(wall: wall) } }

    /// Lets a request wait for its turn.
    mutating func join(_ request: QueuedRequest) {
        let (transfer, asked) = (request.transfer, request.transfer.request)
        hosts[request.host]?.join(
            request.id,
            HostState.Entry(
                priority: transfer.priority, transferClass: asked.transferClass, deadline: asked.deadline,
                isExempt: asked.purpose == .api))
    }

    /// Ends a request that is not under way.
    mutating func end(_ request: QueuedRequest, _ error: HTTPError) {
        requests[request.id] = nil
        steps.append(.end(request.transfer, error))
    }

    /// Takes in what hosts are asked with now: by other means than those that were turned away one probe goes at once.
    mutating func take(_ means: AskingMeans) {
        guard means != self.means else { return }
        self.means = means
        for (name, host) in hosts where host.front.map({ $0.mark != means.mark }) == true {
            hosts[name]?.probeAgain()
            changed.append(name)
        }
    }

    /// Lets the requests of changed hosts go or end.
    ///
    /// - Returns: When to look at all hosts at the latest, if that is sooner than was said before.
    mutating func advance(now: ContinuousClock.Instant, wall: Int64) -> ContinuousClock.Instant? {
        var earliest: ContinuousClock.Instant?
        for host in changed {
            for action in hosts[host]?.next(now: now, wall: wall) ?? [] { follow(action, host, wall) }
            if let wake = hosts[host]?.wake(now: now, wall: wall) { earliest = min(earliest ?? wake, wake) }
        }
        changed.removeAll(keepingCapacity: true)
        guard let earliest, wake.map({ earliest < $0 }) ?? true else { return nil }
        wake = earliest
        return earliest
    }

    private mutating func follow(_ action: HostState.Action, _ host: String, _ wall: Int64) {
        switch action {
        case .refuse(let id, let seconds): end(id, .limited(retryAfter: seconds))
        case .turnAway(let id): end(id, .turnedAway(sentence(on: host, wall)))
        case .late(let id): end(id, .timedOut)
        case .send(let id):
            guard let request = requests[id] else { return }
            let sent = Transfer(outgoing(request), sink: request)
            request.attempt.withLock { ($0.sent, $0.mark) = (sent, means.mark) }
            steps.append(.begin(sent))
        }
    }

    private mutating func end(_ id: Int, _ error: HTTPError) {
        if let request = requests[id] { end(request, error) }
    }

    /// The steps for a thread to take; none while another one takes some.
    mutating func takeSteps() -> [RequestQueue.Step] {
        guard !isStepping, !steps.isEmpty else { return [] }
        isStepping = true
        defer { steps = [] }
        return steps
    }

    /// Why a host is not asked.
    func sentence(on host: String, _ wall: Int64) -> String {
        explain(host, hosts[host]?.pause(wall: wall) ?? HostPause(end: wall))
    }

    /// What is sent for a request: by another way, or with another name, than it was made with.
    private func outgoing(_ request: QueuedRequest) -> HTTPRequest {
        var sent = request.transfer.request
        sent.family = hosts[request.host]?.way?.family
        if let agent = means.userAgent { sent.headers.append("User-Agent: \(agent)") }
        if let clearance = clearance(for: request.host) {
            // RFC 6265, 5.4: one header for all.
            if let session = sent.headers.firstIndex(where: { $0.hasPrefix("Cookie: ") }) {
                sent.headers[session] += "; \(clearance)"
            } else {
                sent.headers.append("Cookie: \(clearance)")
            }
        }
        return sent
    }

    /// What proves a check to a host, unless that has come again.
    private func clearance(for host: String) -> String? {
        host == means.site && means.mark != spent && means.mark != hosts[host]?.front?.mark ? means.clearance : nil
    }
}

/// A request in the queue, and the sink of what the transport brings for it: refusals are kept from the owner's sink.
///
/// ## Concurrency
///
/// As a sink it is called by one thread at a time. One mutex guards the state; it is taken after the queue's, never before.
private final class QueuedRequest: ResponseSink {
    /// What was sent last for it.
    struct Attempt {
        /// The mark of what it was asked with when it was sent last.
        var mark = ""
        /// What the transport carries; nil while the request waits.
        var sent: Transfer?
        /// Turned away, or cancelled because others were.
        var isStopped = false
        /// Whether its owner's sink has seen an answer, after which it cannot be sent again unseen.
        var isAnswered = false
        var isRefused = false
        /// Of what may be a front's: what came so far, before the owner's sink sees it.
        var head: HTTPAnswer?
        var text: [UInt8] = []
    }

    let id: Int
    let host: String
    /// The owner's.
    let transfer: Transfer
    let attempt = Mutex(Attempt())
    private let queue: RequestQueue

    init(_ id: Int, host: String, _ transfer: Transfer, in queue: RequestQueue) {
        self.id = id
        self.host = host
        self.transfer = transfer
        self.queue = queue
    }

    /// Stops it if it is under way; returns what is to be cancelled.
    func stop() -> Transfer? {
        attempt.withLock { attempt in
            attempt.isStopped = attempt.isStopped || attempt.sent != nil
            return attempt.sent
        }
    }

    /// The attempt that has ended; what was sent holds the request as its sink, and is let go.
    func takeAttempt() -> Attempt {
        attempt.withLock { attempt in
            defer { attempt = Attempt() }
            return attempt
        }
    }

    func begun() { transfer.sink.begun() }

    func head(_ head: HTTPAnswer) -> Bool {
        switch queue.look(head) {
        case .none: return pass(head)
        case .needsText:
            attempt.withLock { $0.head = head }
            return true
        case .refusal(let refusal):
            refuse(refusal, head)
            return false
        }
    }

    private func refuse(_ refusal: FrontRefusal, _ head: HTTPAnswer) {
        attempt.withLock { $0.isRefused = true }
        queue.turnedAway(self, refusal, by: head.family)
    }

    /// Shows a head to the owner's sink unless it is a refusal, whose text is read to the end, so that the connection is kept.
    private func pass(_ head: HTTPAnswer) -> Bool {
        if queue.answered(self, head) { return transfer.sink.head(head) }
        attempt.withLock { $0.isRefused = true }
        return true
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (isRefused, isHeld) = attempt.withLock { ($0.isRefused, $0.head != nil) }
        if isRefused { return true }
        guard isHeld else { return unsafe transfer.sink.body(bytes) }
        // No longer than any text of an error (`AnswerCheck.errorBodyLimit`).
        let copy = unsafe Array(bytes)
        attempt.withLock { $0.text += copy }
        return true
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let (head, text) = attempt.withLock { attempt in
            defer { attempt.head = nil }
            return (attempt.head, attempt.text)
        }
        var result = result
        if let head {
            if let refusal = FrontPage.refusal(head, text: text) {
                refuse(refusal, head)
            } else if !pass(head) || !(unsafe text.withUnsafeBytes { unsafe body($0) }) {
                result = .failure(.cancelled)
            }
        }
        if attempt.withLock({ $0.isRefused }) {
            queue.refused(self)
        } else if let result = queue.ended(self, result) {
            transfer.end(result)
        }
    }
}
