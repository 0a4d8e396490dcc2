import CLinux
import Foundation
import TestSupport
import Testing

extension MountSuite {
    /// What could not be done is said, at once and to whoever asked.
    @Suite struct TellingTests {
        @Test(arguments: Service.kinds) func pinTellsWhatCouldNotBeDownloaded(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0", "top=4"]) { workplace, origin, mount in
                let readable = try mount.shown(mount.day())
                try origin.spoil([FaultKind.status(500).rule(service.pictures)], in: workplace)
                let one = try workplace.rankfs("pin", readable[0])
                #expect(
                    one.status == 1 && one.output.hasPrefix("pinned 1 picture, 1 are not"),
                    "\(one.status) \(one.output)\(one.errors)")
                let failed = try workplace.rankfs("pin", mount.day())
                #expect(failed.status == 1)
                #expect(
                    failed.output == "pinned 4 pictures, \(readable.count) are not stored, "
                        + "for lack of room or of an answer; `rankfs status` shows both\n")
                try origin.spoil([], in: workplace)
                let done = try workplace.rankfs("pin", mount.day())
                #expect(done.status == 0 && done.output == "pinned 4 pictures\n", "\(done.output)\(done.errors)")
                #expect(poll { readable.allSatisfy { state(of: $0) == "stored" } })
            }
        }

        @Test func pinDownloadsNoMoreThanThereIsRoomFor() async throws {
            try await withMount(.pixiv, options: ["prefetch=0", "top=120", "cache_size=16M"]) {
                workplace, origin, mount in
                let pinned = try workplace.rankfs("pin", mount.day())
                #expect(pinned.status == 1 && pinned.output.hasPrefix("pinned "))
                #expect(
                    pinned.output.hasSuffix(
                        "are not stored; there is no room: `rankfs unpin` others, or mount with a larger cache_size\n"),
                    "\(pinned.output)")
                let asked = Set(origin.downloaded).count
                #expect(asked > 8 && asked < 100, "\(asked)")
            }
        }

        /// The kernel keeps pages of a picture that was dropped, and reads from those never reach the mount.
        @Test(arguments: Service.kinds)
        func whatIsFetchedIsStoredAlsoWhereTheKernelStillHasIt(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0", "top=4"]) { workplace, origin, mount in
                let paths = try mount.shown(mount.day())
                for command in ["fetch", "pin"] {
                    for path in paths { _ = try read(path).get() }
                    guard poll({ paths.allSatisfy { state(of: $0) == "stored" } }) else { throw Failure("not stored") }
                    #expect(evict([mount.day()], of: paths, workplace))
                    #expect(try workplace.rankfs(command, mount.day()).status == 0)
                    #expect(poll { paths.allSatisfy { state(of: $0) == "stored" } }, "\(command)")
                }
            }
        }

        @Test func aLogFileThatCannotBeIsSaidBeforeMounting() async throws {
            try await withOrigin { workplace, origin in
                let directory = try workplace.folder("mount")
                for (file, status, reason) in [
                    ("/dev/zero", 73, "no regular file"), ("\(directory)/log", 64, "inside the mount point"),
                ] as [(String, Int32, String)] {
                    let output = try workplace.mount(origin, on: directory, "log_file=\(file)")
                    #expect(output.status == status, "\(file): \(output.errors)")
                    #expect(output.errors.contains(reason) && output.errors.split(separator: "\n").count == 1)
                    #expect(!Workplace.isMounted(directory))
                }
                let log = workplace.directory.appending(path: "log").path
                let mount = try Mount(workplace, of: origin, options: ["log_file=\(log)"])
                // As logrotate(8) does, and whoever removes the cache's folder.
                #expect(rename(log, "\(log).1") == 0)
                #expect(mount.unmount())
                #expect(try String(contentsOfFile: log, encoding: .utf8).contains("info: unmounted \(mount.path)"))
            }
        }

        @Test func cookiesThatCannotBeUsedAreAWarningBeforeTheMountIsThere() async throws {
            try await withOrigin { workplace, origin in
                let directory = try workplace.folder("mount")
                let output = try workplace.mount(origin, on: directory, "cookies=/nowhere/cookies.txt")
                #expect(output.status == 0 && Workplace.isMounted(directory))
                #expect(
                    output.errors
                        == "rankfs: warning: the session file /nowhere/cookies.txt cannot be read: No such file or directory\n"
                )
                #expect(try workplace.rankfs("unmount", directory).status == 0)
            }
        }

        @Test(arguments: Service.kinds)
        func failuresThatWereOnlyCountedAreSaidAtTheEnd(service: Service) async throws {
            try await withMount(service, options: ["prefetch=0", "top=20"]) { workplace, origin, mount in
                let readable = try mount.shown(mount.day())
                try origin.spoil([FaultKind.status(404).rule(service.pictures)], in: workplace)
                for path in readable.prefix(8) {
                    guard case .failure = read(path, count: 1) else { throw Failure("\(path) was read") }
                }
                #expect(!mount.child.errorText.contains("more like this"))
                #expect(mount.unmount())
                #expect(mount.child.errorText.contains("warning: and 5 more like this: "), "\(mount.child.errorText)")
            }
        }

        /// Where fusermount3 cannot unmount: as in a container without /etc/mtab.
        @Test(.enabled(if: OwnNamespace.canOpenDevice, "needs root, and leave to make a device for FUSE"))
        func aMountThatCannotBeTakenAwayIsNotSaidToBe() async throws {
            try await withWorkplace { workplace in
                let (folder, cache) = (try workplace.folder("mount"), try workplace.folder("cache"))
                // The way to the build may be closed to others.
                let program = workplace.directory.appending(path: "program").path
                try FileManager.default.copyItem(atPath: Workplace.rankfs, toPath: program)
                let origin = workplace.directory.appending(path: "rankfs-origin").path
                try FileManager.default.copyItem(atPath: "\(TestPrograms.directory)/rankfs-origin", toPath: origin)
                let helper = workplace.directory.appending(path: "fusermount3").path
                try "#!/bin/sh\necho 'fusermount3: failed to open /etc/mtab: No such file or directory' >&2\nexit 1\n"
                    .write(toFile: helper, atomically: true, encoding: .utf8)
                for path in [program, origin, helper, workplace.directory.path] { chmod(path, 0o755) }
                for path in [folder, cache] { try workplace.run("chown", "nobody:", path) }
                let nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
                // In a mount namespace of its own, whose end also takes away what is left.
                let own = OwnNamespace.withOpenDevice(try workplace.folder("device")) + nobody
                let child = try workplace.start(
                    own[0],
                    own.dropFirst() + [
                        program, "mount", "-f", "demo", folder, "-o", "cache_dir=\(cache),thumbnails=off",
                    ],
                    environment: ["PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": cache])
                let inside = { (words: [String]) in try workplace.run(["nsenter", "-t", "\(child.pid)", "-m"] + words) }
                guard poll({ (try? inside(nobody + ["cat", "\(folder)/.rankfs/version"]))?.status == 0 }) else {
                    throw Failure("not mounted: \(child.errorText)")
                }
                #expect(try inside(["mount", "--bind", helper, "/usr/bin/fusermount3"]).status == 0)
                let refused = try inside(nobody + [program, "unmount", folder])
                #expect(refused.status == 32 && refused.errors.contains("/etc/mtab: No such file"), "\(refused.errors)")
                #expect(!refused.errors.contains("in use"))
                child.signal(SIGTERM)
                let end = try #require(child.wait(upTo: 10))
                #expect(end.status == 32)
                #expect(end.errors.contains("\(folder) could not be unmounted"), "\(end.errors)")
                #expect(!end.errors.contains("info: unmounted"))
            }
        }
    }
}
