import Foundation
import Testing

extension MountSuite {
    /// Semantics: "True metadata before any download", as backup programs see it, over remounts too.
    @Suite struct BackupTests {
        @Test func aSecondRunCopiesNothing() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let options = ["top=20"]
                var mount = try Mount(workplace, of: origin, options: options)
                let copy = try workplace.folder("copy")
                func transferred(_ source: String) throws -> Int {
                    let output = try workplace.run("rsync", "-a", "--stats", "\(source)/", copy)
                    #expect(output.status == 0, "\(output.errors)")
                    let line = output.lines.first { $0.hasPrefix("Number of regular files transferred:") }
                    return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? -1
                }
                #expect(try transferred(mount.day()) == 20)
                #expect(try transferred(mount.day()) == 0)
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

        @Test func borgReReadsNothing() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                var mount = try Mount(workplace, of: origin, options: ["top=8"])
                let repository = workplace.directory.appending(path: "borg").path
                let home = try workplace.folder("home")
                // borg never keeps the newest file of a backup in its files cache, so let that be another one.
                let newer = workplace.directory.appending(path: "newer.txt").path
                _ = FileManager.default.createFile(atPath: newer, contents: Data("newer".utf8))
                func borg(_ arguments: String...) throws -> Output {
                    try workplace.run(
                        ["env", "BORG_BASE_DIR=\(home)", "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK=yes", "borg"]
                            + arguments)
                }
                #expect(try borg("init", "-e", "none", repository).status == 0)
                let first = try borg("create", "--exclude-caches", "--list", "\(repository)::one", mount.day(), newer)
                #expect(first.status == 0, "\(first.errors)")
                #expect(first.errors.split(separator: "\n").filter { $0.hasPrefix("A ") }.count == 9)
                #expect(mount.unmount())
                mount = try Mount(workplace, of: origin, options: ["top=8"])
                let second = try borg("create", "--exclude-caches", "--list", "\(repository)::two", mount.day(), newer)
                let marks = second.errors.split(separator: "\n").filter { $0.contains(".jpg") }.map { $0.prefix(1) }
                #expect(marks.count == 8 && marks.allSatisfy { $0 == "U" }, "\(second.errors)")
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
