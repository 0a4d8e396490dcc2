import Foundation
import Glibc
import TestSupport
import Testing

extension MountSuite {
    /// Semantics: "Served without privileges".
    @Suite(.enabled(if: geteuid() == 0, "needs root"))
    struct PrivilegeTests {
        /// A mount that root makes for the user nobody.
        private struct GuardedMount {
            let workplace: Workplace
            let path: String
            let helper: String
            private let options: String

            init(
                _ workplace: Workplace, of origin: OriginProcess, at name: String = "mount",
                cache cacheName: String = "cache"
            ) throws {
                self.workplace = workplace
                path = try workplace.folder(name)
                workplace.willMount(at: path)
                helper = workplace.directory.appending(path: "mount.rankfs").path
                try? FileManager.default.createSymbolicLink(atPath: helper, withDestinationPath: Workplace.rankfs)
                let cache = try workplace.folder(cacheName)
                for folder in [path, cache] { try workplace.run("chown", "nobody:", folder) }
                options = "rw,suid,dev,exec,setuid=nobody,umask=027,cache_dir=\(cache)," + origin.mountOptions
            }

            func mount(_ more: String = "", environment: [String] = [], flags: [String] = []) throws -> Output {
                try workplace.run(
                    ["env", "-i"] + environment + [helper, "pixiv", path] + flags + ["-o", options + more])
            }

            func asNobody(_ words: String...) throws -> Output {
                try workplace.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] + words)
            }

            /// The process that serves, by its own word.
            func process() throws -> Int32 {
                let text = try asNobody("cat", "\(path)/.rankfs/status.json").output
                let status = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
                guard let number = (status?["pid"] as? NSNumber)?.int32Value else { throw Failure("no pid: \(text)") }
                return number
            }

