package import Rankings
import System

/// The failures of requests to an object store; their texts contain no secret, and of an answer only its status and code.
extension Failure {
    /// There is no bucket of that name.
    static let noBucket = Failure.unreadable("there is no such bucket")

    /// Whether a store answered that there are too many requests.
    var isTooMany: Bool { self == .answered(status: 503) || self == .answered(status: 429) }

    /// Whether a failure of a read concerns the object alone: it is too large, or archived.
    var isOfObject: Bool { self == .tooLarge || self == .gone }

    /// The failure that an answer without a status of success means.
    package init(status: Int, body: [UInt8]) {
        let code = Self.code(in: body)
        let text = "it answered \(status)" + (code.map { " (\($0))" } ?? "")
        switch (status, code) {
        case (_, "NoSuchBucket"): self = .noBucket
        case (507, _), (_, "QuotaExceeded"), (_, "InsufficientStorage"), (_, "XMinioStorageFull"): self = .full
        case (_, "PermanentRedirect"), (307, "TemporaryRedirect"), (400, "AuthorizationHeaderMalformed"):
            let region = Self.text(of: "Region", in: body).map { "in the region \($0)" } ?? "in another region"
            self = .refused("the bucket is \(region), which tier_region must name")
        case (304, _):
            self = .unreadable(
                "\(text) to a request for the object itself; tier_url must name the store, not a cache before it")
        case (300..<400, _): self = .unreadable("\(text), a redirect; tier_url must name the store's own address")
        // The object waits in an archive.
        case (403, "InvalidObjectState"): self = .gone
        case (401, _), (403, _), (_, "RequestTimeTooSkewed"): self = .refused(Self.refusal(code ?? "\(status)"))
        case (400, let code?) where Self.codesOfKeys.contains(code): self = .refused(Self.refusal(code))
        case (408, _), (400, "RequestTimeout"): self = .timedOut
        case (429, _), (500..., _): self = .answered(status: status)
        case (400, _), (411, _), (413, _): self = .notTaken(text)
        default: self = .unreadable(text)
        }
    }

    /// Whether an answer refuses the keys with which its request was signed.
    static func refusesKeys(_ body: [UInt8]) -> Bool { code(in: body).map(codesOfKeys.contains) ?? false }

    /// The codes that other keys may mend (Amazon S3 API Reference, "Error responses").
    private static let codesOfKeys: Set = [
        "ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch", "TokenRefreshRequired",
    ]

    private static func refusal(_ code: String) -> String {
        switch code {
        case "RequestTimeTooSkewed": "its clock and this machine's are more than a day apart; set the clock"
        case "SignatureDoesNotMatch", "InvalidAccessKeyId": "the key or its secret is wrong"
        case "ExpiredToken", "TokenRefreshRequired", "InvalidToken":
            "the session token of the key has ended, or is wrong"
        case "AccessDenied":
            "it refused (AccessDenied); the key needs s3:GetObject and s3:ListBucket, and s3:PutObject and s3:DeleteObject to write"
        default: "it refused (\(code))"
        }
    }

    /// The code in `<Code>…</Code>` of an answer (Amazon S3 API Reference, "Error responses").
    static func code(in body: [UInt8]) -> String? { text(of: "Code", in: body) }

    /// The text of an element of an answer; nil for one that is no word of letters, digits and hyphens.
    private static func text(of element: String, in body: [UInt8]) -> String? {
        let text = String(decoding: body.prefix(4096), as: UTF8.self)
        guard let start = text.firstRange(of: "<\(element)>")?.upperBound else { return nil }
        // It becomes part of a line of the log.
        let word = text[start...].prefix { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard (1...64).contains(word.utf8.count), text[word.endIndex...].hasPrefix("</\(element)>") else { return nil }
        return String(word)
    }
}
