internal import CCurl
import Glibc

/// The certificate that a host shows.
package struct ServerCertificate: Hashable, Sendable {
    /// Who signed it, as the certificate names them: `C = US, O = Let's Encrypt, CN = R11`.
    package var issuer: String
    /// When it ends, as OpenSSL writes it: `Jan  3 12:00:00 2027 GMT`.
    package var end: String

    /// Makes one, for tests.
    package init(issuer: String, end: String) {
        self.issuer = issuer
        self.end = end
    }
}

/// Asks a host for its certificate by a handshake alone; no request is sent.
package enum CertificateProbe {
    /// Connects, secures the connection by the same rules as every transfer's, and hangs up.
    ///
    /// Blocks for as long as `patience`; not for tasks. Not before a transport was made, which prepares libcurl.
    ///
    /// - Parameters:
    ///   - origin: `https://` and the host.
    ///   - certificates: A file of certificates that may sign it besides the system's.
    ///   - proxy: Empty for none.
    ///   - patience: For all of it.
    /// - Returns: The server's own certificate; nil if libcurl does not tell it.
    /// - Throws: Why the host is not to be trusted or cannot be reached.
    package static func ask(
        _ origin: String, certificates: String?, proxy: String, patience: Duration
    ) throws(HTTPError) -> ServerCertificate? {
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
        guard easy.isSafe else { throw .refused("libcurl does not take what the request needs.") }
        let code = unsafe curl_easy_perform(easy.pointer)
        guard code == CURLE_OK else {
            throw CurlFailure.error(CurlFailure.Evidence(code, host: "the host", headSeen: false, from: easy))
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
        return ServerCertificate(issuer: issuer, end: end)
    }
}
