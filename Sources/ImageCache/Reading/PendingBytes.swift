/// Bytes that a read waits for.
///
/// Giving it up is giving the wait up.
///
/// ## Concurrency
///
/// One task waits, once; the last reference may go on any thread.
package final class PendingBytes: Sendable {
    private let picture: OpenPicture
    private let offset: Int64
    private let count: Int
    private let waiter: UInt64
    private let wait: Wait

    init(_ picture: OpenPicture, offset: Int64, count: Int, waiter: UInt64, wait: Wait) {
        self.picture = picture
        self.offset = offset
        self.count = count
        self.waiter = waiter
        self.wait = wait
    }

    deinit {
        if !wait.isAnswered { picture.cache.leave(waiter) }
    }

    /// The bytes, once they are here: right ones, as many as were asked for or up to the end of the picture, or an error.
    ///
    /// A cancelled task throws `.cancelled` at once; the last waiter to leave ends a download that nothing else wants.
    package func bytes() async throws(ImageCacheError) -> PictureBytes {
        switch await picture.cache.result(of: wait, waiter) {
        case .bytes(let bytes, let version):
            picture.hold(version)
            return bytes
        case .failed(let error): throw error
        case .again, .length:
            switch try picture.read(offset: offset, count: count) {
            case .bytes(let bytes): return bytes
            case .later(let pending): return try await pending.bytes()
            }
        }
    }
}
