package import Rankings
internal import CLinux
internal import Dispatch
internal import Glibc
internal import System

/// The findings of `rankfs cache verify` in a cache directory.
package struct CacheVerification: Sendable, Equatable {
    /// A defect that has been removed or repaired, or a file that cannot be read.
    package struct Mistake: Sendable, Equatable {
        /// The path below the cache directory.
        package var path: String
        /// The defect, and its repair if the file was not removed.
        package var reason: String
        /// Whether the file stays: the disk does not give it out, and it may be good.
        package var isKept = false

        package init(path: String, reason: String, isKept: Bool = false) {
            self.path = path
            self.reason = reason
            self.isKept = isKept
        }
    }

    /// The number of pictures that match their names, and their bytes.
    package var pictures = 0
    package var bytes: Int64 = 0
    /// Unfinished downloads that can be resumed.
    package var partialPictures = 0
    package var mistakes: [Mistake] = []
}

extension ImageCache {
    /// Checks every stored picture against its name, length and hash, and removes those that are wrong.
    ///
    /// Blocks for as long as reading the whole cache takes. Pictures of an older format are converted first.
    ///
    /// - Parameter directory: A cache that no daemon uses.
    /// - Returns: The numbers of correct files, and the defects.
    /// - Throws: `.busy` or `.unusable`.
    package static func verify(directory: String) throws(Failure) -> CacheVerification {
        try checkIsOwn(directory: directory)
        let store = try PictureStore(directory: directory) { _ in }
        defer { store.unlock() }
        _ = store.partials()
        var found = CacheVerification()
        let version = store.root.version
        let contents = store.contents()
        var uses = contents.uses.sorted { $0.value < $1.value }.map(\.key)
        do throws(SystemError) {
            for (name, row) in contents.older.sorted(by: { $0.value.used < $1.value.used }) {
                if let picture = try OlderFormat.convert(name, isPinned: row.isPinned, store) {
                    uses.append(picture.hash)
                } else {
                    found.mistakes.append(.init(path: PictureStore.version, reason: "a picture's footer is damaged"))
                }
            }
            if !contents.older.isEmpty { try store.write(uses: uses) }
        } catch {
            throw .unusable(
                "\(directory) is of an older format and cannot be converted (\(error.text)); make room on its disk")
        }
        OlderFormat.removeIndex(in: store.root.top)
        for name in Files.names(in: version).sorted() where !name.hasPrefix(PictureStore.usesName) {
            guard let part = try? Files.open(name, in: version, O_RDONLY | O_DIRECTORY) else {
                found.remove(name, in: version, below: PictureStore.version, because: "it is no directory")
                continue
            }
            defer { Glibc.close(part) }
            if name == PictureStore.partialName {
                found.verifyPartials(part)
            } else if name != PictureStore.pinnedName {
                found.verifyPictures(part, fan: name, store)
            }
        }
        return found
    }

    /// Removes every stored picture, pinned or not, unfinished downloads, pins and last uses.
    ///
    /// The directory, its marks and everything else in it stay.
    ///
    /// - Parameters:
    ///   - directory: A cache that no daemon uses.
    ///   - others: Names of other entries in it that are removed with the pictures.
    /// - Returns: The amounts removed.
    /// - Throws: `.busy` or `.unusable`.
    package static func clear(directory: String, others: [String]) throws(Failure) -> CacheInspection {
        let own = try OwnDirectory(directory)
        // The lock is released with it: not before the work is done.
        defer { withExtendedLifetime(own) {} }
        let before = try inspect(directory: directory)
        for format in PictureStore.formats {
            guard let version = try? Files.open(format, in: own.top, O_RDONLY | O_DIRECTORY) else { continue }
            Glibc.close(version)
            OwnDirectory.remove(format, in: own.top)
        }
        OlderFormat.removeIndex(in: own.top)
        for name in others { OwnDirectory.remove(name, in: own.top) }
        let after = try inspect(directory: directory)
        return CacheInspection(
            pictures: before.pictures - after.pictures, bytes: before.bytes - after.bytes,
            pinned: before.pinned - after.pinned, partialPictures: before.partialPictures - after.partialPictures,
            partialBytes: before.partialBytes - after.partialBytes, missingMarks: [])
    }

    /// Evicts pictures until the cache fits its budget and the disk has its free floor.
    package func prune() async {
        // The pictures of an older format must be known before they can be evicted.
        for name in core.withLock({ $0.index.older.keys }) { core.bring(name) }
        core.run { core in core.trim() }
        core.checkDisk()
        await core.onDisk {}
    }

