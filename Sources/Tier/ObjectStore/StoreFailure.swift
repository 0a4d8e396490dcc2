package import Rankings

/// The failures of requests to an object store; their texts contain no secret, and of an answer only its status and code.
extension Failure {
    /// There is no bucket of that name.
    static let noBucket = Failure.unreadable("there is no such bucket")

    /// Whether a store answered that there are too many requests.
    var isTooMany: Bool { self == .answered(status: 503) || self == .answered(status: 429) }

    /// The failure that an answer without a status of success means.
    package init(status: Int, body: [UInt8]) {
        let code = Self.code(in: body)
        let text = "it answered \(status)" + (code.map { " (\($0))" } ?? "")
        switch (status, code) {
        case (_, "NoSuchBucket"): self = .noBucket
        case (507, _), (_, "QuotaExceeded"), (_, "InsufficientStorage"), (_, "XMinioStorageFull"): self = .full
        case (401, _), (403, _): self = .refused(Self.refusal(code ?? "\(status)"))
        case (400, let code?) where Self.codesOfKeys.contains(code): self = .refused(Self.refusal(code))
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
        default: "it refused (\(code))"
        }
    }

    /// The code in `<Code>…</Code>` of an answer (Amazon S3 API Reference, "Error responses").
    static func code(in body: [UInt8]) -> String? {
        let text = String(decoding: body.prefix(4096), as: UTF8.self)
        guard let start = text.range(of: "<Code>"), let end = text[start.upperBound...].range(of: "</Code>") else {
            return nil
        }
        let code = text[start.upperBound..<end.lowerBound]
        // The code becomes part of a line of the log.
        guard (1...64).contains(code.utf8.count), code.utf8.allSatisfy({ isLetterOrDigit($0) }) else { return nil }
        return String(code)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
}

extension String {
    /// The first occurrence of another text.
    fileprivate func range(of text: String) -> Range<Index>? { self[...].range(of: text) }
}

extension Substring {
    fileprivate func range(of text: String) -> Range<Index>? { ranges(of: text).first }
}
