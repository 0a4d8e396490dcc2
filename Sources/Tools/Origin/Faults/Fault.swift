import CZlib
import Rankings

/// What goes wrong with an answer, by the name and the values that a script gives it.
///
/// In place of an answer:
/// * `status`: that status code with an HTML page; `retry_after` sets Retry-After as it stands.
/// * `challenge`: what stands in front of a service wants to see a browser: with `status` (403), by the marks of its `kind`: a header
///   (`cloudflare`), the page of older set-ups alone (`old`), another front's (`ddos-guard`); or it blocks for good (`blocked`).
///   With `lets` it lets in whoever sends that in a cookie or as the User-Agent.
/// * `redirect`: 302 to `location`. `stallhdr`: nothing is sent, for `ms` or until the client gives up.
/// * `fin0`, `rst0`: the connection is closed or reset without an answer. `garbage`: bytes that are no HTTP.
/// * `html200`, `json200`, `placeholder`: a page, an object or the picture that stands for a withheld one, where a picture is meant.
/// * `nohead`: HEAD is answered with 405.
///
/// The header lies:
/// * `cllong`, `clshort`: the length told is `by` (1000) more or less than what is sent; `headlies`: only HEAD tells so.
/// * `cltwo`: two lengths, the second half of the first; `clneg`: a negative one.
/// * `chunked`: no length, chunked; `closedelim`: no length, the end of the connection is the end.
/// * `gzip`: compressed although nobody asked. `hdr1m`, `hdr10k`: one header of a megabyte, ten thousand headers.
/// * `rangeignored`: 200 and the whole picture; `rangewrong`: a Content-Range one byte off.
/// * `modified`: Last-Modified is a day later, and If-Range is judged by that; `unnamed`: nothing says which version it is.
/// * `replaced`: another picture of the same length between the same ends, two days later; with `unnamed` nothing says so.
///
/// The body lies:
/// * `trunc`, `rst`, `stallbody`: after `after` bytes, or half, the connection is closed or reset, or nothing more comes.
/// * `slow`: `rate` bytes a second. `flip`: the byte at `at`, or in the middle, is another one.
/// * `notrailer`: right length, but the last bytes are zero. `endless`: no end. `empty`: status 200 and no body.
/// * `rangebytes`: right Content-Range, other bytes; `rangezero`: those that the picture begins with.
struct Fault: Sendable {
    let action: String
    private let node: JSON

    private static let actions: Set = [
        "status", "challenge", "redirect", "stallhdr", "fin0", "rst0", "garbage", "html200", "json200", "placeholder",
        "nohead", "cllong", "clshort", "headlies", "cltwo", "clneg", "chunked", "closedelim", "gzip", "hdr1m", "hdr10k",
        "rangeignored", "rangewrong", "modified", "unnamed", "replaced", "trunc", "rst", "stallbody", "slow", "flip",
        "notrailer", "endless", "empty", "rangebytes", "rangezero",
    ]

    /// The fronts that want to see browsers: rebuilt from descriptions, since nobody published a recorded page: Cloudflare's
    /// documentation ("Detect a Challenge Page response"), the marks by which gallery-dl tells such pages, and their headers.
    private static let fronts = JSON(PackageResources.fronts_json) ?? .null

    /// Nil for an unknown action or one that lacks what it needs.
    init?(_ node: JSON) {
        guard let action = node["action"].string, Self.actions.contains(action) else { return nil }
        self.action = action
        self.node = node
        let isComplete =
            switch action {
            case "status": (200...599).contains(node["status"].number ?? 0)
            case "challenge": !front.isNull && (400...599).contains(node["status"].number ?? 403)
            case "redirect": node["location"].string != nil
            case "slow": (node["rate"].number ?? 0) > 0
            default: true
            }
        guard isComplete else { return nil }
    }

    /// Whether a front lets a request in.
    func admits(_ request: Request) -> Bool {
        guard action == "challenge", let pass = node["lets"].string else { return false }
        return request["cookie"]?.contains(pass) == true || request["user-agent"] == pass
    }

    /// What becomes of a request.
    func outcome(_ request: Request, _ service: OriginService) -> Outcome {
        let status = Int(node["status"].number ?? 403)
        switch action {
        case "stallhdr": return .silence(milliseconds: node["ms"].number ?? .max / 2)
        case "fin0": return .close
        case "rst0": return .reset
        case "status":
            let page = Response.html("\(status)", status: status)
            return .answer(page.with(node["retry_after"].text.map { [("Retry-After", $0)] } ?? []), Delivery())
        case "challenge": return .answer(challenge(status), Delivery())
        case "redirect":
            let location = ("Location", node["location"].string ?? "")
            return .answer(.html("302 Found", status: 302).with([location]), Delivery())
        case "html200": return .answer(.html("Please wait", status: 200), Delivery())
        case "json200": return .answer(.failure("An unknown error occurred", status: 200), Delivery())
        case "placeholder": return .answer(service.placeholder, Delivery())
        case "nohead" where request.method == "HEAD": return .answer(.html("405", status: 405), Delivery())
        default:
            // Of what has no name, If-Range cannot ask for a part.
            let isWhole = action == "rangeignored" || isUnnamed && request["if-range"] != nil
            let right = service.answer(isWhole ? request.withoutRange : request, laterBy: seconds)
            let answer = header(of: right, request)
            return .answer(answer, delivery(of: answer))
        }
    }

