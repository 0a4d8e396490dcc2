import Foundation
import Testing

extension MountSuite {
    /// Semantics: "True metadata before any download", as backup programs see it, over remounts too.
    @Suite struct BackupTests {
        /// What the service withholds is not listed, so that nothing fails; Semantics: "Read-only" as to whose a copy is.
        @Test(arguments: Service.allCases) func aSecondRunCopiesNothing(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let options = ["top=20", "withheld=hide"]
                var mount = try Mount(workplace, of: origin, options: options)
                let withheld = try origin.ranking().prefix(20).count(where: \.isWithheld)
                #expect((withheld > 0) == (service == .danbooru), "the day has what the test is about")
                let copy = try workplace.folder("copy")
                func transferred(_ source: String) throws -> Int {
                    let output = try workplace.run("rsync", "-a", "--stats", "\(source)/", copy)
                    #expect(output.status == 0, "\(output.errors)")
                    let line = output.lines.first { $0.hasPrefix("Number of regular files transferred:") }
                    return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? -1
                }
                #expect(try transferred(mount.day()) == 20 - withheld)
                #expect(try transferred(mount.day()) == 0)
                #expect(extendedAttribute("user.rankfs.withheld", of: mount.day()) == "\(withheld)")
                let second = "\(copy)/second"
                #expect(try workplace.run("cp", "-r", mount.day(), second).status == 0)
                for folder in [copy, second] {
                    #expect(try status(of: folder).st_mode & 0o777 == 0o755)
                    #expect(try status(of: "\(folder)/\(mount.names(folder)[0])").st_mode & 0o777 == 0o644)
                }
                #expect(try workplace.run("rm", "-r", second).status == 0)
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

        @Test(arguments: Service.allCases) func borgReReadsNothing(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let options = ["top=17", "withheld=hide"]
                var mount = try Mount(workplace, of: origin, options: options)
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
                    let output = try borg("borg create --exclude-caches --list \"$0::\(name)\" \"$1\" \"$2\"")
                    #expect(output.status == 0, "\(output.errors)")
                    return output.errors.split(separator: "\n").filter { $0.dropFirst().hasPrefix(" ") }
                }
                #expect(try borg("borg init -e none \"$0\"").status == 0)
                #expect(try create("one").filter { $0.hasPrefix("A ") }.count == readable + 1)
                #expect(mount.unmount())
                mount = try Mount(workplace, of: origin, options: options)
                let second = try create("two").filter { !$0.hasPrefix("d ") && !$0.hasSuffix("newer.txt") }
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
