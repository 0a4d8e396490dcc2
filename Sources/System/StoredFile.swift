internal import CLinux
internal import Glibc
internal import Synchronization

/// A descriptor that is closed when the last reference goes.
package final class OpenFile: Sendable {
    package let descriptor: Int32

    package init(owning descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }
}

/// A file that is kept for long and is open while it is used.
///
/// While it is idle, ``Descriptors`` may close it. The next use opens it again; it is then the same file, or an error.
///
/// ## Concurrency
///
/// Any thread may call.
package final class StoredFile: Sendable {
    /// Opens the file again: a descriptor, or a negative number with errno(3).
    package typealias Reopening = @Sendable () -> Int32

    let slot: Slot

    /// Takes over a descriptor.
    ///
    /// - Parameters:
    ///   - descriptor: The open file.
    ///   - owner: The object that may close it.
    ///   - reopen: Opens the file again; nil for a file that must stay open, since it has no name.
    package init(owning descriptor: Int32, of owner: Descriptors = .own, reopen: Reopening? = nil) {
        slot = Slot(OpenFile(owning: descriptor), owner, reopen)
        if reopen != nil { owner.add(slot) }
    }

    deinit {
        slot.end()
    }

    /// The file, which stays open while the result is referenced.
    ///
    /// - Throws: The errno(3) of open(2), or ESTALE if there is another file in its place.
    package func opened() throws(SystemError) -> OpenFile {
        if let file = slot.current { return file }
        return try slot.reopened()
    }

    /// Records that the file has another name, by which it is opened from now on; it must be open.
    package func move(_ reopen: @escaping Reopening) {
        slot.move(reopen)
    }

    /// Keeps the file open from now on, because it is about to lose its name.
    package func keepOpen() {
        // A file that cannot be opened is lost to its user.
        let file = try? opened()
        slot.move(nil)
        withExtendedLifetime(file) {}
    }

    /// The part of a file that its owner knows.
    final class Slot: IdleFile {
        private struct State {
            var file: OpenFile?
            var reopen: Reopening?
            /// The time of the last use, by the owner's time.
            var lastUse = 0
        }

        private let owner: Descriptors
        private let identity: Identity?
        private let state: Mutex<State>

        init(_ file: OpenFile, _ owner: Descriptors, _ reopen: Reopening?) {
            self.owner = owner
            identity = Identity(file)
            state = Mutex(State(file: file, reopen: reopen, lastUse: owner.now))
        }

        /// The file if it is open.
        var current: OpenFile? {
            state.withLock { state in
                state.lastUse = owner.now
                return state.file
            }
        }

        /// Opens the file again.
        func reopened() throws(SystemError) -> OpenFile {
            let descriptor = state.withLock { $0.reopen }.map { owner.take($0) }
            guard let descriptor else { throw SystemError(code: ESTALE) }
            guard descriptor >= 0 else {
                let failure = SystemError.last()
                // Another thread may have opened it first, or the file has got its other name since.
                if let file = current { return file }
                throw failure
            }
            let file = OpenFile(owning: descriptor)
            guard let identity, Identity(file) == identity else { throw SystemError(code: ESTALE) }
            return state.withLock { state in
                let current = state.file ?? file
                state.file = current
                return current
            }
        }

        func move(_ reopen: Reopening?) {
            state.withLock { $0.reopen = reopen }
        }

        /// The time of the last use; nil unless the file is open, can be opened again and is idle.
        var idleSince: Int? {
            state.withLock { $0.reopen != nil && isKnownUniquelyReferenced(&$0.file) ? $0.lastUse : nil }
        }

        /// Closes the file unless it is in use; false if it is.
        func close() -> Bool {
            let idle = state.withLock { state -> OpenFile? in
                guard state.reopen != nil, isKnownUniquelyReferenced(&state.file) else { return nil }
                return state.file.take()
            }
            return idle != nil
        }

        /// Forgets the file, which has no user any more.
        func end() {
            owner.remove(self)
            // The owner may be examining the slot, and must not keep the file open.
            state.withLock { $0.file = nil }
        }
    }

    /// The identity of a file, independent of its name (inode(7)).
    private struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64

        init?(_ file: OpenFile) {
            guard let status = fileStatus(open: file.descriptor) else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }
}
