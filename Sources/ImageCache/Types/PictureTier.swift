package import HTTP
package import Rankings
internal import Synchronization

/// A second place where whole pictures are, which other machines use as well: asked before the image host is, and given what came
/// from there.
///
/// ## Concurrency
///
/// Any thread may call.
package protocol PictureTier: Sendable {
    /// Brings a picture, or finds that the image host is to be asked.
    ///
    /// Returns within a bound of its own whatever the network does, at once when the task is cancelled.
    ///
    /// - Parameters:
    ///   - picture: What to bring.
    ///   - length: Bytes that it must have; nil if nobody knows.
    ///   - urgency: Tells when somebody waits for it.
    ///   - write: Takes its bytes, in order; they are the picture's only if this returns their count. After a false nothing more comes.
    ///     Called again with an offset of 0, it begins anew.
    /// - Returns: The bytes of the picture, all of which were written and are right; nil if the image host is to be asked, after which
    ///   either `keep` or `giveUp` is called.
    func fetch(
        _ picture: PictureID, length: Int64?, urgency: Urgency,
        write: @escaping @Sendable (_ bytes: UnsafeRawBufferPointer, _ offset: Int64) -> Bool
    ) async -> Int64?

    /// A picture has come from the image host, whole and right.
    ///
    /// - Parameters:
    ///   - picture: Which.
    ///   - path: The file that begins with its bytes, for as long as it is stored.
    ///   - length: How many they are.
    ///   - hash: Their XXH3, 64 bits.
    func keep(_ picture: PictureID, at path: String, length: Int64, hash: UInt64)

    /// A picture did not come from the image host.
    func giveUp(_ picture: PictureID)
}

/// A question to the tier about a picture that is to be downloaded.
///
/// ## Concurrency
///
/// Any thread may call.
final class TierQuestion: Sendable {
    /// Raised when somebody waits for the picture.
    let urgency = Urgency()
    private let state = Mutex<(task: Task<Void, Never>?, isCancelled: Bool)>((nil, false))

    /// Asks, unless the question has been withdrawn.
    func ask(_ question: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            let task = Task { await question() }
            state.task = task
            if state.isCancelled { task.cancel() }
        }
    }

    /// Withdraws it; it is then answered at once.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }
}
