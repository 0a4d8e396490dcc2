import Glibc
import System

/// The wire between the mount and the origin.
enum Wire: String, CaseIterable {
    /// TLS and HTTP/2, as on the service's hosts.
    case secure = "TLS and HTTP/2"
    case plain = "plain HTTP/1.1"
}

/// nginx before the origin, with a certificate made for the run.
struct Front {
    let url: String
    /// The self-signed certificate.
    let authority: String
    private let process: Child

    /// Starts nginx in a directory, before an origin's address.
    init(directory: String, of address: String) {
        authority = "\(directory)/certificate.pem"
        let key = "\(directory)/key.pem"
        let made = Child([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2",
            "-subj", "/CN=rankfs-bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", authority,
        ]).wait()
        guard made == 0 else { fatal("openssl makes no certificate; run `openssl version` to see why") }
        let port = Self.freePort()
        url = "https://127.0.0.1:\(port)"
        let configuration = """
            daemon off; pid nginx.pid; error_log nginx.log; events { worker_connections 1024; }
            http {
                access_log off;
                client_body_temp_path a; proxy_temp_path b; fastcgi_temp_path c; uwsgi_temp_path d; scgi_temp_path e;
                server {
                    listen 127.0.0.1:\(port) ssl http2;
                    ssl_certificate \(authority);
                    ssl_certificate_key \(key);
                    location / {
                        proxy_pass \(address); proxy_http_version 1.1; proxy_next_upstream off; proxy_max_temp_file_size 0;
                    }
                }
            }
            """
        do throws(SystemError) {
            try Files.replace("\(directory)/nginx.conf", with: Array(configuration.utf8))
        } catch {
            fatal("\(directory)/nginx.conf cannot be written: \(error.text)")
        }
        process = Child(["/usr/sbin/nginx", "-p", directory, "-c", "nginx.conf", "-e", "nginx.log"])
        wait(for: "nginx") { size(of: "\(directory)/nginx.pid") > 0 }
    }

    func close() { process.terminate() }

    /// A port that was free at the moment of the check.
    private static func freePort() -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(descriptor, generic, length) | getsockname(descriptor, generic, &length)
            }
        }
        guard status == 0 else { fatal("no port of 127.0.0.1 is free") }
        return UInt16(bigEndian: address.sin_port)
    }
}
