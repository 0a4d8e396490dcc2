import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Shared with other machines".
    @Suite struct FleetTests {
        /// Pictures that are read of a day.
        static let pictures = 6

        /// A machine: a mount with a cache of its own.
        func machine(
            _ name: String, _ workplace: Workplace, _ origin: OriginProcess, _ store: SharedStore, prefix: String,
            options: [String] = [], ahead: Int = 0
        ) throws -> Mount {
            let cache = workplace.directory.appending(path: "cache-\(name)").path
            return try Mount(
                workplace, of: origin,
                options: ["cache_dir=\(cache)"] + store.options(workplace, prefix: prefix) + options, named: name,
                environment: ahead == 0 ? nil : try wrongClock(ahead, workplace))
        }

        /// The variables of a process whose clock is ahead by so many seconds (`Tests/Fleet/clock.c`); time passes for it as for others.
        private func wrongClock(_ ahead: Int, _ workplace: Workplace) throws -> [String: String] {
            let library = workplace.directory.appending(path: "clock.so").path
            if !FileManager.default.fileExists(atPath: library) {
                let source = OrderedScript.root.appending(path: "Tests/Fleet/clock.c").path
                let built = try workplace.run("clang", "-shared", "-fPIC", "-O1", "-o", library, source)
                guard built.status == 0 else { throw Failure("clock.c: \(built.errors)") }
            }
            var variables = ProcessInfo.processInfo.environment
            variables["XDG_CACHE_HOME"] = workplace.directory.appending(path: "xdg").path
            variables["LD_PRELOAD"] = library
            variables["CLOCK_AHEAD"] = "\(ahead)"
            return variables
        }

        /// The sizes of a whole day, and the bytes of its first pictures.
        func read(_ mount: Mount) throws -> [String: Data] {
            let day = mount.day()
            let names = try mount.readable(day).prefix(Self.pictures)
            return try Dictionary(
                uniqueKeysWithValues: names.map { name in
                    let data = try MountTests.read("\(day)/\(name)").get()
                    #expect(try status(of: "\(day)/\(name)").st_size == data.count)
                    return (name, data)
                })
        }

        func tier(_ mount: Mount) throws -> [String: Any] {
            try #require(try mount.status()["tier"] as? [String: Any])
        }

        func number(_ name: String, _ mount: Mount) throws -> Int {
            try #require(try tier(mount)[name] as? Int)
        }

        /// Returns once all that a machine has is on the store, and it has brought so many pictures: the last one joins those that
        /// wait a moment after its reader has it.
        func settle(_ mount: Mount, uploads: Int = 0) throws {
            let isDone = poll(upTo: 60) {
                (try? number("waiting", mount)) == 0 && (try? number("uploads", mount) >= uploads) == true
            }
            guard isDone else {
                throw Failure("still waiting: \(try tier(mount))")
            }
        }

        /// Ends a machine that has read a day; another one with its options reads the same and asks the service for nothing.
        func handOver(
            _ seen: [String: Data], from first: Mount, _ workplace: Workplace, _ origin: OriginProcess,
            _ store: SharedStore, prefix: String, options: [String]
        ) throws -> Mount {
            try settle(first, uploads: Self.pictures)
            #expect(first.unmount())
            let before = asked(origin).count
            let second = try machine("second", workplace, origin, store, prefix: prefix, options: options)
            #expect(try read(second) == seen)
            #expect(asked(origin).count == before)
            return second
        }

        /// What the origin was asked that is no connection made ahead.
        func asked(_ origin: OriginProcess) -> [LoggedRequest] { origin.requests.filter { !$0.isConnection } }

        func prefix() -> String { "t\(UUID().uuidString.lowercased())" }

        @Test(arguments: [3600, -3600])
        func aClockThatIsWrongChangesNothing(_ ahead: Int) async throws {
            try await withWorkplace { workplace in
                // A certificate made now would not be valid yet for a clock that is behind.
                let (origin, store) = (try OriginProcess(workplace, wire: .plain), try SharedStore.running())
                let prefix = prefix()
                let plain = ["prefetch=0"]
                let first = try machine(
                    "first", workplace, origin, store, prefix: prefix, options: plain, ahead: ahead)
                let seen = try read(first)
                try settle(first, uploads: Self.pictures)
                #expect(try tier(first)["state"] as? String == "up")
                let before = asked(origin).count
                let second = try machine("second", workplace, origin, store, prefix: prefix, options: plain)
                #expect(try read(second) == seen)
                let third = try machine(
                    "third", workplace, origin, store, prefix: prefix, options: plain, ahead: ahead)
                #expect(try read(third) == seen)
                #expect(asked(origin).count == before)
                // Its clock is the one that it was given.
                let told = try #require(try third.status()["time"] as? Int)
                #expect(abs(told - time(nil)) > 3000)
            }
        }

        @Test(arguments: [Service.pixiv, .danbooru])
        func whatOneMachineHasTheOtherDoesNotAskFor(_ service: Service) async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace, service: service), try SharedStore.running())
                let prefix = prefix()
                // What the one did not come to preload the other would ask for.
                let plain = ["prefetch=0"]
                let first = try machine("first", workplace, origin, store, prefix: prefix, options: plain)
                let second = try handOver(
                    try read(first), from: first, workplace, origin, store, prefix: prefix, options: plain)
                #expect(try number("hits", second) >= Self.pictures)
                #expect(try number("answers_asked", second) == 0)
            }
        }

        @Test func previewsOfADayAreAskedForOnce() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                let prefix = prefix()
                var before = 0
                for name in ["first", "second"] {
                    let mount = try machine(name, workplace, origin, store, prefix: prefix, options: ["top=6"])
                    _ = try mount.names(mount.day())
                    let seen = try workplace.run("python3", "-c", Self.thumbnails, mount.day())
                    #expect(seen.status == 0, "\(seen.errors)")
                    let withheld = try origin.ranking().prefix(Self.pictures).count { $0.isWithheld }
                    #expect(seen.output == "\(Self.pictures - withheld)")
                    let previews = origin.downloads.count { $0.path.contains(Service.pixiv.previews) }
                    #expect(before == 0 ? previews > 0 : previews == before)
                    before = previews
                    // What has come is written before the mount ends.
                    #expect(mount.unmount())
                }
            }
        }

        /// Prints how many pictures of a directory have a thumbnail in it.
        private static let thumbnails = """
            import hashlib, os, sys, urllib.parse
            day, count = sys.argv[1], 0
            for name in os.listdir(day):
                address = urllib.parse.quote(name, safe="/!$&'()*+,:=@~-._;")
                path = "%s/.sh_thumbnails/normal/%s.png" % (day, hashlib.md5(address.encode()).hexdigest())
                if os.path.exists(path): count += len(open(path, "rb").read()) > 0
            print(count, end="")
            """

        /// By how many seconds the clocks of machines are ahead.
        @Test(arguments: [[0, 0, 0, 0], [0, 3600, -3600]])
        func machinesAtOnceAskOnce(_ clocks: [Int]) async throws {
            try await withWorkplace { workplace in
                let wire = clocks.contains { $0 < 0 } ? Wire.plain : .tls
                let (origin, store) = (try OriginProcess(workplace, wire: wire), try SharedStore.running())
                let prefix = prefix()
                let machines = try clocks.enumerated().map { number, ahead in
                    try machine(
                        "machine\(number)", workplace, origin, store, prefix: prefix, options: ["prefetch=0"],
                        ahead: ahead)
                }
                let group = DispatchGroup()
                let found = Found()
                for mount in machines {
                    group.enter()
                    Thread.detachNewThread {
                        defer { group.leave() }
                        found.add(Result { try self.read(mount) })
                    }
                }
                #expect(group.wait(timeout: .now() + 120) == .success)
                let all = try found.all.map { try $0.get() }
                #expect(all.count == clocks.count && Set(all).count == 1)
                for mount in machines { try settle(mount) }
                let requests = asked(origin)
                let pages = requests.filter { $0.path.hasPrefix("/ranking.php") }.map(\.path)
                #expect(Set(pages).count == pages.count, "\(pages)")
                let heads = requests.filter { $0.method == "HEAD" }.map(\.path)
                #expect(Set(heads).count == heads.count)
                let bytes = requests.filter { $0.method == "GET" && $0.isPicture }
                    .filter { $0.bytes != 1 }
                // On a busy machine one of them may be tired of waiting: `fleet.py` has the figure.
                let (sent, read) = (bytes.reduce(0) { $0 + ($1.bytes ?? 0) }, all[0].values.reduce(0) { $0 + $1.count })
                #expect(sent < Int64(read) * 2, "\(sent) bytes for \(read)")
            }
        }

        /// What a store may do wrong, and to which requests.
        static let faults = [
            ("403", ""), ("500", ""), ("503", ""), ("close", ""), ("silent", ""), ("slow", "GET"), ("flip", "GET"),
            ("short", "GET"), ("length", "GET"), ("507", "PUT"), ("403", "PUT"), ("silent", "PUT"),
            ("silent", "GET .*pictures"), ("500", "GET .*documents"),
        ]

        @Test func aPauseThatTheServiceWantsIsOneOfAll() async throws {
            try await withWorkplace { workplace in
                let script = workplace.directory.appending(path: "faults").path
                let rule =
                    #"{"action":"status","status":429,"retry_after":"6","path":"\#(Service.pixiv.lists)","count":1}"#
                try (rule + "\n").write(toFile: script, atomically: true, encoding: .utf8)
                let (origin, store) = (
                    try OriginProcess(workplace, ["--faults", script]), try SharedStore.running()
                )
                let prefix = prefix()
                let first = try machine("first", workplace, origin, store, prefix: prefix)
                let refused = try workplace.run("ls", first.day())
                #expect(refused.status != 0)
                // The lease, its end, and the pause.
                #expect(poll(upTo: 20) { (try? number("writes", first)) ?? 0 >= 3 })
                let second = try machine("second", workplace, origin, store, prefix: prefix)
                #expect(try second.names(second.day()).count > 40)
                let asked = origin.apiRequests
                let next = try #require(asked.dropFirst().first)
                // Six seconds, less what whole seconds may hide.
                #expect(next.t - asked[0].end >= 4000, "the next request came after \(next.t - asked[0].end) ms")
                #expect(first.unmount() && second.unmount())
            }
        }

        @Test(arguments: faults)
        func whateverTheStoreDoesTheServiceAnswers(_ fault: String, _ match: String) async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                defer { try? store.fail(nil) }
                let prefix = prefix()
                let first = try machine("first", workplace, origin, store, prefix: prefix)
                let seen = try read(first)
                try settle(first, uploads: Self.pictures)
                try store.fail(fault, match)
                let second = try machine("second", workplace, origin, store, prefix: prefix)
                #expect(try read(second) == seen)
                // Whoever never had a tier sees the same.
                try store.fail(nil)
                #expect(second.unmount())
            }
        }

        @Test func aStoreThatStopsAndComesBackIsForgiven() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                let prefix = prefix()
                try store.stop()
                let first = try machine("first", workplace, origin, store, prefix: prefix)
                let seen = try read(first)
                #expect(try tier(first)["state"] as? String == "resting")
                #expect(try first.status()["recent"].map { "\($0)" }?.contains("the service is asked instead") == true)
                #expect(try number("waiting", first) > 0)
                #expect(first.unmount())
                try store.start()
                // What was downloaded meanwhile is brought by the next run.
                let next = try machine("first", workplace, origin, store, prefix: prefix)
                try settle(next)
                #expect(try number("uploads", next) >= Self.pictures)
                #expect(next.unmount())
                // Sizes were not told to anybody; a byte of a picture tells some of them.
                let downloads = { self.asked(origin).filter { $0.method == "GET" && $0.isPicture && $0.bytes != 1 } }
                let before = downloads()
                let second = try machine("second", workplace, origin, store, prefix: prefix)
                #expect(try read(second) == seen)
                let again = Set(downloads().dropFirst(before.count).map(\.path))
                #expect(again.isDisjoint(with: before.map(\.path)), "\(again)")
            }
        }

        @Test func aMachineThatIsKilledHoldsNobodyUp() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                let prefix = prefix()
                let first = try machine("first", workplace, origin, store, prefix: prefix)
                let names = try first.readable(first.day())
                let picture = try #require(names.first)
                origin.freeze()
                let reader = try workplace.start("/bin/cat", ["\(first.day())/\(picture)"])
                #expect(try poll { try store.count("PUT .*leases/pictures") > 0 })
                first.killHard()
                _ = reader.wait(upTo: 10)
                origin.thaw()
                let second = try machine("second", workplace, origin, store, prefix: prefix)
                let data = try MountTests.read("\(second.day())/\(picture)").get()
                #expect(try status(of: "\(second.day())/\(picture)").st_size == data.count)
                #expect(try #require(read(second)[picture]) == data)
            }
        }

        @Test func damagedObjectsAreFoundReplacedAndReported() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                defer { try? store.fail(nil) }
                let prefix = prefix()
                let rankfs = "\(Workplace.programs)/rankfs"
                let options = try store.options(workplace, prefix: prefix).joined(separator: ",")
                let first = try machine("first", workplace, origin, store, prefix: prefix)
                let seen = try read(first)
                try settle(first, uploads: Self.pictures)
                // It would go on bringing what it preloads.
                #expect(first.unmount())
                let info = try workplace.run(rankfs, "tier", "info", "-o", options)
                #expect(info.status == 0 && info.output.contains("pictures"), "\(info.output)\(info.errors)")
                #expect(try workplace.run(rankfs, "tier", "verify", "-o", options).status == 0)

                try store.fail("flip", "GET .*pictures")
                let verified = try workplace.run(rankfs, "tier", "verify", "-o", options)
                #expect(verified.status == 1)
                #expect(verified.output.contains("its bytes are not those that were written"), "\(verified.output)")
                try store.fail(nil)
                #expect(try workplace.run(rankfs, "tier", "info", "-o", options).output.contains(": 0 pictures"))

                let second = try machine("second", workplace, origin, store, prefix: prefix)
                #expect(try read(second) == seen)
                try settle(second, uploads: Self.pictures)
                #expect(try workplace.run(rankfs, "tier", "verify", "-o", options).status == 0)
            }
        }

        @Test func withASecretNothingOfAStrangerIsShown() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                let prefix = prefix()
                // Whoever may write to the bucket.
                let stranger = try machine(
                    "stranger", workplace, origin, store, prefix: prefix, options: ["prefetch=0"])
                let seen = try read(stranger)
                try settle(stranger, uploads: Self.pictures)
                let asked = try number("answers_asked", stranger)
                #expect(stranger.unmount())
                let secret = workplace.directory.appending(path: "secret").path
                try Data("a secret of 128 bits and more\n".utf8).write(to: URL(filePath: secret))
                chmod(secret, 0o600)
                let options = ["prefetch=0", "tier_secret=\(secret)"]
                let first = try machine("first", workplace, origin, store, prefix: prefix, options: options)
                #expect(try read(first) == seen)
                #expect(try number("answers_asked", first) == asked)
                #expect(try number("hits", first) == 0)
                #expect(try number("unproven", first) == Self.pictures)
                #expect(try number("wrong", first) == 0)
                let second = try handOver(
                    seen, from: first, workplace, origin, store, prefix: prefix, options: options)
                #expect(try number("unproven", second) == 0)
            }
        }

        @Test func aDayIsFilledForOthers() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace, service: .danbooru), try SharedStore.running())
                let prefix = prefix()
                let first = try machine("first", workplace, origin, store, prefix: prefix, options: ["top=8"])
                let rankfs = "\(Workplace.programs)/rankfs"
                let warm = try workplace.run(rankfs, "tier", "warm", first.day())
                #expect(warm.status == 0 && !warm.output.contains("not looked for"), "\(warm.output)\(warm.errors)")
                #expect(try number("uploads", first) >= first.readable(first.day()).count)
                // It is stored here now, and nobody knows of the tier.
                let again = try workplace.run(rankfs, "tier", "warm", first.day())
                #expect(again.output.contains("not looked for there"), "\(again.output)\(again.errors)")
                #expect(first.unmount())
                let before = asked(origin).count
                let second = try machine("second", workplace, origin, store, prefix: prefix, options: ["top=8"])
                for name in try second.readable(second.day()) {
                    _ = try MountTests.read("\(second.day())/\(name)").get()
                }
                #expect(asked(origin).count == before)
                let alone = try Mount(workplace, of: origin, named: "alone")
                let refused = try workplace.run(rankfs, "tier", "warm", alone.day())
                #expect(refused.status == 64 && refused.errors.contains("tier="), "\(refused.errors)")
            }
        }

        @Test func whatIsForgottenIsAskedOfTheServiceAnew() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                let prefix = prefix()
                let rankfs = "\(Workplace.programs)/rankfs"
                let first = try machine("first", workplace, origin, store, prefix: prefix, options: ["prefetch=0"])
                let seen = try read(first)
                try settle(first, uploads: Self.pictures)
                let name = try #require(seen.keys.first)
                let path = "\(first.day())/\(name)"
                let before = asked(origin).count
                let forgotten = try workplace.run(rankfs, "tier", "forget", path)
                #expect(forgotten.status == 0, "\(forgotten.errors)")
                #expect(forgotten.output == "removed from the tier: 1 picture, 0 documents\n")
                // It is neither there nor here.
                #expect(
                    try workplace.run(rankfs, "tier", "forget", path).output.hasPrefix(
                        "removed from the tier: 0 pictures"))
                #expect(try MountTests.read(path).get() == seen[name])
                let requests = asked(origin).dropFirst(before)
                #expect(requests.allSatisfy(\.isPicture) && Set(requests.map(\.path)).count == 1, "\(requests)")
                try settle(first, uploads: Self.pictures + 1)

                let pages = { self.asked(origin).count { $0.path.hasPrefix("/ranking.php") } }
                let known = pages()
                let day = try workplace.run(rankfs, "tier", "forget", first.day())
                #expect(day.output == "removed from the tier: 0 pictures, 1 document\n", "\(day.output)\(day.errors)")
                #expect(pages() > known)
                #expect(try read(first) == seen)
                let alone = try Mount(workplace, of: origin, named: "alone")
                let refused = try workplace.run(rankfs, "tier", "forget", alone.day())
                #expect(refused.status == 64 && refused.errors.contains("tier="), "\(refused.errors)")
            }
        }

        @Test func theSecretIsNowhere() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                let prefix = prefix()
                let log = workplace.directory.appending(path: "log").path
                let mount = try machine(
                    "first", workplace, origin, store, prefix: prefix, options: ["log=debug", "log_file=\(log)"])
                _ = try read(mount)
                try settle(mount)
                let pid = mount.child.pid
                let table = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
                let line = try String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
                let told = try workplace.run("\(Workplace.programs)/rankfs", "status", mount.path, "--json")
                let doctor = try workplace.run(
                    "\(Workplace.programs)/rankfs", "doctor", "-o",
                    (store.options(workplace, prefix: prefix) + [origin.mountOptions]).joined(separator: ","))
                #expect(doctor.output.contains("shared tier"), "\(doctor.output)")
                let texts = [
                    table, line, told.output, doctor.output, doctor.errors, mount.child.errorText,
                    try String(contentsOfFile: log, encoding: .utf8),
                ]
                for text in texts { #expect(!text.contains(store.secret)) }
                #expect(line.contains("tier_keys="))
            }
        }

        @Test func mistakesInTheOptionsAreSentences() async throws {
            try await withWorkplace { workplace in
                let (origin, store) = (try OriginProcess(workplace), try SharedStore.running())
                let folder = try workplace.folder("mount")
                for (options, status, word) in [
                    ("tier=pool", 64, "s3://BUCKET"), ("tier=s3://Pool", 64, "s3://BUCKET"),
                    ("tier=s3://pool,tier_url=http://127.0.0.1:1/path", 64, "without a path"),
                    ("tier=s3://pool,tier_region=Earth", 64, "region"),
                    ("tier=s3://pool,tier_keys=/nonexistent", 78, "cannot be read"),
                ] {
                    let refused = try workplace.mount(origin, on: folder, options)
                    #expect(refused.status == Int32(status), "\(options): \(refused.status) \(refused.errors)")
                    #expect(refused.errors.contains(word), "\(options): \(refused.errors)")
                }
                let keys = try #require(store.options(workplace, prefix: "x").last).dropFirst("tier_keys=".count)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: String(keys))
                let exposed = try workplace.mount(origin, on: folder, "tier=s3://pool,tier_keys=\(keys)")
                #expect(exposed.status == 78 && exposed.errors.contains("chmod 600"), "\(exposed.errors)")
            }
        }
    }
}

/// What several readers found.
private final class Found: @unchecked Sendable {
    // @unchecked: the lock guards the list.
    private let lock = NSLock()
    private var list: [Result<[String: Data], any Error>] = []

    var all: [Result<[String: Data], any Error>] { lock.withLock { list } }

    func add(_ result: Result<[String: Data], any Error>) { lock.withLock { list.append(result) } }
}
