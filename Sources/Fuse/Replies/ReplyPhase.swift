/// Who has answered a request: decides that the kernel hears exactly one answer, and which.
///
/// The owner of the reply answers once. An interrupt, the hard deadline or the end of the session may overtake it; the
/// owner, who cannot know, then still answers once, into the void.
enum ReplyPhase: Equatable {
    case waiting
    case overtaken
    case answered

    /// What to do with an answer.
    enum Verdict: Equatable {
        /// The kernel has to hear it.
        case deliver
        /// Somebody else was first, as may happen at any time.
        case discard
        /// The owner answered twice: a mistake in the file system.
        case trap
    }

    /// The owner answers.
    mutating func answer() -> Verdict {
        switch self {
        case .waiting:
            self = .answered
            return .deliver
        case .overtaken:
            self = .answered
            return .discard
        case .answered:
            return .trap
        }
    }

    /// The owner is gone, or its work threw: answers only if nobody has.
    mutating func settle() -> Verdict {
        guard self == .waiting else { return .discard }
        self = .answered
        return .deliver
    }

    /// An interrupt, the deadline or the end of the session answers in the owner's place.
    mutating func overtake() -> Verdict {
        guard self == .waiting else { return .discard }
        self = .overtaken
        return .deliver
    }
}