            /// The process that stayed root: the parent knows no other child.
            func guardian(of process: Int32) throws -> Int32? {
                try workplace.run("pgrep", "-P", "\(process)").lines.first.flatMap { Int32($0) }
            }
        }

        @Test func whatAUserWillServeIsExaminedAsThatUser() async throws {
            try await withWorkplace { workplace in
                let cache = try workplace.folder("cache")
                try workplace.run("chown", "nobody:", cache)
                let doctor = { (options: String) in
                    try workplace.rankfs(
                        "doctor", "demo", "-o", "cache_dir=\(cache)\(options)"
                    )
                    .output
                }
                #expect(try doctor("").contains("\(cache) belongs to user"))
                let own = try doctor(",setuid=nobody")
                #expect(own.contains("\(cache) can be written") && !own.contains("belongs to user"), "\(own)")
            }
        }

        @Test func aMountForAUserIsServedByThatUserAlone() async throws {
            try await withWorkplace { workplace in
                let mount = try GuardedMount(workplace, of: try OriginProcess(workplace))
                let mounted = try mount.mount()
                #expect(mounted.status == 0, "\(mounted.errors)")
                let table = try workplace.run("findmnt", "-no", "SOURCE,FSTYPE,OPTIONS", mount.path).output
                for word in ["pixiv", "fuse.rankfs", "ro,nosuid,nodev,noexec", "user_id=65534"] {
                    #expect(table.contains(word), "\(table)")
                }
                #expect(!table.contains("allow_other"))
                #expect(try workplace.run("ls", mount.path).status != 0, "not even root looks in")
                #expect(try mount.asNobody("stat", "-c", "%a %U", "\(mount.path)/ranking").output == "750 nobody\n")
                #expect(try mount.asNobody("ls", "\(mount.path)/ranking/daily/2024-05-01/").lines.count > 100)

                let process = try mount.process()
                let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
                for line in [
                    "Uid:\t65534\t65534\t65534\t65534", "Gid:\t65534\t65534\t65534\t65534", "Groups:\t65534 ",
                    "NoNewPrivs:\t1",
                ] + ["Inh", "Prm", "Eff", "Bnd", "Amb"].map({ "Cap\($0):\t0000000000000000" }) {
                    #expect(status.contains("\n\(line)\n"), "\(line): \(status)")
                }
                let foreign = try workplace.run("find", "\(workplace.directory.path)/cache", "!", "-user", "nobody")
                #expect(foreign.output.isEmpty)

                kill(process, SIGTERM)
                #expect(poll { !Workplace.isMounted(mount.path) })
            }
        }

        /// What the environment of `sudo mount` may hold; seeds choose a value for each variable.
        @Test(arguments: 1...12) func noEnvironmentLeadsRootAstray(seed: UInt64) async throws {
            try await withWorkplace { workplace in
                let mount = try GuardedMount(workplace, of: try OriginProcess(workplace))
                let roots = try workplace.folder("roots")
                for program in ["fusermount3", "rankfs-render", "rankfs-origin"] {
                    let script = "#!/bin/sh\necho $(id -u) >> \(roots)/ran\n"
                    try script.write(toFile: "\(roots)/\(program)", atomically: true, encoding: .utf8)
                    chmod("\(roots)/\(program)", 0o755)
                }
                func state() throws -> String {
                    try workplace.run("find", roots, "-printf", "%p %m %U %s %T@\n").lines.sorted().joined(
                        separator: "\n")
                }
                let before = try state()
                let values = [
                    roots, "/", "", "..", "\n", "/proc/self/mem", "/dev/full", String(repeating: "x", count: 100_000),
                    "unix:path=\(roots)/bus", "@\(roots)", "99999999999999999999", "\u{1b}[2J",
                ]
                var random = Random(seed: seed)
                let environment = [
                    "HOME", "PATH", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS",
                    "XDG_STATE_HOME",
                    "XDG_RUNTIME_DIR", "NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "CREDENTIALS_DIRECTORY",
                    "JOURNAL_STREAM",
                    "DBUS_SESSION_BUS_ADDRESS", "TMPDIR", "LD_LIBRARY_PATH", "HTTPS_PROXY", "SSL_CERT_FILE",
                    "CURL_HOME", "TZ", "LANG",
                ].map { "\($0)=\(values.randomElement(using: &random) ?? "")" }
                for flags in [["-f"], []] {
                    let output = try mount.mount(environment: environment, flags: flags)
                    #expect(output.status < 126, "\(environment): \(output.errors)")
                    #expect(output.status == 0 || output.errors.hasPrefix("mount.rankfs: "), "\(output.errors)")
                }
                if Workplace.isMounted(mount.path) {
                    #expect(try mount.asNobody("ls", "\(mount.path)/ranking/daily").status == 0)
                    kill(try mount.process(), SIGTERM)
                    #expect(poll { !Workplace.isMounted(mount.path) })
                }
                #expect(try state() == before, "\(environment)")
            }
        }

        @Test func aCrashLeavesNothingOrIsRecovered() async throws {
            try await withWorkplace { workplace in
                let mount = try GuardedMount(workplace, of: try OriginProcess(workplace))
                #expect(try mount.mount().status == 0)
                kill(try mount.process(), SIGKILL)
                #expect(poll { !Workplace.isMounted(mount.path) }, "the guard unmounts")

                #expect(try mount.mount().status == 0)
                let process = try mount.process()
                let guardian = try #require(try mount.guardian(of: process))
                let second = try #require(try mount.guardian(of: guardian))
                for number in [guardian, second, process] { kill(number, SIGKILL) }
                #expect(poll { (try? mount.asNobody("ls", mount.path).errors.contains("not connected")) == true })
                let again = try mount.mount()
                #expect(again.status == 0, "\(again.errors)")
                #expect(try mount.asNobody("ls", mount.path).lines.contains("ranking"))
                #expect(try workplace.run("umount", mount.path).status == 0)
                #expect(!Workplace.isMounted(mount.path), "no dead mount lies below")
            }
        }

        @Test(arguments: [true, false]) func oneGuardIsEnough(isFirst: Bool) async throws {
            try await withWorkplace { workplace in
                let mount = try GuardedMount(workplace, of: try OriginProcess(workplace))
                #expect(try mount.mount().status == 0)
                let process = try mount.process()
                let guardian = try #require(try mount.guardian(of: process))
                let second = try #require(try mount.guardian(of: guardian))
                kill(isFirst ? guardian : second, SIGKILL)
                kill(process, SIGTERM)
                #expect(poll { !Workplace.isMounted(mount.path) })
            }
        }

        @Test func theGuardUnmountsItsOwnMountWhereverThatIs() async throws {
            try await withOrigin { workplace, origin in
                let outer = try workplace.folder("outer")
                let folder = try workplace.folder("outer/inner")
                for path in [outer, folder] { try workplace.run("chown", "nobody:", path) }
                let mount = try GuardedMount(workplace, of: origin, at: "outer/inner/mount")
                #expect(try mount.mount().status == 0)
                let process = try mount.process()
                // The user exchanges the folder above it, and another mount of theirs takes the place.
                #expect(try mount.asNobody("mv", folder, "\(outer)/moved").status == 0)
                let moved = "\(outer)/moved/mount"
                workplace.willMount(at: moved)
                let other = try GuardedMount(workplace, of: origin, at: "outer/inner/mount", cache: "other")
                #expect(try other.mount().status == 0 && other.path == mount.path && Workplace.isMounted(moved))
                kill(process, SIGKILL)
                #expect(poll { !Workplace.isMounted(moved) }, "the guard finds it")
                #expect(try other.asNobody("ls", other.path).lines.contains("ranking"), "the other one stays")
                // A link in the folder's place leads the guard nowhere.
                let second = try other.process()
                #expect(try mount.asNobody("mv", folder, "\(outer)/again").status == 0)
                #expect(try mount.asNobody("ln", "-s", "\(outer)/moved", folder).status == 0)
                let again = "\(outer)/again/mount"
                workplace.willMount(at: again)
                kill(second, SIGKILL)
                #expect(poll { !Workplace.isMounted(again) })
            }
        }

        @Test func whatTheUserMayNotDoIsNotDoneAsRoot() async throws {
            try await withWorkplace { workplace in
                let mount = try GuardedMount(workplace, of: try OriginProcess(workplace))
                for (options, reason) in [
                    (",cache_dir=/etc/rankfs-test", "cannot be written"),
                    (",cache_dir=/root", "/root belongs to user 0"),
                    (",top=x", "not understood"), (",setuid=nobody-here", "no user"), (",setuid=root,umask=9", "octal"),
                ] {
                    let refused = try mount.mount(options)
                    #expect(refused.status == 1 || refused.status == 32)
                    #expect(refused.errors.contains(reason) && refused.errors.split(separator: "\n").count == 1)
                    #expect(!Workplace.isMounted(mount.path))
                }
                // Root's places in the environment are not the user's.
                let evil = try workplace.folder("evil/rankfs")
                try Data("nonsense = 1\n".utf8).write(to: URL(filePath: "\(evil)/rankfs.conf"))
                let checked = try workplace.run(
                    "env", "-i", "HOME=/root", "XDG_CONFIG_HOME=\(workplace.directory.path)/evil", mount.helper,
                    "pixiv",
                    mount.path, "-f", "-o", "setuid=nobody")
                #expect(checked.status == 0 && !Workplace.isMounted(mount.path))
                try workplace.run("chown", "root:", mount.path)
                let refused = try mount.mount()
                #expect(refused.status == 32 && refused.errors.contains("does not belong to nobody"))
                #expect(!Workplace.isMounted(mount.path))
                let log = "\(workplace.directory.path)/link"
                try FileManager.default.createSymbolicLink(atPath: log, withDestinationPath: "/etc/rankfs-test.log")
                try workplace.run("chown", "nobody:", mount.path)
                let linked = try mount.mount(",log_file=\(log)")
                #expect(linked.status == 32 && linked.errors.contains("is a link"), "\(linked.errors)")
                #expect(!FileManager.default.fileExists(atPath: "/etc/rankfs-test.log"))
                #expect(!Workplace.isMounted(mount.path))
            }
        }
    }
}
