import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Authors, searches and what was seen".
    @Suite struct FollowingTests {
        /// A mount that is killed, then an origin that fails: each time what came is there, and only the rest is asked for.
        @Test func twoThousandAuthorsAreReadInSeveralTries() async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(
                    workplace, faults: [FaultKind("stallhdr").rule("/following?offset=720&")])
                let options = try workplace.signedIn(1008)
                let first = try Mount(workplace, of: origin, options: options)
                let reader = try workplace.start("/bin/ls", ["-U", "\(first.path)/following"])
                #expect(poll { Self.offsets(origin).contains(696) }, "the pages before the one that does not come")
                #expect(first.child.process.isRunning)
                try Self.waitUntilStored(720, workplace, first)
                first.killHard()
                _ = reader.wait(upTo: 10)

                try origin.spoil([FaultKind.status(500).rule("/following?offset=1440&")], in: workplace)
                let before = Self.offsets(origin).count
                let second = try Mount(workplace, of: origin, options: options)
                let partly = try workplace.run("ls", "-U", "\(second.path)/following")
                #expect(partly.status != 0 && partly.lines.count >= 1440, "\(partly.errors)")
                #expect(Self.offsets(origin)[before...].allSatisfy { $0 >= 720 }, "what was stored is not asked again")
                #expect(second.unmount())

                try origin.spoil([], in: workplace)
                let third = Self.offsets(origin).count
                let mount = try Mount(workplace, of: origin, options: options)
                let all = try mount.names("\(mount.path)/following")
                #expect(all.count == 2100 && Set(all).count == 2100)
                #expect(Self.offsets(origin)[third...].allSatisfy { $0 >= 1440 })
                #expect(Array(all.prefix(partly.lines.count)) == partly.lines)
            }
        }

        /// What was asked of the list, by offset, in order.
        private static func offsets(_ origin: OriginProcess) -> [Int] {
            origin.requests.compactMap { request in
                guard request.path.contains("/following?") else { return nil }
                return request.path.split(separator: "offset=").last.flatMap { Int($0.prefix { $0.isNumber }) }
            }
        }

        /// Waits until so many entries are in the mount's database, which another program reads.
        private static func waitUntilStored(_ count: Int, _ workplace: Workplace, _ mount: Mount) throws {
            let script = """
                import sqlite3, sys
                base = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
                print(base.execute("SELECT count(*) FROM entries").fetchone()[0])
                """
            let database = try #require(
                FileManager.default.enumerator(atPath: mount.cache)?.compactMap { $0 as? String }
                    .first { $0.hasSuffix("catalog.sqlite") })
            #expect(
                poll {
                    let output = try? workplace.run("python3", "-c", script, "\(mount.cache)/\(database)")
                    return (output?.lines.first.flatMap { Int($0) } ?? 0) >= count
                })
        }
    }
}
