/// The network of a mount that asks nobody: every request fails at once.
///
/// ## Concurrency
///
/// Any thread may call; sinks are told before `start` returns.
package struct OfflineNetwork: Transport, RequestGate {
    package init() {}

    /// Of no consequence: nothing is ever under way.
    package var slots: TransferSlots { TransferSlots(all: 1) }

    package func start(_ request: HTTPRequest, sink: any ResponseSink) -> any Transfer {
        sink.finish(.failure(.offline))
        return EndedTransfer()
    }

    package func pass(
        _ priority: GatePriority, deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> GateTicket {
        throw .offline
    }

    package func settle(_ ticket: GateTicket, _ verdict: GateVerdict) {}
}

/// A transfer that has ended.
private final class EndedTransfer: Transfer {
    func setPriority(_ priority: TransferPriority) {}
    func cancel() {}
}
