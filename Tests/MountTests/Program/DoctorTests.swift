import CLinux
import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Troubleshooting: "Ask the doctor".
    @Suite struct DoctorTests {
        /// It looks at all mounts of rankfs on the machine, and mends them: those of others are out of its sight here.
        @Test(
            .enabled(if: geteuid() == 0, "needs root, to look away from the mounts of others"),
            arguments: Service.kinds)
        func theDoctorFindsACrashAndItsTracesAndMendsThem(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                _ = try mount.names(mount.day())
                let namespace = try OwnNamespace.withoutForeignMounts(workplace)
                let doctor = { (flags: [String]) in
                    let enter = ["nsenter", "-t", "\(namespace.pid)", "-m"]
                    let line = enter + ["\(Workplace.programs)/rankfs", "doctor", service.rawValue] + flags
                    let options = "cache_dir=\(mount.cache),\(origin.mountOptions)"
                    let variables = ProcessInfo.processInfo.environment.merging(
                        ["XDG_CACHE_HOME": workplace.directory.appending(path: "xdg").path]) { $1 }
                    let child = try workplace.start(
                        "/usr/bin/timeout", ["60"] + line + ["-o", options], environment: variables)
                    return try #require(child.wait(upTo: 65))
                }
                let before = origin.requests.count
                let well = try doctor([])
                #expect(well.status == 0, "\(well.output)")
                #expect(well.lines.contains { $0.hasPrefix("ok") && $0.contains("cache marks") }, "\(well.output)")
                #expect(origin.requests.count > before, "it asks both hosts")

                mount.killHard()
                #expect(unlink("\(mount.cache)/CACHEDIR.TAG") == 0)
                let ill = try doctor([])
                #expect(ill.status == 1, "\(ill.output)")
                let wrong = ill.lines.filter { $0.hasPrefix("wrong") }
                #expect(wrong.contains { $0.contains("CACHEDIR.TAG") }, "\(ill.output)")
                #expect(wrong.contains { $0.contains(mount.path) }, "\(ill.output)")
                #expect(Workplace.isMounted(mount.path), "a look mends nothing")

                let mended = try doctor(["--fix"])
                #expect(mended.status == 0, "\(mended.output)")
                #expect(mended.lines.filter { $0.hasPrefix("fixed") }.count >= 2, "\(mended.output)")
                #expect(!Workplace.isMounted(mount.path, for: namespace.pid))
                umount2(mount.path, Int32(MNT_DETACH))
                #expect(access("\(mount.cache)/CACHEDIR.TAG", F_OK) == 0)
                let document = try JSONSerialization.jsonObject(with: Data(try doctor(["--json"]).output.utf8))
                let findings = (document as? [String: Any])?["findings"] as? [[String: String]]
                #expect(findings?.contains { $0["verdict"] == "wrong" } == false)
            }
        }

        /// What goes wrong, the assumption that it breaks, and what is said of that.
        private static let breaks = [
            ("", "", "kept"),
            (#"{"action":"json200","path":"/ranking.php"}"#, "newest ranking", "changed"),
            (
                #"{"action":"status","status":503,"retry_after":"60","path":"/ranking.php"}"#,
                "newest ranking", "unknown"
            ),
            (#"{"action":"html200","path":"/ajax/illust/"}"#, "record of a work", "changed"),
            (#"{"action":"rangeignored","path":"img-master"}"#, "parts of a picture by Range", "changed"),
            (#"{"action":"nohead","path":"img-master"}"#, "picture by HEAD", "changed"),
            (#"{"action":"notrailer","path":"img-master"}"#, "format of a picture", "changed"),
            (#"{"action":"rst0","path":"img-master"}"#, "parts of a picture by Range", "unknown"),
        ]

        @Test func theServiceIsAsAssumedOverItsOwnWire() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let folder = workplace.directory.appending(path: "answers").path
                let report = try Self.report(workplace, origin, "--record", folder)
                #expect(report.status == 0, "\(report.output)\(report.errors)")
                let answers = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                let count = origin.requests.count
                // Not every day ranks a work of a series.
                #expect((10...11).contains(count), "\(origin.requests.map(\.path))")
                #expect(answers == (1...count).map { "pixiv-\($0 < 10 ? "0" : "")\($0).json" })
                for line in ["certificate of the API", "certificate of the image host", "protocol of the image host"] {
                    #expect(report.lines.contains { $0.hasPrefix("kept ") && $0.contains(line) }, "\(report.output)")
                }
                #expect(report.output.contains("HTTP/2") && report.output.contains("valid until"))
                let json =
                    try JSONSerialization.jsonObject(
                        with: Data(try Self.report(workplace, origin, "--json").output.utf8)) as? [String: Any]
                let assumptions = json?["assumptions"] as? [[String: String]] ?? []
                #expect(assumptions.count == report.lines.count - 1)
                #expect(assumptions.allSatisfy { $0["verdict"] == "kept" } && json?["requests"] as? Int == count)
            }
        }

        private static func report(_ workplace: Workplace, _ origin: OriginProcess, _ flags: String...) throws -> Output
        {
            try workplace.run(
                ["env", "HOME=\(workplace.directory.path)", "\(Workplace.programs)/rankfs", "doctor", "--service"]
                    + flags
                    + ["-o", "\(origin.mountOptions),cache_dir=\(workplace.directory.path)/cache"])
        }

        @Test(arguments: breaks.indices) func theServiceIsHeldAgainstWhatIsAssumed(_ index: Int) async throws {
            let (fault, name, verdict) = Self.breaks[index]
            try await withWorkplace { workplace in
                let faults = workplace.directory.appending(path: "faults")
                try "\(fault)\n".write(to: faults, atomically: true, encoding: .utf8)
                let origin = try OriginProcess(
                    workplace, fault.isEmpty ? [] : ["--faults", faults.path], wire: .plain)
                let report = try Self.report(workplace, origin)
                #expect(report.status == (fault.isEmpty ? 0 : 1), "\(report.output)\(report.errors)")
                #expect((1...13).contains(origin.requests.count), "\(origin.requests.map(\.path))")
                let lines = report.lines.dropFirst()
                if fault.isEmpty {
                    #expect(lines.count > 15 && lines.allSatisfy { $0.hasPrefix("kept ") }, "\(report.output)")
                } else {
                    #expect(lines.contains { $0.hasPrefix(verdict) && $0.contains(name) }, "\(report.output)")
                }
                #expect(!report.output.contains("127.0.0.1") && !report.output.contains(workplace.directory.path))
            }
        }
    }
}
