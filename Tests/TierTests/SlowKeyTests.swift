import Dispatch
import HTTP
import Rankings
import Sourcing
import TestSupport
import Testing
@testable import Tier

/// A place of keys that does not answer.
///
/// Semantics: "Shared with other machines".
@Suite(.timeLimit(.minutes(1))) struct SlowKeyTests {
    private let clock = ManualClock()

    /// All pictures of a window would otherwise wait for it one after the other.
    @Test func aPictureWaitsAsLongAsTheStoreMayTakeAndTheNextOneNotAtAll() async throws {
        let release = DispatchSemaphore(value: 0)
        defer { release.signal() }
        let read = { @Sendable () throws(Failure) -> KeyRing.Loan in
            release.wait()
            throw .cancelled
        }
        let ring = KeyRing(nil, source: ({ false }, read, {}), time: TimeSource(clock)) { 0 }
        let objects = ObjectStore(
            StorePlace(try #require(BucketAddress("s3://pool")), origin: "http://store", region: nil), keys: ring,
            transport: MemoryStore(), time: TimeSource(clock))
        let store = TierStore(objects, time: TimeSource(clock)) { _ in }
        let folder = TemporaryFolder()
        let uploads = Uploads(store, list: try UploadList(path: "\(folder.path)/list.sqlite", for: pool)) { true }
        let pictures = TierPictures(store, leases: Leases(store, owner: "a"), service: "pixiv", uploads: uploads)
        let picture = PictureID(work: WorkID(rawValue: 97), page: 0, rendition: .regular, uploaded: 5)
        let began = clock.now
        for _ in 0..<2 {
            let found = try await clock.passing {
                await pictures.fetch(picture, length: nil, urgency: Urgency(), into: .ignoring)
            }
            #expect(!found)
        }
        #expect(clock.now - began <= TierStore.patience + .milliseconds(500))
        #expect(store.state == .rests(reason: "its key could not be read in time"))
        await uploads.close()
    }
}
