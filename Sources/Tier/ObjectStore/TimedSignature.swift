internal import System
internal import HTTP
internal import Rankings
internal import Synchronization

/// Signs a request.
///
/// Source: AWS Signature Version 4, "Create a signed AWS API request". libcurl can only sign by this machine's clock: a date among
/// a request's headers is signed once and sent twice, which stores treat as a wrong signature (lib/http_aws_sigv4.c of 7.88;
/// SeaweedFS 4.48 answers 403).
extension StoreKeys {
    /// The headers that sign a request.
    ///
    /// - Parameters:
    ///   - request: The request with all its other headers, `x-amz-content-sha256` among them, and an address that needs no
    ///     escaping.
    ///   - region: The region of the store.
    ///   - seconds: The time of the signature in Unix seconds.
    /// - Returns: Nil for a time outside the calendar, or if memory runs out.
    func headers(signing request: HTTPRequest, for region: String, at seconds: Int64) -> [String]? {
        guard let stamp = Self.stamp(seconds), let place = Self.place(request.url) else { return nil }
        let date = "x-amz-date: \(stamp)"
        let signed = Self.signed(request.headers + ["host: \(place.host)", date])
        let names = signed.map(\.name).joined(separator: ";")
        let content = signed.first { $0.name == "x-amz-content-sha256" }?.value ?? ""
        let canonical =
            ([request.method.rawValue, place.path, place.query] + signed.map { "\($0.name):\($0.value)" }
            + ["", names, content]).joined(separator: "\n")
        let scope = "\(stamp.prefix(8))/\(region)/s3/aws4_request"
        let hash = SHA256.hex(SHA256.digest(Array(canonical.utf8)))
        var key: [UInt8]? = Array("AWS4\(secret)".utf8)
        for part in scope.split(separator: "/") {
            key = key.flatMap { SHA256.authenticate(Array(part.utf8), key: $0) }
        }
        let text = "\(Self.algorithm)\n\(stamp)\n\(scope)\n\(hash)"
        guard let key, let signature = SHA256.authenticate(Array(text.utf8), key: key).map(SHA256.hex) else {
            return nil
        }
        return [
            date,
            "Authorization: \(Self.algorithm) Credential=\(keyID)/\(scope), SignedHeaders=\(names), Signature=\(signature)",
        ]
    }

    private static let algorithm = "AWS4-HMAC-SHA256"

    /// The time as in `20240430T235959Z`; nil for a year without four digits.
    private static func stamp(_ seconds: Int64) -> String? {
        seconds < 0 ? nil : Timestamp.text(seconds)?.filter { $0 != "-" && $0 != ":" }
    }

    /// The parts of an address, the host as libcurl sends it: without the default port of the scheme.
    private static func place(_ url: String) -> (host: String, path: String, query: String)? {
        let parts = url.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        let port = parts[0] == "https:" ? ":443" : ":80"
        let host = parts[2].hasSuffix(port) ? parts[2].dropLast(port.count) : parts[2]
        let target = parts[3].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return (String(host), "/\(target[0])", target.count > 1 ? String(target[1]) : "")
    }

    /// The headers to sign: host, content type and all headers of the store, in order and with single spaces.
    ///
    /// Other headers may be changed on the way.
    private static func signed(_ lines: [String]) -> [(name: String, value: String)] {
        lines.compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            return (parts[0].lowercased(), parts[1].split(separator: " ").joined(separator: " "))
        }.filter { $0.name == "host" || $0.name == "content-type" || $0.name.hasPrefix("x-amz-") }
            .sorted { $0.name < $1.name }
    }
}

// MARK: - Store clock

/// The time at a store, from the dates of its answers, so that this machine's clock may be wrong.
///
/// Between answers it advances with a monotonic clock, so it stays right if this machine's clock is corrected.
///
/// ## Concurrency
///
/// Any thread may call. The mutex is held for nanoseconds.
final class StoreClock: Sendable {
    /// The tolerated error of a clock in seconds: stores refuse at fifteen minutes (Amazon S3, `RequestTimeTooSkewed`).
    static let tolerance: Int64 = 300
    /// The largest difference in seconds at which the store's date is used for signatures.
    ///
    /// A more distant date is used for ages only. An attacker that can forge dates on an unprotected connection must not collect
    /// signatures for next year.
    static let furthest: Int64 = 86_400

    private let told = Mutex<(seconds: Int64, at: ContinuousClock.Instant)?>(nil)
    private let time: TimeSource
    private let wallClock: @Sendable () -> Int64

    init(time: TimeSource, wallClock: @escaping @Sendable () -> Int64) {
        self.time = time
        self.wallClock = wallClock
    }

    /// Records the date of an answer, of any status.
    func heard(_ head: HTTPAnswer) {
        guard let answered = head.sent else { return }
        let now = time.now()
        told.withLock { $0 = (answered, now) }
    }

    /// The store's time in Unix seconds; nil before its first date.
    var now: Int64? {
        told.withLock { $0 }.map { $0.seconds + $0.at.duration(to: time.now()).components.seconds }
    }

    /// The time for a signature: this machine's if it is accurate enough, otherwise the store's.
    var signing: Int64 {
        let own = wallClock()
        guard let now, now > own - Self.furthest, now < own + Self.furthest, !Self.agree(now, own) else { return own }
        return now
    }

    /// Whether a store accepts one of these times in place of the other.
    static func agree(_ one: Int64, _ other: Int64) -> Bool {
        one.subtracting(saturating: other).magnitude <= tolerance
    }
}
