import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Preload".
    @Suite struct PreloadTests {
        @Test func theNextTwoAreThereWhenThePageIsTurned() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let mount = try Mount(workplace, of: origin)
                let names = try mount.names(mount.day())
                let entries = try origin.ranking()
                let readable = Array(zip(names, entries).filter { !$0.1.isWithheld }.prefix(8))
                func path(_ index: Int) -> String { "\(mount.day())/\(readable[index].0)" }
                func picture(_ index: Int) -> String { readable[index].1.picture }

                _ = try read(path(0)).get()
                #expect(poll { origin.downloads.count == 3 && isIdle(mount) })
                #expect(origin.downloads.map(\.path) == [picture(0), picture(1), picture(2)])
                // The second is stored: reading it sends the fourth, and nothing else.
                _ = try read(path(1)).get()
                #expect(poll { origin.downloads.count == 4 && isIdle(mount) })
                #expect(origin.downloads.map(\.path).last == picture(3))
            }
        }

        @Test func sniffingPreloadsNothing() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let mount = try Mount(workplace, of: origin)
                let first = try #require(try mount.names(mount.day()).first)
                #expect(try read("\(mount.day())/\(first)", count: 4096).get().count == 4096)
                #expect(poll { isIdle(mount) })
                #expect(origin.downloads.count == 1)
            }
        }
    }
}

/// Whether the mount says that it downloads nothing now.
func isIdle(_ mount: Mount) -> Bool {
    guard let cache = (try? mount.status())?["cache"] as? [String: Any] else { return false }
    return (cache["downloads"] as? [Any])?.isEmpty == true
}
