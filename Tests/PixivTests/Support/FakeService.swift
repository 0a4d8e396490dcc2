import Foundation
@testable import HTTP
import Rankings
import Sourcing
import TestSupport

@testable import Pixiv

typealias FakeService = ScriptedService

extension ScriptedService {
    convenience init(status: Int = 200, headers: [(name: String, value: String)] = [], _ bodies: String...) {
        self.init(bodies.map { .success(Self.response(status, headers, Array($0.utf8))) })
    }

    static func response(
        _ status: Int, _ headers: [(name: String, value: String)] = [], _ body: [UInt8]
    ) -> HTTPResponse {
        HTTPResponse(head: HTTPAnswer(status: status, headers: headers), body: body)
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
}
