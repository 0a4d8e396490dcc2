import HTTP
import System
@testable import Tier
import Synchronization
import TestSupport
import Testing

/// An object store in memory, as far as the tier needs one: conditions, metadata and times as the S3 API has them.
///
/// ## Concurrency
///
/// Any thread may call; sinks are called on it, before `start` returns, unless answers are to be late.
final class MemoryStore: Transport {
    struct Object {
        var bytes: [UInt8]
        var headers: [(name: String, value: String)]
        var etag: String
        var modified: Int64
    }

    /// What is done with a request in place of answering it.
    enum Fault: Sendable {
        case status(Int, String)
        case unreachable
        /// Nothing comes before the request is cancelled.
        case silent
        /// The time of the request passes.
        case late
        /// The body with its last byte changed.
        case flipped
        /// The body without its last byte.
        case short
    }

    private struct State {
        var objects: [String: Object] = [:]
        var log: [String] = []
        var fault: (@Sendable (HTTPRequest) -> Fault?)?
        var now: Int64 = 1_700_000_000
        var version = 0
        var tellsTimes = true
        var delay: (Duration, ManualClock, @Sendable (HTTPRequest) -> Bool)?
    }

    private let state = Mutex(State())
    let limits = HostLimits(connections: 16)

    /// `METHOD KEY STATUS` of each request, oldest first.
    var log: [String] { state.withLock { $0.log } }

    func count(_ prefix: String) -> Int { log.filter { $0.hasPrefix(prefix) }.count }

    /// Keys below a folder.
    func keys(_ folder: String) -> [String] {
        state.withLock { $0.objects.keys.filter { $0.hasPrefix(folder) }.sorted() }
    }

    func object(_ key: String) -> Object? { state.withLock { $0.objects[key] } }

