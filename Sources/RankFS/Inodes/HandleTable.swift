import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// An open picture, and the way it was opened.
final class PictureHandle: Sendable {
    let picture: OpenPicture
    let node: Node
    /// The size that `stat` showed when it was opened, in bytes.
    let size: Int64
    /// Whether a download in progress only announced that size: the picture may then end before or after it.
    let isAnnounced: Bool
    /// Whether its reads bypass the kernel's pages, except for reads of a mapping.
    let isDirect: Bool
    /// Whether reading it moves it to the front of `recent/`.
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

    /// Whether no read has arrived: the reader got all bytes from the kernel's pages.
    var isUnread: Bool { !wasAsked.load(ordering: .relaxed) }

    /// Whether bytes of the settled version may answer a read; consults `pages` again only after a change.
    func isAdmitted(_ version: PictureVersion, for request: ReadRequest, by pages: PageVersions) -> Bool {
        guard !isDirect || request.isForPages else { return true }
        let inode = request.inode
        let era = pages.era
        if admittedIn.load(ordering: .relaxed) == era { return true }
        guard pages.admits(version, to: inode) else { return false }
        admittedIn.store(era, ordering: .relaxed)
        return true
    }

    /// The number of bytes that may answer a read; nil after the end.
    ///
    /// Never beyond the size that `stat` showed: the size known to the kernel and the bytes sent must agree. If the size was only
    /// announced, the picture itself knows its end: it may lie after the size, and the kernel then queries the size again.
    func count(at offset: Int64, wanted: Int) -> Int? {
        guard offset >= 0, wanted > 0 else { return nil }
        if isAnnounced { return wanted }
        return offset < size ? Int(min(Int64(wanted), size - offset)) : nil
    }

    /// Records that bytes of it were sent.
    func noteRead() {
        if isUnread { wasAsked.store(true, ordering: .relaxed) }
    }
}

/// An open file or directory.
enum Handle: Sendable {
    case picture(PictureHandle)
    /// An animation with frames that are read from its archive.
    case animation(AnimationFile, Node)
    /// A small text, made when it was opened.
    case text([UInt8])
    case directory(DirectoryView)
}

/// Open files and directories, by the number that the kernel sends with each request.
///
/// ## Concurrency
///
/// Any thread may call. Every read accesses the table, so it has several parts with a lock each, which keeps readers of different
/// files apart. Numbers are not used again, so a late request finds nothing rather than another file.
final class HandleTable: Sendable {
    private final class Part: Sendable {
        let handles = Mutex<[UInt64: Handle]>([:])
    }

    /// The number of parts, above the number of processors that read at once; a power of two.
    private static let partCount = 16

    private let parts = (0..<partCount).map { _ in Part() }
    private let last = Atomic<UInt64>(0)

    /// The number of open files and directories.
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

// MARK: - Directory view

/// An open directory: shown entries keep their places until it is closed or read from its beginning again.
///
/// Offsets are places: 0 and 1 are `.` and `..`, entries follow, so seekdir(3) works.
///
/// ## Concurrency
///
/// Any thread may call; the listing only grows, and all other mutable state has locks of its own.
final class DirectoryView: Sendable {
    /// The origin of a directory's entries.
    enum Content: Sendable {
        /// Names known when the directory was opened or rewound.
        case fixed([NamedNode])
        /// Files and directories beside the pictures, and the pictures.
        case listing(extras: [NamedNode], Listing)
    }

    /// The number of places before the first entry: `.` and `..`.
    static let dots = 2

    let directory: any TreeDirectory
    /// The role and the program of the open.
    let opening: CallerRecognition.Opening
    /// The state of a glance.
    ///
    /// `from` is the directory in which the glancing program saw this one, nil once reported; `ends` counts the reports to the
    /// reader that there are no more entries.
    private let glance: Mutex<(from: String?, ends: Int)>
    private let shown: Mutex<Content>
    private let isRead = Mutex(false)
    private let lastViewer = Mutex(ThumbnailViewer.none)

    init(_ directory: any TreeDirectory, _ content: Content, _ opening: CallerRecognition.Opening) {
        self.directory = directory
        self.opening = opening
        shown = Mutex(content)
        glance = Mutex((opening.role.isGlance ? opening.parent : nil, 0))
    }

    /// The origin of its entries; replaced when it is rewound.
    var content: Content {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue } }
    }

    /// Whether it has been read from.
    var wasRead: Bool { isRead.withLock { $0 } }

    /// The kind of its present reader.
    var viewer: ThumbnailViewer {
        get { lastViewer.withLock { $0 } }
        set { lastViewer.withLock { $0 = newValue } }
    }

    /// Records that a reader reached the end or closed the directory.
    ///
    /// Returns the directory in which the reader saw this one, if the glance is over now. GIO comes to the end twice: it reads up
    /// to a thousand names, then all their attributes, then the rest (glocalfileenumerator.c).
    func endGlance(isClosed: Bool) -> String? {
        glance.withLock { glance in
            glance.ends += isClosed ? 2 : 1
            guard glance.ends > 1 else { return nil }
            defer { glance.from = nil }
            return glance.from
        }
    }

    /// Records a read; true for the first one.
    func noteRead() -> Bool {
        isRead.withLock { isRead in
            defer { isRead = true }
            return !isRead
        }
    }
}
