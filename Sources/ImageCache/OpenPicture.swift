internal import Synchronization

/// A picture somebody has open: keeps its version and its bytes until closed.
///
/// ## Concurrency
///
/// Any thread may call any method at any time.
package final class OpenPicture: Sendable {
    private let cache: ImageCache
    private let id: UInt64
    private let key: String
    private let isClosed = Mutex(false)

    init(cache: ImageCache, id: UInt64, key: String) {
        self.cache = cache
        self.id = id
        self.key = key
    }

    deinit {
        close()
    }

    /// Which version its bytes are of, or would be now; nil if only the next answer of the source can tell.
    package var version: PictureVersion? {
        cache.core.withLock { $0.version(of: id) }
    }

    /// The bytes if they are here; nil if they must be waited for.
    ///
    /// Never waits for the network. The first read of a stored picture after a start hashes its file.
    package func availableBytes(offset: Int64, count: Int) throws(ImageCacheError) -> PictureBytes? {
        // Each turn either ends or settles what one look at the disk found; files vanish at most a few times.
        for _ in 0..<Self.mostLooks {
            let now = cache.configuration.monotonicNow()
            let found = cache.run { core in
                core.find(id, offset: offset, count: count, now: now)
            }
            switch found {
            case .bytes(let bytes): return bytes
            case .failed(let error): throw error
            case .wait: return nil
            case .stored(let verify):
                let opened = cache.store.open(FileKey(key: key), key: key, verify: verify)
                let error = cache.run { core in core.opened(id, opened) }
                if let error { throw error }
            }
        }
        throw .unusable(
            "a stored picture vanishes whenever it is opened; look at what else works in the cache directory")
    }

    /// Looks at the disk for one read.
    private static let mostLooks = 4

    /// The bytes, once they are here: right ones, `count` of them or up to the end of the picture, or an error.
    ///
    /// A cancelled task throws `.cancelled` at once; the last waiter to leave ends a download that nothing else wants.
    package func bytes(offset: Int64, count: Int) async throws(ImageCacheError) -> PictureBytes {
        while true {
            let result = await cache.wait { [id] cache, waiter, continuation in
                let now = cache.configuration.monotonicNow()
                cache.run { core in
                    core.wait(waiter, id, offset: offset, count: count, now: now, continuation: continuation)
                }
            }
            switch result {
            case .bytes(let bytes): return bytes
            case .failed(let error): throw error
            case .again, .length:
                if let bytes = try availableBytes(offset: offset, count: count) { return bytes }
            }
        }
    }

    /// Gives the picture up; must be called once.
    package func close() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        let now = cache.configuration.monotonicNow()
        cache.run { core in core.close(id, now: now) }
    }
}
