internal import HTTP
internal import Rankings

/// What an answer's head says about the picture, once it has been found free of contradictions.
struct CheckedAnswer: Equatable, Sendable {
    /// The first byte of the picture that the body holds.
    var start: Int64
    /// One past the last byte, if told.
    var end: Int64?
    /// The length of the whole picture, if told.
    var total: Int64?
    /// What names this version in `If-Range`.
    var validator: String?
    /// Whether a range was asked for and the whole came.
    var ignoredRange: Bool
}

/// Why an answer's head is not the picture that was asked for.
enum AnswerFault: Error, Equatable, Sendable {
    /// Will be the same if asked again at once.
    case final(ImageCacheError)
    /// May be better in a moment (5xx, a short Retry-After); seconds to wait if told.
    case passing(ImageCacheError, after: Int64?)
    /// Another version of the picture than the bytes that are there; start over.
    case changed(ImageCacheError)
}

/// Checks heads of answers; libcurl calls many contradictions a success (two lengths: exit 0 with half the bytes).
enum AnswerCheck {
    /// Decides whether the body that follows may be taken.
    ///
    /// - Parameters:
    ///   - head: The answer.
    ///   - range: The bytes asked for, nil for the whole.
    ///   - isConditional: Whether they were asked for with `If-Range`; a part that comes then is of the version that is there.
    ///   - expected: The picture's length, if known.
    ///   - validator: The version of bytes that are there already.
    ///   - format: What the picture must be.
    /// - Returns: Which bytes the body holds, or what is wrong.
    static func check(
        _ head: HTTPHead, asked range: Range<Int64>?, isConditional: Bool = false, expected: Int64?, validator: String?,
        format: PictureFormat
    ) -> Result<CheckedAnswer, AnswerFault> {
        if head.status == 416 { return .failure(.changed(beyondTheEnd(head, shown: expected))) }
        if let fault = statusFault(head) { return .failure(fault) }
        if let encoding = head["content-encoding"], encoding.lowercased() != "identity" {
            return .failure(.final(.broken("the picture came with an encoding that was not asked for")))
        }
        if let type = head["content-type"], !format.admits(contentType: type) {
            return .failure(.final(.untrusted("the answer is not a picture but \(plain(type))")))
        }
        let tag = head["etag"].map { $0.hasPrefix("\"") ? $0 : nil } ?? nil
        let version = tag ?? head["last-modified"]
        if let validator, let version, validator != version {
            return .failure(.changed(.damaged("the picture changed at the source during the download")))
        }
        // RFC 9110 section 15.3.7: only the answer to If-Range need not name the version again.
        if validator != nil, version == nil, !(head.status == 206 && isConditional) {
            return .failure(.changed(.broken("the source does not say any more which version it serves")))
        }
        let lengths = head.headers.filter { $0.name == "content-length" }.map(\.value)
        guard let length = soleLength(lengths) else {
            return .failure(.final(.broken("the answer contradicts itself about its length")))
        }
        if head.status == 206 {
            return partial(head, length: length.value, asked: range, expected: expected, version: version)
        }
        if let told = length.value {
            // Its request would end without a byte, and nothing would ever be complete.
            if told == 0 { return .failure(.final(.broken("the picture is empty"))) }
            if told > PictureLimits.largest { return .failure(.final(tooLarge(told))) }
            if let expected, told != expected {
                return .failure(contradiction(head, told: told, shown: expected, format: format))
            }
        }
        let total = length.value ?? expected
        return .success(
            CheckedAnswer(start: 0, end: total, total: total, validator: version, ignoredRange: range != nil))
    }

