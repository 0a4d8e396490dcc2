import Foundation
import Glibc
import TestSupport

/// nginx on 127.0.0.1, with TLS on one port and without on another, answering from a directory of its own.
///
/// One process; `stop` ends it and returns what it logged.
final class TLSServer {
    /// A request as nginx saw it.
    struct Line: Hashable {
        /// Numbers connections.
        let connection: String
        /// `HTTP/2.0`, `HTTP/1.1`; empty for what was no request.
        let version: String
        let method: String
        let path: String
        let cookie: String
        let status: String
    }

    /// What `/picture` answers: bytes that are at no two places the same, so that a shifted body is a wrong one.
    static let picture: [UInt8] = (0..<75_000).flatMap { number in
        withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
    }

    static var isPossible: Bool { Tool.path("nginx") != nil && Tool.path("openssl") != nil }

    let port: UInt16
    let plainPort: UInt16
    var origin: String { "https://localhost:\(port)" }
    private let directory: URL
    private let process: SpawnedProcess

    init(_ leaf: TestCertificates.Leaf = .good, streams: Int = 128) throws {
        guard let certificates = TestCertificates.shared else { throw Tool.Failure() }
        directory = FileManager.default.temporaryDirectory.appending(path: "rankfs-nginx-\(UUID().uuidString)")
        for name in ["root", "temporary"] {
            try FileManager.default.createDirectory(
                at: directory.appending(path: name), withIntermediateDirectories: true)
        }
        try Data(Self.picture).write(to: directory.appending(path: "root/picture"))
        // Somebody else may take a free port before nginx does: then others are tried.
        for _ in 0..<10 {
            let ports = try Self.freePorts()
            try Data(
                Self.configuration(
                    directory.path, ports, streams: streams, key: certificates.path("\(leaf).key"),
                    certificate: certificates.path("\(leaf).pem")
                ).utf8
            ).write(to: directory.appending(path: "nginx.conf"))
            guard let process = try Self.listening(in: directory) else { continue }
            self.process = process
            (port, plainPort) = (ports[0], ports[1])
            return
        }
        throw Tool.Failure()
    }

    /// Ends nginx, which writes each line before it serves the next request.
    func stop() throws -> [Line] {
        process.terminate()
        process.waitUntilExit()
        let log = try String(contentsOf: directory.appending(path: "access.log"), encoding: .utf8)
        try FileManager.default.removeItem(at: directory)
        return log.split(separator: "\n").map { line in
            let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            return Line(
                connection: words[0], version: words[1], method: words[2], path: words[3], cookie: words[4],
                status: words[5])
        }
    }

    /// nginx once it listens, which is when it writes its number down; nil if it ended instead.
    private static func listening(in directory: URL) throws -> SpawnedProcess? {
        guard let path = Tool.path("nginx") else { throw Tool.Failure() }
        let process = SpawnedProcess()
        process.executableURL = URL(filePath: path)
        process.arguments = ["-p", directory.path, "-c", "nginx.conf", "-e", "error.log"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        func hasWrittenItsNumber() -> Bool {
            (try? Data(contentsOf: directory.appending(path: "pid")))?.isEmpty == false
        }
        guard poll({ hasWrittenItsNumber() || !process.isRunning }), process.isRunning else {
            process.terminate()
            return nil
        }
        return process
    }

    private static func configuration(
        _ directory: String, _ ports: [UInt16], streams: Int, key: String, certificate: String
    ) -> String {
        """
        daemon off;
        master_process off;
        pid pid;
        error_log error.log;
        events { worker_connections 512; }
        http {
            log_format line '$connection $server_protocol $request_method $uri $http_cookie $status';
            access_log access.log line;
            client_body_temp_path temporary/a; proxy_temp_path temporary/b; fastcgi_temp_path temporary/c;
            uwsgi_temp_path temporary/d; scgi_temp_path temporary/e;
            root root;
            server {
                listen 127.0.0.1:\(ports[0]) ssl http2;
                ssl_certificate \(certificate);
                ssl_certificate_key \(key);
                http2_max_concurrent_streams \(streams);
                location /size/ { return 200 "x"; }
                location /slow/ {
                    proxy_pass http://127.0.0.1:\(ports[1])/;
                    proxy_buffering off;
                }
                location = /again { return 302 /size/1; }
                location = /other-name { return 302 https://127.0.0.1:\(ports[0])/size/2; }
                location = /downgrade { return 302 http://localhost:\(ports[1])/size/3; }
            }
            server {
                listen 127.0.0.1:\(ports[1]);
                location = /picture { limit_rate 1500k; limit_rate_after 64k; }
                location /size/ { return 200 "x"; }
            }
        }
        """
    }

    /// Two ports that were free a moment ago.
    private static func freePorts() throws -> [UInt16] {
        let sockets = (0..<2).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        defer { for descriptor in sockets { close(descriptor) } }
        return try sockets.map { descriptor in
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    bind(descriptor, generic, length) | getsockname(descriptor, generic, &length)
                }
            }
            guard status == 0 else { throw Tool.Failure() }
            return UInt16(bigEndian: address.sin_port)
        }
    }
}
