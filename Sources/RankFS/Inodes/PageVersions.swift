import ImageCache
import Synchronization

/// Of which version the kernel may hold pages of each inode, so that bytes of two are never joined there.
///
/// Pages outlive the handle that read them and the stored file; they end when they are dropped or the inode is forgotten.
/// While the kernel may hold pages of one version, no bytes of another are given for that inode; they are dropped when it
/// is opened by nobody else and would not surely be served in the same version.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards the dictionary, which has an inode for each picture that was read and not forgotten.
/// Who was admitted once needs it no more until the ``era`` is over.
final class PageVersions: Sendable {
    /// How an open is to be answered.
    enum Opening: Equatable, Sendable {
        /// What the kernel holds is right, if anything.
        case keeping
        /// The kernel must drop what it holds before it learns of the handle; then `dropped` is to be called.
        case dropping(epoch: Int)
        /// Others read another version through the pages: this one goes past them.
        case direct
    }

    private struct Held {
        /// What the kernel may hold pages of; nil while it holds none.
        var version: PictureVersion?
        /// Whether some of them turned out wrong, or the source has another version now.
        var isSpoilt = false
        /// Handles that read through the pages.
        var handles = 0
        /// Opens that wait for the pages to go.
        var drops = 0
        /// Grows whenever the pages are gone.
        var epoch = 0
    }

    private let held = Mutex<[UInt64: Held]>([:])
    /// Grows after whatever may make a version that was admitted one that is not.
    private let changes = Atomic<UInt64>(1)

    /// What was admitted to an inode while this was the era is admitted still; 1 at least.
    var era: UInt64 { changes.load(ordering: .acquiring) }

    /// Decides how to open an inode, and counts the handle unless it goes past the pages.
    ///
    /// - Parameters:
    ///   - inode: What is opened.
    ///   - version: The version that will surely be served; nil if only an answer of the source can tell.
    /// - Returns: What to do before the kernel learns of the handle.
    func opening(_ inode: UInt64, serving version: PictureVersion?) -> Opening {
        held.withLock { table in
            var held = table[inode, default: Held()]
            defer { table[inode] = held }
            let isServed = held.version.map { version?.isSame(as: $0) } ?? true
            if held.drops == 0 {
                if !held.isSpoilt, isServed ?? (held.handles > 0) {
                    held.handles += 1
                    return .keeping
                }
                if held.handles > 0 { return .direct }
            }
            held.handles += 1
            held.drops += 1
            return .dropping(epoch: held.epoch)
        }
    }

    /// The kernel has dropped what it held when `opening` said so.
    func dropped(_ inode: UInt64, epoch: Int) {
        held.withLock { table in
            guard var held = table[inode] else { return }
            held.drops -= 1
            if held.epoch == epoch {
                held.epoch += 1
                held.version = nil
                held.isSpoilt = false
                endEra()
            }
            table[inode] = held
        }
    }

    /// Whether bytes of a version may go into the pages of an inode; notes that they do.
    func admits(_ version: PictureVersion, to inode: UInt64) -> Bool {
        held.withLock { table in
            let known = table[inode]?.version
            if let known, table[inode]?.isSpoilt == true || !known.isSame(as: version) {
                if table[inode]?.isSpoilt == false { endEra() }
                table[inode]?.isSpoilt = true
                return false
            }
            if known == nil { table[inode, default: Held()].version = version }
            return true
        }
    }

    /// What was given of an inode turned out wrong.
    func spoil(_ inode: UInt64) {
        held.withLock { table in
            guard table[inode]?.version != nil else { return }
            table[inode]?.isSpoilt = true
            endEra()
        }
    }

    /// A handle that reads through the pages was closed.
    func closed(_ inode: UInt64) {
        held.withLock { table in
            guard var held = table[inode] else { return }
            held.handles -= 1
            table[inode] = held.handles <= 0 && held.version == nil ? nil : held
        }
    }

    /// The kernel has forgotten an inode, and all that it held of it.
    func forget(_ inode: UInt64) {
        held.withLock { table in
            if table.removeValue(forKey: inode) != nil { endEra() }
        }
    }

    private func endEra() {
        changes.add(1, ordering: .releasing)
    }

    /// Inodes of which something is known.
    var count: Int { held.withLock { $0.count } }
}
