import Foundation
import Testing

/// What builds and installs the program is no Swift, so no compiler notices when a file that it reads has moved.
@Suite struct ToolTests {
    @Test(arguments: ["Makefile", "mount-helper/packages.mk", ".ci/run"])
    func theFilesThatToolsNameAreThere(tool: String) throws {
        let text = try String(contentsOf: Package.root.appending(path: tool), encoding: .utf8)
        for name in text.matches(of: #/(?:Sources|Tests)/[A-Za-z\/+.-]+\.(?:swift|py|md)/#).map({ String($0.output) }) {
            let isThere = FileManager.default.fileExists(atPath: Package.root.appending(path: name).path)
            #expect(isThere, "\(tool) names \(name)")
        }
    }

    @Test func thePackageHasAVersion() throws {
        let rules = try String(contentsOf: Package.root.appending(path: "mount-helper/packages.mk"), encoding: .utf8)
        let source = try #require(rules.firstMatch(of: #/Sources\S+\.swift/#)).output
        let text = try String(contentsOf: Package.root.appending(path: String(source)), encoding: .utf8)
        let version = try #require(text.firstMatch(of: #/static let text = "(\d+\.\d+\.\d+)"/#)).output.1
        let places = [
            "CHANGELOG.md": "## [\(version)]", "README.md": "rankfs \(version),",
            "mount-helper/debian/changelog": "rankfs (\(version))", "mount-helper/arch/PKGBUILD": "pkgver=\(version)\n",
            "mount-helper/rankfs.spec": "global rankfs_version \(version)}",
            "mount-helper/desktop/org.rankfs.rankfs.metainfo.xml": "<release version=\"\(version)\"",
        ]
        for (place, name) in places {
            let text = try String(contentsOf: Package.root.appending(path: place), encoding: .utf8)
            #expect(text.contains(name), "\(place)")
        }
    }
}
