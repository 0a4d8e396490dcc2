import CZlib
import Rankings

/// One line of a script: which requests fail, how often, and in which way.
///
/// A line is an object: `{"action": "trunc", "path": "master1200", "method": "GET", "skip": 1, "count": 2}`. A request
/// matches if its path with query contains `path`, begins with `prefix`, ends with `suffix` and has the `method`, as far
/// as these are given. The first `skip` matches are spared; the next `count` fail, or all without `count`. The first
/// rule that applies decides.
///
/// In place of an answer:
/// * `status`: that status code with an HTML page; `retry_after` sets Retry-After as it stands.
/// * `challenge`: the front of a service runs a browser check: with `status` (403), by the marks of its `kind`: a header
///   (`cloudflare`), the page of older set-ups alone (`old`), another front's (`ddos-guard`); or it blocks for good (`blocked`).
///   With `lets` it admits a request that has this text in a cookie or as the User-Agent.
/// * `redirect`: 302 to `location`. `stallhdr`: nothing is sent until the client gives up.
/// * `fin0`, `rst0`: the connection is closed or reset without an answer. `garbage`: bytes that are no HTTP.
/// * `html200`, `json200`, `placeholder`: a page, an object or the placeholder of a withheld entry, in place of a picture.
/// * `text`: an answer of JSON that is this `text`, with `status` (200). `nohead`: HEAD is answered with 405.
///
/// A wrong header:
/// * `cllong`, `clshort`: the declared length is `by` (1000) more or less than the length sent; `headlies`: for HEAD only.
/// * `cltwo`: two lengths, the second half of the first; `clneg`: a negative one.
/// * `chunked`: no length, chunked; `closedelim`: no length, the end of the connection is the end.
/// * `gzip`: compressed without being requested. `hdr1m`, `hdr10k`: one header of a megabyte, ten thousand headers.
/// * `rangeignored`: 200 and the whole picture; `rangewrong`: a Content-Range one byte off.
/// * `modified`: Last-Modified is a day later, and If-Range is judged by that; `unnamed`: no header has a validator.
/// * `replaced`: another picture of the same length between the same ends, two days later; with `unnamed` without a validator.
///
/// A wrong body:
/// * `trunc`, `rst`, `stallbody`: after `after` bytes, or half, the connection is closed or reset, or nothing more comes.
/// * `slow`: `rate` bytes a second. `flip`: the byte at `at`, or in the middle, is another one.
/// * `notrailer`: right length, but the last bytes are zero. `endless`: no end. `empty`: status 200 and no body.
/// * `rangebytes`: right Content-Range, other bytes; `rangezero`: the first bytes of the picture.
struct Fault: Sendable {
    let action: String
    private let node: JSON
    private var skip: Int64
    private var left: Int64?

    /// Parses a line; nil if it is no rule, names an unknown action or lacks a required member.
    init?(_ line: [UInt8]) {
        guard let node = JSON(line), let action = node["action"].string, Self.changes[action] != nil else { return nil }
        let isComplete =
            switch action {
            case "status": (200...599).contains(node["status"].number ?? 0)
            case "challenge":
                !Self.front(node).isNull && (400...599).contains(node["status"].number ?? 403)
            case "redirect": node["location"].string != nil
            case "text": node["text"].string != nil
            case "slow": (node["rate"].number ?? 0) > 0
            default: true
            }
        guard isComplete else { return nil }
        self.action = action
        self.node = node
        skip = node["skip"].number ?? 0
        left = node["count"].number
    }

    /// Whether the fault applies to a request, which it counts.
    mutating func applies(to request: Request) -> Bool {
        guard left != 0, (node["method"].string ?? request.method) == request.method,
            request.target.hasPrefix(node["prefix"].string ?? ""),
            request.target.hasSuffix(node["suffix"].string ?? ""),
            request.contains(node["path"].string ?? ""), !admits(request)
        else { return false }
        if skip > 0 {
            skip -= 1
            return false
        }
        left = left.map { $0 - 1 }
        return true
    }

