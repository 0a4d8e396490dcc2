package import HTTP
package import Rankings
import Synchronization

/// A service that answers from a script, and writes down what happened, in order.
///
/// ## Concurrency
///
/// All state is behind one lock.
package final class ScriptedService: Sendable {
    package enum Event: Equatable, Sendable {
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

    package init(_ script: [Result<HTTPResponse, Failure>]) {
        state = Mutex(State(script: script))
    }

    package var requests: [HTTPRequest] { state.withLock { $0.requests } }
    package var urls: [String] { requests.map(\.url) }
    package var events: [Event] { state.withLock { $0.events } }
    /// What each request told of the service's patience, oldest first.
    package var verdicts: [AnswerVerdict] { state.withLock { $0.verdicts } }
    package var closings: [Int64] {
        events.compactMap { if case .closed(let seconds) = $0 { seconds } else { nil } }
    }

    package func answered(_ request: HTTPRequest) throws(Failure) -> HTTPResponse {
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

/// The error of something that should fail; nil if it does not.
package func failure<Value>(_ body: () async throws -> Value) async -> Failure? {
    do {
        _ = try await body()
        return nil
    } catch { return error as? Failure ?? .broken("\(error)") }
}

/// The same of what does not wait.
package func failure<Value>(_ body: () throws -> Value) -> Failure? {
    do {
        _ = try body()
        return nil
    } catch { return error as? Failure ?? .broken("\(error)") }
}

extension RankingSource {
    /// The error of a page of a listing; nil if there is none.
    package func failure(of listing: ListingKey, _ page: Int = 1) async -> Failure? {
        await TestSupport.failure { try await self.page(of: listing, page, deadline: .now + .seconds(600)) }
    }
}

extension Failure {
    /// The name of the case, without what it carries.
    package var kind: String { String("\(self)".prefix { $0 != "(" }) }
}

/// Whether a failure is an answer that makes no sense, with the reason.
package func isUnreadable(_ error: Failure?) -> Bool {
    if case .unreadable(let reason)? = error { !reason.isEmpty } else { false }
}

/// Whether a failure says that the thing does not exist, or that a list has ended.
package func saysThatThereIsNone(_ error: Failure) -> Bool {
    [.absent, .notFound, .gone, .notPublished, .pastTheEnd].contains(error)
}
