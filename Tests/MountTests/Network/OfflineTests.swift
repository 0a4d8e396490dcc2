import Foundation
import Glibc
import Testing

extension MountSuite {
    /// Semantics: "Unreachable never means deleted".
    @Suite struct OfflineTests {
        @Test(arguments: Service.reached)
        func whatWasSeenStaysAndWhatWasNotFailsInTime(wire: Wire, service: Service) async throws {
            try await withMount(service, wire: wire, options: ["prefetch=0", "timeout=60"]) {
                workplace, origin, mount in
                let names = try mount.names(mount.day())
                #expect(try workplace.run("ls", "-l", mount.day()).status == 0)
                let readable = try mount.readable(mount.day())
                let first = try read("\(mount.day())/\(readable[0])").get()
                origin.stop()

                #expect(try mount.names(mount.day()) == names)
                #expect(try read("\(mount.day())/\(readable[0])").get() == first)
                let unread = "\(mount.day())/\(readable[5])"
                try expectUnreachable(read(unread))
                #expect(try mount.names(mount.day()) == names, "no entry disappears")
                // A day that was never opened cannot be listed now, but is not said to be gone.
                let other = try workplace.run("ls", mount.day(nil, "2023-02-03"))
                #expect(other.status != 0 && !other.errors.contains("No such file"), "\(other.errors)")

                try origin.restart()
                #expect(
                    try read(unread).get().count == Int(status(of: unread).st_size), "reads again without a remount")
                #expect(try workplace.run("ls", mount.day(nil, "2023-02-03")).status == 0)
            }
        }

        @Test(arguments: Service.allCases) func aMountWithoutNetworkServesWhatIsStored(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let (names, first) = try store(workplace, from: origin)
                origin.stop()
                let mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
                try expectStored(names, first, mount, workplace)
            }
        }

        /// The option: nothing is asked, and nothing waits.
        @Test(arguments: Service.allCases) func withTheOptionNoRequestLeaves(service: Service) async throws {
            try await withOrigin(service) { workplace, origin in
                let (names, first) = try store(workplace, from: origin)
                let before = origin.requests.count
                let mount = try Mount(workplace, of: origin, options: ["offline=on"])
                // Only what opens.
                try expectStored([names[0]], first, mount, workplace)
                #expect(try mount.names("\(mount.path)/ranking") == [service.daily])
                let daily = "\(mount.path)/ranking/\(service.daily)"
                #expect(try mount.names(daily) == [Mount.day, "latest"])
                #expect(try mount.names("\(daily)/latest") == [names[0]])
                #expect(try read("\(daily)/latest/\(names[0])").get() == first)
                #expect(try workplace.run("cp", "-r", mount.path, workplace.directory.path + "/copy").status == 0)
                // More than the bucket holds, so that one that was passed would make the others wait.
                for number in 1...50 {
                    guard
                        case .failure(let failure) = read(
                            "\(mount.path)/works/\(number)/\(service == .pixiv ? "p0" : "original").png")
                    else {
                        throw Failure("a work was had from nowhere")
                    }
                    #expect(failure.errno == EHOSTUNREACH)
                }
                for index in 5..<9 {
                    guard case .failure(let failure) = read("\(mount.day())/\(names[index])") else {
                        throw Failure("a picture was had from nowhere")
                    }
                    #expect(failure.errno == EHOSTUNREACH)
                }
                for (words, said) in [("pin", "are not stored"), ("fetch", "not all of it is stored")] {
                    let partial = try workplace.rankfs(words, mount.day())
                    #expect(partial.status == 1 && (partial.output + partial.errors).contains(said), "\(partial)")
                }
                _ = access("\(mount.day())/.hidden", F_OK)
                #expect(try mount.figures("network")["offline"] as? Bool == true)
                #expect(mount.unmount())
                #expect(origin.requests.count == before)
            }
        }

        /// Lists a day, asks its sizes and reads its first picture, in a mount that is gone afterwards.
        private func store(
            _ workplace: Workplace, from origin: OriginProcess
        ) throws -> (names: [String], first: Data) {
            let mount = try Mount(workplace, of: origin, options: ["prefetch=0"])
            let names = try mount.names(mount.day())
            #expect(try workplace.run("ls", "-l", mount.day()).status == 0)
            let first = try read("\(mount.day())/\(names[0])").get()
            #expect(mount.unmount())
            return (names, first)
        }

        private func expectStored(
            _ names: [String], _ first: Data, _ mount: Mount, _ workplace: Workplace
        ) throws {
            #expect(try mount.names(mount.day()) == names)
            #expect(try read("\(mount.day())/\(names[0])").get() == first)
            #expect(try workplace.run("ls", "-l", mount.day()).status == 0, "sizes are stored too")
        }

        private func expectUnreachable(_ result: Result<Data, ReadFailure>) throws {
            guard case .failure(let failure) = result else {
                return #expect(Bool(false), "an unread picture was read offline")
            }
            #expect(failure.errno == EHOSTUNREACH || failure.errno == ETIMEDOUT, "errno \(failure.errno)")
        }
    }
}
