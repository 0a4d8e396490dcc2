/// The reason why a file cannot be made of the given bytes.
package enum MediaError: Error, Hashable, Sendable {
    /// The archive is not laid out as expected, or is damaged.
    case archive(String)
    /// A picture cannot be read.
    case picture(String)
    /// The description of the animation exceeds the limits of the format.
    case animation(String)
    /// The result would be larger than the allowed bytes.
    case tooLarge(bound: Int)
    /// Memory ran out.
    case noMemory
    case cancelled
    /// The process of the job ended, hung or sent an invalid answer; it is started again for the next job.
    case lost(String)
    /// The process of the job cannot be started now.
    case unavailable(String)

    /// The message of the other process cannot be read.
    static let nonsense = MediaError.lost("answered nonsense")
}

extension MediaError {
    /// The error as one sentence for the user.
    package var text: String {
        switch self {
        case .archive(let reason): "the archive of frames cannot be used: \(reason)"
        case .picture(let reason): "a frame cannot be read: \(reason)"
        case .animation(let reason): "the animation cannot be made: \(reason)"
        case .tooLarge(let bound):
            "the animation would be larger than \(bound) bytes; read the archive of frames instead"
        case .noMemory: "there is not enough memory to make the animation"
        case .cancelled: "making the animation was given up"
        case .lost(let reason): "the process that decodes pictures \(reason)"
        case .unavailable(let reason): "no process that decodes pictures can be started: \(reason)"
        }
    }
}
