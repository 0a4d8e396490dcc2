internal import HTTP

extension Task where Failure == Never {
    /// What the task returns, or nil once a moment has come or the caller is cancelled; the task goes on.
    func value(until moment: ContinuousClock.Instant, _ time: TimeSource) async -> Success? {
        let (values, end) = AsyncStream<Success>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let timer = Task<Void, Never> {
            try? await time.sleep(moment - time.now())
            end.finish()
        }
        // Not a part of the caller: nobody waits for it who has given up.
        _ = Task<Void, Never> {
            end.yield(await value)
            end.finish()
        }
        defer { timer.cancel() }
        var iterator = values.makeAsyncIterator()
        return await iterator.next()
    }
}
