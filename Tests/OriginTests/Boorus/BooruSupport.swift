import CNettle
import Foundation
import Rankings
import Testing

@testable import Origin

/// Stands where routes could not start: every test of them fails.
private struct Unstarted: OriginRoutes {
    var placeholder: Picture? { nil }

    func answer(_ request: Request, _ moment: ServedMoment) -> Response {
        .html("not started", status: 599)
    }
}

/// The routes of a booru without sockets, with a clock that stands.
struct Booru {
    let routes: any OriginRoutes
    var now = noon
    var userAgent: String? = "rankfs-tests/1.0"

    /// Shared: each draws its pictures once.
    static let danbooru = Booru(.danbooru)
    static let yandere = Booru(.yandere)
    static let konachan = Booru(.konachan)

    static func of(_ site: ServedSite) -> Booru {
        switch site {
        case .danbooru: danbooru
        case .yandere: yandere
        case .konachan: konachan
        }
    }

    init(_ service: OriginServer.Service, _ change: (inout OriginServer.Configuration) -> Void = { _ in }) {
        var configuration = OriginServer.Configuration(service: service, now: { noon })
        change(&configuration)
        let made: (any OriginRoutes)? =
            switch service {
            case .yandere: try? MoebooruOrigin(configuration, .yandere)
            case .konachan: try? MoebooruOrigin(configuration, .konachan)
            default: try? DanbooruOrigin(configuration)
            }
        routes = made ?? Unstarted()
    }

    func get(
        _ target: String, method: String = "GET", range: String? = nil, ifRange: String? = nil,
        ifNoneMatch: String? = nil, host: String? = nil
    ) -> Response {
        routes.answer(
            Request(
                method: method, target: target, range: range, ifRange: ifRange, userAgent: userAgent, host: host,
                ifNoneMatch: ifNoneMatch), ServedMoment(now: now, laterBy: 0))
    }

    func json(_ target: String, host: String? = nil) throws -> JSON {
        let answer = get(target, host: host)
        #expect(answer.status == 200, "\(target)")
        return try answer.json()
    }

    func ids(_ target: String, host: String? = nil) throws -> [Int64] {
        try json(target, host: host).children.map { try #require($0["id"]?.number) }
    }
}

extension Response {
    func json() throws -> JSON {
        guard case .bytes(let bytes) = body else { throw CocoaError(.coderInvalidValue) }
        return try #require(JSON(bytes))
    }

    /// All bytes of the body, drawn if need be.
    func drawn() throws -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .picture(let picture, let range): return Array(try #require(Painter.draw(picture)).bytes[range])
        }
    }

    subscript(name: String) -> String? {
        headers.first { $0.0 == name }?.1
    }
}

extension JSON {
    var keys: [String] {
        members.map(\.name)
    }

    /// The path of an address, whatever its host.
    func path(_ key: String) throws -> String {
        let url = try #require(self[key]?.string)
        return "/" + url.split(separator: "/", maxSplits: 2)[2]
    }
}

/// A recorded answer of a booru.
func recordedAnswer(_ path: String) throws -> JSON {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Payloads/\(path)")
    return try #require(JSON(Array(try Data(contentsOf: folder))))
}

/// The digest of bytes taken all at once.
func digest(of bytes: [UInt8]) -> String {
    var state = rankfs_md5_start()
    rankfs_md5_update(&state, bytes, bytes.count)
    var digest = [UInt8](repeating: 0, count: 16)
    rankfs_md5_digest(&state, &digest)
    return digest.map { String(format: "%02x", $0) }.joined()
}
