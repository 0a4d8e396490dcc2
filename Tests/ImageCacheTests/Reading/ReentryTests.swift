import HTTP
import Sourcing
import Rankings
import Synchronization
import TestSupport
import Testing

@testable import ImageCache

/// What lies outside the cache may call it again whenever it is called: a lock that was still held would end the process.
@Suite(.timeLimit(.minutes(1))) struct ReentryTests {
    /// The cache under test, known once it is made, and how often it was entered again.
    final class Door: Sendable {
        private let state = Mutex<(cache: ImageCache?, entered: [String: Int])>((nil, [:]))

        func lead(to cache: ImageCache?) { state.withLock { $0.cache = cache } }

        func enter(from place: String) {
            let cache = state.withLock { state in
                state.entered[place, default: 0] += 1
                return state.cache
            }
            _ = cache?.status()
            _ = cache?.state(of: Sample.picture(1, size: nil).id)
        }

        var places: Set<String> { Set(state.withLock { $0.entered.keys }) }
    }

    /// A transport that looks at the cache before it takes a request.
    struct Looking: Transport {
        let held: HeldTransport
        let door: Door
        var limits: HostLimits { held.limits }

        func begin(_ transfer: Transfer) {
            door.enter(from: "transport")
            held.begin(transfer)
        }
    }

    /// A tier that has nothing.
    struct EmptyTier: PictureTier {
        let door: Door

        func fetch(_ picture: PictureID, length: Int64?, urgency: Urgency, into sink: PictureSink) async -> Bool {
            door.enter(from: "fetch")
            return false
        }

        func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64) { door.enter(from: "keep") }
        func hostBrought(_ bytes: Int64, firstAfter: Duration, in duration: Duration) {
            door.enter(from: "hostBrought")
        }
        func giveUp(_ picture: PictureID) { door.enter(from: "giveUp") }
        func distrust(_ picture: PictureID) { door.enter(from: "distrust") }
    }

    @Test func everythingOutsideMayCallTheCacheAgain() async throws {
        let (scratch, held, door, clock) = (TemporaryFolder(), HeldTransport(), Door(), ManualClock())
        var configuration = CacheConfiguration(
            directory: scratch.cache, budget: 1 << 20, freeFloor: 0, preload: 2, timeout: .seconds(30),
            networkTimeout: .seconds(15), now: { 1_700_000_000 })
        configuration.hasTimer = false
        configuration.monotonicNow = { clock.now }
        configuration.tier = EmptyTier(door: door)
        let cache = try ImageCache(configuration, host: ImageHost(Looking(held: held, door: door))) { _ in
            door.enter(from: "report")
        }
        defer { door.lead(to: nil) }
        door.lead(to: cache)
        let neighbours = Neighbours(directory: 1, index: 1) { place in
            door.enter(from: "neighbours")
            return Sample.picture(Int64(place), size: 100_000)
        }
        let open = try cache.open(Sample.picture(1, size: 100_000), neighbours: neighbours) {
            door.enter(from: "onRead")
        }
        async let bytes = open.bytes(offset: 0, count: 100_000)
        await held.waitForRequest(to: "1_p0.jpg").answer(Sample.jpeg(100_000))
        #expect(try await bytes.content.count == 100_000)
        open.close()
        // Of those that are preloaded one does not come.
        await held.waitForRequest(to: "2_p0.jpg").answer(Sample.jpeg(100_000))
        await held.waitForRequest(to: "3_p0.jpg").respond(status: 404)
        await cache.close()
        #expect(
            door.places.isSuperset(of: ["transport", "fetch", "keep", "giveUp", "neighbours", "onRead", "report"]),
            "\(door.places)")
    }
}
