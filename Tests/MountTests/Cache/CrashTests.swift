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
                let names = try mount.names(mount.day())
                let entries = try origin.ranking()
                let lengths = try origin.lengths(
                    of: entries.prefix(40).filter { !$0.isWithheld }, in: workplace)
                let length = { (entry: OriginEntry) in lengths[entry.picture] ?? 0 }
                // One that lasts two seconds or so.
                let chosen = try #require(
                    zip(names, entries).filter { !$1.isWithheld && length($1) > 500_000 }
                        .min { abs(length($0.1) - 800_000) < abs(length($1.1) - 800_000) })
                let path = "\(mount.day())/\(chosen.0)"
                let reader = try workplace.start("/bin/cat", [path])
                // The kill must come in mid-download, after the state was kept (every 256 KiB), or this shows nothing.
                #expect(poll { received(mount) > 300_000 })
                mount.killHard()
                #expect(reader.wait()?.status != 0)

                mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                #expect(try read(path).get() == origin.fetch(chosen.1.picture))
                let asked = origin.downloads.filter { $0.path == chosen.1.picture && $0.range != nil }
                #expect(
                    asked.contains { $0.status == 206 && $0.range?.hasPrefix("bytes=0-") == false }, "resumed by Range")
            }
        }

        @Test(arguments: Service.kinds) func aStaleMountIsRecovered(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
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
            guard let cache = (try? mount.status())?["cache"] as? [String: Any],
                let downloads = cache["downloads"] as? [[String: Any]]
            else { return 0 }
            return downloads.compactMap { ($0["received"] as? NSNumber)?.int64Value }.max() ?? 0
        }
    }
}
