/// Why something cannot be made of the bytes that were given.
package enum MediaError: Error, Hashable, Sendable {
    /// The archive is not laid out as expected, or is damaged.
    case archive(String)
    /// A picture cannot be read.
    case picture(String)
    /// The animation is described in a way that no file can hold.
    case animation(String)
    /// The result would be larger than what was allowed, in bytes.
    case tooLarge(bound: Int)
    /// There is no memory for it.
    case noMemory
    case cancelled
    /// The process that makes it ended, hung or answered nonsense; it is started again for the next one.
    case lost(String)
    /// That process cannot be started now.
    case unavailable(String)
}

extension MediaError {
    /// One sentence for people.
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