    /// Puts the marks that keep backups away on a directory that a mount has used, also during a mount.
    ///
    /// - Returns: The names of the marks that the file system cannot hold.
    /// - Throws: `.unusable` for any other directory: a mark there would hide it from its owner's backups.
    package static func mark(directory: String) throws(Failure) -> [String] {
        guard let top = try? Files.open(directory, in: AT_FDCWD, O_RDONLY | O_DIRECTORY) else {
            throw .unusable("the cache directory \(directory) cannot be opened")
        }
        defer { Glibc.close(top) }
        guard let status = fileStatus(open: top), status.st_uid == geteuid(),
            unsafe faccessat(top, PictureStore.lockName, F_OK, AT_SYMLINK_NOFOLLOW) == 0,
            PictureStore.formats.contains(where: { unsafe faccessat(top, $0, F_OK, AT_SYMLINK_NOFOLLOW) == 0 })
        else { throw .unusable("\(directory) is no cache of rankfs") }
        return Marks.set(on: top).map(\.mark)
    }

    /// Puts the marks of a cache directory on a directory below it, as far as the file system can hold them.
    package static func markInherited(directory: String) {
        guard let descriptor = try? Files.open(directory, in: AT_FDCWD, O_RDONLY | O_DIRECTORY) else { return }
        defer { Glibc.close(descriptor) }
        _ = Marks.setInherited(on: descriptor)
    }

    /// Makes the lock and the directories of a cache, which a disk without room may refuse.
    ///
    /// - Parameter directory: The cache directory, which exists.
    /// - Returns: The errno of the failed call; nil if everything exists.
    package static func makeFolders(in directory: String) -> Int32? {
        do throws(SystemError) {
            let top = try Files.openDirectory(directory, in: AT_FDCWD).descriptor
            defer { Glibc.close(top) }
            // The later format is reported when the cache is opened.
            guard PictureStore.newerFormat(in: top) == nil else { return nil }
            Glibc.close(try Files.open(PictureStore.lockName, in: top, O_RDWR | O_CREAT))
            _ = try PictureStore.openFolders(in: top)
            return nil
        } catch {
            return error.code
        }
    }

    /// Refuses a directory that is not rankfs's own or that a daemon uses.
    package static func checkIsOwn(directory: String) throws(Failure) {
        _ = try OwnDirectory(directory)
    }
}

extension CacheVerification {
    fileprivate mutating func remove(_ name: String, in directory: Int32, below path: String, because reason: String) {
        mistakes.append(Mistake(path: "\(path)/\(name)", reason: reason))
        OwnDirectory.remove(name, in: directory)
    }

    /// Checks the pictures of one directory.
    fileprivate mutating func verifyPictures(_ directory: Int32, fan: String, _ store: PictureStore) {
        let path = "\(PictureStore.version)/\(fan)"
        for name in Files.names(in: directory).sorted() {
            guard let picture = StoredPicture(name: name.utf8), picture.key.fan == fan else {
                remove(name, in: directory, below: path, because: "no picture has this name")
                continue
            }
            switch store.open(picture, verify: true) {
            case .file:
                pictures += 1
                bytes += picture.length
            case .broken(let reason): remove(name, in: directory, below: path, because: reason)
            case .failed(let error):
                mistakes.append(Mistake(path: "\(path)/\(name)", reason: error.text, isKept: true))
            case .missing: break
            }
        }
    }

