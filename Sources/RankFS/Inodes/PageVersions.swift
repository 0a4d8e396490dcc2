import ImageCache
import Rankings
import Synchronization

/// The version of which the kernel may hold pages, for each inode, so that bytes of two versions are never joined there.
///
/// Pages outlive the handle that read them and the stored file; they end when they are dropped or the inode is forgotten. While
/// the kernel may hold pages of one version, no bytes of another are sent for that inode. If an open will not certainly be served
/// the same version, the pages are dropped; while other handles may read them, the open bypasses them: a handle that waited for an
/// answer with the pages of another version could never be served, since it may have read some of them.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards the dictionary, which has an inode for each picture that was read and not forgotten. A
/// handle that was admitted once needs no further check until the ``era`` is over.
final class PageVersions: Sendable {
    /// The way to answer an open.
    enum Opening: Equatable, Sendable {
        /// The kernel's pages, if any, are valid.
        case keeping
        /// The kernel must drop its pages before it learns of the handle; `dropped` must be called afterwards.
        case dropping
        /// The kernel is dropping its pages for an earlier open.
        case waiting
        /// Other handles read through the pages a version that may not be this one's: it bypasses them.
        case direct
    }

    private struct Held {
        /// The picture that was opened last; nil if that is not known.
        var picture: PictureID?
        /// The version of which the kernel may hold pages; nil while it holds none.
        var version: PictureVersion?
        /// Whether some of the pages are wrong, or the source has another version now.
        var isSpoilt = false
        /// The number of handles that read through the pages.
        var handles = 0
        /// The answers of the opens that wait until the pages are dropped; nil while they are not being dropped.
        var waiting: [@Sendable () -> Void]?
    }

    private let held = Mutex<[UInt64: Held]>([:])
    /// The viewers whose entries the kernel may keep of a directory, where these are not everybody.
    private let audiences = Mutex<[UInt64: AnswerAudience]>([:])
    /// Grows after every change that may revoke the admission of a version.
    private let changes = Atomic<UInt64>(1)

    /// The present era, at least 1: a version admitted to an inode stays admitted until the era changes.
    var era: UInt64 { changes.load(ordering: .acquiring) }

    /// Decides how to open an inode, and counts the handle unless it bypasses the pages.
    ///
    /// Pages are dropped for all opens that wait for it, once: a second drop would wait for a page that the first of their readers
    /// waits for, in a thread of this process that no signal ends, and after a kill such a page is waited for without end.
    ///
    /// - Parameters:
    ///   - inode: The inode to open.
    ///   - picture: Its picture.
    ///   - version: The version that will certainly be served; nil if only an answer of the source can determine it.
    ///   - answer: Tells the kernel of the handle once the pages are dropped, if they have to be.
    /// - Returns: The action to take before the kernel learns of the handle.
    func opening(
        _ inode: UInt64, of picture: PictureID, serving version: PictureVersion?,
        whenDropped answer: @escaping @Sendable () -> Void = {}
    ) -> Opening {
        held.withLock { table in
            var held = table[inode, default: Held()]
            held.picture = picture
            defer { table[inode] = held }
            let isServed = held.version.map { version?.isSame(as: $0) ?? false } ?? true
            if held.waiting == nil, held.isSpoilt || !isServed, held.handles > 0 { return .direct }
            held.handles += 1
            if held.waiting?.append(answer) != nil { return .waiting }
            if !held.isSpoilt, isServed { return .keeping }
            held.waiting = [answer]
            return .dropping
        }
    }

    /// Records that the kernel has dropped its pages as `opening` required, and answers the opens that wait for it.
    func dropped(_ inode: UInt64) {
        let waiting = held.withLock { table in
            let held = table[inode]
            table[inode] = held.map { Held(picture: $0.picture, handles: $0.handles) }
            endEra()
            return held?.waiting ?? []
        }
        for answer in waiting { answer() }
    }

    /// Whether the entries that the kernel keeps of a directory are those of these viewers; records that they will be.
    func hasEntries(of audience: AnswerAudience, _ inode: UInt64) -> Bool {
        audiences.withLock { audiences in
            let before = audiences[inode] ?? .everybody
            audiences[inode] = audience == .everybody ? nil : audience
            return before == audience
        }
    }

    /// Whether bytes of a version may go into the pages of an inode; records that they do.
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

    /// Records that bytes sent for an inode were wrong.
    func spoil(_ inode: UInt64) {
        held.withLock { table in
            guard table[inode]?.version != nil else { return }
            table[inode]?.isSpoilt = true
            endEra()
        }
    }

    /// Records that pictures are dropped by a command, with the pages of each that no handle reads through.
    ///
    /// A later download of the same version proves nothing of them: they may be of a file that was changed on the disk.
    ///
    /// - Parameters:
    ///   - pictures: The pictures.
    ///   - inode: The inode whose pages the command's own handle reads through, which does not count; nil if there is none.
    func drop(_ pictures: Set<PictureID>, by inode: UInt64?) {
        held.withLock { table in
            for (number, held) in table where held.version != nil && held.handles <= (number == inode ? 1 : 0) {
                guard held.picture.map(pictures.contains) ?? true else { continue }
                table[number]?.isSpoilt = true
                endEra()
            }
        }
    }

    /// Records the close of a handle that reads through the pages.
    func closed(_ inode: UInt64) {
        held.withLock { table in
            guard var held = table[inode] else { return }
            held.handles -= 1
            table[inode] = held.handles <= 0 && held.version == nil ? nil : held
        }
    }

    /// Records that the kernel has forgotten an inode and its pages; one that was opened again meanwhile keeps its record.
    func forget(_ inode: UInt64) {
        held.withLock { table in
            if let held = table[inode], held.handles <= 0 {
                table[inode] = nil
                endEra()
            }
        }
        audiences.withLock { _ = $0.removeValue(forKey: inode) }
    }

    private func endEra() {
        changes.add(1, ordering: .releasing)
    }

    /// The number of inodes in the table.
    var count: Int { held.withLock { $0.count } }
}
