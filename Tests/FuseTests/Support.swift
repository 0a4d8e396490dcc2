import Synchronization

@testable import Fuse

/// Keeps the answers of a reply, and lets a test wait for them.
final class Recorder: Sendable {
    private struct State {
        var answers: [Answer] = []
        var waiter: CheckedContinuation<Answer, Never>?
    }

    private let state = Mutex(State())

    var answers: [Answer] {
        state.withLock(\.answers)
    }

    /// Give this to a reply.
    var record: @Sendable (Answer) -> Void {
        { [self] answer in
            let waiter = state.withLock { state in
                state.answers.append(answer)
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: answer)
        }
    }

    /// The first answer, as soon as there is one.
    func first() async -> Answer {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state in
                if state.answers.isEmpty { state.waiter = continuation }
                return state.answers.first
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }
}

/// Lets a task wait until the test opens it.
final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func open() {
        let waiters = state.withLock { state in
            state.isOpen = true
            defer { state.waiters = [] }
            return state.waiters
        }
        waiters.forEach { $0.resume() }
    }

    /// Does not listen to cancellation.
    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiters.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}

/// A clock that a test moves.
final class ManualTimer: Sendable {
    private struct State {
        var now = Duration.zero
        var actions: [(time: Duration, action: @Sendable () -> Void)] = []
    }

    private let state = Mutex(State())

    /// The timer as requests use it.
    var timer: DeadlineTimer {
        DeadlineTimer(now: { self.state.withLock(\.now) }) { time, action in
            self.state.withLock { $0.actions.append((time, action)) }
        }
    }

    /// Timers that are set.
    var count: Int { state.withLock(\.actions.count) }

    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration
            let now = state.now
            defer { state.actions.removeAll { $0.time <= now } }
            return state.actions.filter { $0.time <= now }
        }
        due.forEach { $0.action() }
    }
}

extension Attributes {
    /// A file of 1000 bytes.
    static func example(inode: UInt64, kind: Kind = .file, size: Int64 = 1000) -> Attributes {
        Attributes(
            inode: inode, kind: kind, permissions: 0o444, size: size, modified: 1_600_000_000, links: 1, user: 1,
            group: 2)
    }
}
