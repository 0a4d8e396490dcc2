import System
import Foundation
import HTTP
import Sourcing
import Rankings
import Synchronization
import TestSupport

@testable import ImageCache

extension TemporaryFolder {
    var cache: String { path + "/cache" }
}

extension PictureID {
    /// A key of which only the number matters.
    init(high: UInt64, low: UInt64) {
        self.init(
            work: WorkID(rawValue: Int64(bitPattern: low)), page: Int(bitPattern: UInt(high)), rendition: .regular,
            uploaded: 0)
    }

    /// That number.
    var low: UInt64 { UInt64(bitPattern: work.rawValue) }
}

/// Events in the order reported.
final class Events: Sendable {
    private let list = Mutex<[ImageCacheEvent]>([])
    func add(_ event: ImageCacheEvent) { list.withLock { $0.append(event) } }
    var all: [ImageCacheEvent] { list.withLock { $0 } }
    var texts: [String] { all.map { "\($0)" } }
}

/// Pictures of a given length that a JPEG's marks lead through: the image begins after four bytes and has no mark within.
enum Sample {
    static func jpeg(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var bytes = [UInt8](repeating: 0, count: count)
        for index in bytes.indices {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            bytes[index] = min(0xFE, UInt8(truncatingIfNeeded: state))
        }
        bytes.replaceSubrange(0..<6, with: [0xFF, 0xD8, 0xFF, 0xDA, 0, 2])
        bytes.replaceSubrange((count - 2)..<count, with: [0xFF, 0xD9])
        return bytes
    }

    /// The file's name of a picture that was made by `jpeg`.
    static func stored(_ number: Int64, _ bytes: [UInt8]) -> StoredPicture {
        StoredPicture(
            key: picture(number, size: nil).id, length: Int64(bytes.count), hash: XXH3.hash(bytes))
    }

    static func picture(_ number: Int64, size: Int64?, fileExtension: String = "jpg") -> PictureRequest {
        PictureRequest(
            id: PictureID(work: WorkID(rawValue: number), page: 0, rendition: .regular, uploaded: 1_600_000_000),
            location: PictureLocation(
                url: "https://i.example/\(number)_p0.\(fileExtension)", headers: ["Referer: https://example/"],
                fileExtension: fileExtension),
            size: size)
    }
}

/// A tier that has nothing and takes nothing, but for what a test says.
extension PictureTier {
    func fetch(_ picture: PictureID, length: Int64?, urgency: Urgency, into sink: PictureSink) async -> Bool { false }
    func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64) {}
    func hostBrought(_ bytes: Int64, firstAfter: Duration, in duration: Duration) {}
    func giveUp(_ picture: PictureID) {}
    func distrust(_ picture: PictureID) {}
}

/// A cache in a directory of its own, with a transport that the test answers and a clock that it moves.
final class Bench: Sendable {
    static let version = "Sun, 23 Apr 2023 04:23:16 GMT"
    static let imageHeaders = [(name: "content-type", value: "image/jpeg"), (name: "last-modified", value: version)]

    let scratch: TemporaryFolder
    private let disk: SmallDisk?
    let transport: HeldTransport
    let clock = ManualClock()
    let events = Events()
    let cache: ImageCache

    init(
        _ scratch: TemporaryFolder = TemporaryFolder(), directory: String? = nil, budget: Int64 = 1 << 30,
        preload: Int = 0, freeFloor: Int64 = 0, connections: Int = 8, tier: (any PictureTier)? = nil,
        on disk: SmallDisk? = nil
    ) throws {
        (self.scratch, self.disk) = (scratch, disk)
        transport = HeldTransport(slots: connections)
        var configuration = CacheConfiguration(
            directory: disk.map { $0.path + "/cache" } ?? directory ?? scratch.cache, budget: budget,
            freeFloor: freeFloor, preload: preload,
            timeout: .seconds(30), networkTimeout: .seconds(15), now: { 1_700_000_000 })
        configuration.hasTimer = false
        configuration.tier = tier
        configuration.placeholder = "limit_"
        let clock = clock
        configuration.monotonicNow = { clock.now }
        let events = events
        cache = try ImageCache(configuration, host: ImageHost(transport)) { events.add($0) }
    }

    /// A cache, and a picture that is opened in it.
    static func opened(
        _ picture: PictureRequest, preload: Int = 0, connections: Int = 8
    ) throws -> (Bench, OpenPicture) {
        let bench = try Bench(preload: preload, connections: connections)
        return (bench, try bench.open(picture))
    }

    /// A commit that is still queued would make the directory again after `scratch` removed it.
    deinit {
        for _ in 0..<2 {
            cache.core.prompt.sync(flags: .barrier) {}
            cache.core.disk.sync {}
        }
    }

    /// The file of a stored picture.
    func file(of picture: PictureRequest) -> String {
        let key = picture.id
        return cache.core.withLock { $0.index.picture(key) }.map { cache.core.store.path(of: $0) } ?? ""
    }

    func open(_ picture: PictureRequest, neighbours: Neighbours? = nil) throws -> OpenPicture {
        try cache.open(picture, neighbours: neighbours)
    }

