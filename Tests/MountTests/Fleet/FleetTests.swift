import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Shared with other machines".
    @Suite struct FleetTests {
        /// Pictures that are read of a day.
        static let pictures = 6

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

        func number(_ name: String, _ mount: Mount) throws -> Int {
            try #require(try mount.figures("tier")[name] as? Int)
        }

        /// Returns once all that a machine has is on the store, and it has brought so many pictures: the last one joins those that
        /// wait a moment after its reader has it.
        func settle(_ mount: Mount, uploads: Int = 0) throws {
            let isDone = poll(upTo: 60) {
                (try? number("waiting", mount)) == 0 && (try? number("uploads", mount) >= uploads) == true
            }
            guard isDone else { throw Failure("still waiting: \(try mount.figures("tier"))") }
        }

        /// Ends a machine that has read a day; another one with its options reads the same and asks the service for nothing.
        func handOver(
            _ seen: [String: Data], from first: Mount, _ store: StorePart, options: [String]
        ) throws -> Mount {
            try settle(first, uploads: Self.pictures)
            #expect(first.unmount())
            let before = asked(store.origin).count
            let second = try store.machine("second", options: options)
            #expect(try read(second) == seen)
            #expect(asked(store.origin).count == before)
            return second
        }

        /// What the origin was asked that is no connection made ahead.
        func asked(_ origin: OriginProcess) -> [LoggedRequest] { origin.requests.filter { !$0.isConnection } }

        @Test(arguments: [Service.pixiv, .danbooru])
        func whatOneMachineHasTheOtherDoesNotAskFor(_ service: Service) async throws {
            try await withStore(service: service) { workplace, origin, store in
                // What the one did not come to preload the other would ask for.
                let plain = ["prefetch=0"]
                let first = try store.machine("first", options: plain)
                let second = try handOver(try read(first), from: first, store, options: plain)
                // A reader has the last byte a moment before the picture counts.
                #expect(poll(upTo: 60) { (try? number("hits", second) >= Self.pictures) == true })
                #expect(try number("answers_asked", second) == 0)
            }
        }

        @Test func previewsOfADayAreAskedForOnce() async throws {
            try await withStore { workplace, origin, store in
                var before = 0
                for name in ["first", "second"] {
                    let mount = try store.machine(name, options: ["top=6"])
                    _ = try mount.names(mount.day())
                    let seen = try Thumbnails.shared(mount.day(), workplace)
                    #expect(seen.status == 0, "\(seen.errors)")
                    let withheld = try origin.ranking().prefix(Self.pictures).count { $0.isWithheld }
                    #expect(seen.lines == ["\(Self.pictures - withheld)"])
                    let previews = origin.downloads.count { $0.path.contains(Service.pixiv.previews) }
                    #expect(before == 0 ? previews > 0 : previews == before)
                    before = previews
                    // What has come is written before the mount ends.
                    #expect(mount.unmount())
                }
            }
        }

        /// By how many seconds the clocks of machines are ahead.
        @Test(arguments: [[0, 0, 0, 0], [0, 3600, -3600]])
        func machinesAtOnceAskOnce(_ clocks: [Int]) async throws {
            // A certificate made now would not be valid yet for a clock that is slow.
            let wire = clocks.contains { $0 < 0 } ? Wire.plain : .tls
            try await withStore(wire: wire) { workplace, origin, store in
                let machines = try clocks.enumerated().map { number, ahead in
                    try store.machine("machine\(number)", options: ["prefetch=0"], ahead: ahead)
                }
                let found = together(upTo: 120, machines.map { mount in { Result { try self.read(mount) } } })
                let all = try found.map { try #require($0, "a machine hangs").get() }
                #expect(all.count == clocks.count && Set(all).count == 1)
                for (mount, ahead) in zip(machines, clocks) {
                    try settle(mount)
                    // Its clock is the one that it was given.
                    let told = try #require(try mount.status()["time"] as? Int)
                    #expect(abs(told - time(nil) - ahead) < 600)
                }
                let uploads = { machines.reduce(0) { $0 + ((try? self.number("uploads", $1)) ?? 0) } }
                #expect(poll(upTo: 60) { uploads() >= Self.pictures })
                // One that comes later has all from the store, whatever its clock says.
                let before = asked(origin).count
                let late = try store.machine("late", options: ["prefetch=0"], ahead: clocks.max() ?? 0)
                #expect(try read(late) == all[0])
                #expect(asked(origin).count == before)
                let requests = asked(origin)
                let pages = requests.filter { $0.path.hasPrefix("/ranking.php") }.map(\.path)
                #expect(Set(pages).count == pages.count, "\(pages)")
                let heads = requests.filter { $0.method == "HEAD" }.map(\.path)
                #expect(Set(heads).count == heads.count)
                let bytes = requests.filter { $0.method == "GET" && $0.isPicture }.filter { $0.bytes != 1 }
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
            let pause = FaultKind.status(429, retryAfter: "6").rule(Service.pixiv.lists, count: 1)
            try await withStore(faults: [pause]) { workplace, origin, store in
                let first = try store.machine("first")
                let refused = try workplace.run("ls", first.day())
                #expect(refused.status != 0)
                // The lease, its end, and the pause.
                #expect(poll(upTo: 20) { (try? number("writes", first)) ?? 0 >= 3 })
                let second = try store.machine("second")
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
            try await withStore { workplace, origin, store in
                let first = try store.machine("first")
                let seen = try read(first)
                try settle(first, uploads: Self.pictures)
                try store.fail(fault, match)
                let second = try store.machine("second")
                #expect(try read(second) == seen)
                // Whoever never had a tier sees the same.
                try store.fail(nil)
                #expect(second.unmount())
            }
        }

        @Test func aStoreThatStopsAndComesBackIsForgiven() async throws {
            try await withStore { workplace, origin, store in
                try store.stop()
                // A preload that the end of its mount cuts short is not there for others.
                let plain = ["prefetch=0"]
                let first = try store.machine("first", options: plain)
                let seen = try read(first)
                #expect(try first.figures("tier")["state"] as? String == "resting")
                #expect(try first.status()["recent"].map { "\($0)" }?.contains("the service is asked instead") == true)
                #expect(poll(upTo: 60) { (try? number("waiting", first) > 0) == true })
                #expect(first.unmount())
                try store.start()
                // What was downloaded meanwhile is brought by the next run.
                let next = try store.machine("first", options: plain)
                try settle(next, uploads: Self.pictures)
                #expect(next.unmount())
                // Sizes were not told to anybody; a byte of a picture tells some of them.
                let downloads = { self.asked(origin).filter { $0.method == "GET" && $0.isPicture && $0.bytes != 1 } }
                let before = downloads()
                let second = try store.machine("second", options: plain)
                #expect(try read(second) == seen)
                let again = Set(downloads().dropFirst(before.count).map(\.path))
                #expect(again.isDisjoint(with: before.map(\.path)), "\(again)")
            }
        }

        @Test func aMachineThatIsKilledHoldsNobodyUp() async throws {
            try await withStore { workplace, origin, store in
                let first = try store.machine("first")
                let names = try first.readable(first.day())
                let picture = try #require(names.first)
                origin.freeze()
                let reader = try workplace.start("/bin/cat", ["\(first.day())/\(picture)"])
                #expect(try poll { try store.count("PUT .*leases/pictures") > 0 })
                first.killHard()
                _ = reader.wait(upTo: 10)
                origin.thaw()
                let second = try store.machine("second")
                let data = try MountTests.read("\(second.day())/\(picture)").get()
                #expect(try status(of: "\(second.day())/\(picture)").st_size == data.count)
                #expect(try #require(read(second)[picture]) == data)
            }
        }

        @Test func damagedObjectsAreFoundReplacedAndReported() async throws {
            try await withStore { workplace, origin, store in
                let options = try store.options().joined(separator: ",")
                let first = try store.machine("first")
                let seen = try read(first)
                try settle(first, uploads: Self.pictures)
                // It would go on bringing what it preloads.
                #expect(first.unmount())
                let info = try workplace.rankfs("tier", "info", "-o", options)
                #expect(info.status == 0 && info.output.contains("pictures"), "\(info.output)\(info.errors)")
                #expect(try workplace.rankfs("tier", "verify", "-o", options).status == 0)

                try store.fail("flip", "GET .*pictures")
                let verified = try workplace.rankfs("tier", "verify", "-o", options)
                #expect(verified.status == 1)
                #expect(verified.output.contains("its bytes are not those that were written"), "\(verified.output)")
                try store.fail(nil)
                #expect(try workplace.rankfs("tier", "info", "-o", options).output.contains(": 0 pictures"))

                let second = try store.machine("second")
                #expect(try read(second) == seen)
                try settle(second, uploads: Self.pictures)
                #expect(try workplace.rankfs("tier", "verify", "-o", options).status == 0)
            }
        }

        @Test func withASecretNothingOfAStrangerIsShown() async throws {
            try await withStore { workplace, origin, store in
                // Whoever may write to the bucket.
                let stranger = try store.machine("stranger", options: ["prefetch=0"])
                let seen = try read(stranger)
                try settle(stranger, uploads: Self.pictures)
                let asked = try number("answers_asked", stranger)
                #expect(stranger.unmount())
                let secret = workplace.directory.appending(path: "secret").path
                try Data("a secret of 128 bits and more\n".utf8).write(to: URL(filePath: secret))
                chmod(secret, 0o600)
                let options = ["prefetch=0", "tier_secret=\(secret)"]
                let first = try store.machine("first", options: options)
                #expect(try read(first) == seen)
                #expect(try number("answers_asked", first) == asked)
                #expect(try number("hits", first) == 0)
                #expect(try number("unproven", first) == Self.pictures)
                #expect(try number("wrong", first) == 0)
                let second = try handOver(seen, from: first, store, options: options)
                #expect(try number("unproven", second) == 0)
            }
        }

        @Test func aDayIsFilledForOthers() async throws {
            try await withStore(service: .danbooru) { workplace, origin, store in
                let first = try store.machine("first", options: ["top=8"])
                let warm = try workplace.rankfs("tier", "warm", first.day())
                #expect(warm.status == 0 && !warm.output.contains("not looked for"), "\(warm.output)\(warm.errors)")
                #expect(try number("uploads", first) >= first.readable(first.day()).count)
                // It is stored here now, and nobody knows of the tier.
                let again = try workplace.rankfs("tier", "warm", first.day())
                #expect(again.output.contains("not looked for there"), "\(again.output)\(again.errors)")
                #expect(first.unmount())
                let before = asked(origin).count
                let second = try store.machine("second", options: ["top=8"])
                for name in try second.readable(second.day()) {
                    _ = try MountTests.read("\(second.day())/\(name)").get()
                }
                #expect(asked(origin).count == before)
                let alone = try Mount(workplace, of: origin, named: "alone")
                let refused = try workplace.rankfs("tier", "warm", alone.day())
                #expect(refused.status == 64 && refused.errors.contains("tier="), "\(refused.errors)")
            }
        }

        @Test func whatIsForgottenIsAskedOfTheServiceAnew() async throws {
            try await withStore { workplace, origin, store in
                let first = try store.machine("first", options: ["prefetch=0"])
                let seen = try read(first)
                try settle(first, uploads: Self.pictures)
                let name = try #require(seen.keys.first)
                let path = "\(first.day())/\(name)"
                let before = asked(origin).count
                let forgotten = try workplace.rankfs("tier", "forget", path)
                #expect(forgotten.status == 0, "\(forgotten.errors)")
                #expect(forgotten.output == "removed from the tier: 1 picture, 0 documents\n")
                // It is neither there nor here.
                #expect(
                    try workplace.rankfs("tier", "forget", path).output.hasPrefix("removed from the tier: 0 pictures"))
                #expect(try MountTests.read(path).get() == seen[name])
                let requests = asked(origin).dropFirst(before)
                #expect(requests.allSatisfy(\.isPicture) && Set(requests.map(\.path)).count == 1, "\(requests)")
                try settle(first, uploads: Self.pictures + 1)

                let pages = { self.asked(origin).count { $0.path.hasPrefix("/ranking.php") } }
                let known = pages()
                let day = try workplace.rankfs("tier", "forget", first.day())
                #expect(day.output == "removed from the tier: 0 pictures, 1 document\n", "\(day.output)\(day.errors)")
                #expect(pages() > known)
                #expect(try read(first) == seen)
                let alone = try Mount(workplace, of: origin, named: "alone")
                let refused = try workplace.rankfs("tier", "forget", alone.day())
                #expect(refused.status == 64 && refused.errors.contains("tier="), "\(refused.errors)")
            }
        }

        @Test func theSecretIsNowhere() async throws {
            try await withStore { workplace, origin, store in
                let log = workplace.directory.appending(path: "log").path
                let mount = try store.machine("first", options: ["log=debug", "log_file=\(log)"])
                _ = try read(mount)
                try settle(mount)
                let pid = mount.child.pid
                let table = try String(contentsOfFile: "/proc/self/mountinfo", encoding: .utf8)
                let line = try String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
                let told = try workplace.rankfs("status", mount.path, "--json")
                let doctor = try workplace.rankfs(
                    "doctor", "-o",
                    (store.options() + [origin.mountOptions]).joined(separator: ","))
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
            try await withStore { workplace, origin, store in
                let folder = try workplace.folder("mount")
                let missing = try workplace.mount(origin, on: folder, "tier=s3://pool,tier_keys=/nonexistent")
                #expect(missing.status == 78 && missing.errors.contains("cannot be read"), "\(missing)")
                let keys = try #require(store.options().last).dropFirst("tier_keys=".count)
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: String(keys))
                let exposed = try workplace.mount(origin, on: folder, "tier=s3://pool,tier_keys=\(keys)")
                #expect(exposed.status == 78 && exposed.errors.contains("chmod 600"), "\(exposed.errors)")
            }
        }
    }
}
