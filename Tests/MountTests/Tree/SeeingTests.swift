import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Watching".
    @Suite struct SeeingTests {
        @Test(arguments: Service.allCases) func figuresAgreeWithTheOriginsLog(service: Service) async throws {
            try await withMount(service, options: ["top=30"]) { workplace, origin, mount in
                let copy = try workplace.folder("copy")
                #expect(try workplace.run("cp", "-r", mount.day(), copy).status != 2)
                #expect(poll { mount.isIdle })
                let logged = origin.requests
                let api = logged.filter { !$0.isPicture && !$0.isConnection }
                let heads = logged.filter { $0.isPicture && $0.method == "HEAD" }
                let probes = origin.downloads.filter { $0.range == "bytes=0-0" }
                let downloads = origin.downloads.filter { $0.range != "bytes=0-0" }
                let bytes = downloads.reduce(Int64(0)) { $0 + ($1.bytes ?? 0) }
                // Of an answer that was cut short the origin may have sent all, and less came; of each picture all came.
                let copied = try FileManager.default.subpathsOfDirectory(atPath: copy).reduce(Int64(0)) { sum, name in
                    let facts = try FileManager.default.attributesOfItem(atPath: "\(copy)/\(name)")
                    return facts[.type] as? FileAttributeType == .typeRegular
                        ? sum + (facts[.size] as? Int64 ?? 0) : sum
                }
                let requests = try mount.figures("network", "requests")
                let number = { (purpose: String, name: String) in
                    (requests[purpose] as? [String: Any])?[name] as? Int
                }
                #expect(api.count > 0 && downloads.count > 20 && bytes > 1_000_000)
                #expect(number("api", "get") == api.count)
                #expect(number("size", "head") == heads.count && number("size", "get") == probes.count)
                #expect(number("picture", "get") == downloads.count)
                let received = try #require(number("picture", "received_bytes").map { Int64($0) })
                #expect(copied > 1_000_000 && received >= copied && received <= bytes)
                #expect(try mount.figures("cache")["received_bytes"] as? Int == Int(received))
                let metrics = String(decoding: try read("\(mount.path)/.rankfs/metrics").get(), as: UTF8.self)
                for line in [
                    #"rankfs_http_requests_total{method="get",purpose="api"} \#(api.count)"#,
                    #"rankfs_http_requests_total{method="head",purpose="size"} \#(heads.count)"#,
                    #"rankfs_http_received_bytes_total{purpose="picture"} \#(received)"#,
                ] {
                    #expect(metrics.contains("\n\(line)\n"), "\(line)")
                }
                #expect(try mount.names("\(mount.path)/.rankfs").contains("metrics"))
                #expect(try workplace.run("ls", "-a", mount.path).lines.contains(".rankfs") == false)
            }
        }

        @Test(arguments: Service.kinds) func whatIsReadIsNamedAsPeopleKnowIt(service: Service) async throws {
            try await withMount(
                service, origin: ["--rate", "60000", "--no-chunked"], options: ["connections=3", "top=5"]
            ) { workplace, origin, mount in
                let picture = try mount.picture(1, in: mount.day())
                let reader = try workplace.start("/bin/cat", [picture])
                let path = picture.dropFirst(mount.path.count + 1)
                let downloads = { (try? mount.figures("cache"))?["downloads"] as? [[String: Any]] ?? [] }
                #expect(
                    poll {
                        downloads().contains { $0["path"] as? String == String(path) && $0["is_read"] as? Bool == true }
                    })
                reader.signal(SIGTERM)
                _ = reader.wait(upTo: 10)
            }
        }

        @Test func theServiceManagerIsTold() async throws {
            try await withOrigin { workplace, origin in
                let manager = try DatagramSocket(workplace.directory.appending(path: "notify").path)
                let variables = ["NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "200000"]
                let mount = try Mount(workplace, of: origin, variables: variables)
                #expect(manager.receive()?.hasPrefix("READY=1\nSTATUS=serving pixiv on \(mount.path)") == true)
                for _ in 1...2 { #expect(manager.receive() == "WATCHDOG=1") }
                mount.child.signal(SIGTERM)
                #expect(poll { manager.receive() == "STOPPING=1" })
                #expect(mount.child.wait(upTo: 10)?.status == 0)
            }
        }

        @Test(arguments: Service.kinds) func signalsDropListingsAndChangeTheLog(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let log = { mount.child.errorText.split(separator: "\n") }
                _ = try mount.names(mount.day())
                #expect(poll { (try? mount.figures("catalog"))?["loaded_listings"] as? Int == 1 })
                mount.child.signal(SIGHUP)
                #expect(poll { log().contains("rankfs: info: dropped listings from memory") })
                #expect(try !mount.names(mount.day()).isEmpty)
                #expect(!mount.child.errorText.contains("debug:"))
                mount.child.signal(SIGUSR1)
                #expect(poll { log().contains("rankfs: info: log level is now debug") })
                _ = try mount.names(mount.day(nil, "2024-05-02"))
                let tellsRequests = poll {
                    log().contains {
                        $0.hasPrefix("rankfs: debug: api GET ") && $0.contains(service.lists) && $0.contains(": 200, ")
                            && $0.hasSuffix(" ms")
                    }
                }
                #expect(tellsRequests, "\(mount.child.errorText)")
                mount.child.signal(SIGUSR1)
                #expect(poll { log().contains("rankfs: info: log level is now info") })
                #expect(mount.unmount())
            }
        }

        @Test func aWatchEndsWithItsMount() async throws {
            try await withMount { workplace, origin, mount in
                let json = try workplace.start("rankfs", ["status", mount.path, "--watch", "--json"])
                let plain = try workplace.start("rankfs", ["status", mount.path, "--watch"])
                var variables = ProcessInfo.processInfo.environment
                variables["TERM"] = "xterm"
                // script(1) gives it a terminal.
                let commands = (0..<2).map { _ in "exec \(Workplace.rankfs) status --watch \(mount.path)" }
                let terminals = try commands.map {
                    try workplace.start("/usr/bin/script", ["-qec", $0, "/dev/null"], environment: variables)
                }
                #expect(poll { json.outputText.hasSuffix("}\n") && plain.outputText.contains(" idle, ") })
                #expect(
                    poll { terminals.allSatisfy { $0.outputText.contains("reading") } }, "\(terminals[0].outputText)")
                // Ctrl-C, as the terminal sends it.
                #expect(try workplace.run("pkill", "-INT", "-P", "\(terminals[0].pid)").status == 0)
                let stopped = try #require(terminals[0].wait(upTo: 10))
                #expect(mount.unmount())
                let ended = try #require(terminals[1].wait(upTo: 10))
                for (output, last) in [(stopped, ""), (ended, "rankfs: \(mount.path) has been unmounted.\r\n")] {
                    #expect(output.status == 0)
                    #expect(output.output.hasPrefix("\u{1B}[?1049h\u{1B}[?25l"))
                    #expect(output.output.hasSuffix("\u{1B}[?25h\u{1B}[?1049l\(last)"))
                }
                for child in [json, plain] {
                    let output = try #require(child.wait(upTo: 10))
                    #expect(output.status == 0 && output.errors == "rankfs: \(mount.path) has been unmounted.\n")
                }
                for line in json.outputText.split(separator: "\n") {
                    #expect(try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any])
                }
            }
        }

        @Test func aMountWhoseProcessDiesIsToldAndTheOthersToo() async throws {
            try await withMount { workplace, origin, mount in
                let store = try workplace.folder("other-cache")
                let other = try Mount(workplace, of: origin, options: ["cache_dir=\(store)"], named: "other")
                let watch = try workplace.start("rankfs", ["status", mount.path, "--watch", "--json"])
                #expect(poll { !watch.outputText.isEmpty })
                mount.killHard()
                let output = try #require(watch.wait(upTo: 10))
                #expect(output.status == 69)
                #expect(output.errors.hasPrefix("rankfs: the process behind \(mount.path) has died; "))
                // One that is dead does not keep the command from telling of the others.
                let all = try workplace.rankfs("status")
                #expect(all.status == 69 && all.errors.contains("the process behind \(mount.path) has died"))
                #expect(all.lines.contains { $0.hasPrefix("\(other.path): pixiv, rankfs ") })
                #expect(try workplace.rankfs("unmount", mount.path).status == 0)
            }
        }
    }
}

/// A service manager's end of sd_notify(3).
final class DatagramSocket {
    let path: String
    private let descriptor: Int32

    init(_ path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let socket = descriptor
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw Failure("no socket at \(path): \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    /// The next message; nil if none comes.
    func receive(upTo milliseconds: Int32 = 20_000) -> String? {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&waiting, 1, milliseconds) > 0 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
