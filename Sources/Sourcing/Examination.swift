package import HTTP
package import Rankings

/// What examinations of services have in common: how a refusal is told, and what an image host's answer tells of lengths.
extension Assumption {
    /// Something that could not be asked for, or whose answer was none.
    ///
    /// - Parameters:
    ///   - name: Of the assumption.
    ///   - result: What came of the request; nil if there was none.
    /// - Returns: Changed where the answer itself is wrong, unknown where the host could not be asked.
    package static func failed(_ name: String, _ result: Result<HTTPResponse, HTTPError>?) -> Assumption {
        switch result {
        case .failure(let error)?:
            switch error {
            case .tooLarge, .invalidAnswer, .redirectRefused: Assumption(name, .changed, error.briefly)
            default: Assumption(name, .unknown, error.briefly)
            }
        default: Assumption(name, .unknown, "not asked for")
        }
    }

    /// A service that did not say what it was asked for.
    package static func failed(_ name: String, _ error: SourceError) -> Assumption {
        Assumption(name, error.isAnswer ? .changed : .unknown, error.briefly)
    }

    /// Whether a picture names its version (RFC 9110, section 8.8).
    package static func validator(_ name: String, _ head: HTTPAnswer) -> Assumption {
        let validators = [("ETag", head.etag), ("Last-Modified", head.lastModified)].filter { $1 != nil }
            .map(\.0)
        return Assumption(
            name, holds: !validators.isEmpty, validators.isEmpty ? "none" : validators.joined(separator: " and "))
    }
}

extension HTTPError {
    /// Why a host could not be asked, without naming it.
    package var briefly: String {
        switch self {
        case .unreachable: "it cannot be reached"
        case .timedOut: "it did not answer in time"
        case .broken: "the answer broke off"
        case .invalidAnswer: "the answer contradicts itself"
        case .tooLarge: "more came than was asked for"
        case .redirectRefused: "it redirects to where no request may go"
        case .untrusted: "its certificate is not in order"
        case .refused: "the request was not sent"
        case .limited: "it asks to be left alone"
        case .turnedAway: "what stands in front of it turns programs away"
        case .exhausted: "too many files are open here"
        case .offline: "no request may leave"
        case .cancelled: "the request was ended"
        }
    }
}

extension SourceError {
    /// Why the service could not be asked, without the words of a stranger.
    package var briefly: String {
        switch self {
        case .notPublished, .pastTheEnd, .notFound: "it says that there is none"
        case .needsSignIn: "it wants an account"
        case .withheld: "it withholds what was asked for"
        case .limited: "it asks to be left alone"
        case .turnedAway: "what stands in front of it turns programs away"
        case .exhausted: "too many files are open here"
        case .troubled: "it is in trouble"
        case .unreachable: "it cannot be reached"
        case .timedOut: "it did not answer in time"
        case .offline: "no request may leave"
        case .unreadable: "the answer makes no sense"
        case .refused: "it does not take what was asked"
        case .cancelled: "the request was ended"
        }
    }

    /// Whether the service itself spoke, so that something has changed.
    package var isAnswer: Bool {
        switch self {
        case .notPublished, .pastTheEnd, .notFound, .needsSignIn, .withheld, .unreadable, .refused: true
        case .limited, .turnedAway, .troubled, .unreachable, .timedOut, .exhausted, .offline, .cancelled: false
        }
    }
}
