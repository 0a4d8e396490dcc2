import Foundation
import Rankings
import Testing

@testable import Origin

@Suite(.timeLimit(.minutes(1))) struct ServerTests {
    /// A picture that comes with its length, or one that does not.
    private func path(chunked: Bool, silent: Bool? = nil) throws -> String {
        let host = PictureHost(OriginConfiguration(now: { noon }))
        let universe = Universe(seed: 1)
        let found = universe.newest { _, path in
            func tells(_ method: String) -> Bool {
                host.serve(Request(method: method, target: path), universe.picture(at: path)).tellsLength
            }
            return tells("GET") != chunked && (silent == nil || tells("HEAD") != silent)
        }
        return try #require(found).path
    }

    @Test func theImageHostsManners() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let path = try path(chunked: false)
        #expect(await fetch(server, path, referer: false).status == 403)
        let whole = await fetch(server, path)
        #expect(whole.status == 200)
        #expect(whole["Content-Length"] == "\(whole.body.count)")
        #expect(whole["Content-Type"] == "image/jpeg")
        #expect(whole["ETag"] == nil)
        #expect(whole["Accept-Ranges"] == nil)
        #expect(whole["Cache-Control"] == "max-age=31536000")
        #expect(whole.body.suffix(2) == [0xff, 0xd9])
        let head = await fetch(server, path, method: "HEAD")
        #expect(head.body.isEmpty)
        #expect(head["Content-Length"] == whole["Content-Length"])
        #expect(head["Last-Modified"] == whole["Last-Modified"])
        #expect(await fetch(server, path.replacing("_p0_", with: "_p77_")).status == 404)
        #expect(await fetch(server, "/", referer: false).status == 403)
    }

    @Test func someAnswersComeWithoutALength() async throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let path = try path(chunked: true, silent: true)
        let whole = await fetch(server, path)
        #expect(whole["Content-Length"] == nil)
        #expect(whole["Transfer-Encoding"] == "chunked")
        #expect(whole.isWhole)
        #expect(whole.body.count == Universe(seed: 1).picture(at: path)?.bytes)
        #expect(await fetch(server, path, method: "HEAD")["Content-Length"] == nil)
        let told = try self.path(chunked: true, silent: false)
        #expect(await fetch(server, told, method: "HEAD")["Content-Length"] != nil)
        let plain = try OriginServer.start { $0.chunks = false }
        defer { plain.stop() }
        #expect(await fetch(plain, path)["Content-Length"] == "\(whole.body.count)")
    }

    @Test func aPortInUseIsOneSentence() throws {
        let server = try OriginServer.start()
        defer { server.stop() }
        let port = try #require(UInt16(server.url.split(separator: ":").last ?? ""))
        let error = #expect(throws: Failure.self) { try OriginServer.start { $0.port = port } }
        #expect(error?.cause.contains("\(port)") == true)
        #expect(throws: Failure.self) { try OriginServer.start { $0.log = "/nonexistent/log" } }
        for service in [Service.pixiv, .konachan] {
            #expect(throws: Failure.self) {
                try OriginServer.start {
                    $0.service = service
                    $0.replay = "/nonexistent"
                }
            }
        }
    }
}
