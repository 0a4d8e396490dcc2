import Foundation

/// An authority of the tests' own and what it signed for 127.0.0.1 and localhost, made once for all tests.
enum TestCertificate {
    private static let made = Result { try make() }

    /// Writes `authority.pem` and, with its key, `leaf.pem` into a folder, and returns that.
    @discardableResult
    static func write(to folder: String) throws -> String {
        let texts = try made.get()
        for (name, text) in [("authority", texts.authority), ("leaf", texts.leaf)] {
            try text.write(toFile: "\(folder)/\(name).pem", atomically: true, encoding: .utf8)
        }
        return folder
    }

    private static func make() throws -> (authority: String, leaf: String) {
        let workplace = try Workplace()
        defer { workplace.close() }
        func openssl(_ name: String, _ arguments: String...) throws -> (certificate: String, key: String) {
            let path = workplace.directory.appending(path: name).path
            let output = try workplace.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
                    + [
                        "-days", "2", "-subj", "/CN=rankfs test \(name)", "-keyout", "\(path).key", "-out",
                        "\(path).pem",
                    ]
                    + arguments)
            guard output.status == 0 else { throw Failure("openssl: \(output.errors)") }
            return (
                try String(contentsOfFile: "\(path).pem", encoding: .utf8),
                try String(contentsOfFile: "\(path).key", encoding: .utf8)
            )
        }
        // Python from 3.13 on wants to know what a key is for.
        let authority = try openssl("authority", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        let folder = workplace.directory.path
        let leaf = try openssl(
            "leaf", "-CA", "\(folder)/authority.pem", "-CAkey", "\(folder)/authority.key", "-addext",
            "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost")
        return (authority.certificate, leaf.certificate + leaf.key)
    }
}