    /// Whether the front admits a request.
    private func admits(_ request: Request) -> Bool {
        guard action == "challenge", let pass = node["lets"].string else { return false }
        return request["cookie"]?.contains(pass) == true || request["user-agent"] == pass
    }

    /// The delivery of the answer to a request, changed by the action.
    ///
    /// `right` returns the right answer, with the dates of pictures moved by seconds; the action `placeholder` replaces it.
    func delivery(
        _ request: Request, placeholder: Response, right: (_ request: Request, _ later: Int64) -> Response
    ) -> Delivery {
        let isUnnamed = action == "unnamed" || action == "replaced" && node["unnamed"].number == 1
        // Without a validator, If-Range cannot request a part.
        let isWhole = action == "rangeignored" || isUnnamed && request["if-range"] != nil
        // Seconds by which the modification dates of pictures are later.
        let later: Int64 = action == "modified" ? 86_400 : action == "replaced" && !isUnnamed ? 2 * 86_400 : 0
        let right = right(isWhole ? request.withoutRange : request, later)
        var delivery = Delivery(
            answer: action == "placeholder" ? placeholder : right, request: request, script: node)
        if isUnnamed { delivery.answer.headers.removeAll { $0.0 == "Last-Modified" || $0.0 == "ETag" } }
        Self.changes[action]?(&delivery)
        return delivery
    }

    // MARK: -

    private typealias Change = @Sendable (inout Delivery) -> Void

    /// The change that each action makes to the right answer.
    private static let changes: [String: Change] = [
        "status": { spoilt in
            let (status, wait) = (spoilt.number("status") ?? 403, spoilt.script["retry_after"].text)
            spoilt.answer = .html("\(status)", status: status).with(wait.map { [("Retry-After", $0)] } ?? [])
        },
        "challenge": { challenge(&$0) },
        "redirect": { spoilt in
            let location = ("Location", spoilt.script["location"].string ?? "")
            spoilt.answer = .html("302 Found", status: 302).with([location])
        },
        "stallhdr": { $0.stallAt = -1 }, "fin0": { $0.cutAt = -1 }, "rst0": { $0.resetAt = -1 },
        "garbage": { $0.isGarbage = true }, "html200": { $0.answer = .html("Please wait", status: 200) },
        "json200": { $0.answer = .failure("An unknown error occurred", status: 200) }, "placeholder": { _ in },
        "text": { spoilt in
            spoilt.answer.status = spoilt.number("status") ?? 200
            spoilt.answer.body = .bytes(Array((spoilt.script["text"].string ?? "").utf8))
        },
        "nohead": { if $0.request.method == "HEAD" { $0.answer = .html("405", status: 405) } },
        "cllong": { $0.lengths = [$0.answer.length + ($0.number("by") ?? 1000)] },
        "clshort": { $0.lengths = [$0.answer.length - ($0.number("by") ?? 1000)] },
        "headlies": { spoilt in
            // The bytes are never sent: for HEAD only the length of the body counts.
            guard spoilt.request.method == "HEAD" else { return }
            let lie = spoilt.answer.length + (spoilt.number("by") ?? 1000)
            spoilt.answer.body = .bytes(Array(repeating: 0, count: lie))
            spoilt.answer.tellsLength = true
        },
        "cltwo": { $0.lengths = [$0.answer.length, $0.answer.length / 2] }, "clneg": { $0.lengths = [-1] },
        "chunked": { $0.answer.tellsLength = false }, "closedelim": { $0.lengths = [] },
        "gzip": {
            $0.answer.body = .bytes(compressed($0.answer.bytes))
            $0.answer.headers.append(("Content-Encoding", "gzip"))
        },
        "hdr1m": { $0.headers = [("X-Large", String(repeating: "a", count: 1 << 20))] },
        "hdr10k": { $0.headers = (0..<10_000).map { ("X-Number-\($0)", "\($0)") } },
        "rangeignored": { _ in }, "modified": { _ in }, "unnamed": { _ in },
        "rangewrong": { spoilt in
            guard spoilt.answer.status == 206, case .picture(let picture, let range) = spoilt.answer.body else {
                return
            }
            spoilt.answer.headers.removeAll { $0.0 == "Content-Range" }
            let wrong = "bytes \(range.lowerBound + 1)-\(range.upperBound)/\(picture.bytes)"
            spoilt.answer.headers.append(("Content-Range", wrong))
        },
        "rangezero": { spoilt in
            guard spoilt.answer.status == 206, case .picture(let picture, let range) = spoilt.answer.body else {
                return
            }
            spoilt.answer.body = .picture(picture, range: 0..<range.count)
        },
        "rangebytes": { if $0.answer.status == 206 { $0.changed = 0..<$0.answer.length } },
        "replaced": { spoilt in
            guard case .picture(let picture, let range) = spoilt.answer.body else { return }
            let middle = (ends..<max(ends, picture.bytes - ends)).clamped(to: range)
            spoilt.changed = middle.lowerBound - range.lowerBound..<middle.upperBound - range.lowerBound
        },
        "trunc": { $0.cutAt = $0.number("after") ?? $0.answer.length / 2 },
        "rst": { $0.resetAt = $0.number("after") ?? $0.answer.length / 2 },
        "stallbody": { $0.stallAt = $0.number("after") ?? $0.answer.length / 2 },
        "slow": { $0.rate = $0.number("rate") },
        "flip": { spoilt in
            let place = spoilt.number("at") ?? spoilt.answer.length / 2
            spoilt.changed = place..<place + 1
        },
        "notrailer": { $0.blank = max(0, $0.answer.length - trailer)..<$0.answer.length },
        "endless": {
            $0.answer.tellsLength = false
            $0.isEndless = true
        },
        "empty": { $0.answer.body = .bytes([]) },
    ]

