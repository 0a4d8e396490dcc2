package import HTTP
import Dispatch

/// A transport that records requests and answers nothing by itself: the test does, step by step.
///
/// ```swift
/// let transport = HeldTransport()
/// async let answer = client.send(request)
/// let held = await transport.waitForRequest(at: 0)
/// held.respond(status: 200, body: bytes)
/// ```
///
/// ## Concurrency
///
/// Any thread may call. Sinks are called on one serial queue, as on a real transport's thread; the test's steps return
/// after the sink has taken them.
package final class HeldTransport: Transport {
    private let made = Watched<[HeldRequest]>([])
    private let queue = DispatchQueue(label: "HeldTransport")

    package let limits: HostLimits

    /// A transport that claims to carry so many bodies at once.
    package init(slots: Int = 8) {
        limits = HostLimits(connections: slots)
    }

    /// Every request so far, oldest first.
    package var requests: [HeldRequest] { made.withLock { $0 } }

    /// The addresses asked so far, oldest first.
    package var urls: [String] { requests.map(\.request.url) }

    package func begin(_ transfer: Transfer) {
        let held = HeldRequest(transfer, queue: queue)
        held.follow()
        made.withLock { $0.append(held) }
    }

    /// Returns all requests once there have been at least so many.
    @discardableResult
    package func waitForRequests(_ count: Int) async -> [HeldRequest] {
        await made.wait { $0.count >= count }
        return requests
    }

    /// Returns the request of this index (0 is the first) once it has been made.
    @discardableResult
    package func waitForRequest(at index: Int) async -> HeldRequest {
        await waitForRequests(index + 1)[index]
    }

    /// Returns the newest request whose address ends so, once there is one: of requests that are made side by side nobody knows
    /// which is the first.
    @discardableResult
    package func waitForRequest(to ending: String) async -> HeldRequest {
        var count = 1
        while true {
            let requests = await waitForRequests(count)
            if let request = requests.last(where: { $0.request.url.hasSuffix(ending) }) { return request }
            count = requests.count + 1
        }
    }
}
