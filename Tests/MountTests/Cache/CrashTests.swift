import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Crash-safe".
    @Suite struct CrashTests {
        @Test(arguments: Service.reached)
        func aKilledDownloadResumesAfterTheNextMount(wire: Wire, service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, ["--no-chunked"], wire: wire, service: service)
                var mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                let pictures = try mount.pictures(40, of: origin)
                let lengths = try origin.lengths(of: pictures.map(\.entry), in: workplace)
                let (path, entry) = try #require(pictures.first { lengths[$0.entry.picture] ?? 0 > 500_000 })
                let length = lengths[entry.picture] ?? 0
                // The kill must come in mid-download, after the state was kept (every 256 KiB), or this shows nothing: one answer stops
                // behind 400 KB, or the fourth of several for a part each does not begin.
                let stall = FaultKind("stallbody", "\"action\":\"stallbody\",\"after\":400000")
                try origin.spoil(
                    [
                        stall.rule(entry.picture, method: "GET", count: 3),
                        FaultKind("stallhdr").rule(entry.picture, method: "GET"),
                    ], in: workplace)
                let reader = try workplace.start("/bin/cat", [path])
                #expect(poll { received(mount) > 390_000 })
                mount.killHard()
                #expect(reader.wait()?.status != 0)

                try origin.spoil([], in: workplace)
                mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                let bytes = try read(path).get()
                let asked = origin.downloads.filter { $0.path == entry.picture && $0.fault == nil }
                #expect(asked.reduce(0) { $0 + ($1.bytes ?? 0) } < length - 200_000, "resumed by Range")
                #expect(try bytes == origin.fetch(entry.picture))
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
