import Glibc
import Posix
import Synchronization

/// The user's own store of thumbnails, which all desktops share: `$XDG_CACHE_HOME/thumbnails`.
///
/// Nothing is written outside of it, and nothing that is still valid is replaced.
///
/// ## Concurrency
///
/// Any thread may call; every call may wait for the disk.
package final class ThumbnailDirectory: Sendable {
    /// Absolute.
    package let path: String
    private let ledger: ThumbnailLedger
    /// Of all stores of this process: their temporary names must differ.
    private static let nextName = Atomic<Int>(0)

    /// Bytes of a thumbnail that is read to see whether it is valid: four times the pixels of a large one.
    private static let longest = 1 << 20
    /// How names of files that are being written begin.
    static let temporaryPrefix = ".rankfs-"
    /// The standard's: nobody else may look.
    private static let directoryMode: mode_t = 0o700
    private static let fileMode: mode_t = 0o600

    /// - Parameters:
    ///   - path: Absolute; need not exist.
    ///   - ledger: Told of each file before it is written.
    package init(path: String, ledger: ThumbnailLedger) {
        self.path = path
        self.ledger = ledger
    }

    /// Whether a file of this name is there at all.
    package func exists(_ thumbnail: Thumbnail) -> Bool {
        unsafe access(file(thumbnail), F_OK) == 0
    }

    /// The file if it is valid and rankfs wrote it.
    func ownFile(_ thumbnail: Thumbnail) -> [UInt8]? {
        guard let bytes = read(file(thumbnail)), thumbnail.isValid(bytes),
            Thumbnail.isOwn(bytes, named: file(thumbnail))
        else { return nil }
        return bytes
    }

    /// Whether a valid file is there.
    package func holds(_ thumbnail: Thumbnail) -> Bool {
        guard let bytes = read(file(thumbnail)) else { return false }
        return thumbnail.isValid(bytes)
    }

    /// Stores a thumbnail under its name, whole or not at all.
    ///
    /// - Returns: False if it could not be written, or if the place is another user's.
    package func store(_ bytes: [UInt8], as thumbnail: Thumbnail) -> Bool {
        let directory = "\(path)/\(thumbnail.size.directory)"
        guard makeDirectories(directory), isOwn(directory), ledger.note(file(thumbnail)) else { return false }
        let name = Self.nextName.wrappingAdd(1, ordering: .relaxed).newValue
        let temporary = "\(directory)/\(Self.temporaryPrefix)\(getpid())-\(name).png"
        let descriptor = Descriptors.own.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, Self.fileMode)
        guard descriptor >= 0 else { return false }
        let isWritten = FileBytes.write(bytes, to: descriptor)
        let isClosed = close(descriptor) == 0
        if isWritten, isClosed, unsafe rename(temporary, file(thumbnail)) == 0 { return true }
        unsafe unlink(temporary)
        return false
    }

    /// Removes what programs noted of files whose thumbnails they failed to make (Thumbnail Managing Standard, "failed
    /// thumbnails": a directory for each program).
    func removeFailures(of addresses: [String]) {
        let failures = "\(path)/fail"
        for program in (try? Directory.entries(at: failures)) ?? [] {
            for address in addresses { unsafe unlink("\(failures)/\(program.name)/\(Thumbnail.name(of: address))") }
        }
    }

    // MARK: -

    private func file(_ thumbnail: Thumbnail) -> String {
        "\(path)/\(thumbnail.path)"
    }

    private func makeDirectories(_ directory: String) -> Bool {
        if unsafe mkdir(directory, Self.directoryMode) == 0 || errno == EEXIST { return true }
        guard errno == ENOENT, let slash = directory.lastIndex(of: "/"), slash > directory.startIndex,
            makeDirectories(String(directory[..<slash]))
        else { return false }
        return unsafe mkdir(directory, Self.directoryMode) == 0 || errno == EEXIST
    }

    /// Root with a user's HOME would leave files there that the user cannot replace.
    private func isOwn(_ directory: String) -> Bool {
        var status = stat()
        return unsafe stat(directory, &status) == 0 && status.st_uid == geteuid()
    }

    private func read(_ file: String) -> [UInt8]? {
        let descriptor = Descriptors.own.open(file, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_size > 0, status.st_size <= Self.longest else {
            return nil
        }
        let bytes = try? FileBytes.read(descriptor, upTo: status.st_size)
        return bytes?.count == status.st_size ? bytes : nil
    }
}
