import CLinux
import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Troubleshooting: "Ask the doctor".
    @Suite struct DoctorTests {
        /// It looks at all mounts of rankfs on the machine, and mends them: those of others are out of its sight here.
        @Test(.enabled(if: geteuid() == 0, "needs root, to look away from the mounts of others"))
        func theDoctorFindsACrashAndItsTracesAndMendsThem() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                _ = try mount.names(mount.day())
                let namespace = try OwnNamespace.withoutForeignMounts(workplace)
                let doctor = { (flags: [String]) in
                    let enter = ["nsenter", "-t", "\(namespace.pid)", "-m"]
                    let line = enter + ["\(Workplace.programs)/rankfs", "doctor", "pixiv"] + flags
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
    }
}
