import Glibc
import Posix

/// A file that is being written under a temporary name.
///
/// ## Concurrency
///
/// Used by one thread.
final class ExportedFile {
    let path: String
    let descriptor: Int32
    /// Why writing failed; nil as long as it did not.
    private(set) var failure: LocalFiles.Failure?
    private let temporaries: TemporaryFiles
    private var isOpen = true

    init(path: String, descriptor: Int32, temporaries: TemporaryFiles) {
        self.path = path
        self.descriptor = descriptor
        self.temporaries = temporaries
    }

    /// Appends bytes; false if that fails.
    func write(_ bytes: [UInt8]) -> Bool {
        guard !LocalFiles.write(bytes, to: descriptor) else { return true }
        failure = LocalFiles.Failure.last()
        return false
    }

    /// Closes it and gives it its name.
    func rename(to final: String) throws(LocalFiles.Failure) {
        // Renamed while locked, so that another process cannot take the name for its own.
        guard unsafe Glibc.rename(path, final) == 0 else { throw .last() }
        temporaries.forget(path)
        shut()
    }

    /// Removes it; harmless after `rename`.
    func discard() {
        guard isOpen else { return }
        temporaries.remove(path)
        shut()
    }

    private func shut() {
        if isOpen { close(descriptor) }
        isOpen = false
    }
}
