package import Rankings

/// What the image host says about a picture's size.
package enum PictureSize: Hashable, Sendable {
    /// In bytes.
    case size(Int64)
    /// The host is well but tells no length.
    case notTold
    case failed(SourceError)

    /// Reads the answer to a HEAD.
    package init(head answer: ImageAnswer) {
        switch answer.status {
        case 200: self = Self.unreadable(answer) ?? Self.told(answer)
        // HEAD is not served here; a range may be.
        case 405, 501: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// Reads the answer to a request for the first byte.
    package init(firstByte answer: ImageAnswer) {
        switch answer.outcome {
        case .part:
            let total = answer.part.flatMap { $0.range == 0..<1 ? $0.total : nil }
            self = Self.unreadable(answer) ?? total.map(Self.size(of:)) ?? .notTold
        // The range was ignored; a length told here is the whole picture's.
        case .whole: self = Self.unreadable(answer) ?? Self.told(answer)
        case .beyondTheEnd: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// Nil for an answer that is a picture as it is stored.
    private static func unreadable(_ answer: ImageAnswer) -> PictureSize? {
        // A login page or an error text with status 200.
        guard answer.isPicture else { return .failed(.unreadable("the image host did not answer with a picture")) }
        return answer.isEncoded ? .notTold : nil
    }

    private static func told(_ answer: ImageAnswer) -> PictureSize {
        switch answer.length {
        case .told(let length): size(of: length)
        case .notTold, .nonsense: .notTold
        case .contradictory: .failed(.unreadable("the image host told two lengths"))
        }
    }

    private static func size(of length: Int64) -> PictureSize {
        (1...PictureLimits.largest).contains(length) ? .size(length) : .notTold
    }

    private static func failure(_ answer: ImageAnswer) -> SourceError {
        switch answer.outcome {
        case .gone: .notFound
        case .limited: .limited(retryAfter: nil)
        case .troubled: .unreachable("the image host answered \(answer.status)")
        default: .unreadable("the image host refused with status \(answer.status)")
        }
    }
}
