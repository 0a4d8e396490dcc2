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
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                _ = try mount.names(mount.day())
                let namespace = try OwnNamespace.withoutForeignMounts(workplace)
                let doctor = { (flags: [String]) in
                    let enter = ["nsenter", "-t", "\(namespace.pid)", "-m"]
                    let line = enter + [Workplace.rankfs, "doctor", service.rawValue] + flags
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
                let findings = try object(Data(doctor(["--json"]).output.utf8))["findings"] as? [[String: String]]
                #expect(findings?.contains { $0["verdict"] == "wrong" } == false)
            }
        }

        /// A pool of connections without descriptors for its wake-up slept for a minute, deaf to its end.
        @Test func withFewDescriptorsTheDoctorSaysSo() async throws {
            try await withWorkplace { workplace in
                let origin = "http://127.0.0.1:9"
                let options = "api_url=\(origin),image_url=\(origin),cache_dir=\(workplace.directory.path)/cache"
                let line = "ulimit -n 10; exec \(Workplace.rankfs) doctor -o \(options)"
                let output = try workplace.run("sh", "-c", line, upTo: 30)
                #expect(output.output.contains("number of open files"), "\(output)")
            }
        }

        // MARK: - `rankfs doctor --service`

        /// What goes wrong at a service, the assumption that it breaks, and what is said of that: one for each verdict, and for each
        /// host; further ones are those of the sources' tests (`ServiceExaminerTests`, `ExaminerTests`).
        private static let breaks: [(Service, String, String, String)] = [
            (.pixiv, #""html200","path":"/ajax/illust/""#, "record of a work", "changed"),
            (.pixiv, #""rst0","path":"/img-master/""#, "parts of a picture by Range", "unknown"),
            (.danbooru, #""status","status":503,"retry_after":"60","suffix":"page=1""#, "newest ranking", "unknown"),
            (.danbooru, #""chunked","path":"/original/","skip":1"#, "listed length of a picture", "kept"),
            (.yandere, #""flip","path":"/image/""#, "listed MD5 of a picture", "changed"),
        ]

        private static func report(_ workplace: Workplace, _ origin: OriginProcess, _ flags: String...) throws -> Output
        {
            let line = [Workplace.rankfs, "doctor", origin.service.rawValue, "--service"] + flags
            return try workplace.run(
                ["env", "HOME=\(workplace.directory.path)"] + line
                    + ["-o", "\(origin.mountOptions),cache_dir=\(workplace.directory.path)/cache"])
        }

        /// Examines a sound service, whose assumptions are all kept; the report, and the assumptions by their names.
        private static func expectKept(
            _ service: Service, _ workplace: Workplace, requests: [Int]
        ) throws -> (report: Output, assumptions: [String?]) {
            let origin = try OriginProcess(workplace, service: service)
            let folder = workplace.directory.appending(path: "answers").path
            let report = try report(workplace, origin, "--record", folder)
            #expect(report.status == 0, "\(report.output)\(report.errors)")
            let answers = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
            let count = origin.requests.count
            #expect(requests.contains(count), "\(origin.requests.map(\.path))")
            #expect(answers == (1...count).map { "\(service)-\($0 < 10 ? "0" : "")\($0).json" })
            #expect(report.errors.contains("look at them") && !report.output.contains("look at them"))
            let lines = report.lines.dropFirst()
            #expect(lines.count > 15 && lines.allSatisfy { $0.hasPrefix("kept ") }, "\(report.output)")
            #expect(report.lines.first?.hasSuffix("\(count) requests") == true)
            #expect(!report.output.contains("127.0.0.1") && !report.output.contains(workplace.directory.path))
            let json = try object(Data(try Self.report(workplace, origin, "--json").output.utf8))
            let assumptions = json["assumptions"] as? [[String: String]] ?? []
            #expect(assumptions.count == lines.count && json["requests"] as? Int == count)
            #expect(assumptions.allSatisfy { $0["verdict"] == "kept" })
            return (report, assumptions.map { $0["assumption"] })
        }

        @Test func theServiceIsAsAssumedOverItsOwnWire() async throws {
            try await withWorkplace { workplace in
                // Not every day ranks a work of a series.
                let (report, assumptions) = try Self.expectKept(.pixiv, workplace, requests: [10, 11])
                for name in ["certificate of the API", "certificate of the image host", "protocol of the image host"] {
                    #expect(assumptions.contains(name), "\(report.output)")
                }
                #expect(report.output.contains("HTTP/2") && report.output.contains("valid until"))
            }
        }

        @Test(arguments: Service.boards) func aBoardIsAsAssumed(service: Service) async throws {
            try await withWorkplace { workplace in
                // Of a post in no pool, no pool is requested.
                let (_, assumptions) = try Self.expectKept(
                    service, workplace, requests: service == .danbooru ? [10, 12] : [9, 10])
                #expect(assumptions.contains("listed MD5 of a picture"))
            }
        }

        @Test(arguments: breaks)
        func whatHasChangedIsFound(service: Service, fault: String, name: String, verdict: String) async throws {
            try await withOrigin(service, wire: .plain) { workplace, origin in
                try origin.spoil(["{\"action\":\(fault)}"], in: workplace)
                let report = try Self.report(workplace, origin)
                #expect(report.status == (verdict == "kept" ? 0 : 1), "\(report.output)\(report.errors)")
                let requests = origin.requests.map(\.path).filter { $0 != "/_control" }
                #expect((1...16).contains(requests.count), "\(requests)")
                let line = report.lines.first { $0.contains(" \(name)  ") }
                #expect(line?.hasPrefix(verdict) == true, "\(report.output)")
                #expect(!report.output.contains("127.0.0.1") && !report.output.contains(workplace.directory.path))
            }
        }
    }
}
