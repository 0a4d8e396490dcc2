internal import HTTP
package import ImageHost
internal import Synchronization

/// What takes slots without being a download's: who waits for one, and who has one.
///
/// A book: who gets a slot, and who gives it back, is the scheduler's to say.
struct OtherRequests: Sendable {
    private var waiting: [OtherRequest] = []
    private var running: [UInt64: OtherRequest] = [:]

    var isWaiting: Bool { !waiting.isEmpty }

    /// What the scheduler is told.
    var account: DownloadScheduler.Others {
        DownloadScheduler.Others(waiting: waiting.count, running: Array(running.keys))
    }

    /// Lets a request wait for a slot; one that had a slot before goes first.
    mutating func add(_ request: OtherRequest, isAgain: Bool) {
        waiting.insert(request, at: isAgain ? 0 : waiting.count)
    }

    /// Gives a slot to the first that waits, under a number.
    mutating func grant(_ id: UInt64) -> OtherRequest? {
        guard !waiting.isEmpty else { return nil }
        let request = waiting.removeFirst()
        running[id] = request
        return request
    }

    /// Takes a slot back, or notes that it is free; nil if that was done before.
    @discardableResult
    mutating func takeBack(_ id: UInt64) -> OtherRequest? { running.removeValue(forKey: id) }

    /// Takes out one that waits; false if it does not.
    mutating func remove(_ request: OtherRequest) -> Bool {
        guard let place = waiting.firstIndex(where: { $0 === request }) else { return false }
        waiting.remove(at: place)
        return true
    }

    /// Takes out those that wait and are late.
    mutating func expire(now: ContinuousClock.Instant) -> [OtherRequest] {
        let late = waiting.filter { $0.deadline <= now }
        if !late.isEmpty { waiting.removeAll { $0.deadline <= now } }
        return late
    }

    /// Takes out all that wait.
    mutating func removeWaiting() -> [OtherRequest] {
        defer { waiting = [] }
        return waiting
    }
}

extension ImageCache {
    /// The image host as others are to ask it, at a preload's priority: bodies in the slots that nobody waits for, small answers
    /// without limit.
    package var otherRequests: ImageHost { ImageHost(SlotTransport(self)) }
}

/// The way to the image host for what is no download's: bodies go when the scheduler has a slot for them.
///
/// ## Concurrency
///
/// Any thread may call. A body that is never sent is ended on the thread that finds that out.
private struct SlotTransport: Transport {
    private let cache: ImageCache

    init(_ cache: ImageCache) {
        self.cache = cache
    }

    var slots: TransferSlots { cache.host.slots }

    func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        guard request.transferClass == .bulk else { return cache.host.transport.start(request, sink: sink) }
        let request = OtherRequest(request, sink: sink, cache: cache)
        request.ask(isAgain: false)
        return request
    }
}

/// A request for a body that is no download's: waits for a slot, is sent, and may have to give the slot back.
///
/// One that its sink has seen nothing of then waits again; another ends with `.broken`, and its owner may try again.
///
/// ## Concurrency
///
/// Any thread may call; nothing foreign is called under the mutex.
final class OtherRequest: Transfer, ResponseSink {
    private struct State {
        /// The present try.
        var number: UInt64 = 0
        var transfer: StartedTransfer?
        /// The try whose slot was taken back.
        var takenBack: UInt64?
        var isSeen = false
        var isCancelled = false
    }

    private let request: HTTPRequest
    private let sink: any ResponseSink
    private let cache: ImageCache
    private let state = Mutex(State())

    init(_ request: HTTPRequest, sink: any ResponseSink, cache: ImageCache) {
        self.request = request
        self.sink = sink
        self.cache = cache
    }

    var deadline: ContinuousClock.Instant { request.deadline }

    /// Waits for a slot.
    func ask(isAgain: Bool) {
        let now = cache.configuration.monotonicNow()
        cache.run { core in
            guard !core.isClosed else { return core.effects.append(.refuse(self, .cancelled)) }
            core.others.add(self, isAgain: isAgain)
            core.pump(now: now)
        }
        // It may have been cancelled while it neither waited nor had a slot.
        if state.withLock({ $0.isCancelled }), cache.run({ core in core.others.remove(self) }) { refuse(.cancelled) }
    }

    /// Sends it, in the slot of this number.
    func send(as number: UInt64) {
        let transfer = StartedTransfer(request.priority)
        let (isTakenBack, isCancelled) = state.withLock { state in
            state.number = number
            state.transfer = transfer
            return (state.takenBack == number, state.isCancelled)
        }
        if isTakenBack { return finish(.failure(.cancelled)) }
        if isCancelled { transfer.cancel() }
        transfer.follow(cache.host.transport.start(request, sink: self), sentWith: request.priority)
    }

    /// Gives the slot of this number back.
    func takeBack(_ number: UInt64) {
        let transfer = state.withLock { state -> StartedTransfer? in
            state.takenBack = number
            return state.number == number ? state.transfer : nil
        }
        transfer?.cancel()
    }

    /// Ends it without having sent it.
    func refuse(_ error: HTTPError) { sink.finish(.failure(error)) }

    // MARK: - Transfer

    func setPriority(_ priority: TransferPriority) {
        state.withLock { $0.transfer }?.setPriority(priority)
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        if let transfer { return transfer.cancel() }
        if cache.run({ core in core.others.remove(self) }) { refuse(.cancelled) }
    }

    // MARK: - ResponseSink

    func begun() { sink.begun() }

    func head(_ head: HTTPHead) -> Bool {
        state.withLock { $0.isSeen = true }
        return sink.head(head)
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool { unsafe sink.body(bytes) }

    func finish(_ result: Result<Void, HTTPError>) {
        let (number, isTakenBack, isSeen) = state.withLock { state in
            state.transfer = nil
            let isEnded = if case .failure(.cancelled) = result { !state.isCancelled } else { false }
            return (state.number, isEnded && state.takenBack == state.number, state.isSeen)
        }
        guard !isTakenBack else {
            return isSeen ? sink.finish(.failure(.broken("a reader needed the connection"))) : ask(isAgain: true)
        }
        let now = cache.configuration.monotonicNow()
        cache.run { core in
            core.others.takeBack(number)
            core.pump(now: now)
        }
        sink.finish(result)
    }
}
