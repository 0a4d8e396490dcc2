package import HTTP
package import Rankings

/// What the image host says about a picture's size.
package enum PictureSize: Hashable, Sendable {
    /// In bytes.
    case size(Int64)
    /// The host is well but tells no length.
    case notTold
    case failed(SourceError)

    /// Reads the answer to a HEAD.
    package init(head answer: HTTPAnswer) {
        switch answer.status {
        case 200: self = Self.unreadable(answer) ?? Self.told(answer)
        // HEAD is not served here; a range may be.
        case 405, 501: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// Reads the answer to a request for the first byte.
    package init(firstByte answer: HTTPAnswer) {
        switch answer.outcome {
        case .part:
            let total = answer.part == .fact(0..<1) ? answer.total : nil
            self = Self.unreadable(answer) ?? total.map(Self.size(of:)) ?? .notTold
        // The range was ignored; a length told here is the whole picture's.
        case .whole: self = Self.unreadable(answer) ?? Self.told(answer)
        case .beyondTheEnd: self = .notTold
        default: self = .failed(Self.failure(answer))
        }
    }

    /// Nil for an answer that is a picture as it is stored.
    private static func unreadable(_ answer: HTTPAnswer) -> PictureSize? {
        // A login page or an error text with status 200.
        guard let type = answer.mediaType, type.hasPrefix("image/") || archiveTypes.contains(type) else {
            return .failed(.unreadable("the image host did not answer with a picture"))
        }
        return answer.codings.isEmpty ? nil : .notTold
    }

    /// The media types of the archives of animations.
    private static let archiveTypes = ["application/zip", "application/x-zip-compressed", "application/octet-stream"]

    private static func told(_ answer: HTTPAnswer) -> PictureSize {
        switch answer.length {
        case .fact(let length): size(of: length)
        case .absent: .notTold
        case .contradiction(let reason): .failed(.unreadable("the image host contradicts itself: \(reason)"))
        }
    }

    private static func size(of length: Int64) -> PictureSize {
        (1...PictureLimits.largest).contains(length) ? .size(length) : .notTold
    }

    private static func failure(_ answer: HTTPAnswer) -> SourceError {
        switch answer.outcome {
        case .gone: .notFound
        case .limited: .limited(retryAfter: nil)
        case .troubled: .unreachable("the image host answered \(answer.status)")
        default: .unreadable("the image host refused with status \(answer.status)")
        }
    }
}
