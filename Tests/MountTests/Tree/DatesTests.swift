import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Authors, searches and what was seen".
    @Suite struct DatesTests {
        @Test(arguments: Service.kinds)
        func anyDayIsClickedToAndWalkingThereCostsNothing(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
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
            try await withMount(service, options: ["top=3"]) { workplace, origin, mount in
                let way = "\(mount.path)/by-date/\(service.daily)/2024/05/\(Mount.day)"
                let shown = try mount.pictures(of: origin).map(\.path)
                _ = try mount.names("\(way)/")
                _ = access("\(way)/.hidden", F_OK)
                for files in [shown, shown.map { $0.replacing(mount.day(), with: way) }] {
                    let isThere = try poll(upTo: 60) { try Thumbnails.own(files, workplace).status == 0 }
                    #expect(isThere, "\(files)")
                }
                #expect(origin.downloads.allSatisfy { $0.path.contains(service.previews) })
            }
        }
    }
}
