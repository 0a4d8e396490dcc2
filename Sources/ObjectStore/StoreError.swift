package import HTTP

/// Why a store did not do what was asked; texts hold no secret and nothing of an answer but its status and its code.
package enum StoreError: Error, Hashable, Sendable {
    /// No answer, a broken one, or not in time.
    case unreachable(String)
    /// It says that it is in trouble, or asks to be left alone: 429 or 5xx.
    case troubled(status: Int)
    /// It has no room.
    case full
    /// It does not let this user do that: 401 or 403, with the store's own word for it.
    case refused(code: String)
    /// It does not take this very request: 400, 411 or 413, with the store's own word for it.
    case notTaken(status: Int, code: String?)
    /// What was asked for cannot be there: no such bucket, or an answer that makes no sense.
    case nonsense(String)
    case cancelled

    /// There is no bucket of that name.
    package static let noBucket = StoreError.nonsense("there is no such bucket")

    /// It was asked, and said nothing.
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

    /// What a status means that is none of success.
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

    /// As a part of a sentence.
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

    /// The word in `<Code>…</Code>` of an answer (Amazon S3 API Reference, "Error responses").
    private static func code(in body: [UInt8]) -> String? {
        let text = String(decoding: body.prefix(4096), as: UTF8.self)
        guard let start = text.range(of: "<Code>"), let end = text[start.upperBound...].range(of: "</Code>") else {
            return nil
        }
        let code = text[start.upperBound..<end.lowerBound]
        // It goes into a line of the log.
        guard (1...64).contains(code.utf8.count), code.utf8.allSatisfy({ isLetterOrDigit($0) }) else { return nil }
        return String(code)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
}

extension String {
    /// Where another text begins first.
    fileprivate func range(of text: String) -> Range<Index>? { self[...].range(of: text) }
}

extension Substring {
    fileprivate func range(of text: String) -> Range<Index>? { ranges(of: text).first }
}
