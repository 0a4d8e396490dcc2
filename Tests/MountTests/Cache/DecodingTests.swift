import CLinux
import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Decoded apart".
    @Suite struct DecodingTests {
        /// The processes that decode for a mount (proc(5), `children`).
        private func renderers(_ mount: Mount) -> [Int32] {
            let tasks = "/proc/\(mount.child.pid)/task"
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
            let children = threads.flatMap { thread in
                (try? String(contentsOfFile: "\(tasks)/\(thread)/children", encoding: .utf8))?
                    .split(separator: " ").compactMap { Int32($0) } ?? []
            }
            return children.filter { child in
                (try? String(contentsOfFile: "/proc/\(child)/comm", encoding: .utf8)) == "rankfs-render\n"
            }
        }

        @Test(arguments: [SIGKILL, SIGSEGV]) func whatEndsItIsAnErrorOfThatFile(signal: Int32) async throws {
            try await withMount { workplace, origin, mount in
                #expect(renderers(mount).isEmpty, "nothing was to be decoded")
                let film = "\(mount.path)/works/\(Works.animation)/ugoira.webp"
                // Laid out by a process that then idles, and stays stopped until it has the next job.
                _ = try read("\(mount.path)/works/\(Works.animation)/ugoira.mkv").get()
                let idle = try #require(renderers(mount).first)
                kill(idle, SIGSTOP)
                let reader = try workplace.start("/bin/cat", [film])
                #expect(poll { reader.waitsForAMount })
                for signal in [signal, SIGCONT] { kill(idle, signal) }
                let output = try #require(reader.wait(upTo: 30))
                #expect(output.status == 1 && output.errors.contains("Input/output error"))
                #expect(mount.child.process.isRunning)
                // The line is written behind the reader's answer.
                let isLogged = poll { mount.child.errorText.contains("the process that decodes pictures ended") }
                #expect(isLogged, "\(mount.child.errorText)")
                #expect(try read(film).get().starts(with: Array("RIFF".utf8)))
            }
        }

        private static func isConfined(_ process: Int32) -> Bool {
            let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            return status?.contains("Seccomp:\t2") ?? false
        }

        /// Whether a process has memory: one that is gone, or left for its new parent to take note of, has none (proc(5)).
        private static func isAlive(_ process: Int32) -> Bool {
            (try? Data(contentsOf: URL(filePath: "/proc/\(process)/cmdline")))?.isEmpty == false
        }

        @Test func itEndsWithAMountThatIsKilled() async throws {
            try await withMount { workplace, origin, mount in
                let film = "\(mount.path)/works/\(Works.animation)/ugoira.webp"
                let reader = try workplace.start("/usr/bin/timeout", ["60", "cat", film])
                let isReady = poll(upTo: 30) { renderers(mount).contains(where: Self.isConfined) }
                // Ready for jobs, of which a stopped one does not end.
                let found = renderers(mount).filter(Self.isConfined)
                for process in found { kill(process, SIGSTOP) }
                mount.killHard()
                let areGone = poll(upTo: 10) { !found.contains(where: Self.isAlive) }
                #expect(isReady && areGone)
                for process in found where !areGone { kill(process, SIGKILL) }
                _ = reader.wait(upTo: 10)
            }
        }

        /// A copy of the program, with nothing beside it.
        private func lonelyProgram(_ workplace: Workplace) throws -> String {
            let program = workplace.directory.appending(path: "rankfs").path
            try FileManager.default.copyItem(atPath: Workplace.rankfs, toPath: program)
            return program
        }

        /// A mount by a copy of the program; the folder of an animation in it.
        private func mount(
            by program: String, _ workplace: Workplace, _ origin: OriginProcess, _ options: String = ""
        ) throws -> (child: Child, work: String) {
            let folder = try workplace.folder("mount")
            workplace.willMount(at: folder)
            let cache = workplace.directory.appending(path: "cache").path
            let given = "\(origin.mountOptions),cache_dir=\(cache),rate=1000\(options)"
            let child = try workplace.start(program, ["mount", "-f", "pixiv", folder, "-o", given])
            #expect(poll { Workplace.isMounted(folder) }, "\(child.errorText)")
            return (child, "\(folder)/works/\(Works.animation)")
        }

        /// A program in the place of `rankfs-render` that the kernel does not confine.
        @Test(arguments: [("confined", true), ("unconfined", false), ("off", false)])
        func whereNothingConfinesItNothingIsDecoded(_ decoding: String, _ isTold: Bool) async throws {
            try await withOrigin { workplace, origin in
                let program = try lonelyProgram(workplace)
                let script = """
                    #!/usr/bin/python3 -IS
                    import socket, struct
                    s = socket.socket(fileno=3)
                    s.sendall(struct.pack('<Iqq', 16, 0x726b0002, 0))
                    s.recv(1)
                    """
                let renderer = workplace.directory.appending(path: "rankfs-render").path
                try Data(script.utf8).write(to: URL(filePath: renderer))
                chmod(renderer, 0o755)
                let (child, work) = try mount(by: program, workplace, origin, ",decoding=\(decoding)")
                for _ in 0..<2 { #expect(throws: (any Error).self) { try read("\(work)/ugoira.mkv").get() } }
                let word = decoding == "off" ? "decoding=off" : isTold ? "decoding=unconfined" : "ended at it"
                #expect(poll { child.errorText.contains(word) }, "\(child.errorText)")
                let lines = child.errorText.split(separator: "\n").filter { $0.contains("nothing is decoded:") }
                #expect(lines.count == (isTold ? 1 : 0), "\(child.errorText)")
                #expect(try read("\(work)/p0.jpg").get().starts(with: [0xff, 0xd8]))
                let doctor = try workplace.run(program, "doctor", "-o", "\(origin.mountOptions),decoding=\(decoding)")
                #expect(doctor.output.contains(decoding == "off" ? "for decoding=off" : "filter"), "\(doctor.output)")
            }
        }

        @Test func withoutItEverythingElseWorks() async throws {
            try await withWorkplace { workplace in
                let program = try lonelyProgram(workplace)
                let (child, work) = try mount(by: program, workplace, OriginProcess(workplace))
                #expect(try read("\(work)/p0.jpg").get().starts(with: [0xff, 0xd8]))
                #expect(try read("\(work)/ugoira.zip").get().starts(with: Array("PK".utf8)))
                #expect(throws: (any Error).self) { try read("\(work)/ugoira.mkv").get() }
                let isLogged = poll { child.errorText.contains("the program rankfs-render is missing; looked for ") }
                #expect(isLogged, "\(child.errorText)")
                let demo = try workplace.run(program, "demo", try workplace.folder("tour"))
                #expect(
                    demo.status == 69 && demo.errors.contains("the program rankfs-origin is missing"), "\(demo.errors)")
            }
        }

        /// What decodes, draws and serves is in other programs.
        @Test func theServingProgramHasNoDecoder() async throws {
            try await withWorkplace { workplace in
                let output = try workplace.run("readelf", "-d", Workplace.rankfs)
                #expect(output.status == 0 && output.output.contains("libfuse3"))
                for library in ["jpeg", "webp", "png", "cairo", "microhttpd"] {
                    #expect(!output.output.contains(library), "\(library)")
                }
                #expect(try workplace.run("grep", "-q", "17_StringProcessing", Workplace.rankfs).status == 1)
            }
        }

        /// A program that reads a session is closed to the other programs of its user, and leaves no dump.
        @Test(.enabled(if: geteuid() == 0, "only root may be another user"))
        func nobodyElseLooksIntoIt() async throws {
            try await withWorkplace { workplace in
                let program = try lonelyProgram(workplace)
                let pipe = workplace.directory.appending(path: "cookies.txt").path
                #expect(mkfifo(pipe, 0o666) == 0 && chmod(pipe, 0o666) == 0)
                let home = try workplace.folder("home")
                // It waits for somebody who writes a cookie.
                let child = try workplace.start(
                    "/usr/bin/setpriv",
                    ["--reuid=nobody", "--regid=nogroup", "--clear-groups", program, "login", pipe],
                    environment: ["HOME": home, "PATH": "/usr/bin:/bin"])
                defer { child.signal(SIGKILL) }
                let place = "/proc/\(child.pid)"
                #expect(
                    poll { (try? String(contentsOfFile: "\(place)/comm", encoding: .utf8)) == "rankfs\n" },
                    "\(child.errorText)")
                // Files of a process that may be looked into are its user's (proc(5), PR_SET_DUMPABLE).
                #expect(
                    poll {
                        (try? FileManager.default.attributesOfItem(atPath: "\(place)/environ")[.ownerAccountID] as? Int)
                            == 0
                    })
                let limits = try String(contentsOfFile: "\(place)/limits", encoding: .utf8)
                let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
                #expect(core?.split(separator: " ").suffix(3) == ["0", "0", "bytes"], "\(limits)")
            }
        }
    }
}