    /// Puts a picture there, as another machine does.
    func add(_ key: String, _ bytes: [UInt8], secret: ObjectSecret? = nil) {
        guard let name = ObjectKey(key) else { return }
        let headers = ObjectDescription(of: bytes, key: name).headers(secret).map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (name: String(parts[0]), value: String(parts[1].dropFirst()))
        }
        state.withLock { state in
            state.version += 1
            state.objects[key] = Object(
                bytes: bytes, headers: headers, etag: "\"\(state.version)\"", modified: state.now)
        }
    }

    /// Removes an object, as another machine does.
    func remove(_ key: String) { state.withLock { $0.objects[key] = nil } }

    func change(_ key: String, _ change: (inout Object) -> Void) {
        state.withLock { state in
            guard var object = state.objects[key] else { return }
            change(&object)
            state.version += 1
            object.etag = "\"\(state.version)\""
            state.objects[key] = object
        }
    }

    /// The store's clock, in Unix seconds.
    private var now: Int64 { state.withLock { $0.now } }

    /// Lets the store's clock go on, which is nobody else's.
    func pass(_ seconds: Int64) { state.withLock { $0.now += seconds } }

    /// Whether answers tell the store's date, and when an object was written.
    func tellsTimes(_ tells: Bool) { state.withLock { $0.tellsTimes = tells } }

    /// Answers so late from now on, those requests alone that are meant; one whose time passes before is carried out all the same.
    func answer(
        after delay: Duration, by clock: ManualClock,
        _ isMeant: @escaping @Sendable (HTTPRequest) -> Bool = { _ in true }
    ) {
        state.withLock { $0.delay = (delay, clock, isMeant) }
    }

    /// Answers requests otherwise than it should, until told otherwise.
    func fail(_ fault: (@Sendable (HTTPRequest) -> Fault?)?) { state.withLock { $0.fault = fault } }

    /// As a machine sees it whose clock is right, or ahead of it by so many seconds.
    func store(
        ahead: Int64 = 0, secret: ObjectSecret? = nil, time: TimeSource = .system
    ) throws -> ObjectStore {
        ObjectStore(
            StorePlace(try #require(BucketAddress("s3://pool")), origin: "http://store", region: nil),
            keys: KeyRing(try #require(StoreKeys(keyID: "AK", secret: "hidden"))), secret: secret, transport: self,
            time: time
        ) { [self] in now + ahead }
    }

    // MARK: - Transport

    func begin(_ transfer: Transfer) {
        transfer.carry { if $0.isCancelled { $0.end(.failure(.cancelled)) } }
        transfer.begun()
        if let (delay, clock, isMeant) = state.withLock({ $0.delay }), isMeant(transfer.request) {
            Task {
                let left = transfer.request.deadline - clock.now
                try? await TimeSource(clock).sleep(min(delay, left))
                guard delay > left else { return answer(transfer) }
                transfer.end(.failure(.timedOut))
                try? await TimeSource(clock).sleep(delay - left)
                carryOut(transfer.request)
            }
            return
        }
        // At once: time passes only while somebody sleeps.
        answer(transfer)
    }

    /// Carries a request out without an answer.
    private func carryOut(_ request: HTTPRequest) {
        let status = state.withLock { Self.answer(request, Self.key(of: request), &$0).status }
        note(request, Self.key(of: request), status)
    }

    private static func key(of request: HTTPRequest) -> String {
        String(request.url.dropFirst("http://store/pool/".count))
    }

    private func answer(_ transfer: Transfer) {
        let request = transfer.request
        let key = Self.key(of: request)
        let fault = state.withLock { $0.fault }?(request)
        switch fault {
        case .unreachable: return transfer.end(.failure(.unreachable("refused")))
        case .late: return transfer.end(.failure(.timedOut))
        case .silent:
            // The end of its time, which a transport looks after; that of the first byte of a picture others do.
            if request.transferClass == .metadata { transfer.end(.failure(.timedOut)) }
            return
        case .status(let status, let body):
            note(request, key, status)
            return transfer.respond(HTTPAnswer(status: status, headers: times), Array(body.utf8))
        default: break
        }
        let (head, body) = state.withLock { state in
            var (status, headers, body) = Self.answer(request, key, &state)
            if !state.tellsTimes { headers.removeAll { $0.name == "date" || $0.name == "last-modified" } }
            return (HTTPAnswer(status: status, headers: headers), body)
        }
        note(request, key, head.status)
        var sent = body
        if case .flipped = fault, !sent.isEmpty { sent[sent.count - 1] ^= 1 }
        if case .short = fault { sent = sent.dropLast() }
        transfer.respond(head, sent)
    }

    private var times: [(name: String, value: String)] {
        state.withLock { [(name: "date", value: Self.date($0.now))] }
    }

    private func note(_ request: HTTPRequest, _ key: String, _ status: Int) {
        state.withLock { $0.log.append("\(request.method.rawValue) \(key) \(status)") }
    }

    private static func answer(
        _ request: HTTPRequest, _ key: String, _ state: inout State
    ) -> (status: Int, headers: [(name: String, value: String)], body: [UInt8]) {
        let date = (name: "date", value: date(state.now))
        func header(_ name: String) -> String? {
            request.headers.first { $0.lowercased().hasPrefix(name + ": ") }.map {
                String($0.dropFirst(name.count + 2))
            }
        }
        let old = state.objects[key]
        switch request.method {
        case .get, .head:
            guard let old else { return (404, [date], Array("<Code>NoSuchKey</Code>".utf8)) }
            let headers =
                old.headers + [
                    date, (name: "etag", value: old.etag), (name: "last-modified", value: Self.date(old.modified)),
                ]
            if header("if-none-match") == old.etag { return (304, headers, []) }
            return (200, headers, request.method == .get ? old.bytes : [])
        case .put:
            if header("if-none-match") == "*", old != nil { return (412, [date], []) }
            if let etag = header("if-match"), old?.etag != etag {
                return (old == nil ? 404 : 412, [date], [])
            }
            state.version += 1
            let metadata = request.headers.filter { $0.hasPrefix("x-amz-meta-") }.map { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (name: String(parts[0]), value: String(parts[1].dropFirst()))
            }
            if let etag = header("x-amz-copy-source-if-match"), old?.etag != etag { return (412, [date], []) }
            let copied = header("x-amz-copy-source") == "/pool/\(key)" ? old?.bytes ?? [] : []
            state.objects[key] = Object(
                bytes: request.content.map(Self.bytes) ?? copied, headers: metadata, etag: "\"\(state.version)\"",
                modified: state.now)
            return (200, [date, (name: "etag", value: "\"\(state.version)\"")], [])
        case .delete:
            state.objects[key] = nil
            return (204, [date], [])
        }
    }

    private static func bytes(_ content: RequestContent) -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while Int64(bytes.count) < content.length {
            let wanted = min(buffer.count, Int(content.length) - bytes.count)
            let count =
                buffer.withUnsafeMutableBytes { buffer in
                    content.read(Int64(bytes.count), UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
                } ?? 0
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    /// As HTTP writes dates (RFC 9110, 5.6.7); the day of the week is not looked at.
    private static func date(_ seconds: Int64) -> String {
        let minutes = seconds / 60
        func two(_ number: Int64) -> String { (number < 10 ? "0" : "") + String(number) }
        // 1,700,000,000 is in the evening of 14 November 2023; tests let some hours pass at most.
        let day = 14 + (seconds - 1_699_920_000) / 86_400
        return "Tue, \(two(day)) Nov 2023 \(two(minutes / 60 % 24)):\(two(minutes % 60)):\(two(seconds % 60)) GMT"
    }
}

/// The place of `MemoryStore`, where nothing private is shared.
let pool: UploadList.Home = ("http://store s3://pool", takesPrivate: false)

extension Transfer {
    fileprivate func respond(_ head: HTTPAnswer, _ body: [UInt8]) {
        guard !isCancelled else { return }
        guard self.head(head) else { return end(.failure(.cancelled)) }
        let goesOn = body.isEmpty || body.withUnsafeBytes { self.body($0) }
        end(goesOn ? .success(()) : .failure(.cancelled))
    }
}

extension KeyRing {
    /// Makes a ring of credentials that never change.
    convenience init(_ keys: StoreKeys) {
        self.init(Loan(keys), source: ({ false }, { Loan(keys) }, {})) { 0 }
    }
}
