import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Bad input gets a clear error and costs nothing; Semantics: "The tree" and "Read-only".
    @Suite struct BadInputTests {
        @Test(arguments: Service.allCases) func daysAndModesThatCannotBeAskNobody(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let before = origin.requests.count
                for name in [
                    "nonsense", "DAILY/2005-05-23", "DAILY/2999-01-01", "DAILY/2024-02-30", "DAILY/2024-5-1",
                    "daily_ai/2022-10-30", "week/2024-04-30",
                ].map({ $0.replacing("DAILY", with: service.daily) }) {
                    var status = stat()
                    #expect(lstat("\(mount.path)/ranking/\(name)", &status) == -1 && errno == ENOENT, "\(name)")
                }
                for name in [".directory", ".Trash-1000", "autorun.inf"] {
                    var status = stat()
                    #expect(lstat("\(mount.day())/\(name)", &status) == -1 && errno == ENOENT, "\(name)")
                }
                #expect(origin.requests.count == before)
                #expect(open("\(mount.path)/new", O_CREAT | O_WRONLY, 0o644) == -1 && errno == EROFS)
                let flags = try workplace.run("findmnt", "-no", "FSTYPE,OPTIONS", mount.path).output
                for flag in ["fuse.rankfs", "ro", "nosuid", "nodev", "noexec", "default_permissions"] {
                    #expect(flags.contains(flag), "\(flags)")
                }
                // Also where root took the `ro` away.
                if geteuid() == 0 {
                    // Where it does so by the system calls of old, fsconfig(2) changes no FUSE mount.
                    let writable = ["env", "LIBMOUNT_FORCE_MOUNT2=always", "mount", "-i", "-o", "remount,rw"]
                    #expect(try workplace.run(writable + [mount.path]).status == 0)
                    #expect(mkdir("\(mount.path)/new", 0o755) == -1 && errno == EROFS)
                    #expect(open("\(mount.path)/CACHEDIR.TAG", O_WRONLY) == -1 && errno == EROFS)
                    #expect(chmod("\(mount.path)/CACHEDIR.TAG", 0o600) == -1 && errno == EROFS)
                }
                // The look by which a desktop shows itself asks for thumbnails, and for nothing where there are none.
                #expect(mount.unmount())
                let plain = try Mount(workplace, of: origin, options: ["thumbnails=off"], named: "plain")
                var hidden = stat()
                #expect(lstat("\(plain.day())/.hidden", &hidden) == -1 && errno == ENOENT)
                #expect(origin.requests.count == before)
            }
        }

        @Test func aBadMountPointIsOneSentence() async throws {
            try await withWorkplace { workplace in
                let full = try workplace.folder("full")
                _ = FileManager.default.createFile(atPath: "\(full)/file", contents: nil)
                let origin = try OriginProcess(workplace)
                let mount = try Mount(workplace, of: origin)
                for directory in [full, "\(full)/missing/below", "\(full)/file", mount.path] {
                    let other = workplace.directory.appending(path: "other").path
                    let output = try workplace.rankfs(
                        "mount", "pixiv", directory, "-o",
                        "\(origin.mountOptions),cache_dir=\(other)")
                    #expect(output.status != 0, "\(directory)")
                    #expect(output.errors.split(separator: "\n").count == 1, "\(output.errors)")
                }
                #expect(try !mount.names(mount.path).isEmpty, "the live mount is untouched")
            }
        }
    }
}
