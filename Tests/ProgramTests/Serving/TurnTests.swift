import HTTP
import Rankings
import Testing

@testable import rankfs

/// How long a request to the service waits for its turn.
@Suite struct TurnTests {
    /// Of 30 s without an answer, its reader keeps one for the reason; a request that has less than its whole time is not bound.
    @Test(arguments: [
        (left: 3600, waited: 0, turn: 29), (left: 3600, waited: 9, turn: 20), (left: 1800, waited: 9, turn: 0),
    ])
    func aRequestGivesUpItsTurnBeforeItsReaderLeaves(left: Int, waited: Int, turn: Int) {
        let request = HTTPRequest(
            url: "https://service.example", transferClass: .metadata, deadline: .now + .seconds(left), bodyLimit: 1)
        let bound = RequestUrgency.$waited.withValue(.seconds(waited)) {
            Parts.withTurn(request, Settings(), .seconds(3600))
        }
        #expect(bound.turn == .seconds(turn))
    }
}
