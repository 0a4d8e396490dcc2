import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Starting and stopping, as people, mount(8) and systemd do it.
    @Suite struct UnmountTests {
        @Test func mountMakesTheFolderWhereTheUserMay() async throws {
            try await withOrigin { workplace, origin in
                let home = try workplace.folder("home")
                let (directory, rankfs) = ("\(home)/Rankings", Workplace.rankfs)
                let isThere = { (path: String) in access(path, F_OK) == 0 }
                // What cannot be mounted leaves nothing behind.
                let wrong = try workplace.run(rankfs, "mount", directory, "-o", "nonsense=1")
                #expect(wrong.status != 0 && !isThere(directory))
                let deep = "\(home)/Pictures/Rankings"
                let refused = try workplace.mount(origin, on: deep)
                #expect(refused.status != 0 && refused.errors.contains("`mkdir -p`"), "\(refused.errors)")
                #expect(!isThere("\(home)/Pictures"))
                if geteuid() == 0 {
                    // Another user's folder is not to be written into, whoever may.
                    chown(home, 1, 1)
                    #expect(try workplace.mount(origin, on: directory).status != 0 && !isThere(directory))
                    chown(home, 0, 0)
                }
                let output = try workplace.mount(origin, on: directory + "/")
                #expect(output.status == 0, "\(output.errors)")
                #expect(try workplace.run("ls", directory).lines.contains("ranking"))
                #expect(try workplace.run(rankfs, "unmount", directory).status == 0)
                #expect(isThere(directory), "it stays for the next time")
                #expect(try workplace.mount(origin, on: directory).status == 0)
                #expect(try workplace.run(rankfs, "unmount", directory).status == 0)
            }
        }

        @Test func theMountHelperTakesWhatMountGivesIt() async throws {
            try await withOrigin { workplace, origin in
                let directory = try workplace.folder("mount")
                workplace.willMount(at: directory)
                let helper = workplace.directory.appending(path: "mount.rankfs").path
                try FileManager.default.createSymbolicLink(atPath: helper, withDestinationPath: Workplace.rankfs)
                let cache = workplace.directory.appending(path: "cache").path
                let options =
                    "rw,noexec,nosuid,nodev,nofail,user,_netdev,max_read=65536,\(origin.mountOptions),cache_dir=\(cache)"
                // mount(8) starts helpers with an empty environment.
                let output = try workplace.run("env", "-i", helper, "pixiv", directory, "-o", options)
                #expect(output.status == 0, "\(output.errors)")
                let table = try workplace.run("findmnt", "-no", "SOURCE,FSTYPE,OPTIONS", directory).output
                for word in ["pixiv", "fuse.rankfs", "ro", "nosuid", "nodev", "noexec", "max_read=65536"] {
                    #expect(table.contains(word), "\(table)")
                }
                #expect(try workplace.run("umount", directory).status == 0)
                #expect(poll { processes(serving: directory).isEmpty }, "umount ends the daemon")
            }
        }

        @Test(arguments: Service.kinds) func theDemoShowsItself(service: Service) async throws {
            try await withWorkplace { workplace in
                let directory = workplace.directory.appending(path: "demo").path
                workplace.willMount(at: directory)
                let home = try workplace.folder("home")
                let demo = try workplace.start(
                    "rankfs", ["demo"] + (service == .pixiv ? [] : [service.rawValue]) + [directory],
                    environment: ["HOME": home, "PATH": "/usr/bin:/bin"])
                #expect(poll { Workplace.isMounted(directory) && demo.outputText.contains("ls ") }, "\(demo.errorText)")
                let latest = try workplace.run("ls", "\(directory)/ranking/\(service.daily)/latest/")
                #expect(latest.lines.count > (service == .pixiv ? 400 : 20), "\(latest.errors)")
                demo.signal(SIGINT)
                #expect(demo.wait(upTo: 10)?.status == 0)
                #expect(!Workplace.isMounted(directory))
            }
        }

        @Test func aDemoThatIsStoppedWhileItStartsLeavesNothing() async throws {
            try await withWorkplace { workplace in
                let home = try workplace.folder("home")
                let (folder, caches) = ("\(home)/Rankings", "\(home)/.cache/rankfs")
                workplace.willMount(at: folder)
                let demo = try workplace.start(
                    "rankfs", ["demo"], environment: ["HOME": home, "PATH": "/usr/bin:/bin"])
                #expect(poll { FileManager.default.fileExists(atPath: "\(caches)/demo-tour") })
                demo.signal(SIGINT)
                #expect(demo.wait(upTo: 20)?.status == 0)
                #expect(!FileManager.default.fileExists(atPath: folder))
                #expect(try FileManager.default.contentsOfDirectory(atPath: caches).isEmpty)
            }
        }

        /// A cache that is removed after it is gone.
        @Test func afterAnUnmountNothingWritesToTheCache() async throws {
            try await withOrigin { workplace, origin in
                let directory = try workplace.folder("mount")
                for _ in 0..<3 {
                    #expect(try workplace.mount(origin, on: directory).status == 0)
                    let day = "\(directory)/ranking/daily/latest"
                    #expect(try workplace.run("sh", "-c", "cat \(day)/00[1-3]*").status == 0)
                    let unmounted = try workplace.rankfs("unmount", directory)
                    #expect(unmounted.status == 0, "\(unmounted.errors)")
                    #expect(processes(serving: directory).isEmpty)
                    #expect(try workplace.run("rm", "-r", "\(workplace.directory.path)/cache").status == 0)
                }
            }
        }

        /// A question to a mount that does not answer would keep it busy.
        @Test func aMountWhoseProcessHangsIsUnmounted() async throws {
            try await withWorkplace { workplace in
                let directory = try workplace.folder("mount")
                #expect(try workplace.mount(OriginProcess(workplace), on: directory).status == 0)
                let serving = processes(serving: directory)
                #expect(!serving.isEmpty)
                for process in serving { kill(process, SIGSTOP) }
                // Programs that look into every mount, as others' tests do, keep it busy for some seconds.
                #expect(poll { (try? workplace.rankfs("unmount", directory).status) == 0 })
                #expect(!Workplace.isMounted(directory))
                for process in serving { kill(process, SIGCONT) }
                #expect(poll { processes(serving: directory).isEmpty })
            }
        }

        /// The processes that have this mount point among their arguments.
        private func processes(serving directory: String) -> [Int32] {
            let numbers =
                (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap { Int32($0) } ?? []
            return numbers.filter { number in
                guard number != getpid(), let line = FileManager.default.contents(atPath: "/proc/\(number)/cmdline")
                else { return false }
                return String(decoding: line, as: UTF8.self).contains(directory)
            }
        }
    }
}
