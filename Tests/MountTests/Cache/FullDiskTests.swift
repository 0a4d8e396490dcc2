import CLinux
import Foundation
import Glibc
import Testing

extension MountSuite {
    /// A machine that lacks room or descriptors; Semantics: "Bounded".
    @Suite struct FullDiskTests {
        /// What the disk lacks.
        enum Lack: String, CaseIterable, Sendable {
            case bytes, inodes

            var options: String { self == .bytes ? "size=64k" : "size=64m,nr_inodes=2" }
        }

        @Test(
            .enabled(if: geteuid() == 0, "mounting a file system in memory needs root"),
            arguments: Lack.allCases, Service.kinds)
        func aNewCacheOnAFullDiskStreams(_ lack: Lack, service: Service) async throws {
            try await withWorkplace { workplace in
                let disk = try workplace.folder("disk")
                #expect(try workplace.run("mount", "-t", "tmpfs", "-o", lack.options, "none", disk).status == 0)
                defer { umount2(disk, Int32(MNT_DETACH)) }
                let ballast = URL(filePath: "\(disk)/ballast")
                if lack == .bytes { try Data(repeating: 1, count: 64 << 10).write(to: ballast) }
                if lack == .inodes { mkdir(ballast.path, 0o700) }

                let origin = try OriginProcess(workplace, service: service)
                // Stands for the file system in memory that every user has.
                let memory = try workplace.folder("run")
                let variables = ["XDG_RUNTIME_DIR": memory]
                let options = ["prefetch=0", "cache_dir=\(disk)/cache", "cache_free=0"]
                var mount = try Mount(workplace, of: origin, options: options, variables: variables)
                #expect(try mount.names(mount.day()).count > 40)
                let pictures = try Self.pictures(3, of: origin, in: mount)
                for picture in pictures + pictures { #expect(try read(picture.path).get() == picture.bytes) }
                let isInMemory = poll { mount.child.errorText.contains("kept in memory, in \(memory)") }
                #expect(isInMemory == (lack == .inodes))
                #expect(try FileManager.default.contentsOfDirectory(atPath: memory).isEmpty == !isInMemory)
                #expect(mount.unmount())
                #expect(try FileManager.default.contentsOfDirectory(atPath: memory).isEmpty)

                try FileManager.default.removeItem(at: ballast)
                #expect(try workplace.run("mount", "-o", "remount,size=64m,nr_inodes=10k", disk).status == 0)
                mount = try Mount(workplace, of: origin, options: options, named: "again")
                let first = pictures[0].path.replacing("/mount/", with: "/again/")
                #expect(try read(first).get() == pictures[0].bytes)
                #expect(access("\(disk)/cache/catalog/catalog.sqlite", F_OK) == 0)
                #expect(mount.unmount())
            }
        }

        /// A limit of the shell on the size of files ends no mount.
        @Test func picturesLargerThanFilesMayBeAreRightOrFail() async throws {
            try await withOrigin { workplace, origin in
                let mount = try Mount(workplace, of: origin, before: ["/usr/bin/prlimit", "--fsize=256000:256000"])
                let pictures = try Self.pictures(4, of: origin, in: mount)
                for picture in pictures {
                    if let bytes = try? read(picture.path).get() { #expect(bytes == picture.bytes) }
                }
                #expect(try mount.status()["pid"] != nil)
                #expect(mount.unmount())
            }
        }

        /// Of the pictures that are open at once, those are closed which nobody reads, and opened again.
        @Test(arguments: [(Wire.tls, Service.pixiv), (.plain, .pixiv), (.tls, .yandere)])
        func moreOpenPicturesThanDescriptorsAreRight(wire: Wire, service: Service) async throws {
            try await withOrigin(service, wire: wire) { workplace, origin in
                let mount = try Mount(workplace, of: origin, before: ["/usr/bin/prlimit", "--nofile=96:96"])
                let pictures = try Self.pictures(100, of: origin, in: mount)
                #expect(pictures.count > 20)
                // As often as it takes to have more open than there are descriptors; downloaded first, and then stored.
                for _ in 0..<2 {
                    var opened: [(file: FileHandle, bytes: Data)] = []
                    while opened.count < 120 {
                        for picture in pictures {
                            let file = open(picture.path, O_RDONLY | rankfs_o_direct())
                            #expect(file >= 0)
                            opened.append((FileHandle(fileDescriptor: file, closeOnDealloc: true), picture.bytes))
                        }
                    }
                    for (file, bytes) in opened {
                        #expect(try file.read(upToCount: 65_536) == bytes.prefix(65_536))
                    }
                    for (file, bytes) in opened.reversed() {
                        #expect(try file.readToEnd() ?? Data() == bytes.dropFirst(65_536))
                    }
                }
                #expect(try Self.descriptors(of: mount).count < 96)
                #expect(!mount.child.errorText.contains("network"))
                #expect(mount.unmount())
            }
        }

        /// No file or connection can be opened but for one that was closed: that is said, and all is well once there are descriptors again.
        @Test(.enabled(if: geteuid() == 0, "dropping the kernel's cache needs root"), arguments: Service.kinds)
        func withoutDescriptorsReadsAreRightOrFail(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0"]) { workplace, origin, mount in
                let pictures = try Self.pictures(4, of: origin, in: mount)
                for picture in pictures.dropLast() { #expect(try read(picture.path).get() == picture.bytes) }
                try Data("1".utf8).write(to: URL(filePath: "/proc/sys/vm/drop_caches"))
                let limit = { (count: Int) in
                    try workplace.run("prlimit", "--pid", "\(mount.child.pid)", "--nofile=\(count):16384").status
                }
                // What is left to libraries begins at the first number that is free.
                let used = try Self.descriptors(of: mount)
                #expect(try limit((0...).first { !used.contains($0) }! * 4 / 3) == 0)
                let results = pictures.map { read($0.path) }
                for (picture, result) in zip(pictures, results) {
                    switch result {
                    case .success(let bytes): #expect(bytes == picture.bytes)
                    case .failure(let failure):
                        #expect(failure.errno == EMFILE)
                        #expect(poll { mount.child.errorText.contains("rankfs is out of file descriptors") })
                    }
                }
                #expect(!mount.child.errorText.contains("network"))
                #expect(try limit(16384) == 0)
                for picture in pictures { #expect(try read(picture.path).get() == picture.bytes) }
                #expect(mount.unmount())
            }
        }

        private static func descriptors(of mount: Mount) throws -> Set<Int> {
            Set(
                try FileManager.default.contentsOfDirectory(atPath: "/proc/\(mount.child.pid)/fd").compactMap {
                    Int($0)
                })
        }

        private static func pictures(
            _ count: Int, of origin: OriginProcess, in mount: Mount
        ) throws -> [(path: String, bytes: Data)] {
            try mount.pictures(count, of: origin).map { ($0, try origin.fetch($1.picture)) }
        }
    }
}
