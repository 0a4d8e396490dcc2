import Foundation
import Glibc
import TestSupport
import Testing

extension MountSuite {
    /// Semantics: "Kept across upgrades".
    @Suite struct RecordedCacheTests {
        /// The folder of what `Recorded/record` left there.
        private static let folder = TestPrograms.root.appending(path: "Tests/MountTests/Recorded")

        /// The versions that the change log calls released.
        private static func released() throws -> [String] {
            let log = TestPrograms.root.appending(path: "CHANGELOG.md")
            return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").compactMap { line in
                line.hasPrefix("## [") ? String(line.dropFirst(4).prefix { $0 != "]" }) : nil
            }
            .filter { $0 != "Unreleased" }
        }

        /// One recording: lines of a word and its fields.
        private struct Manifest {
            let lines: [[Substring]]

            init(_ text: String) {
                lines = text.split(separator: "\n").map { $0.split(separator: " ", maxSplits: 1) }
            }

            func all(_ word: String, fields count: Int) -> [[String]] {
                lines.filter { $0[0] == word }.map {
                    $0[1].split(separator: " ", maxSplits: count - 1).map(String.init)
                }
            }
        }

        @Test(arguments: [Service.pixiv, .danbooru])
        func whatEachReleasedVersionStoredIsThere(service: Service) async throws {
            let versions = try Self.released()
            #expect(!versions.isEmpty)
            for version in versions {
                try await withWorkplace { workplace in
                    let manifest = try Self.unpack(service, version, workplace)
                    let origin = try OriginProcess(workplace, service: service)
                    origin.stop()
                    let mount = try Mount(workplace, of: origin, options: ["prefetch=0", "top=40"])
                    for name in manifest.all("name", fields: 3) {
                        let found = try status(of: "\(mount.path)/\(name[2])")
                        #expect(found.st_size == Int(name[0]) && found.st_mtim.tv_sec == Int(name[1]), "\(name[2])")
                    }
                    for picture in manifest.all("bytes", fields: 2) {
                        let path = "\(mount.path)/\(picture[1])"
                        #expect(try workplace.run("sha256sum", path).output.hasPrefix(picture[0]), "\(path)")
                    }
                    for pinned in manifest.all("pinned", fields: 1) {
                        #expect(extendedAttribute("user.rankfs.kept", of: "\(mount.path)/\(pinned[0])") == "yes")
                    }
                    let recent = Set(try mount.names("\(mount.path)/recent").map { "recent/\($0)" })
                    #expect(recent.isSuperset(of: manifest.all("recent", fields: 1).map { $0[0] }))
                    #expect(mount.unmount())
                }
            }
        }

        @Test func aCatalogueOfALaterVersionIsLeftAsItIs() async throws {
            try await withMount { workplace, origin, mount in
                let names = try mount.names(mount.day())
                #expect(mount.unmount())
                let database = "\(mount.cache)/catalog/catalog.sqlite"
                let later = "INSERT INTO migrations(position, name) VALUES(999, 'a later step')"
                func execute(_ statement: String) throws {
                    let script =
                        "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); d.execute(sys.argv[2]); d.commit()"
                    #expect(try workplace.run("/usr/bin/python3", "-c", script, database, statement).status == 0)
                }
                try execute(later)
                let before = try Data(contentsOf: URL(filePath: database))

                let refused = try workplace.mount(origin, on: try workplace.folder("refused"))
                #expect(refused.status != 0)
                #expect(
                    refused.errors.contains(
                        "later rankfs (a later step); update rankfs, or name another directory with cache_dir"))
                #expect(try Data(contentsOf: URL(filePath: database)) == before)
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: "\(mount.cache)/catalog") == ["catalog.sqlite"])
                for command in [["doctor"], ["cache", "clear"]] {
                    let told = try workplace.run([Workplace.rankfs] + command + ["-o", "cache_dir=\(mount.cache)"])
                    #expect(
                        told.status != 0 && "\(told.output)\(told.errors)".contains("later rankfs (a later step)"),
                        "\(told)")
                }

                // The later version comes back, as far as this one can play it.
                try execute("DELETE FROM migrations WHERE position = 999")
                origin.stop()
                let again = try Mount(workplace, of: origin)
                #expect(try again.names(again.day()) == names)
                #expect(again.unmount())
            }
        }

        /// Unpacks a recording to where the service's mounts have their cache, and returns its manifest.
        private static func unpack(_ service: Service, _ version: String, _ workplace: Workplace) throws -> Manifest {
            let archive = folder.appending(path: "\(service)-\(version).tar.gz").path
            let place = workplace.directory.path
            try #require(try workplace.run("tar", "-xzf", archive, "-C", place).status == 0, "not recorded: \(archive)")
            let cache = Mount.cache(of: service, in: workplace)
            if cache != "\(place)/cache" { try FileManager.default.moveItem(atPath: "\(place)/cache", toPath: cache) }
            return Manifest(try String(contentsOfFile: "\(place)/manifest", encoding: .utf8))
        }
    }
}
