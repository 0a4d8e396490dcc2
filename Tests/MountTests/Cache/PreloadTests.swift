import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Preload".
    @Suite struct PreloadTests {
        @Test(arguments: Service.allCases) func theNextTwoAreThereWhenThePageIsTurned(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                // One connection is left to preloads: two that begin at once could reach the origin either way round.
                let mount = try Mount(workplace, of: origin, options: ["connections=2"])
                let names = try mount.names(mount.day())
                let entries = try origin.ranking()
                let readable = Array(zip(names, entries).filter { !$0.1.isWithheld }.prefix(8))
                func path(_ index: Int) -> String { "\(mount.day())/\(readable[index].0)" }
                func picture(_ index: Int) -> String { readable[index].1.picture }

                // And the very next by time, for nobody knows yet how the reader goes on.
                let all = entries.filter { !$0.isWithheld }
                let next = all[nextByTime(all)[0]].picture
                try #require(!(0...3).map(picture).contains(next))
                _ = try read(path(0)).get()
                #expect(poll { origin.downloaded.count == 4 && isIdle(mount) })
                #expect(origin.downloaded == [picture(0), picture(1), picture(2), next])
                // The second is stored: reading it sends the fourth, and nothing else.
                _ = try read(path(1)).get()
                #expect(poll { origin.downloaded.count == 5 && isIdle(mount) })
                #expect(origin.downloaded.last == picture(3))
            }
        }

        /// By place: the place of the next by time, or its own behind the last.
        private func nextByTime(_ entries: [OriginEntry]) -> [Int] {
            let byTime = entries.indices.sorted { (entries[$0].uploaded, $0) < (entries[$1].uploaded, $1) }
            var next = Array(entries.indices)
            for (one, other) in zip(byTime, byTime.dropFirst()) { next[one] = other }
            return next
        }

        @Test(arguments: Service.kinds) func aReaderByTimeFindsTheNextByTime(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let mount = try Mount(workplace, of: origin, options: ["connections=2"])
                let names = try mount.names(mount.day())
                let readable = Array(zip(names, try origin.ranking()).filter { !$0.1.isWithheld })
                let byTime = readable.indices.sorted {
                    (readable[$0].1.uploaded, $0) < (readable[$1].1.uploaded, $1)
                }
                // Five in a row by time that are apart by name, and that nobody comes to who goes by name.
                let walk = try #require(
                    byTime.indices.dropLast(4).map { byTime[$0..<$0 + 5] }.first { walk in
                        zip(walk, walk.dropFirst()).allSatisfy { abs($0 - $1) > 2 }
                            && walk.dropFirst().allSatisfy { !(0...2).contains($0 - walk[walk.startIndex]) }
                    })
                let pictures = walk.map { readable[$0].1.picture }
                let paths = walk.map { "\(mount.day())/\(readable[$0].0)" }

                _ = try read(paths[0]).get()
                #expect(poll { origin.downloaded.count == 4 && isIdle(mount) })
                // The second was there before it was opened.
                #expect(origin.downloaded.last == pictures[1])
                _ = try read(paths[1]).get()
                #expect(poll { origin.downloaded.count == 6 && isIdle(mount) })
                #expect(origin.downloaded.suffix(2) == pictures[2...3])
                // The third, too, and brings the fifth alone.
                _ = try read(paths[2]).get()
                #expect(poll { origin.downloaded.count == 7 && isIdle(mount) })
                #expect(origin.downloaded.last == pictures[4])
                #expect(poll { extendedAttribute("user.rankfs.state", of: paths[3]) == "stored" })
            }
        }

        @Test(arguments: Service.kinds) func aReaderOfAWaitingPreloadGoesFirst(service: Service) async throws {
            try await withWorkplace { workplace in
                // Originals are larger.
                let rate = service.isProven ? "500000" : "150000"
                let origin = try OriginProcess(workplace, ["--rate", rate, "--no-chunked"], service: service)
                // Two connections leave one to preloads: the third picture has to wait for the second.
                let mount = try Mount(workplace, of: origin, options: ["connections=2"])
                let names = try mount.names(mount.day())
                let shown = try origin.ranking().enumerated().filter { !$0.element.isWithheld }.prefix(3)
                let files = shown.map { names[$0.offset] }
                let pictures = shown.map(\.element.picture)
                _ = try read("\(mount.day())/\(files[0])").get()
                #expect(poll { state(of: files[1], in: mount).hasPrefix("downloading") })
                #expect(state(of: files[2], in: mount) == "queued")
                _ = try read("\(mount.day())/\(files[2])").get()
                #expect(poll { origin.downloaded.contains(pictures[1]) && isIdle(mount) })
                let preload = try #require(origin.downloads.last { $0.path == pictures[1] })
                let taken = origin.downloads.filter { $0.path == pictures[2] }
                #expect(origin.downloaded.count { $0 == pictures[2] } == 1)
                #expect(
                    taken.first.map { $0.t < preload.end } == true, "the reader's began while the preload was under way"
                )
            }
        }

        private func state(of name: String, in mount: Mount) -> String {
            extendedAttribute("user.rankfs.state", of: "\(mount.day())/\(name)") ?? ""
        }

        @Test(arguments: Service.kinds) func sniffingPreloadsNothing(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let mount = try Mount(workplace, of: origin)
                let first = try #require(try mount.names(mount.day()).first)
                #expect(try read("\(mount.day())/\(first)", count: 4096).get().count == 4096)
                // The origin writes its line when it notices that the reader has gone.
                #expect(poll { origin.downloaded.count == 1 && isIdle(mount) })
                #expect(origin.downloaded.count == 1)

                // As `file` opens, which reads some megabytes.
                let second = try mount.names(mount.day())[5]
                let sniff = try workplace.run(
                    "dd", "if=\(mount.day())/\(second)", "of=/dev/null", "bs=1M", "iflag=nonblock", "status=none")
                #expect(sniff.status == 0 && poll { isIdle(mount) })
                #expect(Set(origin.downloaded).count == 2)
            }
        }
    }
}

/// Whether the mount says that it downloads nothing now.
func isIdle(_ mount: Mount) -> Bool {
    guard let cache = (try? mount.status())?["cache"] as? [String: Any] else { return false }
    return (cache["downloads"] as? [Any])?.isEmpty == true
}
