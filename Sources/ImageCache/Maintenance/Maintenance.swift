internal import CLinux
internal import Dispatch
internal import Glibc
internal import Posix
internal import SQLite

/// What `rankfs cache verify` found in a cache directory.
package struct CacheVerification: Sendable, Equatable {
    /// Something that was wrong, and is gone or mended.
    package struct Mistake: Sendable, Equatable {
        /// Below the cache directory.
        package var path: String
        /// What was wrong with it, and what became of it if it was not removed.
        package var reason: String

        package init(path: String, reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    /// Pictures that are what their names and footers say, and their bytes.
    package var pictures = 0
    package var bytes: Int64 = 0
    /// Downloads that are not whole and can be gone on with.
    package var partialPictures = 0
    package var mistakes: [Mistake] = []
}

/// What `rankfs cache clear` removed from a cache directory.
package struct CacheRemoval: Sendable, Equatable {
    package var pictures = 0
    package var bytes: Int64 = 0
    /// How many of them had been pinned.
    package var pinned = 0
    package var partialPictures = 0
}

extension ImageCache {
    /// Reads every stored picture against its name, length and hash, removes what is wrong, and mends the index by the files.
    ///
    /// Blocks for as long as reading the whole cache takes.
    ///
    /// - Parameter directory: A cache that no daemon uses.
    /// - Returns: What is in order, and what was not.
    /// - Throws: `.busy` or `.unusable`.
    package static func verify(directory: String) throws(ImageCacheError) -> CacheVerification {
        let own = try OwnDirectory(directory)
        // The lock goes with it: not before the work is done.
        defer { withExtendedLifetime(own) {} }
        var found = CacheVerification()
        var names: [FileKey: Int64] = [:]
        if let version = try? CacheFiles.open(PictureStore.version, in: own.top, O_RDONLY | O_DIRECTORY) {
            defer { Glibc.close(version) }
            for name in CacheFiles.names(in: version).sorted() {
                guard let part = try? CacheFiles.open(name, in: version, O_RDONLY | O_DIRECTORY) else {
                    found.remove(name, in: version, below: PictureStore.version, because: "it is no directory")
                    continue
                }
                defer { Glibc.close(part) }
                if name == PictureStore.partialName {
                    found.verifyPartials(part)
                } else {
                    found.verifyPictures(part, fan: name, into: &names)
                }
            }
        }
        try found.mendIndex(at: "\(directory)/\(PictureStore.indexName)", by: names)
        return found
    }

    /// Removes every stored picture, pinned or not, what is unfinished, and the index.
    ///
    /// The directory, its marks and whatever else lies in it stay.
    ///
    /// - Parameters:
    ///   - directory: A cache that no daemon uses.
    ///   - others: Names of other things in it that go with the pictures.
    /// - Returns: How much went.
    /// - Throws: `.busy` or `.unusable`.
    package static func clear(directory: String, others: [String]) throws(ImageCacheError) -> CacheRemoval {
        let own = try OwnDirectory(directory)
        // The lock goes with it: not before the work is done.
        defer { withExtendedLifetime(own) {} }
        var removal = CacheRemoval()
        let index = "\(directory)/\(PictureStore.indexName)"
        if Connection.isFile(index), let entries = try? IndexFile(path: index).load().entries {
            removal.pinned = entries.values.count(where: \.isPinned)
        }
        // First what tells of the pictures: pictures without an index are found again, an index without pictures is in the way.
        let databases = CacheFiles.names(in: own.top).filter { $0.hasPrefix(PictureStore.indexName) }
        for name in databases + others { OwnDirectory.remove(name, in: own.top) { _, _ in } }
        if let version = try? CacheFiles.open(PictureStore.version, in: own.top, O_RDONLY | O_DIRECTORY) {
            defer { Glibc.close(version) }
            OwnDirectory.remove(PictureStore.partialName, in: version) { name, _ in
                if FileKey(name: name) != nil { removal.partialPictures += 1 }
            }
        }
        OwnDirectory.remove(PictureStore.version, in: own.top) { name, length in
            guard FileKey(name: name) != nil else { return }
            removal.pictures += 1
            removal.bytes += length
        }
        return removal
    }

    /// Brings the cache to its budget and its floor of free disk.
    package func prune() async {
        // What an unclean end left is found on the disk queue; it must be known before it can go.
        await settleDisk()
        core.run { core in core.trim() }
        core.checkDisk()
        await settleDisk()
    }

    private func settleDisk() async {
        await withCheckedContinuation { continuation in core.disk.async { continuation.resume() } }
    }

    /// Puts the marks that keep backups away on a directory that a mount has used before, also while one uses it.
    ///
    /// - Returns: The names of those that the file system cannot hold.
    /// - Throws: `.unusable` for any other directory: a mark there would hide it from its owner's backups.
    package static func mark(directory: String) throws(ImageCacheError) -> [String] {
        guard let top = try? CacheFiles.open(directory, in: AT_FDCWD, O_RDONLY | O_DIRECTORY) else {
            throw .unusable("the cache directory \(directory) cannot be opened")
        }
        defer { Glibc.close(top) }
        var status = stat()
        guard unsafe fstat(top, &status) == 0, status.st_uid == geteuid(),
            unsafe faccessat(top, PictureStore.lockName, F_OK, AT_SYMLINK_NOFOLLOW) == 0,
            unsafe faccessat(top, PictureStore.version, F_OK, AT_SYMLINK_NOFOLLOW) == 0
        else { throw .unusable("\(directory) is no cache of rankfs") }
        return Marks.set(on: top).map(\.mark)
    }

    /// Makes the lock and the directories of a cache, which a disk without room may refuse.
    ///
    /// - Parameter directory: The cache directory, which is there.
    /// - Returns: The errno of what could not be made; nil if all is there.
    package static func makeFolders(in directory: String) -> Int32? {
        do throws(FileError) {
            let top = try CacheFiles.openDirectory(directory, in: AT_FDCWD).descriptor
            defer { Glibc.close(top) }
            Glibc.close(try CacheFiles.open(PictureStore.lockName, in: top, O_RDWR | O_CREAT))
            let version = try CacheFiles.openDirectory(PictureStore.version, in: top).descriptor
            defer { Glibc.close(version) }
            Glibc.close(try CacheFiles.openDirectory(PictureStore.partialName, in: version).descriptor)
            return nil
        } catch {
            return error.code
        }
    }

    /// The database that tells what is stored.
    package static func index(in directory: String) -> String { "\(directory)/\(PictureStore.indexName)" }

    /// Refuses a directory that is not rankfs's own or that a daemon uses.
    package static func checkIsOwn(directory: String) throws(ImageCacheError) {
        _ = try OwnDirectory(directory)
    }
}

extension CacheVerification {
    fileprivate mutating func remove(_ name: String, in directory: Int32, below path: String, because reason: String) {
        mistakes.append(Mistake(path: "\(path)/\(name)", reason: reason))
        OwnDirectory.remove(name, in: directory) { _, _ in }
    }

    /// Looks at the pictures of one directory; notes the right ones with their lengths.
    fileprivate mutating func verifyPictures(_ directory: Int32, fan: String, into names: inout [FileKey: Int64]) {
        for name in CacheFiles.names(in: directory).sorted() {
            do throws(PictureStore.BrokenFile) {
                guard let key = FileKey(name: name), key.fan == fan else {
                    throw PictureStore.BrokenFile(reason: "no picture has this name")
                }
                let length = try Self.length(ofPicture: key, in: directory)
                names[key] = length
                pictures += 1
                bytes += length
            } catch {
                remove(name, in: directory, below: "\(PictureStore.version)/\(fan)", because: error.reason)
            }
        }
    }

    private static func length(ofPicture key: FileKey, in directory: Int32) throws(PictureStore.BrokenFile) -> Int64 {
        let file: OpenFile
        do throws(FileError) {
            // A pipe in a picture's place must not hold up the walk.
            file = OpenFile(owning: try CacheFiles.open(key.name, in: directory, O_RDONLY | O_NONBLOCK))
        } catch {
            throw PictureStore.BrokenFile(reason: error.code == ELOOP ? "a link lies in its place" : error.text)
        }
        defer { withExtendedLifetime(file) {} }
        var status = stat()
        guard unsafe fstat(file.descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw PictureStore.BrokenFile(reason: "it is no file")
        }
        return try PictureStore.check(file.descriptor, named: key)
    }

    fileprivate mutating func verifyPartials(_ directory: Int32) {
        let path = "\(PictureStore.version)/\(PictureStore.partialName)"
        let names = CacheFiles.names(in: directory).sorted()
        for name in names {
            let picture = name.hasSuffix(".state") ? name.dropLast(".state".count) : name[...]
            guard FileKey(name: picture) != nil else {
                remove(name, in: directory, below: path, because: "no download has this name")
                continue
            }
            guard names.contains(String(picture)), Self.isState("\(picture).state", in: directory) else {
                remove(name, in: directory, below: path, because: "nothing tells how to go on with it")
                continue
            }
            if picture == name[...] { partialPictures += 1 }
        }
    }

    private static func isState(_ name: String, in directory: Int32) -> Bool {
        guard let file = try? CacheFiles.open(name, in: directory, O_RDONLY | O_NONBLOCK) else { return false }
        defer { Glibc.close(file) }
        guard let bytes = try? CacheFiles.read(file, at: 0, count: PartialState.size) else { return false }
        return PartialState(bytes) != nil
    }

    /// Makes the index say what the files say.
    fileprivate mutating func mendIndex(at path: String, by names: [FileKey: Int64]) throws(ImageCacheError) {
        do throws(DatabaseError) {
            if let aside = try Connection.setAsideIfDamaged(path) {
                mistakes.append(
                    Mistake(path: PictureStore.indexName, reason: "\(aside.reason); it was made anew from the pictures")
                )
            }
            let file = try IndexFile(path: path)
            defer { file.close() }
            let entries = try file.load().entries
            let gone = entries.keys.filter { names[$0] == nil }
            var index = StoredIndex(entries)
            for key in gone { index.remove(key) }
            let unlisted = names.filter { index[$0.key]?.length != $0.value }
            for (key, length) in unlisted {
                index.remove(key)
                _ = index.adopt(key, length: length)
            }
            try file.write(index.takeUnwritten(), removed: gone)
            try file.setClean(true)
        } catch {
            throw .unusable("the index \(path) cannot be used (\(error.description)); check the disk and its owner")
        }
    }
}
