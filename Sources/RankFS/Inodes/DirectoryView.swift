import Catalog
import Rankings
import Synchronization

/// An open directory: what it showed keeps its place until it is closed.
///
/// Offsets are places: 0 and 1 are `.` and `..`, entries follow, so seekdir(3) works.
///
/// ## Concurrency
///
/// Any thread may call; the listing only grows, everything else but `wasRead` is immutable.
final class DirectoryView: Sendable {
    /// What a directory's entries come from.
    enum Content: Sendable {
        /// Names known when the directory was opened.
        case fixed([NamedNode])
        /// Files and directories that stand beside the pictures, and the pictures.
        case listing(extras: [NamedNode], Listing)
    }

    /// Places before the first entry: `.` and `..`.
    static let dots = 2

    let directory: any TreeDirectory
    let content: Content
    /// Whether no person waits for its entries.
    let isNobodys: Bool
    /// Whether a file manager counts or previews them.
    let isGlance: Bool
    /// Whether its reader may be told of entries only when their thumbnails are there.
    let isHeldUp: Bool
    /// The program that opened it when nothing was known of it.
    let discoverer: Int32?
    private let isRead = Mutex(false)
    private let lastViewer = Mutex(ThumbnailViewer.none)

    init(
        _ directory: any TreeDirectory, _ content: Content, isNobodys: Bool = false, isGlance: Bool = false,
        isHeldUp: Bool = false, discoverer: Int32? = nil
    ) {
        self.directory = directory
        self.content = content
        self.isNobodys = isNobodys
        self.isGlance = isGlance
        self.isHeldUp = isHeldUp
        self.discoverer = discoverer
    }

    /// For whom it is read.
    var reader: WalkRecognition.Reader { isGlance ? .glance : isNobodys ? .walker : .person }

    /// Whether it has been read from.
    var wasRead: Bool { isRead.withLock { $0 } }

    /// Who reads it now.
    var viewer: ThumbnailViewer {
        get { lastViewer.withLock { $0 } }
        set { lastViewer.withLock { $0 = newValue } }
    }

    /// Notes a read; true for the first one.
    func noteRead() -> Bool {
        isRead.withLock { isRead in
            defer { isRead = true }
            return !isRead
        }
    }
}
