import Rankings

/// What goes wrong, by the names that scripts use.
enum FaultAction: Sendable {
    // MARK: before or instead of an answer

    /// `status`: that status code with an HTML page; `retry_after` sets Retry-After as it stands.
    case status(Int, retryAfter: String?)
    /// `challenge`: what stands in front of a service wants to see a browser: with `status` (403), by `marks` of its `kind`: a
    /// header (`cloudflare`), the page of older set-ups alone (`old`), another front's (`ddos-guard`); or it blocks for good
    /// (`blocked`). With `lets` it lets in whoever sends that in a cookie or as the User-Agent.
    case challenge(FrontFault)
    /// `redirect`: 302 to `location`.
    case redirect(location: String)
    /// `stallhdr`: nothing is sent, for `ms` or until the client gives up.
    case stallHeaders(milliseconds: Int64)
    /// `fin0`: the connection is closed without an answer.
    case close
    /// `rst0`: the connection is reset without an answer.
    case reset
    /// `garbage`: bytes that are no HTTP.
    case garbage
    /// `html200`, `json200`: a page or an object where a picture is meant.
    case html200
    case json200
    /// `nohead`: HEAD is answered with 405.
    case noHead
    /// `placeholder`: the picture that stands for a withheld one, with status 200.
    case placeholder

    // MARK: the header lies

    /// `cllong`, `clshort`: the length told is 1000 more or less than what is sent.
    case lengthOff(by: Int)
    /// `cltwo`: two lengths, the second half of the first.
    case twoLengths
    /// `clneg`: a negative length.
    case negativeLength
    /// `chunked`: no length, chunked; `closedelim`: no length, the end of the connection is the end.
    case chunked
    case closeDelimited
    /// `gzip`: compressed although nobody asked.
    case gzip
    /// `headlies`: HEAD tells a length that is `by` more.
    case headLies(by: Int)
    /// `hdr1m`, `hdr10k`: one header of a megabyte, ten thousand headers.
    case hugeHeader
    case manyHeaders
    /// `rangeignored`: 200 and the whole picture; `rangewrong`: a Content-Range one byte off.
    case rangeIgnored
    case rangeWrong
    /// `modified`: Last-Modified is a day later, and If-Range is judged by that.
    case modified
    /// `unnamed`: neither Last-Modified nor an ETag says which version it is.
    case unnamed
    /// `replaced`: another picture of the same length between the same ends, two days later; with `unnamed` nothing says so.
    case replaced(isUnnamed: Bool)

    // MARK: the body lies

    /// `trunc`: the connection is closed after `after` bytes, or half of the body.
    case truncate(after: Int?)
    /// `rst`: the same with a reset.
    case resetBody(after: Int?)
    /// `stallbody`: nothing more comes after `after` bytes, or half.
    case stallBody(after: Int?)
    /// `slow`: that many bytes a second.
    case slow(rate: Int)
    /// `flip`: the byte at `at`, or in the middle, is another one.
    case flip(at: Int?)
    /// `notrailer`: right length, but the last bytes are zero.
    case noTrailer
    /// `rangebytes`: right Content-Range, other bytes; `rangezero`: those that the picture begins with.
    case rangeBytes
    case rangeZero
    /// `endless`: the body never ends.
    case endless
    /// `empty`: status 200 and no body.
    case empty

    /// Nil for an unknown action or one that lacks what it needs.
    init?(_ node: JSON) {
        let after = node["after"]?.number.map { Int($0) }
        let by = node["by"]?.number.map { Int($0) } ?? Self.step
        switch node["action"]?.string {
        case "status":
            guard let status = node["status"]?.number, (200...599).contains(status) else { return nil }
            let retryAfter = node["retry_after"]?.text
            self = .status(Int(status), retryAfter: retryAfter)
        case "challenge":
            guard let fault = FrontFault(node) else { return nil }
            self = .challenge(fault)
        case "redirect":
            guard let location = node["location"]?.string else { return nil }
            self = .redirect(location: location)
        case "stallhdr": self = .stallHeaders(milliseconds: node["ms"]?.number ?? .max / 2)
        case "slow":
            guard let rate = node["rate"]?.number, rate > 0 else { return nil }
            self = .slow(rate: Int(rate))
        case "cllong": self = .lengthOff(by: by)
        case "clshort": self = .lengthOff(by: -by)
        case "headlies": self = .headLies(by: by)
        case "trunc": self = .truncate(after: after)
        case "rst": self = .resetBody(after: after)
        case "stallbody": self = .stallBody(after: after)
        case "replaced": self = .replaced(isUnnamed: node["unnamed"]?.number == 1)
        case "flip": self = .flip(at: node["at"]?.number.map { Int($0) })
        case let name?:
            guard let action = Self.plain[name] else { return nil }
            self = action
        case nil: return nil
        }
    }

    /// By how much lengths are wrong: fault 8 of the reference sends 299,000 of 300,000 bytes.
    private static let step = 1000

    /// The actions that need nothing but their name.
    private static let plain: [String: FaultAction] = [
        "fin0": .close, "rst0": .reset, "garbage": .garbage, "html200": .html200, "json200": .json200,
        "nohead": .noHead, "placeholder": .placeholder, "cltwo": .twoLengths, "clneg": .negativeLength,
        "chunked": .chunked, "closedelim": .closeDelimited, "gzip": .gzip, "hdr1m": .hugeHeader, "hdr10k": .manyHeaders,
        "rangeignored": .rangeIgnored, "rangewrong": .rangeWrong, "modified": .modified, "unnamed": .unnamed,
        "notrailer": .noTrailer,
        "rangebytes": .rangeBytes, "rangezero": .rangeZero, "endless": .endless, "empty": .empty,
    ]
}
