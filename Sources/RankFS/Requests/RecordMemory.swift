import Rankings
import Synchronization

/// The last few records, so that `getfattr -d` reads the database once a file.
///
/// ## Concurrency
///
/// Any thread may call; one lock guards the list.
final class RecordMemory: Sendable {
    private struct Entry {
        var inode: UInt64
        var picture: PictureID
        var record: ListedWork
    }

    /// Most recently used last.
    private let entries = Mutex<[Entry]>([])

    /// The record of an inode's picture, if it was asked lately.
    func record(_ inode: UInt64, picture: PictureID) -> ListedWork? {
        entries.withLock { entries in
            guard let place = entries.lastIndex(where: { $0.inode == inode && $0.picture == picture }) else {
                return nil
            }
            let entry = entries.remove(at: place)
            entries.append(entry)
            return entry.record
        }
    }

    /// Keeps a record; the one that was not used for longest goes.
    func keep(_ record: ListedWork, of inode: UInt64, picture: PictureID) {
        entries.withLock { entries in
            entries.removeAll { $0.inode == inode }
            if entries.count >= TreeLimits.rememberedRecords { entries.removeFirst() }
            entries.append(Entry(inode: inode, picture: picture, record: record))
        }
    }
}
