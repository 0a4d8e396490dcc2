import HTTP
import ImageCache
import Rankings
import Synchronization
import System
import TestSupport
import Testing

@testable import Tier

/// Bytes that are verified block by block, and by whom they were written.
@Suite(.timeLimit(.minutes(1))) struct BlockTests {
    private let key: ObjectKey
    private let secret: ObjectSecret
    private let other: ObjectSecret

    init() throws {
        key = try #require(ObjectKey("pictures/pixiv/61/97_p0_regular_5"))
        secret = try #require(ObjectSecret(Array("a secret of 128 bits and more".utf8)))
        other = try #require(ObjectSecret(Array("another one of 128 bits".utf8)))
    }

    private func fields(_ lines: [String]) -> [(name: String, value: String)] {
        lines.map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (name: String(parts[0]), value: String(parts[1].dropFirst()))
        }
    }

    private func answer(_ lines: [String]) -> HTTPAnswer { HTTPAnswer(status: 200, headers: fields(lines)) }

    @Test func theHeadersOfAnyObjectFitAStore() throws {
        for length in [0, 1, 131_072, 131_073, 6_291_456, 6_291_457, PictureLimits.largest] as [Int64] {
            let blocks = [UInt8](repeating: 7, count: BlockDigests.bytes(forLength: length))
            let description = ObjectDescription(length: length, blocks: blocks, key: key.text)
            let headers = description.headers(secret)
            // As Amazon counts: the bytes of names and values.
            #expect(headers.reduce(0) { $0 + $1.utf8.count } < 2048)
            guard case .ours(let read) = Provenance(answer(headers), secret, of: key) else {
                Issue.record("not read back: \(length)")
                continue
            }
            #expect(read == description)
        }
    }

    @Test func digestsDoNotDependOnHowBytesArrive() {
        var random = Random(seed: 1)
        let bytes = (0..<700_000).map { _ in UInt8.random(in: 0...255, using: &random) }
        let whole = BlockDigests.digests(of: bytes)
        #expect(whole.count == 72)
        #expect(Array(whole.prefix(12)) == Array(SHA256.digest(Array(bytes[..<131_072])).prefix(12)))
        #expect(Array(whole.suffix(12)) == Array(SHA256.digest(Array(bytes[655_360...])).prefix(12)))
        for _ in 0..<8 {
            var digests = BlockDigests(length: Int64(bytes.count))
            var taken = 0
            while taken < bytes.count {
                let count = min(Int.random(in: 1...300_000, using: &random), bytes.count - taken)
                bytes[taken..<taken + count].withUnsafeBytes { digests.add($0) }
                taken += count
            }
            #expect(digests.digests == whole)
            #expect(digests.complete == Int64(bytes.count))
        }
    }

    @Test func onlyWhoHasTheSecretIsBelieved() throws {
        let description = ObjectDescription(of: [1, 2, 3], key: key)
        let moved = ObjectDescription(of: [1, 2, 3], key: try #require(ObjectKey("pictures/other")))
        func provenance(_ headers: [String], _ secret: ObjectSecret?) -> Provenance {
            Provenance(answer(headers), secret, of: key)
        }
        #expect(provenance(description.headers(secret), secret) == .ours(description))
        #expect(provenance(description.headers(secret), nil) == .ours(description))
        #expect(provenance(description.headers(nil), nil) == .ours(description))
        #expect(provenance(description.headers(nil), secret) == .unproven)
        #expect(provenance(description.headers(other), secret) == .unproven)
        // The proof of one object under the description of another.
        let proof = description.headers(secret).filter { $0.contains("proof") }
        #expect(provenance(moved.headers(nil) + proof, secret) == .unproven)
        // An object that was moved here, and one of another program.
        #expect(provenance(moved.headers(secret), secret) == .unproven)
        #expect(provenance(moved.headers(secret), nil) == .ours(moved))
        #expect(provenance([], secret) == .unproven)
        #expect(provenance([], nil) == .foreign)
        let longer = ObjectDescription(of: [1, 2, 3, 4], key: key)
        #expect(provenance(longer.headers(nil) + proof, secret) == .unproven)
        #expect(provenance(["x-amz-meta-rankfs-length: -1"], nil) == .foreign)
        for blocks in ["", "zz", "0", "00"] {
            let odd = [
                "x-amz-meta-rankfs-length: 3", "x-amz-meta-rankfs-blocks: \(blocks)", "x-amz-meta-rankfs-key: k",
            ]
            #expect(provenance(odd, nil) == .foreign)
        }
    }

    @Test func aSecretIsLongEnoughAndNowhereWritten() {
        #expect(ObjectSecret(Array("too short".utf8)) == nil)
        #expect(ObjectSecret([UInt8](repeating: 7, count: 5000)) == nil)
        #expect(!"\(secret)".contains("128") && !String(reflecting: secret).contains("128"))
        var text = ""
        dump(secret, to: &text)
        #expect(!text.contains("97"))
    }

    // MARK: - Downloads

    /// What one download told its sink.
    private final class Told: Sendable {
        let proven = Mutex<[Int64]>([])
        let refusesAt: Int64

        init(refusesAt: Int64 = .max) { self.refusesAt = refusesAt }

        var sink: PictureSink {
            PictureSink { _, _ in
                true
            } proven: { [self] end, _ in
                proven.withLock { $0.append(end) }
                return end < refusesAt
            }
        }
    }

    private let bytes = [UInt8](repeating: 7, count: 650_000)

    /// A download to which bytes come in pieces of 100,000.
    private func download(_ bytes: [UInt8], into told: Told, _ headers: [String]) async throws -> TierDownload.Outcome {
        let (transport, clock) = (HeldTransport(), ManualClock())
        let place = StorePlace(try #require(BucketAddress("s3://pool")), origin: "http://store", region: nil)
        let store = ObjectStore(
            place, keys: KeyRing(try #require(StoreKeys(keyID: "AK", secret: "hidden"))), transport: transport,
            time: TimeSource(clock))
        let download = TierDownload(
            length: nil, key: key, secret: secret, time: TimeSource(clock), pace: nil, sink: told.sink)
        async let outcome = download.run(on: store, deadline: clock.now + .seconds(60))
        let held = await transport.waitForRequest(at: 0)
        held.begin()
        var goesOn = held.head(200, fields(headers))
        for start in stride(from: 0, to: bytes.count, by: 100_000) where goesOn {
            goesOn = held.body(Array(bytes[start..<min(start + 100_000, bytes.count)]))
        }
        if goesOn { held.finish() } else { held.fail(.cancelled) }
        return await outcome
    }

    /// What is wrong with an object or its headers, or with what the sink makes of it.
    enum Fault: Sendable { case none, damaged, longer, stranger, refusedAt(Int64) }

    @Test(
        arguments: [
            (.none, "whole", [131_072, 262_144, 393_216, 524_288, 650_000]),
            // It ends with the blocks before it.
            (.damaged, "wrong", [131_072, 262_144]), (.longer, "wrong", nil),
            // What is no picture is wrong whoever wrote it.
            (.refusedAt(131_072), "wrong", nil), (.refusedAt(650_000), "wrong", nil),
            // Of an object without proof no byte is taken.
            (.stranger, "unproven", []),
        ] as [(Fault, String, [Int64]?)])
    func eachBlockIsGivenOutIfItIsRight(fault: Fault, expected: String, proven: [Int64]?) async throws {
        var (sent, described, signer, told) = (bytes, bytes, secret, Told())
        switch fault {
        case .none: break
        case .damaged: sent[300_000] ^= 1
        case .longer: described.removeLast()
        case .stranger: signer = other
        case .refusedAt(let end): told = Told(refusesAt: end)
        }
        let headers = ObjectDescription(of: described, key: key).headers(signer)
        let outcome = try await download(sent, into: told, headers)
        #expect("\(outcome)".hasPrefix(expected), "\(outcome)")
        if case .whole(let length, _) = outcome { #expect(length == 650_000) }
        if let proven { #expect(told.proven.withLock { $0 } == proven) }
    }
}
