import Foundation
import Glibc
import TestSupport
import Testing

extension MountSuite {
    /// The table at the end of GettingStarted.md: each sentence is what its situation really shows.
    @Suite(.enabled(if: OwnNamespace.canOpenDevice)) struct FirstMinutesTests {
        /// A situation of a new user, and all that is said in it.
        private typealias Situation = (name: String, output: @Sendable (Workplace) throws -> String)

        private static let situations: [Situation] = [
            ("the kernel has no FUSE", { try inDevices("true", $0) }),
            (
                "the container may not mount",
                { workplace in
                    let without = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]
                    return said(try workplace.run(without + [program, "mount", "demo", workplace.folder("m")]))
                }
            ),
            ("FUSE is not for this user", { try inDevices("mknod -m 600 /dev/fuse c 10 229", $0) }),
            (
                "fusermount3 is missing",
                { try inDevices("mknod -m 666 /dev/fuse c 10 229; mount --bind /dev/null /usr/bin/fusermount3", $0) }
            ),
            ("the folder is not empty", { try rankfs("mount", "demo", $0.directory.path, in: $0) }),
            (
                "the folder is another user's",
                { workplace in
                    let folder = try workplace.folder("roots")
                    let open = try OwnNamespace.withOpenDevice(workplace.folder("device"))
                    return said(try workplace.run(open + user(workplace) + [program, "mount", "demo", folder]))
                }
            ),
            ("the source has another name", { try rankfs("mount", "pixv", $0.folder("m"), in: $0) }),
            ("an option is mistyped", { try rankfs("mount", "demo", $0.folder("m"), "-o", "cachesize=3", in: $0) }),
            (
                "there is no network",
                { try mounted($0, "ls ranking/daily/latest/") { origin, _ in origin.stop() } }
            ),
            ("nobody is signed in", { try mounted($0, "ls bookmarks/") { _, _ in } }),
            (
                "the cookie is no session",
                { workplace in
                    try Data("abc\n".utf8).write(to: workplace.directory.appending(path: "cookies.txt"))
                    return try rankfs("login", workplace.directory.appending(path: "cookies.txt").path, in: workplace)
                }
            ),
            (
                "the session has ended",
                { workplace in
                    let origin = try OriginProcess(workplace)
                    let expired = "\(origin.direct)/_control/expire-sessions"
                    #expect(try workplace.run("curl", "-sf", "-X", "POST", expired).status == 0)
                    let file = workplace.directory.appending(path: "cookies.txt")
                    try Data("PHPSESSID=1000_visitorsecret\n".utf8).write(to: file)
                    return try rankfs("login", file.path, "-o", origin.mountOptions, in: workplace)
                }
            ),
            (
                "the disk is full",
                { workplace in
                    let small = try workplace.folder("small")
                    let script = "mount -t tmpfs -o size=1m none \"$0\" && exec \"$@\""
                    let place = ["-m", "--propagation", "private", "sh", "-c", script, small, program]
                    let words = ["mount", "-f", "demo", try workplace.folder("m"), "-o", "cache_dir=\(small)/cache"]
                    let child = try workplace.start("/usr/bin/unshare", place + words)
                    _ = poll { child.errorText.contains("mounted") }
                    child.signal(SIGTERM)
                    return said(try #require(child.wait(upTo: 10)))
                }
            ),
            (
                "a browser check stands in front",
                {
                    try mounted($0, "ls ranking/daily/latest/") { origin, workplace in
                        try origin.spoil([#"{"action":"challenge","path":"/"}"#], in: workplace)
                    }
                }
            ),
        ]

        @Test func everySentenceOfTheTableIsSaid() async throws {
            let page = TestPrograms.root.appending(path: "Sources/rankfs/Documentation.docc/GettingStarted.md")
            let table = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
                .filter { $0.hasPrefix("| ") }.dropFirst(2)
                .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
            #expect(table.map { $0[0] } == Self.situations.map(\.name))
            for (row, situation) in zip(table, Self.situations) {
                try await withWorkplace { workplace in
                    let output = try situation.output(workplace)
                    // What stands in backquotes is said, the commands of the table's own words apart.
                    let sentences = row[1].split(separator: "`", omittingEmptySubsequences: false).enumerated().filter {
                        $0.offset % 2 == 1 && !$0.element.hasPrefix("ls") && !$0.element.hasPrefix("rankfs ")
                    }
                    #expect(!sentences.isEmpty)
                    for sentence in sentences {
                        #expect(output.contains(sentence.element), "\(situation.name): \(output)")
                    }
                }
            }
        }

        /// rankfs(1), "EXIT STATUS": the folder is at fault, or the system.
        @Test func whatCannotBeMountedHasItsStatus() async throws {
            try await withWorkplace { workplace in
                let open = try OwnNamespace.withOpenDevice(workplace.folder("device"))
                let words = [Self.program, "mount", "demo", try workplace.folder("roots")]
                let refused = try workplace.run(open + Self.user(workplace) + words)
                #expect(refused.status == 32, "\(refused)")
                let without = try Self.outcome(inDevices: "true", workplace)
                #expect(without.status == 71, "\(without)")
            }
        }

        // MARK: -

        private static let program = Workplace.rankfs

        private static func said(_ output: Output) -> String { output.output + output.errors }

        /// Begins a command line of an ordinary user whose home is in the workplace.
        private static func user(_ workplace: Workplace) throws -> [String] {
            let home = try workplace.folder("home")
            #expect(try workplace.run("chown", "nobody", home).status == 0)
            return [
                "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "env", "HOME=\(home)",
                "XDG_CACHE_HOME=\(home)/cache",
            ]
        }

        /// What a command of this user says, with a home in the workplace.
        private static func rankfs(_ words: String..., in workplace: Workplace) throws -> String {
            let home = try workplace.folder("home")
            let variables = ["HOME=\(home)", "XDG_CACHE_HOME=\(home)/cache", "XDG_STATE_HOME=\(home)/state"]
            return said(try workplace.run(["env"] + variables + [program] + words))
        }

        /// What an ordinary user's mount says in a namespace with devices of its own, of which a command makes `/dev/fuse`.
        private static func inDevices(_ command: String, _ workplace: Workplace) throws -> String {
            said(try outcome(inDevices: command, workplace))
        }

        private static func outcome(inDevices command: String, _ workplace: Workplace) throws -> Output {
            let script = """
                mount -t tmpfs none /dev && mknod -m 666 /dev/null c 1 3 && mknod -m 666 /dev/urandom c 1 9 && \(command) && exec "$@"
                """
            let place = ["/usr/bin/unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh"]
            let user = try user(workplace)
            return try workplace.run(place + user + [program, "mount", "demo", workplace.folder("home") + "/Rankings"])
        }

        /// What a command below a mount says after a change of its origin, then the mount's status and log.
        private static func mounted(
            _ workplace: Workplace, _ command: String, _ change: (OriginProcess, Workplace) throws -> Void
        ) throws -> String {
            let origin = try OriginProcess(workplace)
            let mount = try Mount(workplace, of: origin)
            try change(origin, workplace)
            let output = said(try workplace.run("sh", "-c", "cd \(mount.path) && \(command)"))
            let status = said(try workplace.rankfs("status", mount.path))
            #expect(mount.unmount())
            return output + status + mount.child.errorText
        }
    }
}
