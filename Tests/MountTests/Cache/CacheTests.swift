import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Bounded" and "Backups pass the cache by".
    @Suite struct CacheTests {
        @Test(arguments: Service.kinds)
        func theBudgetHoldsAndOpenFilesSurviveEviction(service: Service) async throws {
            try await withMount(service, options: ["cache_size=16M", "cache_free=0"]) { workplace, origin, mount in
                // Of boards, whose originals are larger, fewer are more than the budget.
                let count = service.isProven ? 40 : 70
                let readable = try mount.pictures(count, of: origin).map(\.path)
                let kept = readable[0]
                let file = open(kept, O_RDONLY)
                defer { close(file) }
                var byte: UInt8 = 0
                #expect(pread(file, &byte, 1, 0) == 1)
                let first = try read(kept).get()
                for path in readable.dropFirst() {
                    _ = try read(path).get()
                    #expect(try pictureBytes(mount.cache) <= (16 << 20) + 2 * Int64(first.count) + 2_000_000)
                }
                #expect(poll { mount.isIdle })
                var buffer = [UInt8](repeating: 0, count: first.count)
                // The page cache must not answer for the daemon.
                posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)
                var done = 0
                while done < buffer.count {
                    let got = buffer.withUnsafeMutableBytes {
                        pread(file, $0.baseAddress! + done, $0.count - done, off_t(done))
                    }
                    guard got > 0 else { break }
                    done += got
                }
                #expect(Data(buffer) == first)
            }
        }

        @Test(arguments: Service.kinds) func theCacheIsMarkedForBackups(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let name = try #require(try mount.names(mount.day()).first)
                _ = try read("\(mount.day())/\(name)").get()
                let tag = try String(contentsOfFile: "\(mount.cache)/CACHEDIR.TAG", encoding: .utf8)
                #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
                let directories = try workplace.run("find", mount.cache, "-type", "d").lines
                #expect(directories.count > 1)
                for directory in directories {
                    #expect(extendedAttribute("user.xdg.robots.backup", of: directory) == "false", "\(directory)")
                    #expect(extendedAttribute("user.xdg.robots.index", of: directory) == "false", "\(directory)")
                    #expect(extendedAttribute("user.com.apple.MobileBackup", of: directory) == "1", "\(directory)")
                    #expect(
                        try workplace.run("lsattr", "-d", directory).output.prefix(22).contains("d"), "\(directory)")
                }
                for file in [".nomedia", ".trackerignore"] {
                    #expect(FileManager.default.fileExists(atPath: "\(mount.cache)/\(file)"))
                }
                let cache = URL(filePath: mount.cache).lastPathComponent
                let archive = try workplace.run(
                    "tar", "--exclude-caches", "-cf", "\(workplace.directory.path)/x.tar", "-C",
                    workplace.directory.path, cache)
                #expect(archive.status == 0)
                let members = try workplace.run("tar", "-tf", "\(workplace.directory.path)/x.tar").lines
                #expect(
                    !members.isEmpty && members.allSatisfy { $0 == "\(cache)/" || $0 == "\(cache)/CACHEDIR.TAG" },
                    "\(members)")
            }
        }

        /// Whoever removes the cache under a mount loses what was stored, and nothing that comes after.
        @Test func aCacheThatIsRemovedUnderAMountIsMadeAgain() async throws {
            try await withOrigin { workplace, origin in
                let later = try origin.ranking("daily", "2024-04-20").count
                let first = try #require(try origin.ranking().first { !$0.isWithheld })
                let expected = try origin.fetch(first.picture)
                do {
                    let mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                    _ = try mount.names(mount.day())
                    // The mount may store what it has read meanwhile.
                    #expect(poll { (try? FileManager.default.removeItem(atPath: mount.cache)) != nil })
                    #expect(try mount.names(mount.day("daily", "2024-04-20")).count == later)
                    let name = try #require(try mount.names(mount.day()).first)
                    #expect(try read("\(mount.day())/\(name)").get() == expected)
                    #expect(poll { mount.child.errorText.contains("was removed while it was in use") })
                    let owner = try String(contentsOfFile: "\(mount.cache)/source", encoding: .utf8)
                    #expect(owner == "\(origin.service.rawValue)\n", "no other source takes it over")
                    #expect(mount.unmount())
                }
                origin.stop()
                let next = try Mount(workplace, of: origin, options: ["prefetch=0"])
                #expect(try next.names(next.day("daily", "2024-04-20")).count == later)
                let name = try #require(try next.names(next.day()).first)
                #expect(try read("\(next.day())/\(name)").get() == expected)
            }
        }

        /// The bytes of stored pictures, as `find` sees them.
        private func pictureBytes(_ cache: String) throws -> Int64 {
            let paths = FileManager.default.enumerator(atPath: cache)?.compactMap { $0 as? String } ?? []
            return paths.filter { !$0.contains("sqlite") && !$0.hasSuffix(".log") }.reduce(0) { sum, path in
                var status = stat()
                guard lstat("\(cache)/\(path)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return sum }
                return sum + Int64(status.st_blocks) * 512
            }
        }
    }
}
