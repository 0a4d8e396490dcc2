import Catalog
import Fuse
import ImageCache
import Synchronization

/// A picture that is open in the cache; the size that `stat` showed when it was opened (it may end before or after one that a download
/// only announced); and whether reading it moves it to the front of `recent/`.
typealias OpenedPicture = (picture: OpenPicture, node: Node, size: KnownSize, isNoted: Bool)

/// A picture that a program has open, and the way it was opened.
final class PictureHandle: Sendable {
    let opened: OpenedPicture
    /// Whether its reads bypass the kernel's pages, except for reads of a mapping.
    let isDirect: Bool
    private let wasAsked = Atomic(false)
    /// The era of ``PageVersions`` in which its settled version was admitted to the kernel's pages; 0 for none.
    private let admittedIn = Atomic<UInt64>(0)

    init(_ opened: OpenedPicture, isDirect: Bool) {
        self.opened = opened
        self.isDirect = isDirect
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
        if opened.size.isAnnounced { return wanted }
        return offset < opened.size.bytes ? Int(min(Int64(wanted), opened.size.bytes - offset)) : nil
    }

    /// Records that bytes of it were sent.
    func noteRead() {
        if isUnread { wasAsked.store(true, ordering: .relaxed) }
    }
}

/// An open file or directory.
enum Handle: Sendable {
    case picture(PictureHandle)
    /// An animation with frames that are read from its archive; one that is open with another layout bypasses the kernel's pages.
    case animation(AnimationFile, Node, isDirect: Bool)
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
    /// The state of the handle.
    ///
    /// Of a glance, `from` is the directory in which the glancing program saw this one, nil once reported; `ends` counts the reports to
    /// the reader that there are no more entries.
    private let state: Mutex<(content: Content, viewer: ThumbnailViewer, wasRead: Bool, from: String?, ends: Int)>

    init(_ directory: any TreeDirectory, _ content: Content, _ opening: CallerRecognition.Opening) {
        self.directory = directory
        self.opening = opening
        state = Mutex((content, .none, false, opening.role.isGlance ? opening.parent : nil, 0))
    }

    /// The origin of its entries; replaced when it is rewound.
    var content: Content {
        get { state.withLock { $0.content } }
        set { state.withLock { $0.content = newValue } }
    }

    /// Whether it has been read from.
    var wasRead: Bool { state.withLock { $0.wasRead } }

    /// The kind of its present reader.
    var viewer: ThumbnailViewer {
        get { state.withLock { $0.viewer } }
        set { state.withLock { $0.viewer = newValue } }
    }

    /// Records that a reader reached the end or closed the directory.
    ///
    /// Returns the directory in which the reader saw this one, if the glance is over now. GIO comes to the end twice: it reads up
    /// to a thousand names, then all their attributes, then the rest (glocalfileenumerator.c).
    func endGlance(isClosed: Bool) -> String? {
        state.withLock { state in
            state.ends += isClosed ? 2 : 1
            guard state.ends > 1 else { return nil }
            defer { state.from = nil }
            return state.from
        }
    }

    /// Records a read; true for the first one.
    func noteRead() -> Bool {
        state.withLock { state in
            defer { state.wasRead = true }
            return !state.wasRead
        }
    }
}
