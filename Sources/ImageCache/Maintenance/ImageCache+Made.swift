internal import Dispatch
internal import Glibc
internal import Posix
package import Rankings
internal import Synchronization

/// Pictures that are made here rather than downloaded, and pictures picked at random.
extension ImageCache {
    /// Stores a picture that was made here, under the same budget as downloaded ones.
    ///
    /// - Throws: `.unusable` if the disk refuses; the picture is then to be served without being stored.
    package func keep(_ bytes: [UInt8], as picture: PictureID) async throws(ImageCacheError) {
        let result: Result<Void, ImageCacheError> = await withCheckedContinuation { continuation in
            core.disk.async { [self] in
                do throws(FileError) {
                    try write(bytes, as: picture)
                    continuation.resume(returning: .success(()))
                } catch {
                    continuation.resume(
                        returning: .failure(.unusable("a picture made here cannot be stored (\(error.text))")))
                }
            }
        }
        try result.get()
    }

    /// The bytes of a picture that was made here; nil if it is not stored, or not whole any more.
    package func kept(_ picture: PictureID) async -> [UInt8]? {
        guard let size = storedSize(of: picture) else { return nil }
        // It cannot be downloaded: an address that leads nowhere makes sure of it.
        let location = PictureLocation(url: "", headers: [], fileExtension: "")
        do throws(ImageCacheError) {
            let opened = try open(PictureRequest(id: picture, location: location, size: size), neighbours: nil)
            defer { opened.close() }
            guard case .file(let file, let place, let count) = try await opened.bytes(offset: 0, count: Int(size)),
                count == Int(size)
            else { return nil }
            return try? file.use { descriptor throws(FileError) in
                try CacheFiles.read(descriptor, at: place, count: count)
            }
        } catch { return nil }
    }

    private func write(_ bytes: [UInt8], as picture: PictureID) throws(FileError) {
        let key = FileKey(picture)
        let length = Int64(bytes.count)
        // Made by a task that outlived the mount: the directory may be another process's by now.
        guard !core.withLock({ $0.isClosed }) else { throw FileError("keeping a picture of a closed cache", ECANCELED) }
        let hasRoom = core.run { core in
            core.account { budget, index, inUse in
                budget.makeRoom(for: length, isPreload: false, in: &index, inUse: inUse) && budget.diskLack <= 0
            }
        }
        guard hasRoom else { throw FileError("making room in the cache", ENOSPC) }
        let file = StoredFile(
            owning: try CacheFiles.open(key.name, in: core.store.root.partial, O_RDWR | O_CREAT | O_TRUNC))
        let stored: StoredPicture
        do throws(FileError) {
            let giveWay = {
                self.core.removeNow(self.core.run { core in core.giveWay(length, sparesUnread: false) })
            }
            stored = try CacheFiles.write(giveWay: giveWay) { () throws(FileError) in
                try file.use { descriptor throws(FileError) in try CacheFiles.write(bytes, to: descriptor, at: 0) }
                return try core.store.commit(file, as: key, length: length)
            }
        } catch {
            CacheFiles.remove(key.name, in: core.store.root.partial)
            throw error
        }
        core.run { core in core.stored(stored, isUnread: false) }
    }

    /// A stored picture picked at random; nil if there is none that `accepts` takes.
    ///
    /// Never waits.
    package func randomPicture(where accepts: (PictureID) -> Bool) -> PictureID? {
        var names = core.withLock { Array($0.index.entries.keys) }
        for _ in 0..<min(names.count, Self.mostTries) {
            let place = min(max(0, core.configuration.chance(names.count)), names.count - 1)
            if accepts(names[place].picture) { return names[place].picture }
            names.swapAt(place, names.count - 1)
            names.removeLast()
        }
        return nil
    }

    /// Pictures tried for one at random: archives and the like are not taken, and may be many.
    private static let mostTries = 64
}