    fileprivate mutating func verifyPartials(_ directory: Int32) {
        let path = "\(PictureStore.version)/\(PictureStore.partialName)"
        let names = Files.names(in: directory).sorted()
        for name in names {
            let picture = name.hasSuffix(".state") ? name.dropLast(".state".count) : name[...]
            guard PictureID(name: picture.utf8) != nil else {
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
        guard let file = try? Files.open(name, in: directory, O_RDONLY | O_NONBLOCK) else { return false }
        defer { Glibc.close(file) }
        guard let bytes = try? Files.read(file, at: 0, count: PartialState.size) else { return false }
        return PartialState(bytes) != nil
    }
}

// MARK: - Inspection

/// The contents of a cache directory, determined without a mount.
package struct CacheInspection: Sendable, Equatable {
    package var pictures: Int
    /// Bytes of the stored files.
    package var bytes: Int64
    /// The number of stored pictures that are pinned.
    package var pinned = 0
    /// Unfinished downloads.
    package var partialPictures: Int
    package var partialBytes: Int64
    /// The missing marks against backups, each with the reason; empty if all are set.
    package var missingMarks: [String]
}

extension ImageCache {
    /// Inspects a cache directory without locking or changing it, also beside a running daemon.
    package static func inspect(directory: String) throws(Failure) -> CacheInspection {
        do throws(SystemError) {
            let top = try Files.open(directory, in: AT_FDCWD, O_RDONLY | O_DIRECTORY)
            defer { Glibc.close(top) }
            if let newer = PictureStore.newerFormat(in: top) { throw SystemError(newer, code: EPROTO) }
            var found = CacheInspection(
                pictures: 0, bytes: 0, partialPictures: 0, partialBytes: 0,
                missingMarks: Marks.missing(on: top).map { "\($0.mark): \($0.reason)" })
            for format in PictureStore.formats {
                guard let version = try? Files.open(format, in: top, O_RDONLY | O_DIRECTORY) else { continue }
                defer { Glibc.close(version) }
                let contents = PictureStore.contents(of: version, in: directory)
                found.pictures += contents.pictures.count + contents.older.count
                found.pinned += contents.older.values.count(where: \.isPinned)
                found.pinned += contents.pictures.count { contents.pins.contains($0.key) }
                found.bytes += contents.pictures.reduce(contents.older.reduce(0) { $0 + $1.value.length }) {
                    $0 + $1.length
                }
                let name = PictureStore.partialName
                guard let partial = try? Files.open(name, in: version, O_RDONLY | O_DIRECTORY) else { continue }
                defer { Glibc.close(partial) }
                for name in Files.names(in: partial)
                where PictureID(name: name.utf8) != nil || OlderName(name.utf8) != nil {
                    found.partialPictures += 1
                    found.partialBytes += Files.bytesOnDisk(name, in: partial)
                }
            }
            return found
        } catch {
            if error.code == EPROTO { throw PictureStore.newer(error.call, in: directory) }
            throw .unusable("the cache directory \(directory) cannot be read (\(error.text)); check cache_dir")
        }
    }
}

// MARK: - The directory

/// A cache directory held for maintenance: rankfs's own beyond doubt, locked against daemons, reached by descriptors.
///
/// A directory is rankfs's own if it belongs to the user and carries a tag that rankfs wrote and the lock of a mount. Any other
/// directory that an option may name by mistake is refused; a link is never followed.
///
/// ## Concurrency
///
/// One thread at a time. The lock is released with the last reference.
final class OwnDirectory {
    private let directory: OpenFile
    private let lock: OpenFile
    var top: Int32 { directory.descriptor }

    /// - Throws: `.busy` if a daemon uses it, `.unusable` if it is not rankfs's own.
    init(_ directory: String) throws(Failure) {
        let top: OpenFile
        do throws(SystemError) {
            top = OpenFile(owning: try Files.open(directory, in: AT_FDCWD, O_RDONLY | O_DIRECTORY))
        } catch {
            throw .unusable("the cache directory \(directory) cannot be opened (\(error.text)); check cache_dir")
        }
        guard let status = fileStatus(open: top.descriptor), status.st_uid == geteuid() else {
            throw .unusable("the cache directory \(directory) belongs to somebody else; run this as its owner")
        }
        let lock: Int32
        do throws(SystemError) { lock = try Files.open(PictureStore.lockName, in: top.descriptor, O_RDWR) } catch {
            guard error.code == EROFS || error.code == EACCES else { throw Self.foreign(directory) }
            throw .unusable(
                "the cache directory \(directory) cannot be written (\(error.text)); make its disk writable")
        }
        self.directory = top
        self.lock = OpenFile(owning: lock)
        guard Marks.isOwn(top.descriptor) else { throw Self.foreign(directory) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { throw .busy(directory: directory) }
        if let newer = PictureStore.newerFormat(in: top.descriptor) { throw PictureStore.newer(newer, in: directory) }
    }

    private static func foreign(_ directory: String) -> Failure {
        .unusable("\(directory) is no cache of rankfs, so nothing in it is touched; check cache_dir")
    }

    deinit {
        // A process that was just started may still have the descriptor, until it executes another program.
        _ = flock(lock.descriptor, LOCK_UN)
    }

    /// Removes a file, a link or a directory with its contents; does not follow links or enter other file systems.
    ///
    /// - Parameters:
    ///   - name: The entry's name in `parent`.
    ///   - parent: A directory's descriptor.
    static func remove(_ name: String, in parent: Int32) {
        guard let status = fileStatus(link: name, in: parent) else { return }
        if unsafe unlinkat(parent, name, 0) == 0 { return }
        guard errno == EISDIR || errno == EPERM, fileStatus(open: parent)?.st_dev == status.st_dev,
            let directory = try? Files.open(name, in: parent, O_RDONLY | O_DIRECTORY)
        else { return }
        defer { Glibc.close(directory) }
        for entry in Files.names(in: directory) { remove(entry, in: directory) }
        unsafe _ = unlinkat(parent, name, AT_REMOVEDIR)
    }
}
