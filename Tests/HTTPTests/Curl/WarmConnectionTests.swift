import TestSupport
import Testing

@testable import HTTP

@Suite struct WarmConnectionTests {
    @Test func connectionsAreMadeOnceInAWhile() {
        let (transport, clock) = (HeldTransport(), ManualClock())
        let warm = WarmConnections(
            transport, to: "https://i.example/", headers: ["Referer: https://example/"], now: { clock.now })
        warm.make()
        warm.make()
        #expect(transport.requests.count == WarmConnections.count)
        for held in transport.requests {
            #expect(held.request.method == .head && held.request.transferClass == .bulk)
            #expect(held.request.priority == .preload, "they take nobody's turn")
            #expect(held.request.purpose == .connection, "no picture, and no failure whatever the answer")
            #expect(held.request.headers == ["Referer: https://example/"])
            held.respond(status: 404)
        }
        clock.advance(by: WarmConnections.lifetime - .seconds(1))
        warm.make()
        #expect(transport.requests.count == WarmConnections.count)
        clock.advance(by: .seconds(1))
        warm.make()
        #expect(transport.requests.count == 2 * WarmConnections.count)
    }

    @Test func readersKeepTheirSlots() {
        let transport = HeldTransport(slots: 2)
        WarmConnections(transport, to: "https://i.example/", headers: []).make()
        #expect(transport.requests.count == 1)
    }
}
