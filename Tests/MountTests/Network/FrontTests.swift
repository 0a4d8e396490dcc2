import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Polite": what stands in front of a service and lets in browsers only.
    @Suite struct FrontTests {
        /// The origin by two names, so that the API and the pictures have a host each.
        private func twoHosts(
            _ workplace: Workplace, _ origin: OriginProcess, variables: [String: String] = [:], source: String? = nil
        ) throws -> Mount {
            try Mount(workplace, of: origin, options: [api(of: origin)], variables: variables, source: source)
        }

        private func api(of origin: OriginProcess) -> String {
            "api_url=" + origin.url.replacing("127.0.0.1", with: "localhost")
        }

        /// How often the service was asked, besides what the test told the origin.
        private func asked(of origin: OriginProcess) -> Int {
            origin.apiRequests.count { $0.path != "/_control" }
        }

        private func challenge(_ service: Service, _ fields: String) -> String {
            #"{"action":"challenge","path":"\#(service.lists)",\#(fields)}"#
        }

        /// Each status on each service as it is reached for good, and one on pixiv without TLS.
        private static let challenges =
            Service.allCases.flatMap { service in [403, 503, 429].map { (Wire.tls, service, $0) } }
            + [(Wire.plain, Service.pixiv, 403)]

        @Test(arguments: challenges)
        func aCheckForBrowsersInTheMiddleOfADayEndsAllRequests(
            wire: Wire, service: Service, status: Int
        ) async throws {
            try await withWorkplace { workplace in
                // So far away that what is under way when the first check comes was sent long before, whatever else runs here.
                let origin = try OriginProcess(workplace, ["--latency", "400"], wire: wire, service: service)
                var mount = try twoHosts(workplace, origin)
                let stored = mount.day()
                let names = try mount.readable(stored)
                let bytes = try read("\(stored)/\(names[0])").get()

                try origin.spoil([challenge(service, #""status":\#(status),"skip":1"#)], in: workplace)
                let day = mount.day(service.long.mode, service == .yandere ? "2024-04-22" : "2024-05-02")
                let refused = try workplace.run("ls", "-l", day)
                #expect(refused.status != 0 && refused.errors.contains("Input/output error"), "\(refused.errors)")
                #expect(!refused.errors.contains("No such file"))
                let challenged = origin.apiRequests.filter { $0.fault == "challenge" && $0.status == status }
                let first = try #require(challenged.map(\.end).min(), "nobody was asked for a check")
                #expect(origin.apiRequests.count { $0.t > first } <= 2)

                // Then nobody asks, whatever is looked at: what was cancelled began before this.
                try origin.spoil([challenge(service, #""status":\#(status)"#)], in: workplace)
                // A line is written once its answer has gone.
                #expect(poll { origin.apiRequests.count { $0.path == "/_control" } == 2 })
                let mark = try #require(origin.apiRequests.last { $0.path == "/_control" }).t
                for day in ["2024-04-03", "2024-04-04"] {
                    let again = try workplace.run("ls", mount.day(nil, day))
                    #expect(again.errors.contains("Input/output error"), "\(again.output)\(again.errors)")
                }
                // What is stored works, and so does the host of the pictures.
                #expect(try mount.readable(stored) == names && read("\(stored)/\(names[0])").get() == bytes)
                #expect(try !read("\(stored)/\(names[20])").get().isEmpty)

                let remedy = service == .pixiv ? "rankfs login cookies.txt" : "user_agent to another name"
                let said = try workplace.rankfs("status", mount.path)
                #expect(said.output.contains(remedy) && said.output.contains("another 30 min"), "\(said.output)")
                let doctor = try workplace.rankfs(
                    "doctor", service.rawValue, "-o",
                    "\(origin.mountOptions),\(api(of: origin)),cache_dir=\(mount.cache)")
                #expect(doctor.output.contains(remedy), "\(doctor.output)")
                #expect(mount.unmount())
                let log = mount.child.errorText
                #expect(
                    log.contains(remedy) && !log.contains("check the network") && !log.contains("slow down"), "\(log)")

                mount = try twoHosts(workplace, origin)
                #expect(try workplace.run("ls", day).status != 0)
                #expect(try mount.readable(stored) == names)
                #expect(origin.apiRequests.allSatisfy { $0.t <= mark }, "kept over a restart")
                #expect(mount.unmount())
            }
        }

        /// Older pages, another front, and a block for which no cookie helps.
        @Test(arguments: ["old", "ddos-guard", "blocked"])
        func otherFrontsAreToldByTheirPages(kind: String) async throws {
            try await withOrigin { workplace, origin in
                let mount = try twoHosts(workplace, origin)
                try origin.spoil([challenge(.pixiv, #""kind":"\#(kind)""#)], in: workplace)
                for _ in 0..<3 {
                    #expect(try workplace.run("ls", mount.day()).errors.contains("Input/output error"))
                }
                #expect(asked(of: origin) == 1, "the other family of addresses leads nowhere")
                let said = try workplace.rankfs("status", mount.path).output
                #expect(said.contains(kind == "blocked" ? "no cookie helps" : "rankfs login"), "\(said)")
                #expect(mount.unmount())
            }
        }

        /// A login ends the pause in the running mount, with one request first; so does another User-Agent.
        @Test(arguments: ["pixiv", "konachan", "danbooru"]) func whatMayHelpIsTriedAtOnce(source: String) async throws {
            try await withWorkplace { workplace in
                let (clearance, agent) = ("Cl3arance.of-1", "Mine/1.0 (+mailto:me@example.org)")
                let byLogin = source != "danbooru"
                // Konachan's engine is that of yande.re.
                let service = Service(rawValue: source) ?? .yandere
                let origin = try OriginProcess(workplace, ["--service", source], service: service)
                let variables = [
                    "XDG_STATE_HOME": try workplace.folder("state"), "XDG_CONFIG_HOME": try workplace.folder("config"),
                ]
                let mount = try twoHosts(workplace, origin, variables: variables, source: source)
                let key = byLogin ? clearance : agent
                try origin.spoil([challenge(service, #""lets":"\#(key)""#)], in: workplace)
                for _ in 0..<3 { #expect(try workplace.run("ls", mount.day()).status != 0) }
                #expect(asked(of: origin) == 1)
                if byLogin {
                    let jar = workplace.directory.appending(path: "cookies.txt")
                    let rows = [("PHPSESSID", "1000_Zq9XsecretXabc"), ("cf_clearance", clearance), ("__cf_bm", "b")]
                    try rows.map { "localhost\tFALSE\t/\tFALSE\t0\t\($0)\t\($1)\n" }.joined()
                        .write(to: jar, atomically: true, encoding: .utf8)
                    let login = try workplace.run([
                        "env", "XDG_STATE_HOME=\(workplace.directory.path)/state", Workplace.rankfs,
                        "login", source, jar.path, "-o", "\(origin.mountOptions),\(api(of: origin))",
                    ])
                    #expect(login.status == 0, "\(login.errors)")
                    try FileManager.default.removeItem(at: jar)
                } else {
                    let file = try workplace.folder("config/rankfs") + "/rankfs.conf"
                    try "user_agent = \(agent)\n".write(toFile: file, atomically: true, encoding: .utf8)
                }
                let before = origin.apiRequests.filter { $0.status == 403 }.count
                #expect(try !mount.names(mount.day()).isEmpty)
                #expect(origin.apiRequests.filter { $0.status == 403 }.count == before)
                #expect(mount.unmount())
                if byLogin {
                    let found = try workplace.run("grep", "-rl", clearance, workplace.directory.path).lines
                    let state = "\(workplace.directory.path)/state/rankfs"
                    #expect(found.allSatisfy { $0.hasPrefix(state) || $0.hasSuffix("/rules") }, "\(found)")
                    let file = try #require(found.first { $0.hasPrefix(state) })
                    #expect(try MountTests.status(of: file).st_mode & 0o777 == 0o600)
                }
            }
        }
    }
}
