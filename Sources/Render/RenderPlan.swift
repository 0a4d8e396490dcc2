internal import System

/// The plan of render processes: which job runs in which process, their starts and ends, and the reaction to failures.
///
/// The type is pure: it receives events and returns actions.
struct RenderPlan: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Limits: Hashable, Sendable {
        /// The most processes at the same time.
        var atOnce = 2
        /// The most waiting jobs; each may hold a preview in memory.
        var mostWaiting = 256
        /// The jobs of one process: traces that a picture left in it do not stay for ever.
        var jobsEach = 256
        /// The idle time after which a process ends.
        var idle: Duration = .seconds(20)
    }

    enum Action: Hashable, Sendable {
        /// Gives a job to a process, which must be started first if it is new.
        case run(job: Int, worker: Int, isNew: Bool)
        case end(worker: Int)
        case refuse(job: Int, MediaError)
        /// Requests a call of `tick` after this time.
        case wake(after: Duration)
    }

    /// The outcome of a job.
    enum Outcome: Hashable, Sendable {
        case answered
        /// The process is gone: it ended, hung or sent an invalid answer.
        case lost
        /// The process could not be started.
        case notStarted(MediaError)
    }

    private struct Worker {
        var id: Int
        var jobs = 0
        var idleSince: Instant?
        var isLong = false
    }

    /// Losses in a row without a delay: pictures of one directory may all be damaged in the same way.
    private static let freeLosses = 3
    private static let shortestRest: Duration = .milliseconds(10)
    private static let longestRest: Duration = .seconds(1)
    /// The delay after the first failed start; it grows up to `longestRetry`.
    private static let shortestRetry: Duration = .seconds(1)
    private static let longestRetry: Duration = .seconds(60)

    private let limits: Limits
    private var waiting: [(job: Int, isLong: Bool)] = []
    private var idle: [Worker] = []
    private var busy: [Int: Worker] = [:]
    private var nextWorker = 0
    private var lostInARow = 0
    private var failedStarts = 0
    /// The reason why no process can be started; nil unless a start failed.
    private var trouble: MediaError?
    /// The time before which no process is started.
    private var restsUntil: Instant?
    private var wakesAt: Instant?
    private var isClosed = false

    init(_ limits: Limits) {
        self.limits = limits
    }

    /// Adds a job.
    mutating func submit(_ job: Int, isLong: Bool, now: Instant) -> [Action] {
        guard !isClosed else { return [.refuse(job: job, .cancelled)] }
        guard waiting.count < limits.mostWaiting else {
            return [.refuse(job: job, .unavailable("too many pictures wait for it"))]
        }
        waiting.append((job, isLong))
        return schedule(now)
    }

    /// Records that a process finished its job, with any outcome.
    mutating func finished(_ worker: Int, _ outcome: Outcome, now: Instant) -> [Action] {
        guard var worker = busy.removeValue(forKey: worker) else { return [] }
        var actions: [Action] = []
        switch outcome {
        case .answered:
            (lostInARow, failedStarts, trouble, restsUntil) = (0, 0, nil, nil)
            // An animation took much memory, which only the end of a process reliably releases.
            if isClosed || worker.isLong || worker.jobs >= limits.jobsEach {
                actions.append(.end(worker: worker.id))
            } else {
                worker.idleSince = now
                idle.append(worker)
            }
        case .lost:
            (failedStarts, trouble) = (0, nil)
            lostInARow += 1
            let excess = lostInARow - Self.freeLosses
            restsUntil = excess > 0 ? now + Self.doubled(Self.shortestRest, excess - 1, Self.longestRest) : nil
        case .notStarted(let reason):
            failedStarts += 1
            trouble = reason
            restsUntil = now + Self.doubled(Self.shortestRetry, failedStarts - 1, Self.longestRetry)
        }
        return actions + schedule(now)
    }

    /// Reacts to the passing of time.
    mutating func tick(now: Instant) -> [Action] {
        if let wakesAt, now >= wakesAt { self.wakesAt = nil }
        let worn = idle.filter { $0.idleSince.map { now - $0 >= limits.idle } ?? true }
        idle.removeAll { worker in worn.contains { $0.id == worker.id } }
        return worn.map { .end(worker: $0.id) } + schedule(now)
    }

    /// Refuses all further jobs; jobs that run are finished.
    mutating func close() -> [Action] {
        isClosed = true
        let actions: [Action] = waiting.map { .refuse(job: $0.job, .cancelled) } + idle.map { .end(worker: $0.id) }
        (waiting, idle) = ([], [])
        return actions
    }

    // MARK: -

    private mutating func schedule(_ now: Instant) -> [Action] {
        var actions: [Action] = []
        // Animations take minutes: one at a time, so that thumbnails can overtake them.
        while busy.count < limits.atOnce,
            let next = waiting.firstIndex(where: { !$0.isLong || !busy.values.contains(where: \.isLong) })
        {
            var worker: Worker
            let isNew = idle.isEmpty
            if let known = idle.popLast() {
                worker = known
            } else if let restsUntil, now < restsUntil {
                guard let trouble else { break }
                // Waiters get the error at once: the program is missing, or the system lacks resources.
                actions += waiting.map { .refuse(job: $0.job, trouble) }
                waiting = []
                break
            } else {
                worker = Worker(id: nextWorker)
                nextWorker += 1
            }
            let (job, isLong) = waiting.remove(at: next)
            worker.jobs += 1
            worker.isLong = isLong
            worker.idleSince = nil
            busy[worker.id] = worker
            actions.append(.run(job: job, worker: worker.id, isNew: isNew))
        }
        return actions + wake(now)
    }

    /// The next time at which an action is due without another event.
    private mutating func wake(_ now: Instant) -> [Action] {
        var next = idle.compactMap(\.idleSince).min().map { $0 + limits.idle }
        if !waiting.isEmpty, busy.count < limits.atOnce, let restsUntil, restsUntil > now {
            next = min(next ?? restsUntil, restsUntil)
        }
        guard let next, wakesAt.map({ next < $0 }) ?? true else { return [] }
        wakesAt = next
        return [.wake(after: max(.zero, next - now))]
    }

    private static func doubled(_ first: Duration, _ times: Int, _ most: Duration) -> Duration {
        min(most, first * (1 << min(times, 10)))
    }
}

