import Catalog
import ImageCache
import Synchronization

/// An open picture, and what it was opened as.
final class PictureHandle: Sendable {
    let picture: OpenPicture
    let node: Node
    /// The size that `stat` showed when it was opened.
    let size: Int64
    /// Whether that was only announced by a download under way: then the picture may end before it.
    let isAnnounced: Bool
    /// Whether its reads go past the kernel's pages.
    let isDirect: Bool
    /// Whether reading it puts it in front of `recent/`.
    let isNoted: Bool
    private let wasAsked = Atomic(false)
    /// The era of ``PageVersions`` in which its settled version was admitted to the kernel's pages; 0 for none.
    private let admittedIn = Atomic<UInt64>(0)

    init(_ picture: OpenPicture, node: Node, size: Int64, isAnnounced: Bool, isDirect: Bool, isNoted: Bool) {
        self.picture = picture
        self.node = node
        self.size = size
        self.isAnnounced = isAnnounced
        self.isDirect = isDirect
        self.isNoted = isNoted
    }

    /// Whether nothing was read: by whoever got everything from the kernel's pages.
    var isUnread: Bool { !wasAsked.load(ordering: .relaxed) }

    /// Whether bytes of the settled version may be given for an inode; asks nobody again until something has changed.
    func isAdmitted(_ version: PictureVersion, to inode: UInt64, by pages: PageVersions) -> Bool {
        guard !isDirect else { return true }
        let era = pages.era
        if admittedIn.load(ordering: .relaxed) == era { return true }
        guard pages.admits(version, to: inode) else { return false }
        admittedIn.store(era, ordering: .relaxed)
        return true
    }

    /// Bytes of it were given out.
    func noteRead() {
        if isUnread { wasAsked.store(true, ordering: .relaxed) }
    }
}

/// What is open.
enum Handle: Sendable {
    case picture(PictureHandle)
    /// An animation whose frames are read from its archive.
    case animation(AnimationFile, Node)
    /// A small text, made when it was opened.
    case text([UInt8])
    case directory(DirectoryView)
}

/// Open files and directories by the number that the kernel sends back.
///
/// ## Concurrency
///
/// Any thread may call. Every read asks, so that a lock for each of several parts of the table keeps readers of different
/// files apart. Numbers are not used again, so a late request finds nothing rather than another file.
final class HandleTable: Sendable {
    private final class Part: Sendable {
        let handles = Mutex<[UInt64: Handle]>([:])
    }

    /// More than processors that read at once; a power of two.
    private static let partCount = 16

    private let parts = (0..<partCount).map { _ in Part() }
    private let last = Atomic<UInt64>(0)

    /// How many files and directories are open.
    var count: Int {
        parts.reduce(0) { $0 + $1.handles.withLock { $0.count } }
    }

    /// Keeps a handle and returns its number.
    func insert(_ handle: Handle) -> UInt64 {
        let number = last.add(1, ordering: .relaxed).newValue
        part(of: number).handles.withLock { $0[number] = handle }
        return number
    }

    /// The handle with a number.
    subscript(number: UInt64) -> Handle? {
        part(of: number).handles.withLock { $0[number] }
    }

    /// Drops a handle and returns it.
    func remove(_ number: UInt64) -> Handle? {
        part(of: number).handles.withLock { $0.removeValue(forKey: number) }
    }

    private func part(of number: UInt64) -> Part {
        parts[Int(number % UInt64(Self.partCount))]
    }
}
