internal import Glibc
package import Posix
package import Rankings
internal import Synchronization

/// A picture somebody has open: keeps its version and its bytes until closed.
///
/// ## Concurrency
///
/// Any thread may call any method at any time.
package final class OpenPicture: Sendable {
    private struct State {
        var isClosed = false
        /// That of the first bytes which it got: it gets no others.
        var version: PictureVersion?
    }

    let core: CoreLock
    private let id: UInt64
    private let state = Mutex(State())
    private let settled = AtomicLazyReference<WholePicture>()
    package let picture: PictureID
    /// Whether its length is known by what names its digest, whatever the image host says.
    package let hasDigest: Bool
    /// The version that its bytes would have been of when it was opened; nil if only the next answer of the source could tell.
    package let versionAtOpen: PictureVersion?

    init(core: CoreLock, id: UInt64, _ request: PictureRequest, versionAtOpen: PictureVersion?) {
        self.core = core
        self.id = id
        picture = request.id
        hasDigest = request.location.digest != nil
        self.versionAtOpen = versionAtOpen
    }

    deinit {
        close()
    }

    /// Which version its bytes are of, or would be now; nil if only the next answer of the source can tell.
    package var version: PictureVersion? {
        state.withLock { $0.version } ?? core.withLock { $0.version(of: id) }
    }

    /// What a read gives.
    package enum Reading: Sendable {
        case bytes(PictureBytes)
        /// The network has to bring them, and has been asked.
        case later(PendingBytes)
    }

    /// Reads bytes, or begins to wait for them.
    ///
    /// Never waits for the network. The first read of a stored picture after a start hashes its file.
    package func read(offset: Int64, count: Int) throws(ImageCacheError) -> Reading {
        let (waiter, wait) = (core.makeWaiter(), Wait())
        let bytes = try look(offset: offset, count: count) { core, id in
            core.read(id, offset: offset, count: count, waiter: waiter, wait)
        }
        if let bytes { return .bytes(bytes) }
        return .later(PendingBytes(self, offset: offset, count: count, waiter: waiter, wait: wait))
    }

    /// The bytes, once they are here: right ones, `count` of them or up to the end of the picture, or an error.
    ///
    /// A cancelled task throws `.cancelled` at once; the last waiter to leave ends a download that nothing else wants.
    package func bytes(offset: Int64, count: Int) async throws(ImageCacheError) -> PictureBytes {
        switch try read(offset: offset, count: count) {
        case .bytes(let bytes): return bytes
        case .later(let pending): return try await pending.bytes()
        }
    }

    /// Looks for bytes in memory and on the disk; nil if they must be waited for.
    func look(
        offset: Int64, count: Int, _ find: (inout Core, _ id: UInt64) -> Core.Found
    ) throws(ImageCacheError) -> PictureBytes? {
        if let (file, _) = settledBytes(offset: offset, count: count) {
            return .file(file, offset: offset, count: count)
        }
        // Each turn either ends or settles what one look at the disk found; files vanish at most a few times.
        for _ in 0..<Self.mostLooks {
            let (found, version, whole) = core.run { core in
                let found = find(&core, id)
                return (found, core.pictures[id]?.version, core.pictures[id]?.settled)
            }
            if let whole { settle(whole, readTo: offset + Int64(count)) }
            switch found {
            case .bytes(let bytes):
                hold(version)
                return bytes
            case .failed(let error): throw error
            case .wait: return nil
            case .stored(nil, _):
                guard let refusal = core.bring(OlderName(FileKey(picture))) else { continue }
                if let error = core.run({ core in core.cannotOpen(id, refusal) }) { throw error }
            case .stored(let stored?, let verify):
                let opened = core.store.open(stored, verify: verify)
                let error = core.run { core in core.opened(id, stored, opened) }
                if let error { throw error }
            }
        }
        throw .unusable(
            "a stored picture vanishes whenever it is opened; look at what else works in the cache directory")
    }

    /// The file that has the bytes, at the same offset, and their version, if reading them decides nothing; no lock of others is taken.
    package func settledBytes(offset: Int64, count: Int) -> (file: StoredFile, version: PictureVersion)? {
        // The last bytes tell that the reader is done with the picture.
        guard let settled = settled.load(), offset >= 0, count > 0,
            offset < settled.length - Int64(count)
        else { return nil }
        return (settled.file, settled.version)
    }

    /// Remembers the version of the bytes that it got.
    func hold(_ version: PictureVersion?) {
        state.withLock { $0.version = version }
    }

    /// Keeps the whole picture for further reads, and has the disk read on: it is fastest with much to do at once, and the
    /// kernel asks for what it reads ahead of a reader piece by piece (posix_fadvise(2)).
    private func settle(_ whole: WholePicture, readTo end: Int64) {
        guard settled.load() == nil, settled.storeIfNil(whole) === whole, end < whole.length else { return }
        try? whole.file.use { descriptor in
            _ = posix_fadvise(descriptor, off_t(end), off_t(whole.length - end), POSIX_FADV_WILLNEED)
        }
    }

    /// Looks at the disk for one read.
    private static let mostLooks = 4

    /// Gives the picture up; must be called once.
    package func close() {
        let isFirst = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard isFirst else { return }
        core.run { core in core.close(id) }
    }
}

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
        if !wait.isAnswered { picture.core.leave(waiter) }
    }

    /// The bytes, once they are here: right ones, as many as were asked for or up to the end of the picture, or an error.
    ///
    /// A cancelled task throws `.cancelled` at once; the last waiter to leave ends a download that nothing else wants.
    package func bytes() async throws(ImageCacheError) -> PictureBytes {
        switch await picture.core.result(of: wait, waiter) {
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
