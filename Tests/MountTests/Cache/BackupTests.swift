import Foundation
import Testing

extension MountSuite {
    /// Semantics: "True metadata before any download", as backup programs see it, over remounts too.
    @Suite struct BackupTests {
        /// What the service withholds has the size 0 and cannot be read: `--min-size=1` passes over it.
        @Test(arguments: Service.allCases) func aSecondRunCopiesNothing(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let options = ["top=20"]
                var mount = try Mount(workplace, of: origin, options: options)
                let withheld = try origin.ranking().prefix(20).count(where: \.isWithheld)
                #expect((withheld > 0) == (service == .danbooru), "the day has what the test is about")
                let copy = try workplace.folder("copy")
                func transferred(_ source: String) throws -> Int {
                    let output = try workplace.run("rsync", "-a", "--min-size=1", "--stats", "\(source)/", copy)
                    #expect(output.status == 0, "\(output.errors)")
                    let line = output.lines.first { $0.hasPrefix("Number of regular files transferred:") }
                    return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? -1
                }
                #expect(try transferred(mount.day()) == 20 - withheld)
                #expect(try transferred(mount.day()) == 0)
                try expectOnlyWithheldMissing(withheld, in: mount.day(), copy, workplace)
                let before = try inodes(mount)
                #expect(mount.unmount())
                mount = try Mount(workplace, of: origin, options: options)
                // Another order of access first: numbers must not depend on it.
                let names = try mount.names(mount.day())
                for name in names.reversed() { _ = try status(of: "\(mount.day())/\(name)") }
                #expect(try transferred(mount.day()) == 0)
                #expect(try inodes(mount) == before)
            }
        }

        /// Whoever asks rsync for everything is told what is lacking, by name, and that nothing else is.
        private func expectOnlyWithheldMissing(
            _ withheld: Int, in day: String, _ copy: String, _ workplace: Workplace
        ) throws {
            let all = try workplace.run("rsync", "-a", "\(day)/", copy)
            #expect(all.status == (withheld > 0 ? 23 : 0), "\(all.errors)")
            let refused = all.errors.split(separator: "\n").filter { $0.contains("Permission denied") }
            #expect(refused.count == withheld)
            for line in refused {
                let path = try #require(line.split(separator: "\"").dropFirst().first.map(String.init))
                #expect(extendedAttribute("user.rankfs.withheld", of: path) != nil, "\(line)")
            }
        }

        @Test(arguments: Service.allCases) func borgReReadsNothing(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                var mount = try Mount(workplace, of: origin, options: ["top=17"])
                let readable = try origin.ranking().prefix(17).count { !$0.isWithheld }
                let repository = workplace.directory.appending(path: "borg").path
                let home = try workplace.folder("home")
                // borg never keeps the newest file of a backup in its files cache, so let that be another one.
                let newer = workplace.directory.appending(path: "newer.txt").path
                _ = FileManager.default.createFile(atPath: newer, contents: Data("newer".utf8))
                func borg(_ line: String) throws -> Output {
                    try workplace.run(
                        "env", "BORG_BASE_DIR=\(home)", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes", "sh", "-c",
                        line, repository, mount.day(), newer)
                }
                func create(_ name: String) throws -> [Substring] {
                    let output = try borg(
                        "find \"$1\" \"$2\" -type f -size +0 "
                            + "| borg create --exclude-caches --list --paths-from-stdin \"$0::\(name)\"")
                    #expect(output.status == 0, "\(output.errors)")
                    return output.errors.split(separator: "\n").filter { $0.dropFirst().hasPrefix(" ") }
                }
                #expect(try borg("borg init -e none \"$0\"").status == 0)
                #expect(try create("one").filter { $0.hasPrefix("A ") }.count == readable + 1)
                // With a directory instead of names, what is withheld is a warning (status 1), and an archive is made.
                let whole = try borg("borg create --exclude-caches --list \"$0::all\" \"$1\"")
                #expect(whole.status == (readable < 17 ? 1 : 0), "\(whole.errors)")
                #expect(mount.unmount())
                mount = try Mount(workplace, of: origin, options: ["top=17"])
                let second = try create("two").filter { !$0.hasSuffix("newer.txt") }
                #expect(second.count == readable && second.allSatisfy { $0.hasPrefix("U ") }, "\(second)")
            }
        }

        private func inodes(_ mount: Mount) throws -> [String: UInt64] {
            var numbers: [String: UInt64] = [:]
            for name in try mount.names(mount.day()) {
                numbers[name] = UInt64(try status(of: "\(mount.day())/\(name)").st_ino)
            }
            return numbers
        }
    }
}
