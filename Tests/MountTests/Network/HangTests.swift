import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Nothing hangs".
    @Suite struct HangTests {
        @Test(arguments: Service.reached)
        func aReaderOfASilentOriginCanBeInterrupted(wire: Wire, service: Service) async throws {
            try await withMount(service, wire: wire) { workplace, origin, mount in
                let names = try mount.readable(mount.day())
                #expect(try workplace.run("ls", "-l", mount.day()).status == 0)
                origin.freeze()
                defer { origin.thaw() }
                let reader = try workplace.start("/bin/cat", ["\(mount.day())/\(names[0])"])
                let second = try workplace.start("/bin/cat", ["\(mount.day())/\(names[0])"])
                #expect(poll { reader.waitsForAMount && second.waitsForAMount })
                // What is known does not wait behind them.
                #expect(try status(of: "\(mount.day())/\(names[1])").st_size > 0)
                #expect(try workplace.run("df", mount.path).status == 0)
                reader.signal(SIGINT)
                second.signal(SIGINT)
                #expect(reader.wait(upTo: 10) != nil, "Ctrl-C frees the reader")
                #expect(second.wait(upTo: 10) != nil, "and the one that waits for the same page")
            }
        }

        /// The machine is suspended for an hour while readers wait.
        @Test func theTimeOfASuspensionIsNoWait() async throws {
            try await withOrigin { workplace, origin in
                let slept = workplace.directory.appending(path: "slept").path
                let mount = try Mount(
                    workplace, of: origin, options: ["prefetch=0"], variables: workplace.clock("CLOCK_SLEPT", slept))
                defer { mount.unmount() }
                let names = try mount.readable(mount.day())
                #expect(try workplace.run("ls", "-l", mount.day()).status == 0)
                origin.freeze()
                let readers = try names.prefix(2).map { try workplace.start("/bin/cat", ["\(mount.day())/\($0)"]) }
                #expect(poll { readers.allSatisfy(\.waitsForAMount) })
                try "".write(toFile: slept, atomically: false, encoding: .utf8)
                // Deadlines are looked at ten times a second.
                for _ in 0..<40 { #expect(try workplace.run("df", mount.path).status == 0) }
                origin.thaw()
                for reader in readers { #expect(reader.wait(upTo: 30)?.status == 0) }
            }
        }

        @Test(arguments: [Service.pixiv, .danbooru])
        func aHundredWaitingReadersDoNotKeepItMounted(service: Service) async throws {
            try await withMount(service) { workplace, origin, mount in
                let names = try mount.readable(mount.day())
                #expect(try workplace.run("ls", "-l", mount.day()).status == 0)
                origin.freeze()
                defer { origin.thaw() }
                let readers = try names.prefix(100).map { try workplace.start("/bin/cat", ["\(mount.day())/\($0)"]) }
                #expect(poll { readers.allSatisfy(\.waitsForAMount) })
                #expect(mount.unmount(upTo: 20))
                for reader in readers { #expect(reader.wait(upTo: 20)?.status != 0) }
            }
        }
    }
}
