import Foundation
import TestSupport

/// nginx on 127.0.0.1, with TLS on one port and without on another, answering from a directory of its own.
///
/// `stop` ends it and returns what it logged.
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

    private static let nginx = Tool("nginx")
    static var isPossible: Bool { nginx.isThere && Tool("openssl").isThere }

    let port: UInt16
    let plainPort: UInt16
    var origin: String { "https://localhost:\(port)" }
    private let directory: URL
    private let process = SpawnedProcess()

    init(_ leaf: TestCertificates.Leaf = .good, streams: Int = 128) throws {
        let certificates = try TestCertificates.made()
        directory = FileManager.default.temporaryDirectory.appending(path: "rankfs-nginx-\(UUID().uuidString)")
        for name in ["root", "temporary"] {
            try FileManager.default.createDirectory(
                at: directory.appending(path: name), withIntermediateDirectories: true)
        }
        try Data(Self.picture).write(to: directory.appending(path: "root/picture"))
        // It inherits both, and answers what connects before it is ready.
        let (secure, plain) = (try ListeningSocket(), try ListeningSocket())
        (port, plainPort) = (secure.port, plain.port)
        try Data(
            Self.configuration(
                directory.path, [port, plainPort], streams: streams, key: certificates.path("\(leaf).key"),
                certificate: certificates.path("\(leaf).pem")
            ).utf8
        ).write(to: directory.appending(path: "nginx.conf"))
        process.executableURL = URL(filePath: Self.nginx.path)
        process.arguments = ["-p", directory.path, "-c", "nginx.conf", "-e", "error.log"]
        process.environment = ProcessInfo.processInfo.environment.merging(["NGINX": "0;1;"]) { $1 }
        (process.standardInput, process.standardOutput) = (secure.handle, plain.handle)
        process.standardError = .nullDevice
        try process.run()
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

    private static func configuration(
        _ directory: String, _ ports: [UInt16], streams: Int, key: String, certificate: String
    ) -> String {
        """
        daemon off;
        user root;
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
            }
            server {
                listen 127.0.0.1:\(ports[1]);
                location = /picture { limit_rate 1500k; limit_rate_after 64k; }
                location /size/ { return 200 "x"; }
            }
        }
        """
    }
}
