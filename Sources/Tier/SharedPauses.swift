import HTTP
import Synchronization
import System

/// The pauses that the service's hosts requested of any machine, in one document.
///
/// Limits of a service are often those of an address, which machines share: a pause of one machine is one of all. A part of the
/// document is a part of a host with the seconds of its pause, and its time is the beginning of the pause by the store's clock.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class SharedPauses: Sendable {
    /// The longest pause in seconds that another machine can cause.
    static let longest: Int64 = 120
    /// The time before the end of a pause at which the pauses are read again, for one that has been told to go on waiting.
    private static let ahead = Duration.milliseconds(500)
    /// The most parts of hosts; a service has a few.
    private static let mostParts = 8
    /// The difference up to which two pauses are the same one.
    private static let same = Duration.seconds(4)

    private struct State {
        var queue: RequestQueue?
        var read: ContinuousClock.Instant?
        /// The ends of the pauses that this machine keeps.
        var ends: [String: ContinuousClock.Instant] = [:]
    }

    private let document: SharedDocument
    private let store: TierStore
    private let state = Mutex(State())

    init(_ document: SharedDocument, store: TierStore) {
        self.document = document
        self.store = store
    }

    /// Begins the pauses of other machines in a queue from now on.
    func follow(_ queue: RequestQueue) { state.withLock { $0.queue = queue } }

    /// Stores a pause that a host requested of this machine.
    func store(_ host: String, _ part: HostPart, seconds: Int64) {
        let name = "\(part.rawValue)/\(host)"
        let seconds = min(seconds, Self.longest)
        let end = store.time.now() + .seconds(seconds)
        state.withLock { $0.ends[name] = end }
        Task { await document.offer(name, seconds) }
    }

    /// Reads the pauses of other machines, unless it did so within the interval; returns at once.
    @discardableResult
    func read(every interval: Duration) -> Task<Void, Never>? {
        let now = store.time.now()
        let isTime = state.withLock { state in
            guard state.queue != nil, state.read.map({ now - $0 >= interval }) ?? true else { return false }
            state.read = now
            return true
        }
        return isTime ? Task { await begin(document.partsNow()) } : nil
    }

    private func begin(_ parts: [String: DocumentPart]) {
        guard let clock = store.now else { return }
        for (name, part) in parts.prefix(Self.mostParts) {
            let words = name.split(separator: "/", maxSplits: 1)
            guard words.count == 2, let kind = HostPart(rawValue: String(words[0])), let length = part.number,
                AnswerAge.holds(part.asked, min(length, Self.longest), clock)
            else { continue }
            let left = min(length, Self.longest) - max(0, clock - part.asked)
            // Not all go on at the same moment: the first one finds out whether the pause was long enough.
            let apart = Duration.seconds(max(2, left / 4))
            let seconds = left + 1 + (store.spread(apart) - apart / 2).components.seconds
            let end = store.time.now() + .seconds(left)
            let queue = state.withLock { state -> RequestQueue? in
                if let known = state.ends[name], end <= known + Self.same { return nil }
                state.ends[name] = end
                return state.queue
            }
            guard let queue else { continue }
            queue.pause(String(words[1]), kind, forSeconds: seconds)
            store.report(.pauses(host: String(words[1]), seconds: seconds))
            Task {
                try await store.time.sleep(.seconds(seconds) - Self.ahead)
                await begin(document.partsNow())
            }
        }
    }

    /// Writes the last pause.
    func close() async { await document.close() }
}
