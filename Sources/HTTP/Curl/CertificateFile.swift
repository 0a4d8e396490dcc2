import Glibc

/// Looks into a file of certificates before libcurl is given it, which would complain only at the first request.
enum CertificateFile {
    /// Bytes looked at: several times the system's own bundle.
    static let bytesLimit = 4 << 20

    /// Checks that the file can be read and holds a certificate.
    ///
    /// - Throws: `.untrusted` with a sentence that does not name the file, because its name comes from outside.
    static func check(_ path: String) throws(HTTPError) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw .untrusted("The file of certificates cannot be read: \(unsafe String(cString: strerror(errno))).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .untrusted("The file of certificates is not a file.")
        }
        guard status.st_size <= Self.bytesLimit else {
            throw .untrusted("The file of certificates is larger than any; it must be PEM, at most 4 MiB.")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard holdsCertificate(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)) else {
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
}
