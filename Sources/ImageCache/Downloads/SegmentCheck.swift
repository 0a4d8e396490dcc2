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
    /// May be better in a moment (5xx).
    case passing(ImageCacheError)
    /// Another version of the picture than the bytes that are there; start over.
    case changed(ImageCacheError)
}

/// Holds the head of an answer against what was asked for and is there; libcurl calls many contradictions a success (two
/// lengths: exit 0 with half the bytes).
enum SegmentCheck {
    /// What the bytes must be.
    struct Expectation {
        /// The bytes asked for, nil for the whole.
        var asked: Range<Int64>?
        /// Whether they were asked for with `If-Range`; a part that comes then is of the version that is there.
        var isConditional = false
        /// The picture's length, if known.
        var total: Int64?
        /// The version of bytes that are there already.
        var version: String?
        var format: PictureFormat
    }

    /// Decides whether the body that follows may be taken.
    ///
    /// - Parameters:
    ///   - answer: What the host says.
    ///   - expected: What was asked for, and what is known.
    /// - Returns: Which bytes the body holds, or what is wrong.
    static func check(_ answer: HTTPAnswer, _ expected: Expectation) -> Result<CheckedAnswer, AnswerFault> {
        if let fault = statusFault(answer, shown: expected.total) { return .failure(fault) }
        if !answer.codings.isEmpty {
            return .failure(.final(.broken("the picture came with an encoding that was not asked for")))
        }
        if let type = answer.mediaType, !expected.format.admits(contentType: type) {
            return .failure(.final(.untrusted("the answer is not a picture but \(plain(answer.contentType ?? type))")))
        }
        if let version = expected.version, let told = answer.validator, version != told {
            return .failure(.changed(.damaged("the picture changed at the source during the download")))
        }
        // RFC 9110 section 15.3.7: only the answer to If-Range need not name the version again.
        if expected.version != nil, answer.validator == nil, !(answer.outcome == .part && expected.isConditional) {
            return .failure(.changed(.broken("the source does not say any more which version it serves")))
        }
        if case .contradiction = answer.length {
            return .failure(.final(.broken("the answer contradicts itself about its length")))
        }
        return answer.outcome == .part ? part(answer, expected) : whole(answer, expected)
    }

    private static func whole(_ answer: HTTPAnswer, _ expected: Expectation) -> Result<CheckedAnswer, AnswerFault> {
        if let told = answer.length.value {
            // Its request would end without a byte, and nothing would ever be complete.
            if told == 0 { return .failure(.final(.broken("the picture is empty"))) }
            if told > PictureLimits.largest { return .failure(.final(tooLarge(told))) }
            if let shown = expected.total, told != shown {
                return .failure(contradiction(answer, told: told, shown: shown, format: expected.format))
            }
        }
        let total = answer.length.value ?? expected.total
        return .success(
            CheckedAnswer(
                start: 0, end: total, total: total, validator: answer.validator, ignoredRange: expected.asked != nil))
    }

    private static func part(_ answer: HTTPAnswer, _ expected: Expectation) -> Result<CheckedAnswer, AnswerFault> {
        guard let asked = expected.asked, let told = answer.part.value else {
            return .failure(.final(.broken("the answer is a part that was not asked for")))
        }
        guard told.lowerBound == asked.lowerBound, told.upperBound <= asked.upperBound else {
            return .failure(.final(.broken("the answer holds other bytes than those asked for")))
        }
        if let total = answer.total {
            if total > PictureLimits.largest { return .failure(.final(tooLarge(total))) }
            if let shown = expected.total, total != shown {
                return .failure(.changed(.lengthContradicts(told: total, shown: shown)))
            }
        }
        return .success(
            CheckedAnswer(
                start: told.lowerBound, end: told.upperBound, total: answer.total ?? expected.total,
                validator: answer.validator, ignoredRange: false))
    }

    /// What another length than the one shown means: a doubt about the latter only if the answer is surely the picture.
    ///
    /// Portals and stand-ins for withheld pictures have lengths of their own, and types that differ as a rule.
    private static func contradiction(
        _ answer: HTTPAnswer, told: Int64, shown: Int64, format: PictureFormat
    ) -> AnswerFault {
        guard let type = answer.mediaType, format.isNamed(by: type) else {
            return .final(
                .untrusted("the answer has \(told) bytes where \(shown) were promised, and is of another kind"))
        }
        // What was only told by an earlier answer is void after a fresh start.
        return .changed(.lengthContradicts(told: told, shown: shown))
    }

    private static func tooLarge(_ told: Int64) -> ImageCacheError {
        .broken("the picture has \(told) bytes, more than any picture may")
    }

    private static func statusFault(_ answer: HTTPAnswer, shown: Int64?) -> AnswerFault? {
        switch answer.outcome {
        case .whole, .part: return nil
        // What is there is not the picture's beginning, or its length is not the one shown.
        case .beyondTheEnd:
            if let shown, let told = answer.total, told != shown, (1...PictureLimits.largest).contains(told) {
                return .changed(.lengthContradicts(told: told, shown: shown))
            }
            return .changed(.damaged("the picture is shorter than the part asked for"))
        case .refused: return .final(.refused("the image host answered \(answer.status)"))
        case .gone: return .final(.gone)
        case .limited: return .final(.limited(retryAfter: nil))
        case .troubled: return .passing(.troubled(status: answer.status))
        case .unexpected: return .final(.troubled(status: answer.status))
        }
    }

    /// Text from outside made fit for a log line: letters, digits and a few signs, cut to 40.
    private static func plain(_ text: String) -> String {
        String(
            text.unicodeScalars.filter { $0.isASCII && $0.value > 32 && $0.value < 127 }.prefix(40).map(Character.init))
    }
}
