import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Lines that a hostile fstab, caller or link could bring to the built helper: nothing runs, nothing is mounted, and one
    /// sentence says why.
    @Suite struct HostileTests {
        /// What a line is made from: the folder to mount on is `M`, the test's directory `T`.
        struct Line: Sendable, CustomTestStringConvertible {
            let words: [String]
            /// What the sentence must contain.
            let reason: String
            var environment: [String] = []
            var user: String?

            init(_ words: String..., reason: String, environment: [String] = [], as user: String? = nil) {
                self.words = words
                self.reason = reason
                self.environment = environment
                self.user = user
            }

            var testDescription: String { String("\(words)".prefix(120)) }
        }

        static let sources = [
            "pixiv\ntouch T/ran", "pixiv;touch T/ran", "$(touch T/ran)", "`touch T/ran`", "pixiv|touch T/ran",
            "pixiv && touch T/ran", "'; touch T/ran; '", "../pixiv", "/etc/passwd", "pixiv\u{202e}",
            "pixiv,allow_other",
            "https://user:secret@127.0.0.1/", "file:///etc/passwd", "-oallow_other", "--", "-f", "--help",
            "PHPSESSID=1_secret", String(repeating: "a", count: 70_000), "", "\u{ff}\u{fe}",
        ].map { Line($0, "M", "-o", "ro", reason: "is not a source") }

        static let options: [Line] =
            [
                "nonsense", "--foreground", "-f", "ready_fd=3", "ready-fd=3", "fd=3", "rootmode=40000", "user_id=0",
                "drop_privileges", "password=x", "debug", "mount_guard=1", "ro\\,allow_other", "allow_otherr",
                "ld_preload=T/x.so", "ro\nallow_other",
                (0..<5000).map { "unknown\($0)=1" }.joined(separator: ","),
            ].map { Line("pixiv", "M", "-o", $0, reason: "option") } + [
                Line("pixiv", "M", "-o", "cookies=PHPSESSID=1_secret", reason: "never the cookie itself"),
                Line("pixiv", "M", "-o", "proxy=http://u:secret@127.0.0.1:1", reason: "may not name a user"),
                Line("pixiv", "M", "-o", "api_url=http://u:secret@127.0.0.1:1", reason: "without user name"),
                Line("pixiv", "M", "-o", "api_url=file:///etc/passwd", reason: "not understood"),
                Line("pixiv", "M", "-o", "cache_dir=/etc", reason: "not rankfs's"),
                Line("pixiv", "M", "-o", "cache_dir=/", reason: "not rankfs's"),
                Line("pixiv", "M", "-o", "cache_dir=/proc/rankfs-test", reason: "cannot be written"),
                Line("pixiv", "M", "-o", "cache_dir=M/cache", reason: "inside the mount point"),
                Line("pixiv", "M", "-o", "cache_dir=T/file", reason: "cannot be written"),
                Line("pixiv", "M", "-o", "cache_dir=", reason: "not understood"),
                Line("pixiv", "M", "-o", "log_file=\u{7f}", reason: "not understood"),
                Line("pixiv", "M", "-o", "user_agent=a\r\nCookie: b", reason: "not understood"),
                Line("pixiv", "M", "-o", "top=3,top=3;touch T/ran", reason: "not understood"),
                Line("pixiv", "M", "-o", "uid=-1", reason: "needs a number"),
                Line("pixiv", "M", "-o", "gid=4294967295", reason: "needs a number"),
                Line("pixiv", "M", "-o", "umask=01777", reason: "octal"),
                Line("pixiv", "M", "-o", "setuid=", reason: "needs the name"),
                Line("pixiv", "M", "-o", "setuid=nobody-here", reason: "no user"),
                Line("pixiv", "M", "-o", "setuid=$(touch T/ran)", reason: "no user"),
                Line("pixiv", "M", "-o", "remount", reason: "not a mount of rankfs"),
                Line("pixiv", "M", "-o", "remount,setuid=0", reason: "not a mount of rankfs"),
            ]

        static let folders = [
            Line("pixiv", "T/nowhere", reason: "does not exist"),
            Line("pixiv", "T/no\nwhere", reason: "does not exist"),
            Line("pixiv", "T/file", reason: "not a folder"), Line("pixiv", "T/dangling", reason: "does not exist"),
            Line("pixiv", "T/to-file", reason: "not a folder"), Line("pixiv", "/", reason: "not empty"),
            Line("pixiv", "/etc", reason: "not empty"), Line("pixiv", "/proc", reason: "not empty"),
            Line("pixiv", "/dev/null", reason: "not a folder"), Line("pixiv", "/dev/fd/0", reason: "not a folder"),
            Line("pixiv", "/proc/self/fd/0", reason: "not a folder"), Line("pixiv", "T/..", reason: "not empty"),
            Line("pixiv", "M\u{202e}", reason: "does not exist"), Line("pixiv", "", reason: "give a source"),
            Line("pixiv", "/" + String(repeating: "d/", count: 100), reason: "does not exist"),
            Line("pixiv", reason: "give a source"), Line("M", reason: "give a source"), Line(reason: "give a source"),
            Line("pixiv", "M", "M", reason: "give a source"), Line("pixiv", "M", "-N", "1", reason: "not an option"),
            Line("pixiv", "M", "-o", reason: "needs a value"), Line("pixiv", "M", "-z", reason: "not an option"),
            Line("pixiv", "M", "--", "-o", "ro", reason: "not an option"),
        ]

        static let environments = [
            Line("pixiv", "M", reason: "not understood", environment: ["RANKFS_TOP=x"]),
            Line("pixiv", "M", reason: "not understood", environment: ["RANKFS_PROXY=http://u:secret@"]),
            Line("pixiv", "M", reason: "is unknown", environment: ["XDG_CONFIG_HOME=T/evil"]),
        ]

        /// Of a user who is not root.
        static let others = [
            Line("pixiv", "M", "-o", "setuid=0", reason: "only root", as: "nobody"),
            Line("pixiv", "M", "-o", "setuid=root", reason: "only root", as: "nobody"),
            Line("pixiv", "M", "-o", "setuid=daemon,allow_other", reason: "only root", as: "nobody"),
            Line("pixiv", "M", "-o", "cache_dir=/etc", reason: "not rankfs's", as: "nobody"),
            Line("pixiv", "M", "-o", "cache_dir=/root/x", reason: "cannot be written", as: "nobody"),
            Line("pixiv", "/root", reason: "cannot be used", as: "nobody"),
        ]

        @Test func hostileLinesMountNothing() async throws {
            try await withWorkplace { workplace in
                let lines =
                    Self.sources + Self.options + Self.folders + Self.environments + (geteuid() == 0 ? Self.others : [])
                #expect(lines.count > 80)
                let place = try Place(workplace, lines)
                for line in lines { try place.expectRefusal(of: line) }
            }
        }

        /// A folder whose name is not UTF-8 is refused, and none is made in its place.
        @Test func namesThatAreNoTextAreRefused() async throws {
            try await withWorkplace { workplace in
                let place = try workplace.folder("place")
                let line =
                    "mkdir \"$(printf '%s/x\\377' \"$1\")\" && exec \"$0\" mount \"$(printf '%s/x\\377' \"$1\")\""
                let output = try workplace.run("sh", "-c", line, Workplace.rankfs, place)
                #expect(output.status == 64 && output.errors.contains("not UTF-8"), "\(output.errors)")
                #expect(try workplace.run("ls", "-b", place).lines == ["x\\377"])
            }
        }

        /// Nothing is read or written in another folder than the one that the user means.
        @Test func foldersThatHaveNoNameAreRefused() async throws {
            try await withWorkplace { workplace in
                let lines = [
                    ("mkdir x && cd x && rmdir ../x && exec \"$0\" doctor -o cache_dir=c", "absolute path"),
                    ("mkdir x && cd x && rmdir ../x && exec \"$0\" pin c", "does not exist any more"),
                    ("XDG_CACHE_HOME=\"$(printf '/x\\377')\" exec \"$0\" cache info", "XDG_CACHE_HOME is not UTF-8"),
                    (
                        "RANKFS_CACHE_DIR=\"$(printf '/x\\377')\" exec \"$0\" cache info",
                        "RANKFS_CACHE_DIR is not UTF-8"
                    ),
                ]
                for (line, reason) in lines {
                    let output = try workplace.run(
                        "sh", "-c", "cd \"$1\" && \(line)", Workplace.rankfs, workplace.directory.path)
                    #expect(output.status == 64 && output.errors.contains(reason), "\(line): \(output.errors)")
                }
            }
        }

        /// The folder, program and files that lines speak of.
        private struct Place {
            let workplace: Workplace
            let directory: String
            let folder: String
            let helper: String
            /// Where lines want a mount.
            let places: Set<String>

            init(_ workplace: Workplace, _ lines: [Line]) throws {
                self.workplace = workplace
                places = Set(
                    lines.flatMap(\.words).filter { $0.hasPrefix("/") } + [
                        workplace.directory.deletingLastPathComponent().path
                    ])
                directory = workplace.directory.path
                folder = try workplace.folder("mount")
                helper = "\(directory)/mount.rankfs"
                // A copy, because where it was built may be closed to others.
                try FileManager.default.copyItem(atPath: Workplace.rankfs, toPath: helper)
                try Data().write(to: URL(filePath: "\(directory)/file"))
                for (link, target) in [("dangling", "\(directory)/nowhere"), ("to-file", "\(directory)/file")] {
                    try FileManager.default.createSymbolicLink(
                        atPath: "\(directory)/\(link)", withDestinationPath: target)
                }
                let evil = try workplace.folder("evil/rankfs")
                try Data("nonsense = 1\n".utf8).write(to: URL(filePath: "\(evil)/rankfs.conf"))
            }

            /// Whether any process runs the helper.
            private var isRunning: Bool {
                let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.filter {
                    Int32($0) != nil
                }
                return (numbers ?? []).contains {
                    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\($0)/exe")) == helper
                }
            }

            /// Mounts in the test's directory, or of rankfs on a place that a line names: other people mount meanwhile.
            private func mounts() throws -> [Substring] {
                let table = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
                return table.split(separator: "\n").filter { line in
                    let point = line.split(separator: " ").dropFirst(4).first.map(String.init) ?? ""
                    return point.hasPrefix(directory) || line.contains(" - fuse.rankfs ") && places.contains(point)
                }
            }

            private func expanded(_ word: String) -> String {
                word == "M" ? folder : word.replacing("M/", with: folder + "/").replacing("T/", with: directory + "/")
            }

            func expectRefusal(of line: Line) throws {
                let words = line.words.map(expanded)
                let environment = line.environment.map(expanded)
                let user = line.user.map { ["setpriv", "--reuid=\($0)", "--regid=nogroup", "--clear-groups"] } ?? []
                let output = try workplace.run(user + ["env", "-i"] + environment + [helper] + words, upTo: 20)
                let text = output.errors
                #expect([1, 2, 32].contains(output.status), "\(line.testDescription): \(output.status) \(text)")
                #expect(text.contains(line.reason), "\(line.testDescription): \(text.prefix(300))")
                #expect(
                    text.split(separator: "\n").count == 1 && (text.hasSuffix(".\n") || text.hasSuffix("?\n"))
                        && text.utf8.count < 600 && !text.contains("secret") && !text.contains("\u{202e}"),
                    "\(line.testDescription): \(text.prefix(300))")
                #expect(output.output.isEmpty)
                #expect(!FileManager.default.fileExists(atPath: "\(directory)/ran"), "\(line.testDescription) ran")
                #expect(try mounts().isEmpty, "\(line.testDescription) mounted")
                #expect(!isRunning, "\(line.testDescription) stays")
            }
        }
    }
}
