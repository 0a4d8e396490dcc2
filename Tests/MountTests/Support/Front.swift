import Foundation
import Glibc
import TestSupport

/// How a mount reaches an origin.
enum Wire: String, CaseIterable, Sendable {
    /// As the service's hosts are reached: TLS, and HTTP/2 for who offers it.
    case tls
    /// HTTP/1.1 without TLS.
    case plain
}

/// nginx before an origin: it speaks TLS and HTTP/2, and passes every request on as it is, on a connection of its own.
///
/// It buffers nothing, so that the origin logs what the mount took, and sends small records, which is the worst for a
/// client: two readers of one connection show then.
final class Front {
    let url: String
    /// The certificates that sign its own.
    let authority: String
    private let workplace: Workplace
    private let folder: String
    private var child: Child

    /// Starts nginx before an origin at `address`, on a port that is free.
    init(_ workplace: Workplace, of address: String) throws {
        self.workplace = workplace
        folder = try workplace.folder("front-\(UUID().uuidString)")
        let certificates = try TestCertificates.made()
        authority = certificates.authority
        let socket = try ListeningSocket()
        url = "https://127.0.0.1:\(socket.port)"
        try Self.configuration(port: socket.port, address: address, certificates).write(
            toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
        // nginx inherits the listening socket, as its standard input: nobody can take the port in between.
        child = try Self.start(folder, workplace, socket: socket.handle)
    }

    /// Connections are refused from now on, and those there are end.
    func stop() {
        child.signal(SIGTERM)
        _ = child.wait(upTo: 10)
    }

    /// Listens again where it did.
    func restart() throws {
        child = try Self.start(folder, workplace, socket: nil)
    }

    /// Connections there are end when their requests have been answered; new ones work.
    func reload() { child.signal(SIGHUP) }

    /// Connections are taken by the kernel alone from now on.
    func freeze() { signalWorkers(SIGSTOP) }
    func thaw() { signalWorkers(SIGCONT) }

    /// The processes that serve: the one that was started only minds them.
    private func signalWorkers(_ number: Int32) {
        let list = try? String(contentsOfFile: "/proc/\(child.pid)/task/\(child.pid)/children", encoding: .utf8)
        for worker in (list ?? "").split(separator: " ").compactMap({ Int32($0) }) { kill(worker, number) }
    }

    private static func start(_ folder: String, _ workplace: Workplace, socket: FileHandle?) throws -> Child {
        try? FileManager.default.removeItem(atPath: "\(folder)/pid")
        var variables = ProcessInfo.processInfo.environment
        if socket != nil { variables["NGINX"] = "0;" }
        let child = try workplace.start(
            "/usr/sbin/nginx", ["-p", folder, "-c", "nginx.conf", "-e", "error.log"], environment: variables,
            input: socket)
        // It listens before it writes its number down.
        let hasStarted = poll {
            FileManager.default.contents(atPath: "\(folder)/pid")?.isEmpty == false || !child.process.isRunning
        }
        guard hasStarted, child.process.isRunning else {
            let log = (try? String(contentsOfFile: "\(folder)/error.log", encoding: .utf8)) ?? ""
            throw Failure("nginx did not start: \(child.errorText)\(log)")
        }
        return child
    }

    private static func configuration(
        port: UInt16, address: String, _ certificates: TestCertificates
    ) -> String {
        """
        daemon off;
        pid pid;
        error_log error.log;
        events { worker_connections 4096; }
        http {
            access_log off;
            # Connections end again and again.
            keepalive_requests 100;
            client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
            server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(certificates.path("good.pem"));
                ssl_certificate_key \(certificates.path("good.key"));
                location / {
                    proxy_pass \(address);
                    proxy_http_version 1.1;
                    proxy_buffering off;
                    proxy_next_upstream off;
                    # Silence stays silence.
                    proxy_read_timeout 1h;
                    send_timeout 1h;
                    # The origin's own clock, and what it says that it is.
                    proxy_pass_header Date;
                    proxy_pass_header Server;
                }
            }
        }
        """
    }
}
