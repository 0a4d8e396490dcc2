import Rankings
import Dispatch
import HTTP
import TestSupport

/// An image host inside the process: answers HEAD, GET and ranges with made-up JPEGs, and counts what it was asked.
final class PictureHost: Transport {
    enum Manner: Sendable {
        case serving
        /// Answers come without a length, also to HEAD.
        case withoutLengths
        /// Bodies are shorter than HEAD said.
        case lying
        /// HEAD tells more bytes than there are.
        case headLying
        case unreachable
        /// Answers wait until `answerHeld`, or for ever.
        case holding
        case status(Int)
        /// So many bytes less are told than there are; the body waits until `answerHeld`, and is cut then.
        case announcing(less: Int)
    }

    private struct Sent {
        let transfer: Transfer
        /// What is served.
        let whole: [UInt8]

        var request: HTTPRequest { transfer.request }

        func finish(_ result: Result<Void, Failure>) { transfer.end(result) }
    }

    private struct State {
        var manner = Manner.serving
        var asked: [String] = []
        /// Files that are not made up, by the last part of their address.
        var files: [String: [UInt8]] = [:]
        var held: [Sent] = []
        /// Answers of which only the head has gone out.
        var begun: [Sent] = []
        /// What pictures say of their version; nil for nothing.
        var version: String? = "Wed, 01 May 2024"
    }

    private let state = Watched(State())
    private let queue = DispatchQueue(label: "PictureHost")

    /// Requests as `HEAD 12`, `GET 12` and `GET 12 1000-1999`, oldest first.
    var asked: [String] { state.withLock { $0.asked } }
    var heads: [String] { asked.filter { $0.hasPrefix("HEAD") } }
    var gets: [String] { asked.filter { $0.hasPrefix("GET") } }

    /// Which pictures were downloaded, in the order of their first requests; how often each is asked is the cache's matter.
    var downloads: [String] {
        var seen: [String] = []
        for get in gets.map({ $0.split(separator: " ").prefix(2).joined(separator: " ") }) where !seen.contains(get) {
            seen.append(get)
        }
        return seen
    }

    /// Serves these bytes under every address that ends with this name.
    func setFile(_ name: String, _ bytes: [UInt8]) {
        state.withLock { $0.files[name] = bytes }
    }

    /// Names the version of all pictures so from now on, or not at all.
    func setVersion(_ version: String?) {
        state.withLock { $0.version = version }
    }

    func setManner(_ manner: Manner) {
        state.withLock { $0.manner = manner }
    }

    /// Serves from now on, also what was held.
    func answerHeld() {
        let (held, begun, version) = state.withLock { state in
            state.manner = .serving
            defer { (state.held, state.begun) = ([], []) }
            return (state.held, state.begun, state.version)
        }
        for sent in held { queue.async { Self.serve(sent, .serving, version) } }
        for sent in begun { queue.async { sent.finish(.failure(.broken("closed"))) } }
    }

    /// Returns once so many requests were made.
    func waitForRequests(_ count: Int) async {
        await state.wait { $0.asked.count >= count }
    }

    let limits = HostLimits(connections: 8)

    func begin(_ transfer: Transfer) {
        let request = transfer.request
        let name = String(request.url.split(separator: "/").last ?? "")
        let whole = state.withLock { $0.files[name] } ?? Self.picture(Self.work(request.url), name)
        let sent = Sent(transfer: transfer, whole: whole)
        let (manner, version) = state.withLock { state in
            let range = request.range.map { " \($0.first)-\($0.last.map(String.init) ?? "")" }
            state.asked.append("\(request.method.rawValue) \(Self.work(request.url))\(range ?? "")")
            if case .holding = state.manner { state.held.append(sent) }
            if case .announcing = state.manner { state.begun.append(sent) }
            return (state.manner, state.version)
        }
        transfer.carry { [queue] transfer in
            if transfer.isCancelled { queue.async { transfer.end(.failure(.cancelled)) } }
        }
        queue.async { Self.serve(sent, manner, version) }
    }

    /// The bytes of a work's picture: a JPEG by its first and last bytes, of a length that differs from work to work.
    static func picture(_ work: Int64) -> [UInt8] {
        let length = 300_000 + Int(work % 97) * 1000
        var bytes = [UInt8](repeating: 0, count: length)
        for index in 0..<length { bytes[index] = UInt8(truncatingIfNeeded: index &* 31 &+ index >> 8 &+ Int(work)) }
        bytes.replaceSubrange(0..<4, with: [0xFF, 0xD8, 0xFF, 0xE0])
        bytes.replaceSubrange(length - 2..<length, with: [0xFF, 0xD9])
        return bytes
    }

    /// As `picture(_:)`; under a name for PNG with the beginning and end of one.
    static func picture(_ work: Int64, _ name: String) -> [UInt8] {
        var bytes = picture(work)
        guard name.hasSuffix(".png") else { return bytes }
        bytes.replaceSubrange(0..<8, with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        let end: [UInt8] = [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82]
        bytes.replaceSubrange((bytes.count - end.count)..<bytes.count, with: end)
        return bytes
    }

    private static func work(_ url: String) -> Int64 {
        Int64(url.split(separator: "/").last?.prefix { $0.isNumber } ?? "") ?? 0
    }

    private static func serve(_ sent: Sent, _ manner: Manner, _ version: String?) {
        guard !sent.transfer.isCancelled else { return }
        var whole = sent.whole
        var hasLength = true
        var status = 200
        switch manner {
        case .serving: break
        case .announcing(let less): whole.removeLast(less)
        case .withoutLengths: hasLength = false
        case .headLying: if sent.request.method == .head { whole += Array(repeating: 0, count: 1000) }
        case .lying: if sent.request.method == .get { whole.removeLast(5000) }
        case .unreachable: return sent.finish(.failure(.unreachable("no route to host")))
        case .holding: return
        case .status(let code):
            status = code
            whole = []
        }
        let type =
            sent.request.url.hasSuffix(".png")
            ? "image/png" : sent.request.url.hasSuffix(".zip") ? "application/zip" : "image/jpeg"
        var headers = [(name: "content-type", value: type)]
        if let version { headers.append((name: "last-modified", value: version)) }
        var body = whole[...]
        if let range = sent.request.range, hasLength, status == 200 {
            status = 206
            let last = min(Int(range.last ?? .max), whole.count - 1)
            body = whole[Int(range.first)...last]
            headers.append((name: "content-range", value: "bytes \(range.first)-\(last)/\(whole.count)"))
        }
        if hasLength { headers.append((name: "content-length", value: String(body.count))) }
        guard sent.transfer.head(HTTPAnswer(status: status, headers: headers)) else {
            return sent.finish(.failure(.cancelled))
        }
        if case .announcing = manner, sent.request.method == .get { return }
        if sent.request.method == .get, !body.isEmpty {
            guard Array(body).withUnsafeBytes({ sent.transfer.body($0) }) else {
                return sent.finish(.failure(.cancelled))
            }
        }
        sent.finish(.success(()))
    }
}
