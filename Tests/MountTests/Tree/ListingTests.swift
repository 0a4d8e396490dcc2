import Foundation
import Testing

extension MountSuite {
    /// Semantics: "True metadata before any download".
    @Suite struct ListingTests {
        @Test(arguments: Service.allCases) func namesCostNoRequestToTheImageHost(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let names = try mount.names(mount.day())
                let entries = try origin.ranking()
                #expect(names.count == entries.count)
                #expect(origin.pictureRequests.isEmpty)
                #expect(names == names.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }), "rank order")
                #expect(Set(names.map { Data($0.utf8) }).count == names.count)
                for (name, entry) in zip(names, entries) {
                    #expect(name.utf8.count <= 200)
                    #expect(name.utf8.starts(with: String(format: "%03d-", entry.rank).utf8))
                    #expect(name.hasSuffix(entry.ending))
                    #expect(
                        !name.unicodeScalars.contains {
                            $0.value < 32 || $0.value == 127 || "\\/:*?\"<>|".unicodeScalars.contains($0)
                        })
                }
            }
        }

        @Test(arguments: Service.allCases) func everySizeAndTimeIsTheOrigins(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let listed = try workplace.run("ls", "-ln", mount.day())
                #expect(listed.status == 0, "\(listed.errors)")
                #expect(listed.lines.count == (try origin.ranking().count) + 1)
                let entries = try origin.ranking()
                let lengths = try origin.lengths(of: entries.filter { !$0.isWithheld }, in: workplace)
                let names = try mount.names(mount.day())
                for (name, entry) in zip(names, entries) where !entry.isWithheld {
                    let status = try status(of: "\(mount.day())/\(name)")
                    #expect(Int64(status.st_size) == lengths[entry.picture], "\(name)")
                    #expect(Int64(status.st_blocks) == (Int64(status.st_size) + 511) / 512)
                    #expect(Int64(status.st_mtim.tv_sec) == entry.uploaded, "\(name)")
                    #expect(status.st_mtim.tv_nsec == 0)
                }
                let before = origin.pictureRequests.count
                #expect(try workplace.run("ls", "-l", mount.day()).status == 0)
                #expect(origin.pictureRequests.count == before, "sizes are asked once")
            }
        }

        @Test func aLongListingRequestsEachSizeOnce() async throws {
            try await withMount(origin: ["--no-chunked"], options: ["top=60"]) { workplace, origin, mount in
                let listed = try workplace.run("ls", "-l", mount.day())
                #expect(listed.status == 0, "\(listed.errors)")
                #expect(origin.pictureRequests.allSatisfy { $0.method == "HEAD" })
                #expect(origin.pictureRequests.map(\.path).sorted() == (try readable(of: origin)).sorted())
            }
        }

        /// The bytes of a picture tell its size: a copy waits for the sizes of the first pictures only.
        @Test(arguments: ["cp -r", "tar -cf"]) func aCopyRequestsHardlyAnySize(program: String) async throws {
            try await withWorkplace { workplace in
                let options = ["--latency", "60", "--rate", "2000000", "--no-chunked"]
                let origin = try OriginProcess(workplace, options)
                let mount = try Mount(workplace, of: origin, options: ["top=60"])
                let target = workplace.directory.appending(path: "copy").path
                let words = program.split(separator: " ").map(String.init)
                let operands = words[0] == "cp" ? [mount.day(), target] : [target, mount.day()]
                // What is withheld is listed here, and cannot be copied.
                _ = try workplace.run(words + operands)
                let pictures = try readable(of: origin)
                #expect(Set(origin.downloaded) == Set(pictures))
                #expect(origin.downloads.count <= pictures.count + 12)
                // `tar` has the directory open: its first stat requests all, of which the first answers let some go.
                #expect(origin.pictureRequests.count { $0.method == "HEAD" } < 30)
            }
        }

        /// The first sixty pictures that can be read, in the order of their ranks.
        private func readable(of origin: OriginProcess) throws -> [String] {
            try origin.ranking().filter { $0.rank <= 60 && !$0.isWithheld }.map(\.picture)
        }
    }
}