    // MARK: -

    private var front: JSON { Self.fronts[node["kind"].string ?? "cloudflare"] }
    private var isUnnamed: Bool { action == "unnamed" || action == "replaced" && node["unnamed"].number == 1 }

    /// Seconds by which pictures seem to be younger.
    private var seconds: Int64 { action == "modified" ? 86_400 : action == "replaced" && !isUnnamed ? 2 * 86_400 : 0 }

    /// By how much lengths are wrong.
    private var by: Int { node["by"].number.map { Int($0) } ?? 1000 }

    private func challenge(_ status: Int) -> Response {
        let caching = "private, max-age=0, no-store, no-cache, must-revalidate, post-check=0, pre-check=0"
        return Response(
            status: status,
            headers: [("Content-Type", "text/html; charset=UTF-8"), ("Cache-Control", caching)]
                + front["headers"].members.map { ($0.name, $0.value.string ?? "") },
            body: .bytes(Array((front["page"].string ?? "").utf8)))
    }

    /// The answer with a header gone wrong.
    private func header(of right: Response, _ request: Request) -> Response {
        var answer = right
        switch action {
        case "chunked", "endless": answer.tellsLength = false
        case "empty": answer.body = .bytes([])
        case "gzip":
            answer.body = .bytes(Self.compressed(right.bytes))
            answer.headers.append(("Content-Encoding", "gzip"))
        case "headlies" where request.method == "HEAD":
            // Never sent: of a HEAD's body only the length counts.
            answer.body = .bytes(Array(repeating: 0, count: answer.length + by))
            answer.tellsLength = true
        case "rangewrong", "rangezero":
            guard answer.status == 206, case .picture(let picture, let range) = answer.body else { break }
            if action == "rangezero" {
                answer.body = .picture(picture, range: 0..<range.count)
            } else {
                answer.headers.removeAll { $0.0 == "Content-Range" }
                let wrong = "bytes \(range.lowerBound + 1)-\(range.upperBound)/\(picture.bytes)"
                answer.headers.append(("Content-Range", wrong))
            }
        default: if isUnnamed { answer.headers.removeAll { $0.0 == "Last-Modified" || $0.0 == "ETag" } }
        }
        return answer
    }

    private func delivery(of answer: Response) -> Delivery {
        var delivery = Delivery()
        let length = answer.length
        let after = node["after"].number.map { Int($0) } ?? length / 2
        switch action {
        case "slow": delivery.rate = node["rate"].number.map { Int($0) }
        case "trunc": delivery.cutAt = after
        case "rst": delivery.resetAt = after
        case "stallbody": delivery.stallAt = after
        case "flip":
            let place = node["at"].number.map { Int($0) } ?? length / 2
            delivery.changed = place..<place + 1
        case "rangebytes" where answer.status == 206: delivery.changed = 0..<length
        case "replaced": delivery.changed = answer.between(ends: Self.ends)
        case "notrailer": delivery.blank = max(0, length - Self.trailer)..<length
        case "endless": delivery.isEndless = true
        case "cllong": delivery.lengths = [length + by]
        case "clshort": delivery.lengths = [length - by]
        case "cltwo": delivery.lengths = [length, length / 2]
        case "clneg": delivery.lengths = [-1]
        case "closedelim": delivery.lengths = []
        case "hdr1m": delivery.headers = [("X-Large", String(repeating: "a", count: 1 << 20))]
        case "hdr10k": delivery.headers = (0..<10_000).map { ("X-Number-\($0)", "\($0)") }
        case "garbage": delivery.isGarbage = true
        default: break
        }
        return delivery
    }

    /// Bytes at both ends that all versions of a picture have: more than any format begins or ends with.
    private static let ends = 64
    /// At least what any picture format ends with.
    private static let trailer = 16

    /// Bytes in gzip format; empty only without memory.
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

extension Response {
    /// The places in the body that belong to a picture's bytes between its ends.
    fileprivate func between(ends: Int) -> Range<Int>? {
        guard case .picture(let picture, let range) = body else { return nil }
        let middle = (ends..<max(ends, picture.bytes - ends)).clamped(to: range)
        return middle.lowerBound - range.lowerBound..<middle.upperBound - range.lowerBound
    }
}
