import Foundation
import TestSupport
import Testing

/// Scripts and units as the tools see them that know most of them.
@Suite struct LinterTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func has(_ path: String) -> Bool { FileManager.default.isExecutableFile(atPath: path) }

    /// What a tool says; nothing if it is content.
    private static func complaints(_ program: String, _ arguments: [String]) throws -> String {
        let process = SpawnedProcess()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe.fileHandleForWriting
        process.standardError = pipe.fileHandleForWriting
        try process.run()
        try pipe.fileHandleForWriting.close()
        let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return process.terminationStatus == 0 ? "" : String(decoding: output, as: UTF8.self) + "failed"
    }

    @Test(.enabled(if: has("/usr/bin/shellcheck"), "needs shellcheck"))
    func scriptsAreClean() throws {
        let places =
            [".ci", "mount-helper/debian"]
            + ["Clients", "Desktop", "FuzzTests", "MountTests/Recorded"].map { "Tests/\($0)" }
        let scripts = try places.flatMap { place in
            try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: place).path)
                .map { Self.root.appending(path: "\(place)/\($0)") }
        }
        .filter { file in
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            return text.hasPrefix("#!") && text.prefix { $0 != "\n" }.hasSuffix("sh")
        }
        #expect(scripts.count > 6)
        #expect(try Self.complaints("/usr/bin/shellcheck", ["-S", "warning"] + scripts.map(\.path)).isEmpty)
    }

    /// The units, and the exposure that each may have by systemd-analyze(1), in tenths: SECURITY.md says what it consists of.
    private static let units = ["rankfs@": 96, "rankfs-system@": 48, "rankfs-feed@": 61]

    @Test(.enabled(if: has("/usr/bin/systemd-analyze"), "needs systemd"))
    func unitsAreValidAndConfined() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "rankfs-units-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder.appending(path: "bin"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try FileManager.default.copyItem(atPath: "/usr/bin/true", toPath: folder.appending(path: "bin/rankfs").path)
        let source = Self.root.appending(path: "mount-helper")
        let page = try String(contentsOf: Self.root.appending(path: "SECURITY.md"), encoding: .utf8)
        for (unit, most) in Self.units {
            let file = folder.appending(path: "\(unit).service")
            try String(contentsOf: source.appending(path: "\(unit).service.in"), encoding: .utf8)
                .replacing("@PREFIX@", with: folder.path).write(to: file, atomically: true, encoding: .utf8)
            let analyze = "/usr/bin/systemd-analyze"
            #expect(
                try Self.complaints(analyze, ["security", "--offline=true", "--threshold=\(most)", file.path]).isEmpty)
            #expect(
                try !Self.complaints(analyze, ["security", "--offline=true", "--threshold=\(most - 1)", file.path])
                    .isEmpty)
            #expect(page.contains("| `\(unit).service` | \(most / 10).\(most % 10) |"))
        }
        try FileManager.default.copyItem(
            at: source.appending(path: "rankfs-feed@.timer"), to: folder.appending(path: "rankfs-feed@.timer"))
        let names = Self.units.keys.map { folder.appending(path: "\($0).service").path }
        #expect(try Self.complaints("/usr/bin/systemd-analyze", ["verify", "--man=no"] + names).isEmpty)
    }
}
