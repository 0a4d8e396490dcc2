import CCurl
import Glibc

/// What libcurl's codes mean here.
enum CurlFailure {
    /// Translates the end of a transfer.
    ///
    /// - Parameters:
    ///   - code: The result; libcurl-errors(3).
    ///   - host: For the sentence.
    ///   - headSeen: Whether a whole head had come.
    ///   - connectionError: `errno` of the connection (CURLINFO_OS_ERRNO(3)), 0 if unknown.
    /// - Returns: The error as the rest of the program knows it.
    static func error(_ code: CURLcode, host: String, headSeen: Bool, connectionError: Int) -> HTTPError {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST:
            return .unreachable("\(host): the name cannot be resolved; is the network up?")
        case CURLE_COULDNT_RESOLVE_PROXY:
            return .unreachable("The proxy's name cannot be resolved; check the option proxy.")
        case CURLE_COULDNT_CONNECT:
            return .unreachable("\(host): no connection can be made; is the network up?")
        case CURLE_OPERATION_TIMEDOUT:
            return .timedOut
        case CURLE_SSL_CONNECT_ERROR where connectionError != 0:
            return .unreachable("\(host): the connection ended while it was being secured.")
        case CURLE_SSL_CACERT_BADFILE:
            return .untrusted("\(host): the file of certificates can no longer be read; check the option ca_file.")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .untrusted("\(host): the certificate or the secure connection is not in order; is the clock right?")
        // "Unsupported protocol" is HTTP/0.9 here, since every URL was checked; "out of memory" an overlong header line.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_OUT_OF_MEMORY:
            return .invalidAnswer("\(host): the answer is not HTTP.")
        case CURLE_BAD_CONTENT_ENCODING:
            return .invalidAnswer("\(host): the body cannot be decompressed.")
        case CURLE_URL_MALFORMAT:
            return .refused("\(host): the URL cannot be asked.")
        default:
            return headSeen
                ? .broken("\(host): the connection ended in the middle of the answer.")
                : .unreachable("\(host): the connection ended before an answer.")
        }
    }
}
