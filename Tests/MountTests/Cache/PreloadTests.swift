import Foundation
import Testing

extension MountSuite {
    /// Semantics: "Preload".
    @Suite struct PreloadTests {
        @Test(arguments: Service.allCases) func theNextTwoAreThereWhenThePageIsTurned(service: Service) async throws {
            // One connection is left to preloads: two that begin at once could reach the origin either way round.
            try await withMount(service, options: ["connections=2"]) { workplace, origin, mount in
                let all = try mount.pictures(of: origin)
                let pictures = all.map(\.entry.picture)
                // And the very next by time, for nobody knows yet how the reader goes on.
                let next = pictures[nextByTime(all.map(\.entry))[0]]
                try #require(!pictures.prefix(4).contains(next))
                _ = try read(all[0].path).get()
                #expect(poll { origin.downloaded.count == 4 && mount.isIdle })
                #expect(origin.downloaded == pictures[...2] + [next])
                // The second is stored: reading it sends the fourth, and nothing else.
                _ = try read(all[1].path).get()
                #expect(poll { origin.downloaded.count == 5 && mount.isIdle })
                #expect(origin.downloaded.last == pictures[3])
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
            try await withMount(service, options: ["connections=2"]) { workplace, origin, mount in
                let readable = try mount.pictures(of: origin)
                let byTime = readable.indices.sorted {
                    (readable[$0].entry.uploaded, $0) < (readable[$1].entry.uploaded, $1)
                }
                // Five in a row by time that are apart by name, and that nobody comes to who goes by name.
                let walk = try #require(
                    byTime.indices.dropLast(4).map { byTime[$0..<$0 + 5] }.first { walk in
                        zip(walk, walk.dropFirst()).allSatisfy { abs($0 - $1) > 2 }
                            && walk.dropFirst().allSatisfy { !(0...2).contains($0 - walk[walk.startIndex]) }
                    })
                let (paths, pictures) = (walk.map { readable[$0].path }, walk.map { readable[$0].entry.picture })
                _ = try read(paths[0]).get()
                #expect(poll { origin.downloaded.count == 4 && mount.isIdle })
                // The second was there before it was opened.
                #expect(origin.downloaded.last == pictures[1])
                _ = try read(paths[1]).get()
                #expect(poll { origin.downloaded.count == 6 && mount.isIdle })
                #expect(origin.downloaded.suffix(2) == pictures[2...3])
                // The third, too, and brings the fifth alone.
                _ = try read(paths[2]).get()
                #expect(poll { origin.downloaded.count == 7 && mount.isIdle })
                #expect(origin.downloaded.last == pictures[4])
                #expect(poll { state(of: paths[3]) == "stored" })
            }
        }

        @Test(arguments: Service.kinds) func aReaderOfAWaitingPreloadGoesFirst(service: Service) async throws {
            // Two connections leave one to preloads: the third picture has to wait for the second, which takes seconds.
            try await withMount(service, origin: ["--no-chunked"], options: ["connections=2"]) {
                workplace, origin, mount in
                let shown = try mount.pictures(3, of: origin)
                let pictures = shown.map(\.entry.picture)
                let length = try origin.lengths(of: shown.map(\.entry), in: workplace)[pictures[1]] ?? 0
                let slow = FaultKind("slow", "\"action\":\"slow\",\"rate\":\(length / 5)")
                try origin.spoil([slow.rule(pictures[1], method: "GET")], in: workplace)
                _ = try read(shown[0].path).get()
                #expect(poll { state(of: shown[1].path)?.hasPrefix("downloading") == true })
                #expect(state(of: shown[2].path) == "queued")
                _ = try read(shown[2].path).get()
                #expect(poll { origin.downloaded.contains(pictures[1]) && mount.isIdle })
                let preload = try #require(origin.downloads.last { $0.path == pictures[1] })
                let taken = origin.downloads.filter { $0.path == pictures[2] }
                #expect(origin.downloaded.count { $0 == pictures[2] } == 1)
                #expect(
                    taken.first.map { $0.t < preload.end } == true, "the reader's began while the preload was under way"
                )
            }
        }
    }
}
