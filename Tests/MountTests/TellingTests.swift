import CLinux
import Foundation
import Testing

extension MountSuite {
    /// What could not be done is said, at once and to whoever asked.
    @Suite struct TellingTests {
        @Test func pinTellsWhatCouldNotBeDownloaded() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace)
                let mount = try Mount(workplace, of: origin, options: ["prefetch=0", "top=4"])
                let rankfs = { (words: String...) in try workplace.run(["\(Workplace.programs)/rankfs"] + words) }
                let readable = try mount.names(mount.day()).filter {
                    extendedAttribute("user.rankfs.withheld", of: "\(mount.day())/\($0)") == nil
                }
                try origin.spoil([#"{"action":"status","status":503,"path":"/img-master/"}"#], in: workplace)
                let one = try rankfs("pin", "\(mount.day())/\(readable[0])")
                #expect(
                    one.status == 1 && one.output.hasPrefix("pinned 1 picture, 1 could not"),
                    "\(one.status) \(one.output)\(one.errors)")
                let failed = try rankfs("pin", mount.day())
                #expect(failed.status == 1)
                #expect(
                    failed.output == "pinned 4 pictures, \(readable.count) could not be downloaded now; "
                        + "`rankfs status` tells why\n")
                try origin.spoil([], in: workplace)
                let done = try rankfs("pin", mount.day())
                #expect(done.status == 0 && done.output == "pinned 4 pictures\n", "\(done.output)\(done.errors)")
                // What the kernel still has of a dropped picture is not stored.
                #expect(try rankfs("evict", mount.day()).status == 0)
                #expect(try rankfs("pin", mount.day()).status == 0)
                #expect(
                    readable.allSatisfy {
                        extendedAttribute("user.rankfs.state", of: "\(mount.day())/\($0)") == "stored"
                    })
            }
        }
    }
}
