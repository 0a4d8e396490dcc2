internal import Synchronization

/// The state of a fake behind a lock, for whose changes a test can wait.
package final class Watched<State: Sendable>: Sendable {
    private struct Content {
        var state: State
        var watchers: [(isReached: @Sendable (State) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []

        /// The waiters to resume.
        mutating func reached() -> [CheckedContinuation<Void, Never>] {
            guard !watchers.isEmpty else { return [] }
            let all = watchers.map { ($0.isReached(state), $0) }
            watchers = all.filter { !$0.0 }.map(\.1)
            return all.filter(\.0).map(\.1.continuation)
        }
    }

    private let content: Mutex<Content>

    package init(_ state: State) {
        content = Mutex(Content(state: state))
    }

    @discardableResult
    package func withLock<Value: Sendable, Problem: Error>(
        _ body: (inout State) throws(Problem) -> Value
    ) throws(Problem) -> Value {
        let (result, reached) = content.withLock { content in
            let result = Result { () throws(Problem) in try body(&content.state) }
            return (result, content.reached())
        }
        for continuation in reached { continuation.resume() }
        return try result.get()
    }

    /// Returns once the state is such.
    package func wait(until isReached: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            content.withLock { $0.watchers.append((isReached, continuation)) }
            withLock { _ in }
        }
    }
}
