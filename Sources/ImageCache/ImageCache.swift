internal import Dispatch
internal import Glibc
internal import HTTP
package import Sourcing
package import System
package import Rankings
internal import Synchronization

/// The bytes of pictures: stored files, shared downloads, preloading, eviction.
///
/// Decisions are made by `Core` under one lock and carried out outside it; requests run on the transport, writes to the disk on
/// a serial queue of their own.
///
/// ## Concurrency
///
/// Any thread may call any method.
package final class ImageCache: Sendable {
    let core: CoreLock

    /// Opens the cache: locks it against a second daemon, marks it, and reads the stored pictures from the names of files.
    package init(
        _ configuration: CacheConfiguration, host: ImageHost, report: @escaping @Sendable (ImageCacheEvent) -> Void
    ) throws(Failure) {
        let store = try PictureStore(directory: configuration.directory, report: report)
        var surplus: [StoredPicture] = []
        let index = StoredIndex(store.contents(), surplus: &surplus)
        core = CoreLock(configuration, host: host, store: store, index: index, report: report)
        core.remove(surplus)
        core.run { core in core.trim() }
        core.checkDisk()
        core.bring(index.older.sorted { $0.value.used < $1.value.used }.map(\.key)[...])
    }

    // MARK: - Queries

    /// The present state of a picture.
    ///
    /// Never waits.
    package func state(of picture: PictureID) -> PictureState {
        core.withLock { core in
            if let download = core.downloads[picture]?.download {
                if download.phase == .complete, let total = download.total { return .stored(length: total) }
                if download.isQueued { return .queued }
                return .downloading(received: download.received, total: download.total)
            }
            if let entry = core.index[picture] { return .stored(length: entry.length) }
            if core.scheduler.wishes.contains(where: { $0.picture.id == picture }) { return .queued }
            return core.failures.failure(of: picture, now: core.now) == nil ? .absent : .failed
        }
    }

    /// The length of a stored picture in bytes; nil if it is not stored.
    ///
    /// Never waits.
    package func storedSize(of picture: PictureID) -> Int64? {
        core.withLock { $0.index[picture]?.length }
    }

    /// Returns once no download of a picture with a merely announced length is under way.
    package func announcementEnded(of picture: PictureID) async {
        await withCheckedContinuation { continuation in
            let isUnderWay = core.withLock { core in
                guard let download = core.downloads[picture]?.download, download.phase != .complete else {
                    return false
                }
                core.downloads[picture]?.settlers.append(continuation)
                return true
            }
            if !isUnderWay { continuation.resume() }
        }
    }

    /// Counts the pictures that are not stored, once those with all their bytes are in their place.
    package func lacking(_ pictures: [PictureID]) async -> Int {
        for picture in pictures {
            if case .downloading(let received, let total?) = state(of: picture), received == total {
                await announcementEnded(of: picture)
            }
            while case .stored = state(of: picture), storedSize(of: picture) == nil { await core.onDisk {} }
        }
        return pictures.count { storedSize(of: $0) == nil }
    }

    /// Pins pictures, now or once they are stored, or unpins them; returns once the disk has that.
    ///
    /// - Returns: The number of pictures that this changed.
    /// - Throws: The disk's error; it holds for this run all the same, and is saved with what is pinned next.
    @discardableResult
    package func setPinned(_ isPinned: Bool, _ pictures: [PictureID]) async throws(SystemError) -> Int {
        let changed = pictures.count { picture in
            core.bring(OlderName(picture))
            return core.run { core in
                guard core.index.isPinned(picture) != isPinned else { return false }
                core.index.setPinned(isPinned, picture)
                return true
            }
        }
        if let error = await core.onDisk({ [core] in core.writePins() }) { throw error }
        return changed
    }

    /// The pictures that are pinned, stored or not.
    package var pinned: [PictureID] { core.withLock { Array($0.index.pins) } }

    /// Whether a picture is pinned, or will be as soon as it is stored.
    ///
    /// Never waits.
    package func isPinned(_ picture: PictureID) -> Bool {
        core.withLock { $0.index.isPinned(picture) }
    }

    /// Drops a stored picture, pinned or not.
    ///
    /// - Parameters:
    ///   - picture: The picture to drop.
    ///   - openers: The number of handles that make this request, which do not count.
    /// - Returns: Whether it was stored and no other handle has it open.
    package func evict(_ picture: PictureID, openers: Int) -> Bool {
        core.bring(OlderName(picture))
        return core.run { core in
            guard core.pictures.openers(of: picture) <= openers, core.downloads[picture] == nil,
                let stored = core.index.remove(picture)
            else { return false }
            core.index.setPinned(false, picture)
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
    package func status() -> ImageCacheStatus { core.withLock { $0.status } }

    /// The byte budget and the bytes of stored pictures.
    ///
    /// Never waits.
    package var room: (budget: Int64, storedBytes: Int64) { core.withLock { ($0.budget.limit, $0.index.bytes) } }

    // MARK: - Reading

    /// Opens a picture for reading; sends no request before the first read.
    ///
    /// - Parameters:
    ///   - picture: The picture to read; its `size` is the one that `stat` showed and that the download must have.
    ///   - neighbours: The pictures around it for preloading, or nil.
    ///   - onRead: Called once, when more of it is read than an inspection takes, and before those bytes are given out.
    /// - Returns: The open picture, which its owner closes.
    /// - Throws: `.gone` if the service reported so within the last ten minutes.
    package func open(
        _ picture: PictureRequest, neighbours: Neighbours?, onRead: (@Sendable () -> Void)? = nil
    ) throws(Failure) -> OpenPicture {
        let opened = core.run { core in core.open(picture, neighbours: neighbours, onRead: onRead) }
        let (id, version) = try opened.get()
        return OpenPicture(core: core, id: id, picture, versionAtOpen: version)
    }

    /// Downloads a whole picture without a declared length, and returns its length in bytes.
    package func learnSize(of picture: PictureRequest) async throws(Failure) -> Int64 {
        let wait = core.makeWait(for: picture.id)
        core.run { core in core.waitForLength(of: picture, wait) }
        switch await core.result(of: wait) {
        case .length(let length): return length
        case .failed(let error): throw error
        case .bytes, .again: throw .cancelled
        }
    }

    // MARK: - End

    /// Cancels every download, keeps partial ones for resuming, writes pins and last uses and unlocks.
    package func close() async {
        core.run { core in core.shutDown() }
        await core.onDisk { [core] in
            core.writePins()
            core.writeUses()
            core.store.unlock()
        }
    }
}

// MARK: - Open pictures

/// An open picture: keeps its version and its bytes until closed.
package final class OpenPicture: Sendable {
    let core: CoreLock
    private let id: UInt64
    private let isClosed = Atomic(false)
    private let settled = AtomicLazyReference<WholePicture>()
    package let picture: PictureID
    /// Whether the listing gives its digest, and with it a length that no answer of the image host puts in doubt.
    package let hasDigest: Bool
    /// The version of its bytes at the time of opening; nil if only the next answer of the source could determine it.
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

    /// The result of a read.
    package enum Reading: Sendable {
        case bytes(PictureBytes)
        /// The network has to bring the bytes, and the wait for them has begun.
        case later(PendingBytes)
    }

    /// Reads bytes, or begins to wait for them.
    ///
    /// Never waits for the network. The first read of a stored picture after a start hashes its file.
    package func read(offset: Int64, count: Int) throws(Failure) -> Reading {
        let wait = core.makeWait(for: picture)
        if let bytes = try look(offset: offset, count: count, wait) { return .bytes(bytes) }
        return .later(PendingBytes(self, offset: offset, count: count, wait: wait))
    }

    /// The bytes, once they are present: right ones, `count` of them or up to the end of the picture, or an error.
    ///
    /// A cancelled task throws `.cancelled` at once; the last waiter to leave ends a download that nothing else wants.
    package func bytes(offset: Int64, count: Int) async throws(Failure) -> PictureBytes {
        switch try read(offset: offset, count: count) {
        case .bytes(let bytes): return bytes
        case .later(let pending): return try await pending.bytes()
        }
    }

    /// Finds bytes in memory and on the disk; nil if they must be waited for, which a wait then begins.
    func look(offset: Int64, count: Int, _ wait: Wait?) throws(Failure) -> PictureBytes? {
        if let (file, version) = settledBytes(offset: offset, count: count) {
            return .file(file, offset: offset, count: count, of: version)
        }
        // Each turn either ends or settles the finding of one disk access; files vanish at most a few times.
        for _ in 0..<Self.mostLooks {
            let (found, whole) = core.run { core in
                (core.read(id, offset: offset, count: count, wait), core.pictures[id]?.settled)
            }
            if let whole { settle(whole, readTo: offset + Int64(count)) }
            switch found {
            case .bytes(let bytes): return bytes
            case .failed(let error): throw error
            case .wait: return nil
            case .stored(nil, _):
                guard let refusal = core.bring(OlderName(picture)) else { continue }
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

    /// The file that has the bytes, at the same offset, and their version, if reading them decides nothing.
    ///
    /// No lock is taken that other readers wait for.
    package func settledBytes(offset: Int64, count: Int) -> (file: StoredFile, version: PictureVersion)? {
        // The read of the last bytes shows that the reader is done with the picture.
        guard let settled = settled.load(), offset >= 0, count > 0,
            offset < settled.length - Int64(count)
        else { return nil }
        return (settled.file, settled.version)
    }

    /// Keeps the whole picture for further reads, and starts the disk's read-ahead (posix_fadvise(2)).
    ///
    /// The disk is fastest with much to do at once, and the kernel requests its read-ahead for a reader piece by piece.
    private func settle(_ whole: WholePicture, readTo end: Int64) {
        guard settled.load() == nil, settled.storeIfNil(whole) === whole, end < whole.length else { return }
        try? whole.file.use { descriptor in
            _ = posix_fadvise(descriptor, off_t(end), off_t(whole.length - end), POSIX_FADV_WILLNEED)
        }
    }

    /// The largest number of disk accesses for one read.
    private static let mostLooks = 4

    /// Gives the picture up; further calls do nothing, and the end of the last reference does the same.
    package func close() {
        if !isClosed.exchange(true, ordering: .relaxed) { core.run { core in core.close(id) } }
    }
}

extension StoredFile {
    /// The open file of a picture, opened again if necessary.
    package func picture() throws(Failure) -> OpenFile {
        do throws(SystemError) { return try opened() } catch {
            if let lack = error.lackOfDescriptors { throw .exhausted(lack) }
            throw .unusable(
                "the file of an open picture cannot be opened again (\(error.text)); open the picture again")
        }
    }
}

// MARK: - Pending reads

/// Bytes that a read waits for.
///
/// Releasing the last reference gives the wait up.
///
/// ## Concurrency
///
/// One task waits, once; the last reference may be released on any thread.
package final class PendingBytes: Sendable {
    private let picture: OpenPicture
    private let offset: Int64
    private let count: Int
    private let wait: Wait

    init(_ picture: OpenPicture, offset: Int64, count: Int, wait: Wait) {
        self.picture = picture
        self.offset = offset
        self.count = count
        self.wait = wait
    }

    deinit {
        if !wait.isAnswered { picture.core.leave(wait) }
    }

    /// The bytes, once they are present: right ones, as many as requested or up to the end of the picture, or an error.
    ///
    /// A cancelled task throws `.cancelled` at once; the last waiter to leave ends a download that nothing else wants.
    package func bytes() async throws(Failure) -> PictureBytes {
        switch await picture.core.result(of: wait) {
        case .bytes(let bytes): return bytes
        case .failed(let error): throw error
        case .again, .length: return try await picture.bytes(offset: offset, count: count)
        }
    }
}

// MARK: - Pictures made here

/// Pictures that are made here rather than downloaded, and random pictures.
extension ImageCache {
    /// Stores a picture that was made here, under the same budget as downloaded ones.
    ///
    /// - Throws: `.unusable` if the disk refuses; the picture is then to be served without being stored.
    package func keep(_ bytes: [UInt8], as picture: PictureID) async throws(Failure) {
        let result = await core.onDisk { [self] in
            Result { () throws(SystemError) in try write(bytes, as: picture) }
        }
        if case .failure(let error) = result {
            throw .unusable("a picture made here cannot be stored (\(error.text))")
        }
    }

    /// The bytes of a picture that was made here; nil if it is not stored, or not whole any more.
    package func kept(_ picture: PictureID) async -> [UInt8]? {
        guard let size = storedSize(of: picture) else { return nil }
        // It cannot be downloaded: an address without a target makes sure of it.
        let location = PictureLocation(url: "", headers: [], fileExtension: "")
        do throws(Failure) {
            let opened = try open(PictureRequest(id: picture, location: location, size: size), neighbours: nil)
            defer { opened.close() }
            guard case .file(let file, let place, let count, _) = try await opened.bytes(offset: 0, count: Int(size)),
                count == Int(size)
            else { return nil }
            return try? file.use { descriptor throws(SystemError) in
                try Files.read(descriptor, at: place, count: count)
            }
        } catch { return nil }
    }

    private func write(_ bytes: [UInt8], as picture: PictureID) throws(SystemError) {
        let length = Int64(bytes.count)
        // The task may have outlived the mount: the directory may already be another process's.
        guard !core.withLock({ $0.isClosed }) else {
            throw SystemError("keeping a picture of a closed cache", code: ECANCELED)
        }
        let hasRoom = core.run { core in
            core.budget.makeRoom(for: length, isPreload: false, core.inUse) && core.budget.diskLack <= 0
        }
        guard hasRoom else { throw SystemError("making room in the cache", code: ENOSPC) }
        let file = StoredFile(
            owning: try Files.open(picture.key, in: core.store.root.partial, O_RDWR | O_CREAT | O_TRUNC))
        let stored: StoredPicture
        do throws(SystemError) {
            stored = try core.makingRoom({ $0.budget.giveWay(length, sparesUnread: false, $0.inUse) }) {
                () throws(SystemError) in
                try file.use { descriptor throws(SystemError) in try Files.write(bytes, to: descriptor, at: 0) }
                return try core.store.commit(file, as: picture, length: length)
            }
        } catch {
            Files.remove(picture.key, in: core.store.root.partial)
            throw error
        }
        core.run { core in core.stored(stored, isUnread: false) }
    }

    /// A random stored picture; nil if there is none that `accepts` takes.
    ///
    /// Never waits.
    package func randomPicture(where accepts: (PictureID) -> Bool) -> PictureID? {
        var names = core.withLock { Array($0.index.entries.keys) }
        for _ in 0..<min(names.count, Self.mostTries) {
            let place = min(max(0, core.configuration.chance(names.count)), names.count - 1)
            if accepts(names[place]) { return names[place] }
            names.swapAt(place, names.count - 1)
            names.removeLast()
        }
        return nil
    }

    /// The largest number of pictures tried for a random one: archives and the like are not taken, and may be many.
    private static let mostTries = 64
}