    /// Moves the clock and looks after deadlines.
    func advance(_ duration: Duration) {
        clock.advance(by: duration)
        cache.core.run { $0.tick() }
    }

    /// Returns once the queues have done everything asked so far.
    func settle() async {
        for _ in 0..<3 {
            await withCheckedContinuation { continuation in
                cache.core.prompt.async(flags: .barrier) { continuation.resume() }
            }
            await withCheckedContinuation { continuation in cache.core.disk.async { continuation.resume() } }
        }
    }

    /// Answers request after request until every byte of a picture was asked for; returns what each asked for.
    func answerAll(_ bytes: [UInt8], from first: Int = 0, butFor known: Int = 0) async -> [Range<Int64>] {
        var asked: [Range<Int64>] = []
        while ByteSet([0..<Int64(known)] + asked).count < bytes.count {
            let request = await transport.waitForRequest(at: first + asked.count)
            asked.append(request.request.range.map { $0.first..<(($0.last ?? 0) + 1) } ?? 0..<Int64(bytes.count))
            request.answer(bytes)
        }
        return asked
    }

    /// Reads the beginning of an open picture, for which the request of this number is answered.
    func read(
        _ open: OpenPicture, _ count: Int, at request: Int, _ bytes: [UInt8],
        headers: [(name: String, value: String)] = Bench.imageHeaders
    ) async throws -> PictureBytes {
        async let read = open.bytes(offset: 0, count: count)
        await transport.waitForRequest(at: request).answer(bytes, headers: headers)
        return try await read
    }

    /// Stores a picture as a reader would; returns what the reader got.
    @discardableResult
    func store(
        _ picture: PictureRequest, _ bytes: [UInt8], neighbours: Neighbours? = nil
    ) async throws -> [UInt8] {
        let index = transport.requests.count
        let open = try open(picture, neighbours: neighbours)
        defer { open.close() }
        let content = try await read(open, bytes.count, at: index, bytes).content
        await settle()
        return content
    }

    /// All bytes of a picture of a known size, if they are on the disk.
    func found(_ picture: PictureRequest) throws -> [UInt8]? {
        let open = try open(picture)
        defer { open.close() }
        return try open.availableBytes(offset: 0, count: Int(picture.size ?? 0))?.content
    }
}

extension HeldRequest {
    /// Answers as the image host does: 206 to a range, 200 otherwise.
    func answer(_ picture: [UInt8], headers: [(name: String, value: String)] = Bench.imageHeaders) {
        guard let range = request.range else { return respond(headers: headers, body: picture) }
        let last = min(range.last ?? .max, Int64(picture.count) - 1)
        let part = Array(picture[Int(range.first)...Int(last)])
        respond(
            status: 206,
            headers: headers + [(name: "content-range", value: "bytes \(range.first)-\(last)/\(picture.count)")],
            body: part)
    }

    /// Gives only the head.
    @discardableResult
    func headOnly(length: Int, headers: [(name: String, value: String)] = Bench.imageHeaders) -> Bool {
        head(200, headers + [(name: "content-length", value: "\(length)")])
    }

    /// Gives the head and the bytes before an offset.
    func begin(_ picture: [UInt8], to end: Int, headers: [(name: String, value: String)] = Bench.imageHeaders) {
        headOnly(length: picture.count, headers: headers)
        body(Array(picture[..<end]))
    }

    /// Breaks off at an offset.
    func cut(_ picture: [UInt8], at end: Int, headers: [(name: String, value: String)] = Bench.imageHeaders) {
        begin(picture, to: end, headers: headers)
        fail(.broken("reset"))
    }

    var asked: String {
        guard let range = request.range else { return "whole" }
        return "\(range.first)-\(range.last.map(String.init) ?? "")"
    }
}

extension OpenPicture {
    /// The bytes if they are here; asks for none.
    func availableBytes(offset: Int64, count: Int) throws(Failure) -> PictureBytes? {
        try look(offset: offset, count: count, nil)
    }
}

extension Waiter {
    /// One that waits for bytes, or for the length, of any picture.
    static func bytes(_ range: Range<Int64>, id: UInt64) -> Waiter { waiter(range, id) }
    static func length(id: UInt64) -> Waiter { waiter(nil, id) }

    private static func waiter(_ range: Range<Int64>?, _ id: UInt64) -> Waiter {
        Waiter(
            range: range, handle: nil, deadline: .now + .seconds(30),
            wait: Wait(id: id, key: PictureID(high: 0, low: 1)))
    }
}

extension PictureBytes {
    /// The bytes themselves.
    var content: [UInt8] {
        guard case .file(let file, let offset, let count, _) = self else { return [] }
        let bytes = try? file.use { descriptor throws(SystemError) in
            try Files.read(descriptor, at: offset, count: count)
        }
        return bytes ?? []
    }
}

extension Failure? {
    /// Whether the bytes of a picture are known to be wrong.
    var isDamaged: Bool { if case .damaged = self { true } else { false } }
    /// Whether an answer was of no use.
    var isBroken: Bool { if case .broken = self { true } else { false } }
}

/// The error that an operation throws.
func failure(of body: () async throws -> PictureBytes) async -> Failure? {
    do {
        _ = try await body()
        return nil
    } catch { return error as? Failure }
}
