import Foundation
@testable import HTTP
import Rankings
import Sourcing
import Synchronization

@testable import Pixiv

/// A service that answers from a script, and writes down what happened, in order.
///
/// ## Concurrency
///
/// All state is behind one lock.
final class FakeService: Sendable {
    enum Event: Equatable {
        /// With its place in line, and until when it may wait there.
        case asked(String, TransferPriority, ContinuousClock.Instant)
        case closed(Int64)
    }

    private struct State {
        var script: [Result<HTTPResponse, Failure>]
        var requests: [HTTPRequest] = []
        var events: [Event] = []
        var verdicts: [AnswerVerdict] = []
    }

    private let state: Mutex<State>

    init(_ script: [Result<HTTPResponse, Failure>]) {
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
    /// What each request told of the service's patience, oldest first.
    var verdicts: [AnswerVerdict] { state.withLock { $0.verdicts } }
    var closings: [Int64] {
        events.compactMap { if case .closed(let seconds) = $0 { seconds } else { nil } }
    }

    /// A source that asks this service.
    func source(
        apiURL: String? = nil, imageURL: String? = nil, session: SessionKeeper = SessionKeeper(nil)
    ) -> PixivSource {
        PixivSource(
            SourceMeans(
                send: { request throws(Failure) in try self.answered(request) }, apiURL: apiURL, imageURL: imageURL,
                wallClock: { Int64(Date().timeIntervalSince1970) }), session: session)
    }

    func answered(_ request: HTTPRequest) throws(Failure) -> HTTPResponse {
        let next = state.withLock { state -> Result<HTTPResponse, Failure> in
            state.requests.append(request)
            state.events.append(.asked(request.url, request.priority, request.deadline + request.patience))
            let next = state.script.isEmpty ? .failure(.unsendable("not in the script")) : state.script.removeFirst()
            let verdict = (try? next.get()).flatMap { request.judge?($0) } ?? .unknown
            state.verdicts.append(verdict)
            if case .limited(let seconds, _) = verdict { state.events.append(.closed(seconds)) }
            return next
        }
        return try next.get()
    }
}
