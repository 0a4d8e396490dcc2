internal import Foundation

/// Certificates made with openssl, once for all tests: two authorities, and what they signed.
package struct TestCertificates: Sendable {
    /// What a server shows.
    package enum Leaf: String, CaseIterable, Sendable {
        /// For localhost and 127.0.0.1.
        case good
        /// For another host.
        case elsewhere
        /// For localhost and 127.0.0.1, until yesterday.
        case expired
        /// For localhost and 127.0.0.1, from 2099 on.
        case early
    }

    private let directory: URL
    package var authority: String { path("authority.pem") }
    /// Signed nothing.
    package var stranger: String { path("stranger.pem") }

    /// Nil where there is no openssl.
    package static let shared: TestCertificates? = try? TestCertificates()

    /// Those that are made once for all tests.
    ///
    /// - Throws: ``Tool/Failure`` where there is no openssl.
    package static func made() throws -> TestCertificates {
        guard let shared else { throw Tool.Failure() }
        return shared
    }

    package func path(_ name: String) -> String { directory.appending(path: name).path }

    private init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "rankfs-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        LeftAtExit.remove(directory.path)
        for name in ["authority", "stranger"] {
            try openssl([
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=rankfs test \(name)", "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-keyout",
                path("\(name).key"), "-out", path("\(name).pem"),
            ])
        }
        for leaf in Leaf.allCases {
            let names = leaf == .elsewhere ? "DNS:elsewhere.example" : "DNS:localhost,IP:127.0.0.1"
            // Python from 3.13 on wants to know what a key is for, and whose.
            let use = "basicConstraints=critical,CA:FALSE\nauthorityKeyIdentifier=keyid\n"
            try Data("\(use)subjectAltName=\(names)\n".utf8).write(to: URL(filePath: path("\(leaf).ext")))
            try openssl([
                "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(leaf)",
                "-keyout", path("\(leaf).key"), "-out", path("\(leaf).csr"),
            ])
            try sign(leaf)
        }
    }

    /// `openssl x509` signs for other times than from now on in some versions only; `openssl ca` wants a directory of its own.
    private func sign(_ leaf: Leaf) throws {
        let times =
            switch leaf {
            case .expired: ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"]
            case .early: ["-startdate", "20990101000000Z", "-enddate", "20991231000000Z"]
            case .good, .elsewhere: ["-days", "2"]
            }
        try Data().write(to: URL(filePath: path("index")))
        try Data("0\(Leaf.allCases.firstIndex(of: leaf) ?? 0)\n".utf8).write(to: URL(filePath: path("serial")))
        let configuration = """
            [ca]
            default_ca = ours
            [ours]
            new_certs_dir = \(directory.path)
            database = \(path("index"))
            serial = \(path("serial"))
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """
        try Data(configuration.utf8).write(to: URL(filePath: path("ca.conf")))
        try openssl(
            [
                "ca", "-batch", "-config", path("ca.conf"), "-cert", authority, "-keyfile", path("authority.key"),
                "-in", path("\(leaf).csr"), "-extfile", path("\(leaf).ext"), "-out", path("\(leaf).pem"), "-notext",
            ] + times)
    }

    private func openssl(_ arguments: [String]) throws {
        guard try Tool("openssl").run(arguments).status == 0 else { throw Tool.Failure() }
    }
}
