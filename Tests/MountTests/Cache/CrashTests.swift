import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Crash-safe".
    @Suite struct CrashTests {
        @Test(arguments: Service.reached)
        func aKilledDownloadResumesAfterTheNextMount(wire: Wire, service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(
                    workplace, ["--rate", "400000", "--no-chunked"], wire: wire, service: service)
                var mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                let pictures = try mount.pictures(40, of: origin)
                let lengths = try origin.lengths(of: pictures.map(\.entry), in: workplace)
                let length = { (entry: OriginEntry) in lengths[entry.picture] ?? 0 }
                // One that lasts two seconds or so.
                let (path, entry) = try #require(
                    pictures.filter { length($0.entry) > 500_000 }
                        .min { abs(length($0.entry) - 800_000) < abs(length($1.entry) - 800_000) })
                let reader = try workplace.start("/bin/cat", [path])
                // The kill must come in mid-download, after the state was kept (every 256 KiB), or this shows nothing.
                #expect(poll { received(mount) > 300_000 })
                mount.killHard()
                #expect(reader.wait()?.status != 0)

                mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                #expect(try read(path).get() == origin.fetch(entry.picture))
                let asked = origin.downloads.filter { $0.path == entry.picture && $0.range != nil }
                #expect(
                    asked.contains { $0.status == 206 && $0.range?.hasPrefix("bytes=0-") == false }, "resumed by Range")
            }
        }

        @Test(arguments: Service.kinds) func aStaleMountIsRecovered(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let first = try Mount(workplace, of: origin)
                let names = try first.names(first.day())
                first.killHard()
                #expect(Workplace.isMounted(first.path), "the dead mount is still in the table")
                let second = try Mount(workplace, of: origin)
                #expect(poll { (try? second.names(second.day())) == names })
                #expect(second.unmount())
                #expect(!Workplace.isMounted(second.path), "no dead mount lies below")
            }
        }

        private func received(_ mount: Mount) -> Int64 {
            let downloads = (try? mount.figures("cache"))?["downloads"] as? [[String: Any]] ?? []
            return downloads.compactMap { ($0["received"] as? NSNumber)?.int64Value }.max() ?? 0
        }
    }
}
