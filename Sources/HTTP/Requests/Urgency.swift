import Synchronization

/// Whether somebody waits for what was asked for nobody yet: a reader's priority from then on.
///
/// ## Concurrency
///
/// Any thread may call any method at any time. Followers are called outside the lock.
package final class Urgency: Sendable {
    private struct State {
        var priority = TransferPriority.preload
        var lastFollower = 0
        var followers: [Int: @Sendable () -> Void] = [:]
    }

    /// That of what the present task asks for on nobody's behalf; nil where nobody can come to wait for it.
    @TaskLocal package static var current: Urgency?

    private let state = Mutex(State())

    package init() {}

    /// What the next try is sent with.
    package var priority: TransferPriority { state.withLock { $0.priority } }

    /// Somebody waits.
    package func raise() {
        let followers = state.withLock { state in
            state.priority = .reader
            defer { state.followers = [:] }
            return state.followers.values
        }
        for hurry in followers { hurry() }
    }

    /// Does something meanwhile, and calls `hurry` when somebody waits: at once if somebody does already.
    package func whileFollowed<Value: Sendable>(
        by hurry: @escaping @Sendable () -> Void, _ body: @Sendable () async -> Value
    ) async -> Value {
        let follower = state.withLock { state -> Int? in
            guard state.priority != .reader else { return nil }
            state.lastFollower += 1
            state.followers[state.lastFollower] = hurry
            return state.lastFollower
        }
        guard let follower else {
            hurry()
            return await body()
        }
        defer { state.withLock { _ = $0.followers.removeValue(forKey: follower) } }
        return await body()
    }

    /// Waits for something until somebody waits for this: then it is cancelled, and throws that unless it is over.
    package func untilRaised<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(HTTPError) -> Value
    ) async throws(HTTPError) -> Value {
        let task = Task { () async -> Result<Value, HTTPError> in
            do throws(HTTPError) { return .success(try await body()) } catch { return .failure(error) }
        }
        return try await whileFollowed(by: { task.cancel() }) {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }.get()
    }
}
