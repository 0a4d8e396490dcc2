import CCurl

/// What libcurl's codes mean here, as a sentence with cause and remedy.
enum CurlFailure {
    /// What is known of the end of an exchange.
    struct Evidence {
        /// The result; libcurl-errors(3).
        var code: CURLcode
        /// For the sentence.
        var host: String
        /// Whether a whole head had come.
        var headSeen = false
        /// `errno` of the connection (CURLINFO_OS_ERRNO(3)), 0 if unknown.
        var connectionError = 0
        /// What is wrong with the certificate, as OpenSSL counts (CURLINFO_SSL_VERIFYRESULT(3), openssl-verify(1)).
        var verification = 0
        /// The same of a proxy's own certificate (CURLINFO_PROXY_SSL_VERIFYRESULT(3)).
        var proxyVerification = 0
        /// A proxy's answer to CONNECT (CURLINFO_HTTP_CONNECTCODE(3)), 0 for none.
        var proxyStatus = 0
    }

    /// Translates the end of an exchange.
    static func error(_ evidence: Evidence) -> HTTPError {
        let host = evidence.host
        if evidence.proxyStatus >= 300 { return .unreachable(refusal(evidence.proxyStatus, host: host)) }
        switch evidence.code {
        case CURLE_COULDNT_RESOLVE_HOST: return error(.unanswered, name: host, isProxy: false)
        case CURLE_COULDNT_RESOLVE_PROXY: return error(.unanswered, name: host, isProxy: true)
        case CURLE_COULDNT_CONNECT:
            return .unreachable("\(host): no connection can be made; is the network up?")
        case CURLE_PROXY:
            return .unreachable("The proxy does not do what is asked of it; check the option proxy.")
        case CURLE_OPERATION_TIMEDOUT:
            return .timedOut
        case CURLE_SSL_CONNECT_ERROR where evidence.connectionError != 0:
            return .unreachable("\(host): the connection ended while it was being secured.")
        case CURLE_SSL_CACERT_BADFILE:
            return .untrusted("\(host): the file of certificates can no longer be read; check the option ca_file.")
        case CURLE_PEER_FAILED_VERIFICATION where evidence.proxyVerification != 0:
            return .untrusted("The proxy's own certificate: \(certificate(evidence.proxyVerification))")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_ISSUER_ERROR:
            return .untrusted("\(host): \(certificate(evidence.verification))")
        case CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .untrusted(
                "\(host): the connection cannot be secured; is something in between, or does this port not speak TLS?")
        // "Unsupported protocol" is HTTP/0.9 here, since every URL was checked; "out of memory" an overlong header line.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_OUT_OF_MEMORY:
            return .invalidAnswer("\(host): the answer is not HTTP.")
        case CURLE_BAD_CONTENT_ENCODING:
            return .invalidAnswer("\(host): the body cannot be decompressed.")
        case CURLE_URL_MALFORMAT:
            return .refused("\(host): the URL cannot be asked.")
        default:
            return evidence.headSeen
                ? .broken("\(host): the connection ended in the middle of the answer.")
                : .unreachable("\(host): the connection ended before an answer.")
        }
    }

    /// Translates what the resolver said of a name.
    static func error(_ trouble: NameTrouble, name: String, isProxy: Bool) -> HTTPError {
        switch (trouble, isProxy) {
        case (.unknown, false):
            .unreachable("\(name): there is no host of this name; is it spelled right, and is the network up?")
        case (.unanswered, false): .unreachable("\(name): the name cannot be resolved; is the network up?")
        case (.unknown, true): .unreachable("There is no host of the proxy's name; check the option proxy.")
        case (.unanswered, true): .unreachable("The proxy's name cannot be resolved; check the option proxy.")
        }
    }

    private static func refusal(_ status: Int, host: String) -> String {
        switch status {
        case 407:
            "The proxy asks who you are (407); write a name and a password into the option proxy, as "
                + "http://name:password@host:port."
        case 403: "The proxy refuses connections to \(host) (403); ask who runs it, or change the option proxy."
        default:
            "The proxy cannot connect to \(host) (it answered \(status)); check the option proxy, or try again later."
        }
    }

    /// What to say of a certificate; the numbers are OpenSSL's `X509_V_ERR_…` (openssl-verify(1)).
    private static func certificate(_ verification: Int) -> String {
        switch verification {
        case 9: "the certificate is not valid yet; is this machine's clock right?"
        case 10:
            "the certificate has expired; is this machine's clock right? If it is, who runs the host must renew it."
        case 2, 18, 19, 20, 21, 27:
            "the certificate is not signed by an authority known here; something in this network may be in between "
                + "(a portal, a proxy). If the host is your own, name the authority's file with the option ca_file."
        case 23: "the certificate was revoked; who runs the host must renew it."
        // libcurl compares names by itself, once the rest is in order, and leaves its "not yet looked" (1).
        case 0, 1, 62:
            "the certificate is for another host; something in this network may be in between (a portal, a proxy), "
                + "or the address names the host in another way than its certificate."
        default: "the certificate is not in order (OpenSSL's number \(verification)); who runs the host must mend it."
        }
    }
}

extension CurlFailure.Evidence {
    /// What the handle of an exchange tells about its end.
    init(_ code: CURLcode, host: String, headSeen: Bool, from easy: CurlEasy?) {
        self.init(code: code, host: host, headSeen: headSeen)
        guard let easy else { return }
        connectionError = easy.number(CURLINFO_OS_ERRNO)
        verification = easy.number(CURLINFO_SSL_VERIFYRESULT)
        proxyVerification = easy.number(CURLINFO_PROXY_SSL_VERIFYRESULT)
        proxyStatus = easy.number(CURLINFO_HTTP_CONNECTCODE)
    }
}
