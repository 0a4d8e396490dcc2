import Foundation
import TestSupport

/// The origin of Tests/Wire, which breaks HTTP/2 as it is told.
final class WireOrigin {
    /// What it saw.
    struct Seen: Decodable {
        struct Connection: Decodable {
            var `protocol`: String
            var open: Bool
        }
        struct Request: Decodable {
            var connection: Int
            var method: String
            var path: String
            var range: String
        }
        var connections: [Connection]
        var requests: [Request]
    }

    private struct Ports: Decodable {
        var port: UInt16
        var control: UInt16
    }

    /// The process, started once for all tests; nil without the system's Python with its package h2, or without openssl.
    private static let script = TestCertificates.shared.flatMap { certificates in
        try? PythonScript(
            "Wire/h2origin.py",
            ["--certificate", certificates.path("good.pem"), "--key", certificates.path("good.key")])
    }
    static var isPossible: Bool { script != nil }

    let port: UInt16
    private let control: UInt16
    var origin: String { "https://localhost:\(port)" }

    /// An origin with rules and memories of its own.
    init() throws {
        guard let script = Self.script else { throw Tool.Failure() }
        let shared = try JSONDecoder().decode(Ports.self, from: script.greeting)
        let ports: Ports = try Self.exchange(["--data-binary", #"{"kind": "another"}"#], control: shared.control)
        (port, control) = (ports.port, ports.control)
    }

    /// Tells it what to do from now on.
    @discardableResult
    func tell(_ rule: [String: any Sendable]) throws -> Seen {
        let body = try JSONSerialization.data(withJSONObject: rule)
        return try Self.exchange(["--data-binary", String(decoding: body, as: UTF8.self)], control: control)
    }

    @discardableResult
    func tell(_ kind: String, match: String = "", count: Int? = nil) throws -> Seen {
        var rule: [String: any Sendable] = ["kind": kind, "match": match]
        if let count { rule["count"] = count }
        return try tell(rule)
    }

    func seen() throws -> Seen { try Self.exchange([], control: control) }

    private static func exchange<Answer: Decodable>(_ arguments: [String], control: UInt16) throws -> Answer {
        let answer = try Tool("curl").run(["-sf"] + arguments + ["http://127.0.0.1:\(control)/_wire"])
        guard answer.status == 0 else { throw Tool.Failure() }
        return try JSONDecoder().decode(Answer.self, from: answer.output)
    }

    /// The body of `/body/<length>`.
    static func body(_ length: Int) -> [UInt8] {
        let whole = (0..<(length + 3) / 4).flatMap { number in
            withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
        }
        return Array(whole.prefix(length))
    }
}
