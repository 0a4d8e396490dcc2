package import HTTP

/// An error of a request to a store; texts contain no secret, and of an answer only its status and code.
package enum StoreError: Error, Hashable, Sendable {
    /// The store did not answer, not in time, or with a broken answer.
    case unreachable(String)
    /// The store reports trouble or a rate limit: 429 or 5xx.
    case troubled(status: Int)
    /// The store has no room.
    case full
    /// The store refuses the user: 401 or 403, with the store's own code.
    case refused(code: String)
    /// The store refuses this very request: 400, 411 or 413, with the store's own code.
    case notTaken(status: Int, code: String?)
    /// The request cannot succeed: the bucket is missing, or the answer cannot be decoded.
    case nonsense(String)
    case cancelled

    /// There is no bucket of that name.
    package static let noBucket = StoreError.nonsense("there is no such bucket")

    /// The store did not answer before the deadline.
    package static let timedOut = StoreError.unreachable("it did not answer in time")

    package init(_ error: HTTPError) {
        switch error {
        case .cancelled: self = .cancelled
        case .timedOut: self = .timedOut
        case .unreachable(let reason), .broken(let reason), .untrusted(let reason): self = .unreachable(reason)
        case .invalidAnswer(let reason), .refused(let reason), .redirectRefused(let reason): self = .nonsense(reason)
        case .tooLarge: self = .nonsense("an object is larger than it may be")
        case .limited: self = .troubled(status: 429)
        case .turnedAway(let reason), .exhausted(let reason): self = .unreachable(reason)
        case .offline: self = .unreachable("requests are switched off")
        }
    }

    /// The error of an answer without a status of success.
    package init(status: Int, body: [UInt8]) {
        let code = Self.code(in: body)
        switch (status, code) {
        case (_, "NoSuchBucket"): self = .noBucket
        case (507, _), (_, "QuotaExceeded"), (_, "InsufficientStorage"), (_, "XMinioStorageFull"): self = .full
        case (401, _), (403, _): self = .refused(code: code ?? "\(status)")
        case (429, _), (500..., _): self = .troubled(status: status)
        case (400, _), (411, _), (413, _): self = .notTaken(status: status, code: code)
        default: self = .nonsense(Self.text(status, code))
        }
    }

    /// The error as a part of a sentence.
    package var text: String {
        switch self {
        case .unreachable(let reason): reason
        case .troubled(let status): "it answered \(status)"
        case .full: "it has no room"
        case .refused("RequestTimeTooSkewed"): "its clock and this machine's are more than a day apart; set the clock"
        case .refused("SignatureDoesNotMatch"), .refused("InvalidAccessKeyId"): "the key or its secret is wrong"
        case .refused(let code): "it refused (\(code))"
        case .notTaken(let status, let code): Self.text(status, code)
        case .nonsense(let reason): reason
        case .cancelled: "the request was cancelled"
        }
    }

    private static func text(_ status: Int, _ code: String?) -> String {
        "it answered \(status)" + (code.map { " (\($0))" } ?? "")
    }

    /// The code in `<Code>…</Code>` of an answer (Amazon S3 API Reference, "Error responses").
    private static func code(in body: [UInt8]) -> String? {
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
