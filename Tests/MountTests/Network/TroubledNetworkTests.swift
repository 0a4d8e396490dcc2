import Foundation
import Glibc
import TestSupport
import Testing

extension MountSuite {
    /// Bad input from the network gets one sentence, everywhere the same, and costs what is not stored; Semantics: "Unreachable never means deleted".
    @Suite struct TroubledNetworkTests {
        /// A network that cannot be used; further certificates, names and proxies are those of `FailureTests` and `NameTests`.
        enum Kind: String, CaseIterable, Sendable {
            case stranger, nameless, withoutProxy

            /// A word of its sentence.
            var word: String {
                switch self {
                case .stranger: "certificate"
                case .nameless: "nowhere.invalid"
                case .withoutProxy: "proxy"
                }
            }
        }

        /// Every kind with pixiv, and one with each board: what tells them apart is the same for all.
        private static let troubles: [(Kind, Service)] =
            Kind.allCases.map { ($0, .pixiv) } + [(.stranger, .danbooru), (.withoutProxy, .yandere)]

        @Test(arguments: troubles) func oneSentenceTellsWhatIsWrong(_ kind: Kind, service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let before = try Mount(workplace, of: origin, options: ["prefetch=0"])
                let names = try before.names(before.day())
                let bytes = try read("\(before.day())/\(names[0])").get()
                #expect(before.unmount())

                let options = try Self.options(of: kind)
                let mount = try Mount(workplace, of: origin, options: options + ["timeout=20"], named: "again")
                #expect(try mount.names(mount.day()) == names)
                #expect(try read("\(mount.day())/\(names[0])").get() == bytes)
                for day in ["2024-05-02", "2024-05-03"] {
                    let refused = try workplace.run("ls", mount.day(nil, day))
                    #expect(refused.status != 0 && refused.errors.split(separator: "\n").count == 1)
                }
                let network = try mount.figures("network")
                let troubles = (network["troubles"] as? [[String: Any]] ?? []).compactMap { $0["message"] as? String }
                let sentence = try #require(troubles.first)
                #expect(troubles.count == 1 && sentence.contains(kind.word), "\(troubles)")
                #expect(sentence.contains(";") || sentence.contains("?"), "no remedy: \(sentence)")
                let shown = try workplace.rankfs("status", mount.path)
                #expect(
                    shown.lines.count { $0.contains(sentence) && $0.hasPrefix("  network ") } == 1, "\(shown.output)")
                let log = mount.child.errorText
                #expect(log.components(separatedBy: "\(sentence) What is stored").count == 2, "\(log)")

                let doctor = try workplace.run(
                    "env", "XDG_CACHE_HOME=\(workplace.directory.path)/xdg", Workplace.rankfs, "doctor",
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
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                let troubles = { (try mount.figures("network")["troubles"] as? [Any])?.count }
                origin.stop()
                #expect(try workplace.run("ls", mount.day()).status != 0)
                #expect(try troubles() == 1)
                try origin.restart()
                #expect(try mount.names(mount.day()).count > 40)
                #expect(try troubles() == 0)
                #expect(mount.child.errorText.components(separatedBy: "answers again").count == 2)
            }
        }

        /// Options that lead a mount into trouble.
        private static func options(of kind: Kind) throws -> [String] {
            switch kind {
            case .nameless: return ["api_url=https://nowhere.invalid", "image_url=https://nowhere.invalid"]
            // No program listens there.
            case .withoutProxy: return ["proxy=http://127.0.0.1:1"]
            case .stranger: return ["ca_file=\(try TestCertificates.made().stranger)"]
            }
        }
    }
}
