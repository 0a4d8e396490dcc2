import Synchronization
import TestSupport

@testable import Fuse

/// Keeps the answers of a reply, and lets a test wait for them.
final class Recorder: Sendable {
    private let recorded = Watched<[Answer]>([])

    var answers: [Answer] { recorded.withLock { $0 } }

    /// Give this to a reply.
    var record: @Sendable (Answer) -> Void {
        { [recorded] answer in recorded.withLock { $0.append(answer) } }
    }

    /// The first answer, as soon as there is one.
    func first() async -> Answer {
        await recorded.wait { !$0.isEmpty }
        return answers[0]
    }
}

/// Lets a task wait until the test opens it.
final class Gate: Sendable {
    private let isOpen = Watched(false)

    func open() { isOpen.withLock { $0 = true } }

    /// Does not listen to cancellation.
    func pass() async { await isOpen.wait { $0 } }
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