    /// Bytes at both ends that all versions of a picture share: more than any format begins or ends with.
    private static let ends = 64
    /// Bytes that are blanked at the end: at least as many as any picture format ends with.
    private static let trailer = 16

    /// The fronts with a browser check: rebuilt from descriptions, since no recorded page is published: Cloudflare's
    /// documentation ("Detect a Challenge Page response"), the marks by which gallery-dl recognises such pages, and their headers.
    private static let fronts = JSON(PackageResources.fronts_json) ?? .null

    private static func front(_ script: JSON) -> JSON { fronts[script["kind"].string ?? "cloudflare"] }

    private static func challenge(_ spoilt: inout Delivery) {
        let front = front(spoilt.script)
        let caching = "private, max-age=0, no-store, no-cache, must-revalidate, post-check=0, pre-check=0"
        spoilt.answer = Response(
            status: spoilt.number("status") ?? 403,
            headers: [("Content-Type", "text/html; charset=UTF-8"), ("Cache-Control", caching)]
                + front["headers"].members.map { ($0.name, $0.value.string ?? "") },
            body: .bytes(Array((front["page"].string ?? "").utf8)))
    }

    /// The bytes in gzip format; empty only if memory is short.
    private static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var stream = unsafe z_stream()
        guard unsafe rankfs_gzip_init(&stream) == Z_OK else { return [] }
        defer { unsafe deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: unsafe Int(deflateBound(&stream, UInt(bytes.count))) + 64)
        let left = unsafe input.withUnsafeMutableBufferPointer { input -> Int in
            unsafe output.withUnsafeMutableBufferPointer { output in
                unsafe stream.next_in = input.baseAddress
                unsafe stream.avail_in = UInt32(input.count)
                unsafe stream.next_out = output.baseAddress
                unsafe stream.avail_out = UInt32(output.count)
                unsafe deflate(&stream, Z_FINISH)
                return unsafe Int(stream.avail_out)
            }
        }
        return Array(output.dropLast(left))
    }
}
