import Foundation
import Glibc
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

    /// The process, started once for all tests; it ends with its input, which is this process's.
    private final class Shared: Sendable {
        let ports: Ports
        private let process = SpawnedProcess()
        private let input = Pipe()

        init() throws {
            guard let certificates = TestCertificates.shared, let python = Tool.path("python3") else {
                throw Tool.Failure()
            }
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appending(path: "Wire/h2origin.py")
            process.executableURL = URL(filePath: python)
            process.arguments = [
                script.path, "--certificate", certificates.path("good.pem"), "--key", certificates.path("good.key"),
            ]
            let output = Pipe()
            process.standardInput = input.fileHandleForReading
            process.standardOutput = output.fileHandleForWriting
            process.standardError = FileHandle.nullDevice
            try process.run()
            var line = Data()
            while line.last != UInt8(ascii: "\n") {
                let more = output.fileHandleForReading.availableData
                guard !more.isEmpty else { throw Tool.Failure() }
                line += more
            }
            ports = try JSONDecoder().decode(Ports.self, from: line)
        }
    }

    /// Nil without the system's Python with its package h2, or without openssl.
    private static let shared = try? Shared()
    static var isPossible: Bool { shared != nil }

    let port: UInt16
    private let control: UInt16
    var origin: String { "https://localhost:\(port)" }

    /// An origin with rules and memories of its own.
    init() throws {
        guard let shared = Self.shared else { throw Tool.Failure() }
        let body = Data(#"{"kind": "another"}"#.utf8)
        let head = "POST /_wire HTTP/1.1\r\nContent-Length: \(body.count)\r\n\r\n"
        let ports: Ports = try Self.exchange(head, body, control: shared.ports.control)
        (port, control) = (ports.port, ports.control)
    }

    /// Tells it what to do from now on.
    @discardableResult
    func tell(_ rule: [String: any Sendable]) throws -> Seen {
        let body = try JSONSerialization.data(withJSONObject: rule)
        return try Self.exchange(
            "POST /_wire HTTP/1.1\r\nContent-Length: \(body.count)\r\n\r\n", body, control: control)
    }

    @discardableResult
    func tell(_ kind: String, match: String = "", count: Int? = nil) throws -> Seen {
        var rule: [String: any Sendable] = ["kind": kind, "match": match]
        if let count { rule["count"] = count }
        return try tell(rule)
    }

    func seen() throws -> Seen {
        try Self.exchange("GET /_wire HTTP/1.1\r\n\r\n", Data(), control: control)
    }

    private static func exchange<Answer: Decodable>(_ head: String, _ body: Data, control: UInt16) throws -> Answer {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        address.sin_port = control.bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        let request = Data(head.utf8) + body
        guard connected == 0,
            request.withUnsafeBytes({ send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) })
                == request.count
        else { throw Tool.Failure() }
        shutdown(descriptor, Int32(SHUT_WR))
        var answer = Data()
        var part = [UInt8](repeating: 0, count: 65_536)
        while case let count = recv(descriptor, &part, part.count, 0), count > 0 { answer += part[..<count] }
        guard let end = answer.firstRange(of: Data("\r\n\r\n".utf8)) else { throw Tool.Failure() }
        return try JSONDecoder().decode(Answer.self, from: answer[end.upperBound...])
    }

    /// The body of `/body/<length>`.
    static func body(_ length: Int) -> [UInt8] {
        let whole = (0..<(length + 3) / 4).flatMap { number in
            withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
        }
        return Array(whole.prefix(length))
    }
}
