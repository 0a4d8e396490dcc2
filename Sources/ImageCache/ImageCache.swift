internal import Dispatch
internal import HTTP
package import ImageHost
package import Rankings

/// Where the bytes of pictures are: stored files, shared downloads, preloading, eviction.
///
/// Decisions are made by `Core` under one lock and carried out outside it; requests run on the transport, what is written to
/// the disk on a serial queue of its own.
///
/// ## Concurrency
///
/// Any thread may call any method.
package final class ImageCache: Sendable {
    let core: CoreLock

    /// Opens the cache: locks it against a second daemon, marks it, and reads from the names of files what is stored.
    package init(
        _ configuration: CacheConfiguration, host: ImageHost, report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) throws(ImageCacheError) {
        let store = try PictureStore(directory: configuration.directory, report: report)
        var surplus: [StoredPicture] = []
        let index = StoredIndex(store.contents(), surplus: &surplus)
        core = CoreLock(configuration, host: host, store: store, index: index, report: report)
        core.remove(surplus)
        core.run { core in core.trim() }
        core.checkDisk()
        core.bring(index.older.sorted { $0.value.used < $1.value.used }.map(\.key)[...])
    }

    // MARK: - Questions

    /// What is known of a picture now.
    ///
    /// Never waits.
    package func state(of picture: PictureID) -> PictureState {
        let key = FileKey(picture)
        return core.withLock { core in
            if let download = core.downloads[key]?.download {
                if download.phase == .complete, let total = download.total { return .stored(length: total) }
                if download.isQueued { return .queued }
                return .downloading(received: download.received, total: download.total)
            }
            if let entry = core.index[key] { return .stored(length: entry.length) }
            if core.scheduler.wishes.contains(where: { $0.picture.id == picture }) { return .queued }
            return core.failures.failure(of: key, now: core.now).map { .failed(reason: $0.text) } ?? .absent
        }
    }

    /// The length of a picture that is stored.
    ///
    /// Never waits.
    package func storedSize(of picture: PictureID) -> Int64? {
        let key = FileKey(picture)
        return core.withLock { $0.index[key]?.length }
    }

    /// Returns once no download of a picture is under way whose length is only announced.
    package func announcementEnded(of picture: PictureID) async {
        let key = FileKey(picture)
        await withCheckedContinuation { continuation in
            let isUnderWay = core.withLock { $0.downloads.addSettler(continuation, of: key) }
            if !isUnderWay { continuation.resume() }
        }
    }

    /// Keeps a picture from being evicted, now or once it is stored, or lets it go again.
    package func setPinned(_ isPinned: Bool, _ picture: PictureID) {
        core.bring(OlderName(FileKey(picture)))
        core.run { core in
            core.index.setPinned(isPinned, FileKey(picture))
            core.later { core in core.disk.async { core.writePins() } }
        }
    }

    /// Whether a picture is pinned, or will be as soon as it is stored.
    ///
    /// Never waits.
    package func isPinned(_ picture: PictureID) -> Bool {
        let key = FileKey(picture)
        return core.withLock { $0.index.isPinned(key) }
    }

    /// Drops a stored picture, pinned or not.
    ///
    /// - Parameters:
    ///   - picture: What to drop.
    ///   - openers: How many have it open to say so, and do not count.
    /// - Returns: Whether it was stored and nobody else has it open.
    package func evict(_ picture: PictureID, openers: Int) -> Bool {
        let key = FileKey(picture)
        core.bring(OlderName(key))
        return core.run { core in
            guard core.pictures.openers(of: key) <= openers, core.downloads[key] == nil,
                let stored = core.index.remove(key)
            else { return false }
            core.index.setPinned(false, key)
            core.later { core in
                core.remove([stored])
                core.disk.async { core.writePins() }
            }
            return true
        }
    }

    /// Figures for status displays.
    ///
    /// Never waits.
    package func status() -> ImageCacheStatus {
        let (status, paths) = core.withLock { $0.status() }
        return status.named(by: paths)
    }

    // MARK: - Reading

    /// Opens a picture for reading; asks nothing of the network before the first read.
    ///
    /// - Parameters:
    ///   - picture: What to read; its `size` is the one that `stat` showed and that the download must have.
    ///   - neighbours: The pictures around it for preloading, or nil.
    ///   - onRead: Told once, when more of it is read than a look takes, and before those bytes are given out.
    /// - Returns: The open picture, which its owner closes.
    /// - Throws: `.gone` if the service said so within the last ten minutes.
    package func open(
        _ picture: PictureRequest, neighbours: Neighbours?, onRead: (@Sendable () -> Void)? = nil
    ) throws(ImageCacheError) -> OpenPicture {
        let opened = core.run { core in core.open(picture, neighbours: neighbours, onRead: onRead) }
        let (id, version) = try opened.get()
        return OpenPicture(core: core, id: id, picture, versionAtOpen: version)
    }

    /// Downloads a whole picture whose length no header tells, and returns that length.
    package func learnSize(of picture: PictureRequest) async throws(ImageCacheError) -> Int64 {
        let (waiter, wait) = (core.makeWaiter(), Wait())
        core.run { core in core.waitForLength(of: picture, waiter: waiter, wait) }
        switch await core.result(of: wait, waiter) {
        case .length(let length): return length
        case .failed(let error): throw error
        case .bytes, .again: throw .cancelled
        }
    }

    // MARK: - End

    /// Cancels every download, keeps partial ones for resuming, writes pins and last uses and unlocks.
    package func close() async {
        core.run { core in core.shutDown() }
        await withCheckedContinuation { continuation in
            core.disk.async { [core] in
                core.writePins()
                core.writeUses()
                core.store.unlock()
                continuation.resume()
            }
        }
    }
}

extension ImageCacheStatus {
    /// The same figures with paths.
    fileprivate func named(by paths: Core.Paths) -> ImageCacheStatus {
        var result = self
        for (index, path) in paths.downloads.enumerated() { result.downloads[index].path = path?() }
        for (index, path) in paths.queued.enumerated() { result.queued[index].path = path?() }
        return result
    }
}
