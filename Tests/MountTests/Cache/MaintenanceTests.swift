import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Looking after the cache".
    @Suite struct MaintenanceTests {
        @Test(arguments: Service.kinds)
        func theCacheIsVerifiedPrunedAndClearedWithoutAMount(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                var mount = try Mount(workplace, of: origin, options: ["top=12", "prefetch=0"])
                let cache = { (action: String, options: String) in
                    try workplace.rankfs("cache", action, service.rawValue, "-o", "cache_dir=\(mount.cache)\(options)")
                }
                let names = try mount.names(mount.day())
                for name in names { _ = read("\(mount.day())/\(name)") }
                #expect(poll { mount.isIdle })
                for action in ["verify", "prune", "clear"] {
                    let refused = try cache(action, "")
                    #expect(refused.status == 69 && refused.errors.contains(mount.path), "\(refused.errors)")
                    #expect(refused.errors.contains("process \(mount.child.pid)"))
                }
                #expect(mount.unmount())
                let readOnly = "mount --bind $0 $0 && mount -o remount,bind,ro $0 && $1 cache verify $2 -o cache_dir=$0"
                let refused = try workplace.run(
                    "/usr/bin/unshare", "-m", "--propagation", "private", "sh", "-c", readOnly, mount.cache,
                    Workplace.rankfs, service.rawValue)
                #expect(refused.status != 0 && refused.errors.contains("Read-only file system"), "\(refused)")
                let pictures = try workplace.run("find", "\(mount.cache)/v2", "-name", "*_p*_*.*.*", "-type", "f")
                #expect(pictures.lines.count > 5)
                #expect(try cache("verify", "").status == 0)
                let broken = try #require(pictures.lines.first)
                #expect(truncate(broken, 1000) == 0)
                let verified = try cache("verify", "")
                #expect(verified.status == 1)
                #expect(verified.output.contains("it has 1000 bytes, not"), "\(verified.output)")
                #expect(access(broken, F_OK) != 0)
                #expect(try cache("verify", "").status == 0)
                let pruned = try cache("prune", ",cache_size=16M,cache_free=1000T")
                #expect(pruned.status == 0 && pruned.output.contains("; 0 pictures stay"), "\(pruned.output)")
                mount = try Mount(workplace, of: origin, options: ["top=12", "prefetch=0"])
                _ = try read("\(mount.day())/\(names[0])").get()
                // A look of a file manager: thumbnails are made of what is stored here.
                _ = access("\(mount.day())/.hidden", F_OK)
                let thumbnails = {
                    try workplace.run("find", workplace.directory.appending(path: "xdg").path, "-name", "*.png").lines
                        .count
                }
                #expect(try poll { try thumbnails() > 0 })
                #expect(mount.unmount())
                let cleared = try cache("clear", "")
                #expect(cleared.status == 0 && cleared.output.hasPrefix("removed 1 pictures, "), "\(cleared.output)")
                #expect(try thumbnails() == 0)
                let left = try FileManager.default.contentsOfDirectory(atPath: mount.cache).sorted()
                #expect(left == [".busy", ".nomedia", ".trackerignore", "CACHEDIR.TAG", "source"])
                // It is a cache still.
                mount = try Mount(workplace, of: origin, options: ["top=12", "prefetch=0"])
                #expect(try mount.names(mount.day()) == names)
            }
        }
    }
}