    private static func partial(
        _ head: HTTPHead, length: Int64?, asked: Range<Int64>?, expected: Int64?, version: String?
    ) -> Result<CheckedAnswer, AnswerFault> {
        guard let asked, let told = contentRange(head["content-range"] ?? "") else {
            return .failure(.final(.broken("the answer is a part that was not asked for")))
        }
        guard told.range.lowerBound == asked.lowerBound, told.range.upperBound <= asked.upperBound else {
            return .failure(.final(.broken("the answer holds other bytes than those asked for")))
        }
        if let length, length != Int64(told.range.count) {
            return .failure(.final(.broken("the answer contradicts itself about its length")))
        }
        if let total = told.total {
            if total > PictureLimits.largest { return .failure(.final(tooLarge(total))) }
            if let expected, total != expected {
                return .failure(.changed(.lengthContradicts(told: total, shown: expected)))
            }
        }
        return .success(
            CheckedAnswer(
                start: told.range.lowerBound, end: told.range.upperBound, total: told.total ?? expected,
                validator: version, ignoredRange: false))
    }

    /// What another length than the one shown means: a doubt about the latter only if the answer is surely the picture.
    ///
    /// Portals and stand-ins for withheld pictures have lengths of their own, and types that differ as a rule.
    private static func contradiction(
        _ head: HTTPHead, told: Int64, shown: Int64, format: PictureFormat
    ) -> AnswerFault {
        let type = head["content-type"]?.lowercased().prefix { $0 != ";" && $0 != " " }
        guard let type, format.isNamed(by: type) else {
            return .final(
                .untrusted("the answer has \(told) bytes where \(shown) were promised, and is of another kind"))
        }
        // What was only told by an earlier answer is void after a fresh start.
        return .changed(.lengthContradicts(told: told, shown: shown))
    }

    /// A part was asked for that the picture does not have: what is there is not its beginning, or its length is not the one shown.
    ///
    /// Such an answer tells the length as `bytes */1000` (RFC 9110 section 15.5.17).
    private static func beyondTheEnd(_ head: HTTPHead, shown: Int64?) -> ImageCacheError {
        let text = head["content-range"]?.lowercased() ?? ""
        if let shown, text.hasPrefix("bytes */"), let told = Int64(text.dropFirst(8)), told != shown,
            (1...PictureLimits.largest).contains(told)
        {
            return .lengthContradicts(told: told, shown: shown)
        }
        return .damaged("the picture is shorter than the part asked for")
    }

    private static func tooLarge(_ told: Int64) -> ImageCacheError {
        .broken("the picture has \(told) bytes, more than any picture may")
    }

    private static func statusFault(_ head: HTTPHead) -> AnswerFault? {
        switch head.status {
        case 200, 206: return nil
        case 401, 403: return .final(.refused("the image host answered \(head.status)"))
        case 404, 410: return .final(.gone)
        // What the host asks for is heard and obeyed on the way here (`CoolDownTransport`).
        case 429: return .final(.limited(retryAfter: nil))
        case 500...599: return .passing(.troubled(status: head.status), after: nil)
        default: return .final(.troubled(status: head.status))
        }
    }

    /// The one length that all headers agree on; nil if they disagree or make no sense.
    private static func soleLength(_ values: [String]) -> (value: Int64?, Void)? {
        let parts = values.joined(separator: ",").split(separator: ",").map { $0.filter { $0 != " " } }
        let numbers = parts.compactMap { Int64($0) }
        guard numbers.count == parts.count, Set(numbers).count <= 1, numbers.allSatisfy({ $0 >= 0 }) else { return nil }
        return (numbers.first, ())
    }

    /// Reads `bytes 0-99/1000`; the total may be `*` (RFC 9110 section 14.4).
    static func contentRange(_ text: String) -> (range: Range<Int64>, total: Int64?)? {
        guard text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-")
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0, last >= first,
            last < .max
        else { return nil }
        if parts[1] == "*" { return (first..<(last + 1), nil) }
        guard let total = Int64(parts[1]), last < total else { return nil }
        return (first..<(last + 1), total)
    }

    /// Text from outside made fit for a log line: letters, digits and a few signs, cut to 40.
    private static func plain(_ text: String) -> String {
        String(
            text.unicodeScalars.filter { $0.isASCII && $0.value > 32 && $0.value < 127 }.prefix(40).map(Character.init))
    }
}
