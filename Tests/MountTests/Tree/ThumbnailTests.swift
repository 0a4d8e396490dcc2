import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Looking is cheap".
    @Suite struct ThumbnailTests {
        /// Few, because each is drawn and scaled by unoptimised programs.
        private static let shown = 6

        private func mount(_ workplace: Workplace, _ origin: OriginProcess, options: [String] = []) throws -> Mount {
            try Mount(workplace, of: origin, options: ["top=\(Self.shown)"] + options)
        }

        private func thumbnails(_ workplace: Workplace, _ size: String) -> [String] {
            let folder = workplace.directory.appending(path: "xdg/thumbnails/\(size)").path
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.filter { !$0.hasPrefix(".") }.map { "\(folder)/\($0)" }
        }

        /// Sizes that HEAD does not tell are asked with the first byte.
        private func onlySizesWereAsked(_ origin: OriginProcess) -> Bool {
            origin.downloads.allSatisfy { $0.range == "bytes=0-0" }
        }

        /// What a file manager does first in a directory that it opens.
        private func look(_ directory: String) { _ = access("\(directory)/.hidden", F_OK) }

        @Test(arguments: Service.allCases) func aLookOfADesktopCostsSmallPreviewsOnly(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let mount = try mount(workplace, origin)
                let entries = try origin.ranking().prefix(Self.shown).filter { !$0.isWithheld }
                // In a directory that nobody has listed it costs nothing.
                let requests = origin.requests.count
                look(mount.day())
                #expect(origin.requests.count == requests)
                _ = try mount.names(mount.day())
                look(mount.day())
                for size in ["normal", "large"] {
                    #expect(poll(upTo: 60) { thumbnails(workplace, size).count == entries.count }, "\(size)")
                }
                // A request is logged after its answer has gone.
                #expect(poll { origin.pictureRequests.count >= entries.count })
                #expect(origin.pictureRequests.count == entries.count)
                #expect(origin.pictureRequests.allSatisfy { $0.path.contains(service.previews) })
                // The names, and what the thumbnails tell of their files.
                let found = try Thumbnails.own(mount.pictures(of: origin).map(\.path), workplace)
                #expect(found.status == 0, "\(found.errors)")
                #expect(poll { (try? mount.figures("thumbnails"))?["files"] as? Int == entries.count * 2 })
                // A second look finds them all.
                let before = origin.pictureRequests.filter { $0.method == "GET" }.count
                look(mount.day())
                #expect(origin.pictureRequests.filter { $0.method == "GET" }.count == before)
            }
        }

        @Test(arguments: Service.kinds) func whoOnlyListsOrIsSwitchedOffPaysNothing(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let mount = try mount(workplace, origin)
                #expect(try workplace.run("ls", "-l", mount.day()).status == 0)
                #expect(try workplace.run("find", mount.day(), "-type", "f", "-size", "+1k").status == 0)
                #expect(onlySizesWereAsked(origin))
                #expect(thumbnails(workplace, "large").isEmpty)
                #expect(mount.unmount())
                let off = try self.mount(workplace, origin, options: ["thumbnails=off"])
                look(off.day())
                #expect(try workplace.run("ls", "-l", off.day()).status == 0)
                #expect(onlySizesWereAsked(origin))
                #expect(thumbnails(workplace, "large").isEmpty)
            }
        }

        @Test(arguments: Service.allCases)
        func sharedThumbnailsAreForEverybodyAndNoPictureIsRead(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                // Nothing can be written there, as in the home of another user.
                func mount(_ options: [String] = []) throws -> Mount {
                    try Mount(
                        workplace, of: origin, options: ["top=\(Self.shown)"] + options,
                        variables: ["XDG_CACHE_HOME": "/proc/nowhere"])
                }
                func check(_ mount: Mount) throws -> String {
                    let output = try Thumbnails.shared(mount.day(), workplace)
                    return output.status == 0 ? output.lines.joined() : output.errors
                }
                func previews() -> Int { origin.downloads.filter { $0.range == nil }.count }
                let first = try mount()
                let other = first.day(nil, "2024-04-30") + "/.sh_thumbnails/large"
                let api = origin.requests.count
                #expect(access(other, F_OK) == 0)
                #expect(access("\(other)/c6ee772d9e49320e97ec29a7eb5b1697.png", F_OK) != 0)
                #expect(origin.requests.count == api)
                let entries = try origin.ranking().prefix(Self.shown).filter { !$0.isWithheld }
                #expect(try check(first) == "\(entries.count)")
                #expect(previews() == entries.count)
                #expect(origin.downloads.allSatisfy { $0.path.contains(service.previews) || $0.range == "bytes=0-0" })
                #expect(first.unmount())
                let second = try mount()
                #expect(try check(second) == "\(entries.count)")
                #expect(previews() == entries.count)
                #expect(second.unmount())
                let off = try mount(["thumbnails=off"])
                #expect(access(off.day() + "/.sh_thumbnails", F_OK) != 0)
            }
        }

        /// Desktops know a file by the path that they took to it.
        @Test(arguments: LatestTests.services) func latestHasThumbnailsOfItsOwn(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try LatestTests.origin(workplace, service)
                let mount = try mount(workplace, origin)
                let latest = "\(mount.path)/ranking/\(service.daily)/latest"
                let names = try mount.names(latest)
                func check(_ directory: String) throws {
                    let found = try Thumbnails.own(names.map { "\(directory)/\($0)" }, workplace)
                    #expect(found.status == 0, "\(found.errors)")
                }
                look(latest)
                for size in ["normal", "large"] {
                    #expect(poll(upTo: 60) { thumbnails(workplace, size).count == Self.shown }, "\(size)")
                }
                try check(latest)
                func previews() -> Int { origin.downloads.filter { $0.range == nil }.count }
                #expect(previews() == Self.shown)
                // By its own name the day gets others, made of those.
                let day = mount.day(nil, LatestTests.day(service))
                _ = try mount.names(day)
                look(day)
                #expect(poll(upTo: 60) { thumbnails(workplace, "large").count == Self.shown * 2 })
                try check(day)
                let shared = try Thumbnails.shared(latest, workplace)
                #expect(shared.lines == ["\(Self.shown)"], "\(shared.errors)")
                #expect(previews() == Self.shown)
            }
        }

        /// It opens an inode, and may have come by either name.
        @Test(arguments: LatestTests.services)
        func aThumbnailerInTheNewestDayIsAnsweredUnderBothNames(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try LatestTests.origin(workplace, service)
                let mount = try mount(workplace, origin)
                let (ranking, daily) = ("\(mount.path)/ranking", service.daily)
                let name = try mount.names("\(ranking)/\(daily)/latest")[0]
                let output = try workplace.run([
                    "python3", "-c", Self.manager, ranking, "visit:\(daily)", "thumbnail:\(daily)/latest/\(name)",
                ])
                #expect(output.lines.last == "busy", "\(output.output)\(output.errors)")
                #expect(poll(upTo: 60) { thumbnails(workplace, "large").count == 2 })
                #expect(origin.downloads.filter { $0.range == nil }.count == 1)
                // One that is there under one of them is not asked for again.
                look("\(ranking)/\(daily)/latest")
                #expect(poll(upTo: 60) { thumbnails(workplace, "large").count == Self.shown + 1 })
                let other = try mount.names("\(ranking)/\(daily)/latest")[1]
                let second = try workplace.run([
                    "python3", "-c", Self.manager, ranking, "visit:\(daily)", "thumbnail:\(daily)/latest/\(other)",
                ])
                #expect(second.lines.last == "busy", "\(second.output)\(second.errors)")
                #expect(poll(upTo: 60) { thumbnails(workplace, "large").count == Self.shown + 2 })
                #expect(origin.downloads.filter { $0.range == nil }.count == Self.shown)
            }
        }

        /// Semantics: "Folder manners".
        ///
        /// The calls are those of Nautilus: inotify where a person goes, none where it counts.
        @Test(arguments: Service.kinds)
        func anItemCountIsRightAndTheNextVisitFindsThumbnails(service: Service) async throws {
            try await withMount(service, options: ["top=\(Self.shown)", "days=3"]) { workplace, origin, mount in
                let (ranking, daily) = ("\(mount.path)/ranking", service.daily)
                // Throws nothing, so that what it printed is told.
                func run(_ steps: String...) -> [String] {
                    let output = try? workplace.run(["python3", "-c", Self.manager, ranking] + steps)
                    guard let output, output.status == 0 else { return [output?.errors ?? "not run"] }
                    return output.lines
                }
                let days = try mount.names("\(ranking)/\(daily)").filter { $0 != "latest" }.map { "\(daily)/\($0)" }
                #expect(days.count == 3)
                // Of today's days nobody knows which ranks they leave out.
                let shown = try days.map { day in
                    try origin.ranking("daily", String(day.suffix(10))).filter { $0.rank <= Self.shown }
                }
                let counts = shown.map { String($0.count) }
                let asked = origin.requests.count
                // The modes, then the days of one: counted.
                #expect(
                    run("visit:.", "count:\(daily)", "count:\(service.modes[1])") == [
                        "\(service.modes.count)", "4", "4",
                    ])
                #expect(origin.requests.count == asked)
                // A recursive copy looks just like a count: nobody is refused, and no size is asked for.
                #expect(run("visit:\(daily)", "count:\(days[0])", "count:\(days[1])") == ["4", counts[0], counts[1]])
                #expect(run("visit:\(daily)", "count:\(daily)/latest") == ["4", counts[2]])
                #expect(origin.pictureRequests.isEmpty)
                // Who goes there sees everything, with thumbnails, and counts what is known from then on.
                #expect(
                    run("visit:\(daily)", "count:\(days[1])", "visit:\(days[1])", "stat:\(days[1])")
                        == ["4", counts[1], counts[1], counts[1]])
                let made = shown[1].filter { !$0.isWithheld }.count
                #expect(poll { thumbnails(workplace, "large").count == made })
                let requests = origin.requests.count
                #expect(run("visit:\(daily)", "count:\(days[1])") == ["4", counts[1]])
                #expect(origin.requests.count == requests)
                #expect(run("plain:\(daily)", "plain:\(days[0])") == ["4", counts[0]])
            }
        }

        /// Semantics: "Looking is cheap".
        ///
        /// A file manager's thumbnailer is refused what the file manager then finds; everybody else reads.
        @Test(arguments: Service.allCases) func aThumbnailerReadsNoPicture(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let mount = try mount(workplace, origin)
                let ranking = "\(mount.path)/ranking"
                let shown = try mount.pictures(2, of: origin).map { String($0.path.dropFirst(ranking.count + 1)) }
                let (own, other) = (shown[0], shown[1])
                let day = "\(service.daily)/\(Mount.day)"
                func run(_ steps: String...) throws -> [String] {
                    let output = try workplace.run(["python3", "-c", Self.manager, ranking] + steps)
                    guard output.status == 0 else { throw Failure(output.errors) }
                    return output.lines
                }
                let pictures = origin.downloads.count
                // Its own attempt right afterwards is refused, too, and no further one.
                let lines = try run("visit:\(day)/..", "thumbnail:\(own)", "read:\(own)", "read:\(own)")
                #expect(lines.dropFirst().prefix(2) == ["busy", "busy"])
                #expect(Int(lines[3]) ?? 0 > 1000)
                let downloads = origin.downloads.dropFirst(pictures).map(\.path)
                #expect(downloads.first?.contains(service.previews) == true)
                #expect(poll(upTo: 60) { thumbnails(workplace, "large").count == 1 })
                // Who is started by no file manager reads.
                #expect(try Int(run("thumbnail:\(other)")[0]) ?? 0 > 1000)
                #expect(thumbnails(workplace, "large").count == 1)
            }
        }

        /// Acts as a file manager in one process; prints what each step counted.
        private static let manager = """
            import ctypes, os, subprocess, sys
            libc = ctypes.CDLL(None)
            watches = libc.inotify_init()
            thumbnailer = os.path.join(os.path.dirname(os.path.dirname(sys.argv[1])), "test-thumbnailer")
            if not os.path.exists(thumbnailer): os.symlink("/bin/cat", thumbnailer)
            for step in sys.argv[2:]:
                verb, path = step.split(":", 1)
                path = os.path.normpath(os.path.join(sys.argv[1], path))
                try:
                    if verb == "visit": assert libc.inotify_add_watch(watches, path.encode(), 0x100) >= 0
                    if verb == "thumbnail":
                        made = subprocess.run([thumbnailer, path], capture_output=True)
                        print(len(made.stdout) or ("busy" if b"busy" in made.stderr else made.stderr))
                        continue
                    if verb == "read":
                        print(len(open(path, "rb").read()))
                        continue
                    names = os.listdir(path)
                    if verb in ("visit", "count"): os.access(path + "/.hidden", os.F_OK)
                    if verb == "stat": names = [name for name in names if os.stat(f"{path}/{name}")]
                    print(len(names))
                except OSError as error:
                    print("busy" if error.errno == 16 else error)
            """
    }
}
