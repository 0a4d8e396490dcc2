package import Rankings
import CCurl
import Glibc
import System

/// The certificate of a host: its issuer as it names it, `C = US, O = Let's Encrypt, CN = R11`, and the end of its validity as
/// OpenSSL writes it, `Jan  3 12:00:00 2027 GMT`.
package typealias ServerCertificate = (issuer: String, end: String)

/// Checks files of certificates, and fetches those of hosts.
package enum Certificates {
    /// The most bytes read of a file: several times the size of the system's own bundle.
    static let bytesLimit = 4 << 20

    /// Checks that a file can be read and holds a certificate; libcurl would report an error only at the first request.
    ///
    /// - Throws: `.untrusted` with a sentence that does not name the file, because its name comes from outside.
    static func check(file path: String) throws(Failure) {
        let descriptor = Descriptors.own.open(path, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw .untrusted("The file of certificates cannot be read: \(unsafe String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        guard let status = fileStatus(open: descriptor), status.st_mode.isFile else {
            throw .untrusted("The file of certificates is not a file.")
        }
        guard status.st_size <= Self.bytesLimit else {
            throw .untrusted("The file of certificates is larger than any; it must be PEM, at most 4 MiB.")
        }
        let bytes = (try? Files.read(descriptor, upTo: Self.bytesLimit)) ?? []
        guard holdsCertificate(String(decoding: bytes, as: UTF8.self)) else {
            throw .untrusted("The file of certificates holds none; it must be PEM, with BEGIN CERTIFICATE lines.")
        }
    }

    /// Whether PEM text (RFC 7468) has at least one certificate that is not obviously cut off.
    ///
    /// A certificate is an ASN.1 sequence of more than 127 bytes, so its base64 begins with `MI`.
    static func holdsCertificate(_ text: String) -> Bool {
        let lines = text.split(whereSeparator: \.isNewline)
        return lines.indices.contains { index in
            guard lines[index].hasPrefix("-----BEGIN CERTIFICATE-----"), index + 1 < lines.count else { return false }
            let rest = lines[(index + 1)...]
            return rest.first?.hasPrefix("MI") == true && rest.contains { $0.hasPrefix("-----END CERTIFICATE-----") }
        }
    }

    // MARK: - Hosts

    /// Fetches the certificate of a host with a handshake alone, by the same rules as every transfer; no request is sent.
    ///
    /// Blocks up to the time limit; not for tasks. A transport, which prepares libcurl, must have been made before.
    ///
    /// - Parameters:
    ///   - origin: `https://` and the host.
    ///   - certificates: A file of certificates that may sign it besides the system's.
    ///   - proxy: The proxy; empty for none.
    ///   - patience: The time limit of the whole call.
    /// - Returns: The server's own certificate; nil if libcurl does not report it.
    /// - Throws: The reason why the host is not to be trusted or cannot be reached.
    package static func ofHost(
        _ origin: String, certificates: String?, proxy: String, patience: Duration
    ) throws(Failure) -> ServerCertificate? {
        guard let easy = CurlEasy() else { throw .unreachable("libcurl is out of memory.") }
        easy.set(CURLOPT_URL, origin)
        easy.set(CURLOPT_PROTOCOLS_STR, "https")
        easy.set(CURLOPT_CONNECT_ONLY, 1)
        easy.set(CURLOPT_CERTINFO, 1)
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_TIMEOUT_MS, max(1, Int(patience / .milliseconds(1))))
        easy.set(CURLOPT_PROXY, proxy)
        easy.set(CURLOPT_NOPROXY, "")
        if let certificates { easy.set(CURLOPT_CAINFO, certificates) }
        guard easy.isSafe else { throw .unsendable("libcurl does not take what the request needs.") }
        let code = unsafe curl_easy_perform(easy.pointer)
        guard code == CURLE_OK else {
            throw CurlFailure(code, host: "the host", headSeen: false, from: easy).failure
        }
        return certificate(of: easy)
    }

    /// The first certificate of the chain, which is the host's (CURLINFO_CERTINFO(3)).
    private static func certificate(of easy: CurlEasy) -> ServerCertificate? {
        guard let chain = unsafe rankfs_curl_easy_getinfo_certificates(easy.pointer),
            unsafe chain.pointee.num_of_certs > 0
        else { return nil }
        var found: [String: String] = [:]
        var line = unsafe chain.pointee.certinfo?[0]
        while let entry = unsafe line {
            let text = unsafe entry.pointee.data.map { unsafe String(cString: $0) } ?? ""
            let name = text.prefix { $0 != ":" }
            found[String(name)] = String(text.dropFirst(name.count + 1))
            unsafe line = entry.pointee.next
        }
        guard let issuer = found["Issuer"], let end = found["Expire date"] else { return nil }
        return (issuer, end)
    }
}
