import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Bad input from the network gets one sentence, everywhere the same, and costs what is not stored; Semantics: "Unreachable never means deleted".
    @Suite struct TroubledNetworkTests {
        /// A network that cannot be used, and what its sentence must say.
        enum Kind: String, CaseIterable, Sendable {
            case expired, early, elsewhere, stranger, nameless, refusedByProxy, withoutProxy

            var word: String {
                switch self {
                case .expired, .early, .elsewhere, .stranger: "certificate"
                case .nameless: "nowhere.invalid"
                case .refusedByProxy, .withoutProxy: "proxy"
                }
            }
        }

        /// Every kind with pixiv, and one with each board: what tells them apart is the same for all.
        private static let troubles: [(Kind, Service)] =
            Kind.allCases.map { ($0, .pixiv) } + [
                (.expired, .danbooru), (.refusedByProxy, .yandere),
            ]

        @Test(arguments: troubles) func oneSentenceTellsWhatIsWrong(_ kind: Kind, service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let before = try Mount(workplace, of: origin, options: ["prefetch=0"])
                let names = try before.names(before.day())
                let bytes = try read("\(before.day())/\(names[0])").get()
                #expect(before.unmount())

                let options = try Self.options(of: kind, workplace, origin)
                let mount = try Mount(workplace, of: origin, options: options + ["timeout=20"], named: "again")
                #expect(try mount.names(mount.day()) == names)
                #expect(try read("\(mount.day())/\(names[0])").get() == bytes)
                for day in ["2024-05-02", "2024-05-03"] {
                    let refused = try workplace.run("ls", mount.day(nil, day))
                    #expect(refused.status != 0 && refused.errors.split(separator: "\n").count == 1)
                }
                let network = try mount.status()["network"] as? [String: Any]
                let troubles = (network?["troubles"] as? [[String: Any]] ?? []).compactMap { $0["message"] as? String }
                let sentence = try #require(troubles.first)
                #expect(troubles.count == 1 && sentence.contains(kind.word), "\(troubles)")
                #expect(sentence.contains(";") || sentence.contains("?"), "no remedy: \(sentence)")
                let shown = try workplace.run("\(Workplace.programs)/rankfs", "status", mount.path)
                #expect(
                    shown.lines.count { $0.contains(sentence) && $0.hasPrefix("  network ") } == 1, "\(shown.output)")
                let log = mount.child.errorText
                #expect(log.components(separatedBy: "\(sentence) What is stored").count == 2, "\(log)")

                let doctor = try workplace.run(
                    "env", "XDG_CACHE_HOME=\(workplace.directory.path)/xdg", "\(Workplace.programs)/rankfs", "doctor",
                    service.rawValue, "-o",
                    ([origin.mountOptions, "cache_dir=\(mount.cache)"] + options).joined(separator: ","))
                // What else is mounted on this machine, and its state, is not this test's.
                let wrong = doctor.lines.filter { $0.hasPrefix("wrong") && !$0.hasPrefix("wrong  mount ") }
                #expect(doctor.status == 1 && !wrong.isEmpty, "\(doctor.output)")
                if kind != .withoutProxy {
                    #expect(wrong.allSatisfy { $0.contains(kind.word) }, "\(doctor.output)")
                }
            }
        }

        @Test(arguments: Service.kinds) func whenTheHostAnswersAgainThatIsTold(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                let troubles = {
                    ((try mount.status()["network"] as? [String: Any])?["troubles"] as? [Any])?.count
                }
                origin.stop()
                #expect(try workplace.run("ls", mount.day()).status != 0)
                #expect(try troubles() == 1)
                try origin.restart()
                #expect(try mount.names(mount.day()).count > 40)
                #expect(try troubles() == 0)
                #expect(mount.child.errorText.components(separatedBy: "answers again").count == 2)
            }
        }

        // MARK: -

        /// Options that lead a mount into trouble.
        private static func options(of kind: Kind, _ workplace: Workplace, _ origin: OriginProcess) throws -> [String] {
            switch kind {
            case .nameless: return ["api_url=https://nowhere.invalid", "image_url=https://nowhere.invalid"]
            case .refusedByProxy: return ["proxy=http://127.0.0.1:\(try refusingProxy(workplace))"]
            // Nobody listens there: the port is the origin's own, of a host that is not.
            case .withoutProxy: return ["proxy=http://127.0.0.1:1"]
            case .expired, .early, .elsewhere, .stranger:
                let certificates = try TroubledCertificates(workplace)
                let server = try workplace.start(
                    "/usr/bin/openssl",
                    [
                        "s_server", "-accept", "127.0.0.1:0", "-www", "-cert", try certificates.make(kind), "-key",
                        certificates.key,
                    ])
                guard poll({ server.outputText.contains("ACCEPT 127.0.0.1:") || !server.process.isRunning }),
                    let port = server.outputText.split(separator: "ACCEPT 127.0.0.1:").last?.prefix(while: \.isNumber),
                    !port.isEmpty
                else { throw Failure("openssl s_server: \(server.errorText)") }
                return [
                    "api_url=https://127.0.0.1:\(port)", "image_url=https://127.0.0.1:\(port)",
                    "ca_file=\(kind == .stranger ? origin.authority : certificates.authority)",
                ]
            }
        }

        /// The port of a proxy that refuses every host.
        private static func refusingProxy(_ workplace: Workplace) throws -> String {
            let program = """
                import socketserver
                class Refuse(socketserver.StreamRequestHandler):
                    def handle(self):
                        while self.rfile.readline().strip(): pass
                        self.wfile.write(b"HTTP/1.1 403 Forbidden\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
                server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refuse)
                print("port", server.server_address[1], flush=True)
                server.serve_forever()
                """
            let proxy = try workplace.start("/usr/bin/python3", ["-c", program])
            guard poll({ proxy.outputText.hasSuffix("\n") || !proxy.process.isRunning }),
                let port = proxy.outputText.split(whereSeparator: \.isWhitespace).last
            else { throw Failure("no proxy: \(proxy.errorText)") }
            return String(port)
        }
    }
}