// MARK: - Protection

/// The measures that confine the process that decodes pictures, as far as the system supports them.
package struct Protection: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Only the calls that decoding needs are allowed: no file can be opened and no socket made (seccomp(2)).
    package static let calls = Protection(rawValue: 1)
    /// Memory, processor time and descriptors are bounded (setrlimit(2)).
    package static let limits = Protection(rawValue: 2)
    /// The process has the overflow user in a user namespace of its own (user_namespaces(7)).
    package static let users = Protection(rawValue: 4)
    /// Its network namespace has no network (network_namespaces(7)).
    package static let network = Protection(rawValue: 8)
    /// No file of the system can be reached from its root directory (chroot(2)).
    package static let root = Protection(rawValue: 16)
    /// The process gains no privileges by running a program, and other processes cannot inspect it (prctl(2)).
    package static let privileges = Protection(rawValue: 32)

    package static let all: Protection = [.calls, .limits, .users, .network, .root, .privileges]

    /// The measures in force, as words of a list.
    package var names: [String] { Self.named.filter { contains($0.0) }.map(\.1) }

    private static let named: [(Protection, String)] = [
        (.calls, "filtered system calls"), (.limits, "bounded memory and time"), (.users, "a user namespace"),
        (.network, "a network namespace"), (.root, "an empty root directory"), (.privileges, "no new privileges"),
    ]

    // MARK: - As the first message of the process

    /// The message that the process sends when it is ready.
    package var greeting: [UInt8] {
        var writer = ByteWriter()
        writer.write(Self.version)
        writer.write(rawValue)
        return writer.bytes
    }

    /// Reads the first message; nil if the process has another version.
    package init?(greeting: [UInt8]) {
        var reader = ByteReader(greeting)
        guard reader.number() == Self.version, let value = reader.number(), reader.isAtEnd else { return nil }
        self.init(rawValue: value)
    }

    package static let greetingLength = 16
    /// The version of the messages; both programs are installed together, but one may run while they are replaced.
    private static let version: Int64 = 0x726b_0002
}
