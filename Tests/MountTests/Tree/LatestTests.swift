import CLinux
import Foundation
import Testing

extension MountSuite {
    /// Semantics: "The newest day".
    @Suite struct LatestTests {
        /// pixiv, which says itself which day is the newest, and a board that withholds nothing, whose newest day the clock tells.
        static let services = [Service.pixiv, .yandere]

        /// An origin whose newest day is `day`: pixiv's has the clock of 2024-05-03 12:30 in Japan, so that it is always the same one.
        static func origin(_ workplace: Workplace, _ service: Service) throws -> OriginProcess {
            try OriginProcess(workplace, service == .pixiv ? ["--now", "1714707000"] : [], service: service)
        }

        /// The newest day, or one before it.
        static func day(_ service: Service, before: Int = 0) -> String {
            // 2024-05-03, or today; a day of the board is complete at midnight, UTC.
            let now = service == .pixiv ? Date(timeIntervalSince1970: 1_714_707_000) : Date()
            let day = now.addingTimeInterval(-86_400 * Double(1 + before))
            return day.formatted(Date.ISO8601FormatStyle().year().month().day())
        }

        private static let shown = 6

        private struct Place {
            let origin: OriginProcess
            let mount: Mount
            let daily: String
            let day: String
            let former: String
            let names: [String]
            /// Each picture's bytes by its name, which another client got whole.
            let pictures: [String: Data]
            /// How many pictures the mount began to download: the first part of each has its first byte.
            var downloads: Int {
                origin.downloads.count { $0.range?.hasPrefix("bytes=0-") ?? true } - pictures.count
            }
            var latest: String { "\(daily)/latest" }
        }

        private func place(_ workplace: Workplace, _ service: Service) throws -> Place {
            let origin = try Self.origin(workplace, service)
            let (day, former) = (Self.day(service), Self.day(service, before: 1))
            let mount = try Mount(workplace, of: origin, options: ["top=\(Self.shown)", "days=2", "prefetch=0"])
            let daily = "\(mount.path)/ranking/\(service.daily)"
            let names = try mount.names("\(daily)/latest")
            #expect(try mount.names(daily) == [former, day, "latest"])
            let entries = try origin.ranking("daily", day).prefix(Self.shown)
            #expect(names.count == Self.shown && entries.allSatisfy { !$0.isWithheld })
            let pictures = try zip(names, entries).map { ($0, try origin.fetch($1.picture)) }
            return Place(
                origin: origin, mount: mount, daily: daily, day: day, former: former, names: names,
                pictures: Dictionary(uniqueKeysWithValues: pictures))
        }

        private func expectWhole(_ folder: String, _ place: Place) throws {
            let copied = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(Set(copied) == Set(place.names), "\(folder)")
            for (name, bytes) in place.pictures {
                #expect(try Data(contentsOf: URL(filePath: "\(folder)/\(name)")) == bytes, "\(name)")
            }
        }

        @Test(arguments: services) func everyCopyOfLatestIsWhole(service: Service) async throws {
            try await withWorkplace { workplace in
                let place = try place(workplace, service)
                #expect(extendedAttribute("user.rankfs.day", of: place.latest) == place.day)
                #expect(extendedAttribute("user.rankfs.day", of: "\(place.daily)/\(place.day)") == place.day)
                let out = try workplace.folder("out")
                #expect(try workplace.run("cp", "-r", place.latest, "\(out)/cp").status == 0)
                try expectWhole("\(out)/cp", place)
                for (source, target, copy) in [
                    (place.latest + "/", "\(out)/inside", "\(out)/inside"),
                    (place.latest, "\(out)/itself", "\(out)/itself/latest"),
                ] {
                    for expected in [Self.shown, 0] {
                        let output = try workplace.run("rsync", "-aX", "--stats", source, target)
                        #expect(output.status == 0, "\(output.errors)")
                        #expect(output.lines.contains("Number of regular files transferred: \(expected)"))
                    }
                    try expectWhole(copy, place)
                    #expect(extendedAttribute("user.rankfs.day", of: copy) == nil)
                }
                #expect(place.downloads == Self.shown, "each came once")
            }
        }