/// Certificates that are not in order, signed by an authority of their own.
private struct TroubledCertificates {
    let authority: String
    let key: String
    private let workplace: Workplace
    private let folder: String

    init(_ workplace: Workplace) throws {
        self.workplace = workplace
        folder = try workplace.folder("certificates")
        authority = "\(folder)/authority.pem"
        key = "\(folder)/leaf.key"
        try run(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=rankfs test authority", "-keyout", "\(folder)/authority.key", "-out", authority)
        try run(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=leaf",
            "-keyout",
            key, "-out", "\(folder)/leaf.csr")
        // `openssl x509` of Debian 12 signs from now on only; `openssl ca` wants a directory of its own.
        let configuration = """
            [ca]
            default_ca = ours
            [ours]
            new_certs_dir = \(folder)
            database = \(folder)/index
            serial = \(folder)/serial
            default_md = sha256
            policy = any
            [any]
            commonName = supplied
            """
        for (name, text) in [("ca.conf", configuration), ("index", ""), ("serial", "01\n")] {
            try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        }
    }

    /// The path of a certificate of one kind.
    func make(_ kind: MountSuite.TroubledNetworkTests.Kind) throws -> String {
        let (start, end) =
            switch kind {
            case .expired: ("20200101000000Z", "20200102000000Z")
            case .early: ("20990101000000Z", "20990102000000Z")
            default: ("20200101000000Z", "20990101000000Z")
            }
        let name = kind == .elsewhere ? "DNS:elsewhere.example" : "IP:127.0.0.1"
        try "subjectAltName=\(name)\n".write(toFile: "\(folder)/names", atomically: true, encoding: .utf8)
        try run(
            "ca", "-batch", "-notext", "-config", "\(folder)/ca.conf", "-cert", authority, "-keyfile",
            "\(folder)/authority.key", "-in", "\(folder)/leaf.csr", "-extfile", "\(folder)/names", "-startdate", start,
            "-enddate", end, "-out", "\(folder)/leaf.pem")
        return "\(folder)/leaf.pem"
    }

    private func run(_ arguments: String...) throws {
        let output = try workplace.run(["openssl"] + arguments)
        guard output.status == 0 else { throw Failure("openssl \(arguments[0]): \(output.errors)") }
    }
}
