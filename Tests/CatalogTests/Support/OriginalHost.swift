import Dispatch
import HTTP
import Synchronization

/// An image host that answers each HEAD at once, as a test says by address; what is not said is 404.
final class OriginalHost: Transport {
    enum Manner: Sendable {
        case size(Int)
        /// 200 without a length.
        case unmeasured
        case status(Int)
        /// Does not answer in time.
        case silent
        /// Fails so many times with 500, then has this size.
        case recovering(failures: Int, size: Int)
    }

    private struct State {
        var manners: [String: Manner] = [:]
        var usual: (@Sendable (String) -> Manner)?
        var asked: [String] = []
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "OriginalHost")

    /// The paths asked so far as `HEAD img/1.jpg/p0`, oldest first.
    var asked: [String] { state.withLock { $0.asked } }

    subscript(path: String) -> Manner {
        get { state.withLock { $0.manners[path] ?? .status(404) } }
        set { state.withLock { $0.manners[path] = newValue } }
    }

    /// What is said of every path that has no manner of its own.
    func setUsual(_ usual: @escaping @Sendable (String) -> Manner) {
        state.withLock { $0.usual = usual }
    }

    let limits = HostLimits(connections: 8)

    func begin(_ transfer: Transfer) {
        let request = transfer.request
        let path = String(request.url.dropFirst("https://images.test/".count))
        let manner = state.withLock { state in
            state.asked.append("\(request.method.rawValue) \(path)")
            var manner = state.manners[path] ?? state.usual?(path) ?? .status(404)
            if case .recovering(let failures, let size) = manner {
                state.manners[path] = failures > 1 ? .recovering(failures: failures - 1, size: size) : .size(size)
                manner = failures > 0 ? .status(500) : .size(size)
            }
            return manner
        }
        queue.async { Self.answer(manner, transfer) }
    }

    private static func answer(_ manner: Manner, _ transfer: Transfer) {
        let type = (name: "content-type", value: "image/jpeg")
        let head: HTTPAnswer
        switch manner {
        case .size(let size):
            head = HTTPAnswer(status: 200, headers: [type, (name: "content-length", value: String(size))])
        case .unmeasured, .recovering: head = HTTPAnswer(status: 200, headers: [type])
        case .status(let status): head = HTTPAnswer(status: status, headers: [])
        case .silent: return transfer.end(.failure(.timedOut))
        }
        _ = transfer.head(head)
        transfer.end(.success(()))
    }
}
