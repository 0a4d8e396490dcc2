import System
import Foundation
import Rankings
import Testing

@testable import Origin

/// A board without sockets, whose clock stands.
struct Booru {
    private let service: OriginService
    var userAgent: String? = "rankfs-tests/1.0"

    /// Shared: each draws its pictures once.
    static let danbooru = Booru.made(.danbooru)
    static let yandere = Booru.made(.yandere)
    static let konachan = Booru.made(.konachan)

    static func of(_ service: Service) -> Booru {
        service == .danbooru ? danbooru : service == .yandere ? yandere : konachan
    }

    /// The board of a service without a change.
    private static func made(_ service: Service) -> Booru {
        do {
            return try Booru(service)
        } catch {
            fatalError("\(error)")
        }
    }

    init(_ service: Service, _ change: (inout OriginConfiguration) -> Void = { _ in }) throws {
        var configuration = OriginConfiguration(now: { noon })
        configuration.service = service
        change(&configuration)
        self.service = try OriginService(configuration)
    }

    func get(_ target: String, method: String = "GET", _ headers: [String: String] = [:]) -> Response {
        var headers = headers
        if let userAgent { headers["user-agent"] = userAgent }
        return service.answer(Request(method: method, target: target, headers: headers))
    }

    func json(_ target: String) throws -> JSON {
        let answer = get(target)
        #expect(answer.status == 200, "\(target)")
        return try answer.json()
    }

    func ids(_ target: String) throws -> [Int64] {
        try json(target).children.map { try #require($0["id"]?.number) }
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
func digest(of bytes: [UInt8]) -> String { MD5.hex(bytes) }
