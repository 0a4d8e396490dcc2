import Glibc
import System
import Synchronization
import Rankings

/// The user's own store of thumbnails, which all desktops share: `$XDG_CACHE_HOME/thumbnails`.
///
/// Nothing is written outside of it, and no valid thumbnail is replaced.
///
/// ## Concurrency
///
/// Any thread may call; every call may wait for the disk.
package final class HomeThumbnails: Sendable {
    /// The absolute path of the store.
    package let path: String
    private let ledger: ThumbnailLedger
    /// The owner of the store: only requests of this user are answered with thumbnails there.
    let user: UInt32
    /// The absolute path of the mount point with the files that it has thumbnails of.
    private let mountPoint: String
    /// The next number for a temporary name, shared by all stores of this process: their temporary names must differ.
    private static let nextName = Atomic<Int>(0)

    /// The most bytes of a thumbnail that is read for validation: four times the pixels of a large one.
    private static let longest = 1 << 20
    /// The prefix of the names of files that are being written.
    static let temporaryPrefix = ".rankfs-"

    /// - Parameters:
    ///   - path: The absolute path of the store, which need not exist.
    ///   - ledger: Records each file before it is written.
    ///   - user: The owner of the store.
    ///   - mountPoint: The absolute path of the mount point.
    package init(path: String, ledger: ThumbnailLedger, user: UInt32, mountPoint: String) {
        self.path = path
        self.ledger = ledger
        self.user = user
        self.mountPoint = mountPoint
    }

    /// Returns whether a file of this name exists, valid or not.
    package func exists(_ thumbnail: Thumbnail) -> Bool {
        unsafe access(file(thumbnail), F_OK) == 0
    }

    /// Returns the file of a thumbnail that rankfs wrote into the store and that is still valid.
    func ownFile(of job: ThumbnailJob, _ size: ThumbnailSize) -> [UInt8]? {
        (job.paths + job.otherPaths).lazy.compactMap { path in
            let thumbnail = self.thumbnail(of: job, as: FileURI.of("\(self.mountPoint)/\(path)"), size)
            return self.read(self.file(thumbnail)).flatMap { bytes in
                thumbnail.isValid(bytes) && Thumbnail.isOwn(bytes, named: self.file(thumbnail)) ? bytes : nil
            }
        }.first
    }

    /// Returns whether a valid file exists.
    package func holds(_ thumbnail: Thumbnail) -> Bool {
        guard let bytes = read(file(thumbnail)) else { return false }
        return thumbnail.isValid(bytes)
    }

    /// Stores a thumbnail under its name, whole or not at all.
    ///
    /// - Returns: False if the file could not be written, or if the directory belongs to another user.
    package func store(_ bytes: [UInt8], as thumbnail: Thumbnail) -> Bool {
        let directory = "\(path)/\(thumbnail.size.directory)"
        // Root with a user's HOME would leave files there that the user cannot replace.
        guard (try? Directory.make(directory)) != nil, fileStatus(at: directory)?.st_uid == geteuid(),
            ledger.note(file(thumbnail))
        else { return false }
        let name = Self.nextName.wrappingAdd(1, ordering: .relaxed).newValue
        let temporary = "\(directory)/\(Self.temporaryPrefix)\(getpid())-\(name).png"
        return (try? Files.replace(file(thumbnail), with: bytes, by: temporary)) != nil
    }

    /// Removes the notes of programs about files for which they failed to make thumbnails.
    ///
    /// The notes are the "failed thumbnails" of the Thumbnail Managing Standard, in a directory for each program.
    func removeFailures(of jobs: [ThumbnailJob]) {
        let addresses = jobs.flatMap(addresses)
        let failures = "\(path)/fail"
        for program in (try? Directory.entries(at: failures)) ?? [] {
            for address in addresses { unsafe unlink("\(failures)/\(program.name)/\(Thumbnail.name(of: address))") }
        }
    }

    // MARK: -

    private func file(_ thumbnail: Thumbnail) -> String {
        "\(path)/\(thumbnail.path)"
    }

    private func read(_ file: String) -> [UInt8]? {
        let descriptor = Descriptors.own.open(file, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = try? Files.read(descriptor, upTo: Self.longest + 1)
        return bytes.flatMap { $0.count <= Self.longest ? $0 : nil }
    }

    // MARK: - Thumbnails of pictures

    /// Returns the thumbnails of a picture, under all its paths.
    func thumbnails(of job: ThumbnailJob) -> [Thumbnail] {
        // Two spellings of a plain name are equal.
        Array(
            Set(
                addresses(of: job).flatMap { uri in
                    ThumbnailSize.allCases.map { thumbnail(of: job, as: uri, $0) }
                }))
    }

    private func addresses(of job: ThumbnailJob) -> [String] {
        job.paths.flatMap { path in job.spellings.map { FileURI.of("\(mountPoint)/\(path)", $0) } }
    }

    private func thumbnail(of job: ThumbnailJob, as uri: String, _ size: ThumbnailSize) -> Thumbnail {
        Thumbnail(uri: uri, size: size, modified: job.modified, length: job.length)
    }
}

// MARK: - The ledger

/// The record of the thumbnails that rankfs wrote into the user's own store, so that exactly those can be removed again.
///
/// The ledger is a file of absolute paths, each ended by NUL. A path is noted before its thumbnail is written, so a crash leaves
/// at most a path without a file. The file is bounded, and with it the number of thumbnails that rankfs leaves in the home: when
/// it is full, the thumbnails of its older half are removed.
///
/// ## Concurrency
///
/// Any thread and process may call at once (flock(2)); every call may wait for the disk.
package struct ThumbnailLedger: Sendable {
    /// The number of thumbnails and their bytes.
    package struct Tally: Hashable, Sendable {
        package var files = 0
        package var bytes: Int64 = 0
    }

    /// The path of the ledger's file, which need not exist.
    package let path: String
    /// The most bytes of the file.
    private let bound: Int

    /// The usual bound: at a hundred bytes a note, ten thousand thumbnails, which are some 600 MB.
    package static let usualBound = 1 << 20

    package init(path: String, bound: Int = usualBound) {
        self.path = path
        self.bound = bound
    }

    /// Notes a thumbnail before it is written.
    ///
    /// - Parameter file: The thumbnail's absolute path.
    /// - Returns: False if the note failed; then the thumbnail must not be written.
    func note(_ file: String) -> Bool {
        // The leading NUL keeps a note that a crash cut off apart from this one.
        let line = [0] + Array(file.utf8) + [0]
        guard line.count <= bound / 2 else { return false }
        return withLockedFile(O_RDWR | O_APPEND | O_CREAT) { descriptor, length in
            if length + line.count > bound { return thinOut(descriptor, length, adding: line) }
            return Files.write(line, to: descriptor)
        } ?? false
    }

    /// Removes every noted thumbnail that is still as rankfs wrote it, and then the notes.
    ///
    /// Files that other programs put in their places stay. A mount that runs meanwhile writes new thumbnails and notes them.
    ///
    /// - Returns: The removed thumbnails.
    @discardableResult
    package func clear() -> Tally {
        withLockedFile(O_RDWR) { descriptor, length in
            defer { _ = ftruncate(descriptor, 0) }
            let files = files(descriptor, length)
            removeTemporaries(beside: files)
            return tally(files) { unsafe unlink($0) == 0 }
        } ?? Tally()
    }

    /// Counts the thumbnails that `clear` would remove.
    package func survey() -> Tally {
        withLockedFile(O_RDWR) { descriptor, length in tally(files(descriptor, length)) { _ in true } } ?? Tally()
    }

    // MARK: -

    /// Removes the temporary files of a process that ended during a write.
    private func removeTemporaries(beside files: [String]) {
        let directories = Set(files.map { String($0[..<($0.lastIndex(of: "/") ?? $0.startIndex)]) })
        for directory in directories {
            for entry in (try? Directory.entries(at: directory)) ?? []
            where entry.name.hasPrefix(HomeThumbnails.temporaryPrefix) {
                unsafe unlink("\(directory)/\(entry.name)")
            }
        }
    }

    /// Removes the thumbnails of the older half, and continues the ledger in a new file.
    private func thinOut(_ descriptor: Int32, _ length: Int, adding line: [UInt8]) -> Bool {
        let files = files(descriptor, length)
        var size = line.count
        let kept = files.reversed().prefix { file in
            size += file.utf8.count + 2
            return size <= bound / 2
        }
        _ = tally(files.dropLast(kept.count)) { unsafe unlink($0) == 0 }
        let notes = kept.reversed().flatMap { [0] + Array($0.utf8) + [0] } + line
        return (try? Files.replace(path, with: notes)) != nil
    }

    /// Returns the noted paths, each once, in the order of their last notes.
    private func files(_ descriptor: Int32, _ length: Int) -> [String] {
        // A note that a crash cut off is not the path of a thumbnail.
        let notes = ((try? Files.read(descriptor, upTo: length)) ?? []).split(separator: 0)
        return notes.reversed().map { String(decoding: $0, as: UTF8.self) }.uniqued(by: \.self).reversed()
    }

    /// Counts the thumbnails that rankfs wrote and that `accepts` takes.
    private func tally(_ files: some Sequence<String>, where accepts: (String) -> Bool) -> Tally {
        files.reduce(into: Tally()) { tally, file in
            guard let length = Self.ownLength(file), accepts(file) else { return }
            tally.files += 1
            tally.bytes += length
        }
    }

    /// Returns the bytes of a thumbnail that rankfs wrote; nil for any other file, even if it is noted.
    private static func ownLength(_ file: String) -> Int64? {
        let descriptor = Descriptors.own.open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard let status = fileStatus(open: descriptor), status.st_mode.isFile,
            let header = try? Files.read(descriptor, upTo: Thumbnail.longestHeader),
            Thumbnail.isOwn(header, named: file)
        else { return nil }
        return Int64(status.st_size)
    }

    /// Runs `body` with the file's descriptor and length under an exclusive lock; nil if the file cannot be opened.
    private func withLockedFile<Value>(_ flags: Int32, _ body: (Int32, Int) -> Value) -> Value? {
        while true {
            let descriptor = Descriptors.own.open(path, flags | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            while flock(descriptor, LOCK_EX) != 0 { guard errno == EINTR else { return nil } }
            guard let status = fileStatus(open: descriptor) else { return nil }
            // Another process replaced the file while this one waited for the lock.
            if status.st_nlink == 0 { continue }
            return body(descriptor, Int(status.st_size))
        }
    }
}
