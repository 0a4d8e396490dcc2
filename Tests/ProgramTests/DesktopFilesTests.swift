import Foundation
import TestSupport
import Testing

/// What `make install` puts on the desktop (mount-helper/desktop): its own tests, and the tools that look at such files.
@Suite struct DesktopFilesTests {
    private static let desktop = TestPrograms.root.appending(path: "mount-helper/desktop")
    private static let (python, validator, appStream) = (
        Tool("python3"), Tool("desktop-file-validate"), Tool("appstreamcli")
    )

    @Test(.enabled(if: python.isThere, "needs python3"))
    func theScriptsKnowMountsAndPaths() throws {
        let test = TestPrograms.root.appending(path: "Tests/Desktop/test_desktop.py").path
        let result = try Self.python.run([test])
        #expect(result.status == 0, "\(result.said)")
        #expect(result.said.contains("\nOK"))
    }

    @Test(.enabled(if: validator.isThere, "needs desktop-file-utils"))
    func theEntryIsValid() throws {
        let folder = TemporaryFolder()
        let entry = folder.url.appending(path: "org.rankfs.rankfs.desktop")
        let text = try String(contentsOf: Self.desktop.appending(path: "org.rankfs.rankfs.desktop.in"), encoding: .utf8)
        try text.replacing("@LIBEXECDIR@", with: "/usr/libexec/rankfs").write(
            to: entry, atomically: true, encoding: .utf8)
        let result = try Self.validator.run([entry.path])
        #expect(result.status == 0 && result.said.isEmpty, "\(result.said)")
    }

    @Test(.enabled(if: appStream.isThere, "needs appstream"))
    func theMetadataAreValid() throws {
        let file = Self.desktop.appending(path: "org.rankfs.rankfs.metainfo.xml").path
        let result = try Self.appStream.run(["validate", "--no-net", file])
        // There is no page of the project yet, which versions from 1.0 on warn of.
        let remarks = result.said.split(separator: "\n").filter { $0.hasPrefix("W:") || $0.hasPrefix("E:") }
        #expect(remarks.allSatisfy { $0.hasSuffix("url-homepage-missing") }, "\(result.said)")
        #expect(result.status == 0 || !remarks.isEmpty, "\(result.said)")
    }

    /// Whoever installs may keep the own files private: those of a system are for all users.
    @Test(.enabled(if: Tool("make").isThere, "needs make")) func whatIsInstalledIsReadableByAll() throws {
        let folder = TemporaryFolder()
        let line = "umask 077; exec make -s -C \"$0\" install-desktop DESTDIR=\"$1\" PREFIX=/usr THUNARX=yes"
        let result = try Tool("sh").run(["-c", line, TestPrograms.root.path, folder.path])
        #expect(result.status == 0, "\(result.said)")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).map { "\(folder)/\($0)" }
        #expect(paths.contains { $0.hasSuffix("/thunarx-python/extensions/rankfs_menu.py") })
        for path in paths {
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o044 == 0o044, "\(path)")
        }
    }

    /// What one file names must be in another: entries, services, icons.
    @Test func namesAgree() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.desktop.path)
        let text = { (name: String) in try String(contentsOf: Self.desktop.appending(path: name), encoding: .utf8) }
        let script = try text("rankfs-action")
        for action in ["page", "author", "pages", "series", "related", "pools", "family", "keep", "release", "refresh"]
        {
            #expect(script.contains("\n\(action) "), "\(action) is explained")
            #expect(try text("rankfs_menu.py").contains("\"\(action)\""))
            let menus = try ["rankfs-works.desktop.in", "rankfs-keep.desktop.in"].map(text).joined()
            #expect(menus.contains("\(action) %F\n"))
        }
        let icons = Set(try FileManager.default.contentsOfDirectory(atPath: Self.desktop.appending(path: "icons").path))
        for word in ["stored", "kept", "animation"] { #expect(icons.contains("emblem-rankfs-\(word).svg")) }
        #expect(icons.contains("rankfs.svg"))
        #expect(try text("org.rankfs.rankfs.metainfo.xml").contains(">org.rankfs.rankfs.desktop</launchable>"))
        for name in files.filter({ $0.hasPrefix("rankfs-") && $0.hasSuffix(".desktop.in") }) {
            #expect(try text(name).contains("=org.rankfs.Menus /org/rankfs/Menus org.rankfs.Menus."))
        }
        #expect(try text("rankfs-desktop").contains("\"org.rankfs.Menus\""))
    }
}
