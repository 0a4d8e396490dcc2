import Foundation
import HTTP
import Rankings
import Sourcing
import Synchronization

@testable import Pixiv

/// A service that answers from a script and a gate that lets everybody pass; both write down what happened, in order.
///
/// ## Concurrency
///
/// All state is behind one lock.
final class FakeService: RequestGate {
    enum Event: Equatable {
        case passed(GatePriority, ContinuousClock.Instant)
        case asked(String)
        case closed(Int64)
    }

    private struct State {
        var script: [Result<HTTPResponse, HTTPError>]
        var requests: [HTTPRequest] = []
        var events: [Event] = []
        var verdicts: [GateVerdict] = []
        var gateError: HTTPError?
    }

    private let state: Mutex<State>

    init(_ script: [Result<HTTPResponse, HTTPError>]) {
        state = Mutex(State(script: script))
    }

    convenience init(status: Int = 200, headers: [(name: String, value: String)] = [], _ bodies: String...) {
        self.init(bodies.map { .success(Self.response(status, headers, Array($0.utf8))) })
    }

    static func response(
        _ status: Int, _ headers: [(name: String, value: String)] = [], _ body: [UInt8]
    ) -> HTTPResponse {
        HTTPResponse(head: HTTPAnswer(status: status, headers: headers), body: body)
    }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }
    var urls: [String] { requests.map(\.url) }
    var events: [Event] { state.withLock { $0.events } }
    /// What the gate was told of each request, oldest first.
    var verdicts: [GateVerdict] { state.withLock { $0.verdicts } }
    var closings: [Int64] {
        events.compactMap { if case .closed(let seconds) = $0 { seconds } else { nil } }
    }

    func refuseAtGate(_ error: HTTPError) { state.withLock { $0.gateError = error } }

    /// A source that asks this service; its gate is this one too if none is given.
    func source(
        apiURL: String? = nil, imageURL: String? = nil, gate: (any RequestGate)? = nil,
        session: SessionKeeper = SessionKeeper(nil)
    ) -> PixivSource {
        PixivSource(
            SourceMeans(
                send: { request throws(HTTPError) in try self.answered(request) }, gate: gate ?? self, apiURL: apiURL,
                imageURL: imageURL, wallClock: { Int64(Date().timeIntervalSince1970) }), session: session)
    }

    func answered(_ request: HTTPRequest) throws(HTTPError) -> HTTPResponse {
        let next = state.withLock { state -> Result<HTTPResponse, HTTPError> in
            state.requests.append(request)
            state.events.append(.asked(request.url))
            return state.script.isEmpty ? .failure(.refused("not in the script")) : state.script.removeFirst()
        }
        return try next.get()
    }

    func pass(_ priority: GatePriority, deadline: ContinuousClock.Instant) async throws(HTTPError) -> GateTicket {
        let error = state.withLock { state in
            state.events.append(.passed(priority, deadline))
            return state.gateError
        }
        if let error { throw error }
        return GateTicket(id: 0, closings: 0)
    }

    func settle(_ ticket: GateTicket, _ verdict: GateVerdict) {
        state.withLock { state in
            state.verdicts.append(verdict)
            if case .limited(let seconds, _) = verdict { state.events.append(.closed(seconds)) }
        }
    }
}
