import Glibc
import Posix

/// Notes which thumbnails rankfs wrote into the user's own store, so that exactly those can be removed again.
///
/// A file of absolute paths, each ended by NUL. A path is noted before its thumbnail is written, so a crash leaves at most a
/// path without a file. The file is bounded, and with it what rankfs leaves in the home: when it is full, the thumbnails of
/// its older half are removed.
///
/// ## Concurrency
///
/// Any thread and process may call at once (flock(2)); every call may wait for the disk.
package struct ThumbnailLedger: Sendable {
    /// Thumbnails, counted.
    package struct Tally: Hashable, Sendable {
        package var files = 0
        package var bytes: Int64 = 0
    }

    /// The file's path; need not exist.
    package let path: String
    /// Bytes of notes at most.
    private let bound: Int

    /// A hundred bytes a note: ten thousand thumbnails, which are some 600 MB.
    package static let usualBound = 1 << 20

    package init(path: String, bound: Int = usualBound) {
        self.path = path
        self.bound = bound
    }

    /// Notes a thumbnail that is about to be written.
    ///
    /// - Parameter file: Its absolute path.
    /// - Returns: False if it could not be noted; then it is not to be written.
    func note(_ file: String) -> Bool {
        // Also in front, so that what a crash cut off spoils no other note.
        let line = [0] + Array(file.utf8) + [0]
        guard line.count <= bound / 2 else { return false }
        return withLockedFile(O_RDWR | O_APPEND | O_CREAT) { descriptor, length in
            if length + line.count > bound { return thinOut(descriptor, length, adding: line) }
            return FileBytes.write(line, to: descriptor)
        } ?? false
    }

    /// Removes every noted thumbnail that is still as rankfs wrote it, and then the notes.
    ///
    /// What others put in their places stays. A mount that runs meanwhile writes new ones and notes them.
    ///
    /// - Returns: What was removed.
    @discardableResult
    package func clear() -> Tally {
        withLockedFile(O_RDWR) { descriptor, length in
            defer { _ = ftruncate(descriptor, 0) }
            let files = files(descriptor, length)
            removeTemporaries(beside: files)
            return tally(files) { unsafe unlink($0) == 0 }
        } ?? Tally()
    }

    /// Counts what `clear` would remove.
    package func survey() -> Tally {
        withLockedFile(O_RDWR) { descriptor, length in tally(files(descriptor, length)) { _ in true } } ?? Tally()
    }

    // MARK: -

    /// Removes what a process that ended while it wrote left beside the files.
    private func removeTemporaries(beside files: [String]) {
        let directories = Set(files.map { String($0[..<($0.lastIndex(of: "/") ?? $0.startIndex)]) })
        for directory in directories {
            for entry in (try? Directory.entries(at: directory)) ?? []
            where entry.name.hasPrefix(ThumbnailDirectory.temporaryPrefix) {
                unsafe unlink("\(directory)/\(entry.name)")
            }
        }
    }

    /// Removes the older half, and goes on in a new file.
    private func thinOut(_ descriptor: Int32, _ length: Int, adding line: [UInt8]) -> Bool {
        let files = files(descriptor, length)
        var size = line.count
        let kept = files.reversed().prefix { file in
            size += file.utf8.count + 2
            return size <= bound / 2
        }
        _ = tally(files.dropLast(kept.count)) { unsafe unlink($0) == 0 }
        let new = path + ".new"
        let target = Descriptors.own.open(new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600)
        guard target >= 0 else { return false }
        let notes = kept.reversed().flatMap { [0] + Array($0.utf8) + [0] } + line
        let isWritten = FileBytes.write(notes, to: target)
        let isClosed = close(target) == 0
        guard isWritten, isClosed else { return false }
        return unsafe rename(new, path) == 0
    }

    /// The noted paths, each once, in the order in which they were noted last.
    private func files(_ descriptor: Int32, _ length: Int) -> [String] {
        var seen: Set<String> = []
        // What a crash cut off is no path of a thumbnail.
        let notes = ((try? FileBytes.read(descriptor, upTo: length)) ?? []).split(separator: 0)
        let files = notes.reversed().map { String(decoding: $0, as: UTF8.self) }.filter { seen.insert($0).inserted }
        return files.reversed()
    }

    /// Counts the thumbnails that are rankfs's own and that `accepts` takes.
    private func tally(_ files: some Sequence<String>, where accepts: (String) -> Bool) -> Tally {
        files.reduce(into: Tally()) { tally, file in
            guard let length = Self.ownLength(file), accepts(file) else { return }
            tally.files += 1
            tally.bytes += length
        }
    }

    /// The bytes of a thumbnail that rankfs wrote; nil for any other file, whatever the notes say.
    private static func ownLength(_ file: String) -> Int64? {
        let descriptor = Descriptors.own.open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            let header = try? FileBytes.read(descriptor, upTo: Thumbnail.longestHeader),
            Thumbnail.isOwn(header, named: file)
        else { return nil }
        return Int64(status.st_size)
    }

    /// Runs `body` with the file's descriptor and length while nobody else writes; nil if it cannot be opened.
    private func withLockedFile<Value>(_ flags: Int32, _ body: (Int32, Int) -> Value) -> Value? {
        while true {
            let descriptor = Descriptors.own.open(path, flags | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            while flock(descriptor, LOCK_EX) != 0 { guard errno == EINTR else { return nil } }
            var status = stat()
            guard unsafe fstat(descriptor, &status) == 0 else { return nil }
            // Replaced by a new one while this waited.
            if status.st_nlink == 0 { continue }
            return body(descriptor, Int(status.st_size))
        }
    }
}