        @Test(arguments: services) func whoKnowsHardLinksTakesEachPictureOnce(service: Service) async throws {
            try await withWorkplace { workplace in
                let place = try place(workplace, service)
                let sizes = try [place.former, place.day].flatMap { day in
                    try place.mount.names("\(place.daily)/\(day)").map { name in
                        Int(try status(of: "\(place.daily)/\(day)/\(name)").st_size)
                    }
                }
                #expect(sizes.count == Self.shown * 2)
                let links = try workplace.run("stat", "-c", "%h", "\(place.latest)/\(place.names[0])")
                #expect(links.lines == ["3"])
                let found = try workplace.run("find", place.daily, "-type", "f", "-links", "3", "-printf", "%P\\n")
                let expected = place.names.flatMap { ["\(place.day)/\($0)", "latest/\($0)"] }
                #expect(Set(found.lines) == Set(expected) && found.lines.count == expected.count)
                let used = try workplace.run("du", "-s", "-b", place.daily)
                #expect(used.lines.first?.hasPrefix("\(sizes.reduce(0, +))\t") == true, "\(used.output)")

                let out = try workplace.folder("out")
                #expect(
                    try workplace.run("tar", "cf", "\(out)/t.tar", "-C", "\(place.mount.path)/ranking", service.daily)
                        .status
                        == 0)
                let listed = try workplace.run("tar", "tvf", "\(out)/t.tar").lines
                #expect(listed.count { $0.hasPrefix("h") && $0.contains("\(service.daily)/latest/") } == Self.shown)
                // What keeps its name can be had alone.
                #expect(
                    try workplace.run("tar", "xf", "\(out)/t.tar", "-C", out, "\(service.daily)/\(place.day)").status
                        == 0)
                try expectWhole("\(out)/\(service.daily)/\(place.day)", place)

                #expect(try workplace.run("cp", "-a", place.daily, "\(out)/cp").status == 0)
                #expect(try workplace.run("rsync", "-aH", place.daily + "/", "\(out)/rsync").status == 0)
                for copy in ["\(out)/cp", "\(out)/rsync"] {
                    try expectWhole("\(copy)/latest", place)
                    for name in place.names {
                        let (one, other) = try (
                            status(of: "\(copy)/latest/\(name)"), status(of: "\(copy)/\(place.day)/\(name)")
                        )
                        #expect(one.st_ino == other.st_ino && one.st_nlink == 2)
                    }
                }
                #expect(
                    try workplace.run("rsync", "-a", "--exclude=latest", place.daily + "/", "\(out)/days").status == 0)
                #expect(
                    try FileManager.default.contentsOfDirectory(atPath: "\(out)/days").sorted() == [
                        place.former, place.day,
                    ])
                #expect(place.downloads == sizes.count, "each came once")
            }
        }

        @Test(arguments: services)
        func fetchAndPinTakeTheNewestDayOnceAndByItsName(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try Self.origin(workplace, service)
                let day = Self.day(service)
                let mount = try Mount(workplace, of: origin, options: ["top=\(Self.shown)", "days=2", "prefetch=0"])
                let daily = "\(mount.path)/ranking/\(service.daily)"
                let out = try workplace.folder("out")
                // Nobody can tell at once which day is the newest.
                try origin.spoil([FaultKind.status(429, retryAfter: "1").rule(service.lists, count: 1)], in: workplace)
                let fetched = try workplace.rankfs("fetch", "\(daily)/latest", "--to", "\(out)/one")
                #expect(fetched.status == 0, "\(fetched.output)\(fetched.errors)")
                #expect(
                    try files(below: "\(out)/one").sorted()
                        == mount.names("\(daily)/latest").map { "ranking/\(service.daily)/\(day)/\($0)" }.sorted())
                let name = try mount.names("\(daily)/latest")[2]
                #expect(try workplace.rankfs("fetch", "\(daily)/latest/\(name)", "--to", "\(out)/single").status == 0)
                #expect(files(below: "\(out)/single") == ["ranking/\(service.daily)/\(day)/\(name)"])
                let all = try workplace.rankfs("fetch", daily, "--to", "\(out)/all")
                #expect(all.status == 0 && files(below: "\(out)/all").count == Self.shown * 2, "\(all.output)")
                #expect(!all.output.contains("latest"))
                for (path, count) in [(daily, Self.shown * 2), ("\(daily)/latest", Self.shown)] {
                    let pinned = try workplace.rankfs("pin", path)
                    #expect(pinned.output == "pinned \(count) pictures\n", "\(pinned.errors)")
                }
            }
        }
    }
}
