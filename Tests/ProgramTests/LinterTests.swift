import Foundation
import TestSupport
import Testing

/// Scripts and units as the tools see them that know most of them.
@Suite struct LinterTests {
    private static let (shell, systemd) = (Tool("shellcheck"), Tool("systemd-analyze"))

    @Test(.enabled(if: shell.isThere, "needs shellcheck")) func scriptsAreClean() throws {
        let tests = ["Clients", "Desktop", "FuzzTests", "MountTests/Recorded", "Packages", "Server"]
        let scripts = try ([".ci", "mount-helper/debian"] + tests.map { "Tests/\($0)" }).flatMap { place in
            try FileManager.default.contentsOfDirectory(atPath: TestPrograms.root.appending(path: place).path)
                .map { TestPrograms.root.appending(path: "\(place)/\($0)") }
        }
        .filter { file in
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            return text.hasPrefix("#!") && text.prefix { $0 != "\n" }.hasSuffix("sh")
        }
        #expect(scripts.count > 8)
        let result = try Self.shell.run(["-S", "warning"] + scripts.map(\.path))
        #expect(result.status == 0, "\(result.said)")
    }

    /// The exposure in SECURITY.md is that of Debian 12's systemd; other versions weigh a little differently.
    @Test(.enabled(if: systemd.isThere, "needs systemd")) func unitsAreValidAndConfined() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: "\(folder)/bin", withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: "/usr/bin/true", toPath: "\(folder)/bin/rankfs")
        let source = TestPrograms.root.appending(path: "mount-helper")
        let page = try String(contentsOf: TestPrograms.root.appending(path: "SECURITY.md"), encoding: .utf8)
        var files: [String] = []
        for row in page.matches(of: #/\| `(\S+@)\.service` \| (\d+)\.(\d) \|/#) {
            let file = folder.url.appending(path: "\(row.output.1).service")
            try String(contentsOf: source.appending(path: "\(row.output.1).service.in"), encoding: .utf8)
                .replacing("@PREFIX@", with: folder.path).write(to: file, atomically: true, encoding: .utf8)
            let most = (Int("\(row.output.2)\(row.output.3)") ?? 0) + 2
            let result = try Self.systemd.run(["security", "--offline=true", "--threshold=\(most)", file.path])
            #expect(result.status == 0, "\(result.said)")
            files.append(file.path)
        }
        #expect(files.count == 3)
        try FileManager.default.copyItem(
            at: source.appending(path: "rankfs-feed@.timer"), to: folder.url.appending(path: "rankfs-feed@.timer"))
        let result = try Self.systemd.run(["verify", "--man=no"] + files)
        #expect(result.status == 0, "\(result.said)")
    }
}
