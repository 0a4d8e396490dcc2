import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Authors, searches and what was seen".
    @Suite struct DatesTests {
        @Test(arguments: Service.kinds)
        func anyDayIsClickedToAndWalkingThereCostsNothing(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let mount = try Mount(workplace, of: origin)
                let dates = "\(mount.path)/by-date"
                let walk = ["find", "\(dates)/\(service.daily)", "-printf", "%i %y %s %T@ %p %l\\n"]
                let found = try workplace.run(walk)
                #expect(found.status == 0, "\(found.errors)")
                let links = found.lines.filter { $0.contains(" l ") }
                #expect(links.count > 6000)
                #expect(Set(found.lines.map { $0.prefix { $0 != " " } }).count == found.lines.count, "inode numbers")
                #expect(try workplace.run("ls", "-lR", "\(dates)/\(service.modes[1])").status == 0)
                #expect(origin.requests.isEmpty)

                let link = "\(dates)/\(service.daily)/2024/05/\(Mount.day)"
                #expect(
                    try workplace.run("readlink", link).lines == ["../../../../ranking/\(service.daily)/\(Mount.day)"])
                #expect(try mount.names("\(link)/") == (try mount.names(mount.day())))
                let name = try mount.names(mount.day())[0]
                #expect(try read("\(link)/\(name)").get() == (try read("\(mount.day())/\(name)").get()))
                // A ranking does not hold the links, so that a copy of it takes none along.
                #expect(try !mount.names("\(mount.path)/ranking/\(service.daily)").contains { $0.contains("by-date") })
                #expect(mount.unmount())
                let again = try Mount(workplace, of: origin)
                #expect(try workplace.run(walk).lines == found.lines)
                #expect(again.unmount())
            }
        }

        /// Semantics: "Looking is cheap".
        @Test(arguments: Service.kinds)
        func thumbnailsAreThereUnderTheWayThatWasTaken(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let mount = try Mount(workplace, of: origin, options: ["top=3"])
                let way = "\(mount.path)/by-date/\(service.daily)/2024/05/\(Mount.day)"
                let names = try mount.names("\(way)/")
                _ = access("\(way)/.hidden", F_OK)
                for directory in [way, mount.day()] {
                    for (name, entry) in zip(names, try origin.ranking()) where !entry.isWithheld {
                        let output = try workplace.run(
                            "python3", "-c", Self.digest, "\(directory)/\(name)")
                        let digest = output.lines.first ?? ""
                        for size in ["normal", "large"] {
                            let file = workplace.directory.appending(path: "xdg/thumbnails/\(size)/\(digest).png").path
                            #expect(
                                poll(upTo: 60) { FileManager.default.fileExists(atPath: file) }, "\(directory)/\(name)")
                        }
                    }
                }
                #expect(origin.downloads.allSatisfy { $0.path.contains(service.previews) })
            }
        }

        /// The name of a path's thumbnail, as the specification has it.
        private static let digest = """
            import hashlib, sys, urllib.parse
            # What g_filename_to_uri leaves unescaped, but for what these names do not hold.
            uri = "file://" + urllib.parse.quote(sys.argv[1], safe="/!$&'()*+,:=@~")
            print(hashlib.md5(uri.encode()).hexdigest())
            """
    }
}
