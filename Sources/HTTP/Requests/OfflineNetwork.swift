/// The network of a mount that asks nobody: every request fails at once.
///
/// ## Concurrency
///
/// Any thread may call; sinks hear of the end before `begin` returns.
package struct OfflineNetwork: Transport, RequestGate {
    package init() {}

    /// Of no consequence: nothing is ever under way.
    package var limits: HostLimits { HostLimits(connections: 1) }

    package func begin(_ transfer: Transfer) { transfer.end(.failure(.offline)) }

    package func pass(
        _ priority: GatePriority, deadline: ContinuousClock.Instant
    ) async throws(HTTPError) -> GateTicket {
        throw .offline
    }

    package func settle(_ ticket: GateTicket, _ verdict: GateVerdict) {}
}
