import Catalog
import Fuse
import ImageCache
import Rankings
import Synchronization

/// An open picture, and what it was opened as.
final class PictureHandle: Sendable {
    let picture: OpenPicture
    let node: Node
    /// The size that `stat` showed when it was opened.
    let size: Int64
    /// Whether that was only announced by a download under way: then the picture may end before it or behind it.
    let isAnnounced: Bool
    /// Whether its reads go past the kernel's pages, but for those of a mapping.
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

    /// Whether bytes of the settled version may be given for a read; asks nobody again until something has changed.
    func isAdmitted(_ version: PictureVersion, for request: ReadRequest, by pages: PageVersions) -> Bool {
        guard !isDirect || request.isForPages else { return true }
        let inode = request.inode
        let era = pages.era
        if admittedIn.load(ordering: .relaxed) == era { return true }
        guard pages.admits(version, to: inode) else { return false }
        admittedIn.store(era, ordering: .relaxed)
        return true
    }

    /// How many bytes a read may be answered with; nil behind the end.
    ///
    /// Never beyond the size that stat showed: what the kernel believes and what it gets must agree. Of one that was only announced
    /// the picture itself knows the end: it may lie behind it, and then the kernel asks for the size again.
    func count(at offset: Int64, wanted: Int) -> Int? {
        guard offset >= 0, wanted > 0 else { return nil }
        if isAnnounced { return wanted }
        return offset < size ? Int(min(Int64(wanted), size - offset)) : nil
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

// MARK: - Directory view

/// An open directory: what it showed keeps its place until it is closed or read from its beginning again.
///
/// Offsets are places: 0 and 1 are `.` and `..`, entries follow, so seekdir(3) works.
///
/// ## Concurrency
///
/// Any thread may call; the listing only grows, what changes besides has locks of its own.
final class DirectoryView: Sendable {
    /// What a directory's entries come from.
    enum Content: Sendable {
        /// Names known when the directory was opened or rewound.
        case fixed([NamedNode])
        /// Files and directories that stand beside the pictures, and the pictures.
        case listing(extras: [NamedNode], Listing)
    }

    /// Places before the first entry: `.` and `..`.
    static let dots = 2

    let directory: any TreeDirectory
    /// Whether no person waits for its entries.
    let isNobodys: Bool
    /// Whether a file manager counts or previews them.
    let isGlance: Bool
    /// The program that opened it when nothing was known of it.
    let discoverer: Int32?
    /// The directory in which who glances at it saw it, nil once that is told; and how often it was told that there are no more entries.
    private let glance: Mutex<(from: String?, ends: Int)>
    private let shown: Mutex<Content>
    private let isRead = Mutex(false)
    private let lastViewer = Mutex(ThumbnailViewer.none)

    init(
        _ directory: any TreeDirectory, _ content: Content, isNobodys: Bool = false, glancedFrom: String? = nil,
        discoverer: Int32? = nil
    ) {
        self.directory = directory
        shown = Mutex(content)
        self.isNobodys = isNobodys
        isGlance = glancedFrom != nil
        glance = Mutex((glancedFrom, 0))
        self.discoverer = discoverer
    }

    /// For whom it is read.
    var reader: WalkRecognition.Reader { isGlance ? .glance : isNobodys ? .walker : .person }

    /// What its entries come from; another one from when it was rewound.
    var content: Content {
        get { shown.withLock { $0 } }
        set { shown.withLock { $0 = newValue } }
    }

    /// Whether it has been read from.
    var wasRead: Bool { isRead.withLock { $0 } }

    /// Who reads it now.
    var viewer: ThumbnailViewer {
        get { lastViewer.withLock { $0 } }
        set { lastViewer.withLock { $0 = newValue } }
    }

    /// Its reader is told that there are no more entries, or closes it: the directory in which it saw this one, if the glance is over
    /// now.
    ///
    /// GIO comes to the end twice: it reads up to a thousand names, then all their attributes, then on (glocalfileenumerator.c).
    func endGlance(isClosed: Bool) -> String? {
        glance.withLock { glance in
            glance.ends += isClosed ? 2 : 1
            guard glance.ends > 1 else { return nil }
            defer { glance.from = nil }
            return glance.from
        }
    }

    /// Notes a read; true for the first one.
    func noteRead() -> Bool {
        isRead.withLock { isRead in
            defer { isRead = true }
            return !isRead
        }
    }
}
