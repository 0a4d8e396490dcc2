import Catalog
import Foundation
@testable import Fuse
import HTTP
import ImageCache
import Sourcing
import Rankings
import Render
import Synchronization
import TestSupport
import Testing

@testable import RankFS

/// A file system without a mount: a source and an image host inside the process, catalogue and cache in a directory of its own.
final class Workbench: Sendable {
    /// 2024-05-03 12:30 in Japan: 2024-05-02 is the newest published day.
    static let now: Int64 = 1_714_707_000
    static let newest = Day(ordinal: 19845)
    /// What the root lists for everybody, and what a session adds.
    static let root = [
        ".", "..", "ranking", "by-date", "users", "works", "search", "series", "related", "collections", "author-tags",
        "recent",
        "random.jpg",
    ]
    static let ofSession = [
        "bookmarks", "following", "feed", "feed-r18", "bookmarks-private", "bookmark-tags", "bookmark-months",
    ]
    /// A day in the past.
    static let day = Day(ordinal: 19844)
    /// Who asks: the owner, unless a test says otherwise.
    @TaskLocal static var caller = Caller(user: 1000, process: 1)

    let folder = TemporaryFolder()
    let source = FakeSource()
    let host = PictureHost()
    let catalog: Catalog
    let cache: ImageCache
    let fileSystem: RankFileSystem
    let renderer = TestPrograms.renderer()
    private let lines: Lines

    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
        let invalidated = Mutex<[UInt64]>([])
        let invalidatedNames = Mutex<[String]>([])
        let now = Mutex(Workbench.now)
    }

    /// What the clock says.
    var time: Int64 {
        get { lines.now.withLock { $0 } }
        set { lines.now.withLock { $0 = newValue } }
    }

    /// What was reported.
    var reported: [String] { lines.all.withLock { $0 } }

    /// Inodes that the kernel was told to forget.
    var invalidated: [UInt64] { lines.invalidated.withLock { $0 } }

    /// Names that the kernel was told to forget, after the inodes of their directories.
    var invalidatedNames: [String] { lines.invalidatedNames.withLock { $0 } }

    /// What a test wants other than usual.
    struct Wishes: Sendable {
        var preload = 0
        var view = ListingView(rendition: .regular)
        var notesRecent = true
        var listsWithheld = false
        var isOffline = false
        var budget: Int64 = 1 << 30
        var keepsOwners = false
        /// Makes thumbnails of what desktops look at; nil if there shall be none.
        var thumbnails: ThumbnailSeeder?
        /// What is known of the programs that call; nil for what the machine tells.
        var processes: Processes?
        /// By which it is remembered who came when; nil for the machine's.
        var monotonicNow: (@Sendable () -> ContinuousClock.Instant)?
        /// The clock of the catalog's deadlines and budgets.
        var time = TimeSource.system
    }

    init(_ wishes: Wishes = Wishes()) throws {
        let lines = Lines()
        self.lines = lines
        let now: @Sendable () -> Int64 = { lines.now.withLock { $0 } }
        var catalogConfiguration = CatalogConfiguration(
            directory: folder.path, days: 7, view: wishes.view, timeout: .seconds(10), now: now)
        catalogConfiguration.time = wishes.time
        catalog = try Catalog(catalogConfiguration, source: source, host: ImageHost(host), report: { _ in })
        cache = try ImageCache(
            CacheConfiguration(
                directory: folder.path + "/pictures", budget: wishes.budget, freeFloor: 0,
                preload: wishes.preload, timeout: .seconds(10), networkTimeout: .seconds(10), now: now),
            host: ImageHost(host), report: { _ in })
        var configuration = MountConfiguration(user: 1000, group: 100, now: now)
        configuration.status = { Array(($0 ? "{\"answer\": 42}\n" : "{}\n").utf8) }
        configuration.version = "1.2.3\n"
        configuration.report = { line in lines.all.withLock { $0.append(line) } }
        configuration.invalidate = { inode in lines.invalidated.withLock { $0.append(inode) } }
        configuration.invalidateName = { name, inode in
            lines.invalidatedNames.withLock { $0.append("\(inode) \(name)") }
        }
        configuration.invalidateAttributes = configuration.invalidate
        configuration.notesRecent = wishes.notesRecent
        configuration.listsWithheld = wishes.listsWithheld
        configuration.keepsOwners = wishes.keepsOwners
        configuration.isOffline = wishes.isOffline
        if let now = wishes.monotonicNow { configuration.monotonicNow = now }
        configuration.thumbnails = wishes.thumbnails
        configuration.sharedTier = SharedTier { (pictures) async throws(Failure) in
            pictures.count
        } forgetListing: { (_) async throws(Failure) in
            3
        }
        if let processes = wishes.processes { configuration.processes = processes }
        fileSystem = RankFileSystem(
            configuration, source: source, catalog: catalog, cache: cache, renderer: renderer)
    }

    /// One whose source has these entries of the day in the past.
    convenience init(day entries: [ListedWork], _ wishes: Wishes = Wishes()) throws {
        try self.init(wishes)
        source.setRanking(.daily, Self.day, entries)
    }

    /// Frees who still waits, and leaves nothing behind.
    deinit {
        source.letPagesCome()
        host.answerHeld()
        renderer.close()
        Task.detached { [cache, catalog, folder] in
            await cache.close()
            await catalog.close()
            withExtendedLifetime(folder) {}
        }
    }

    /// A ranking's entries: works numbered from `first`, rank 1 on; some withheld.
    static func entries(_ count: Int, from first: Int64 = 1001, withheld: Set<Int> = []) -> [ListedWork] {
        (1...count).map { rank in
            ListedWork(
                rank: rank, previousRank: rank == 1 ? nil : rank + 1,
                work: work(first + Int64(rank) - 1, withheld: withheld.contains(rank) ? "login_only" : nil))
        }
    }

    static func work(_ id: Int64, withheld: String? = nil, width: Int = 1200) -> Work {
        Work(
            id: WorkID(rawValue: id), title: "Title \(id)", author: UserID(rawValue: 11), authorName: "Author",
            tags: ["a", "b,c"], kind: .illustration, width: width, height: 900, pageCount: 1,
            uploaded: 1_714_489_200 + id, views: 10, ratings: 5, picture: "reference \(id)", withheld: withheld,
            series: id == 1002 ? 77 : nil)
    }

    /// Returns once these works' pictures are in their place, whoever downloads them.
    func waitUntilStored(_ works: Int64...) async {
        for id in works {
            let work = Self.work(id)
            await waitUntilStored(
                PictureID(work: work.id, page: 0, rendition: .regular, uploaded: work.uploaded))
        }
    }

    /// Returns once a picture is in its place, whoever downloads it.
    func waitUntilStored(_ picture: PictureID) async {
        while !Task.isCancelled, cache.storedSize(of: picture) == nil { await Task.yield() }
    }

    /// The name of the entry at a rank of `entries`.
    static func name(_ rank: Int, from first: Int64 = 1001) -> String {
        FileName.ranked(rank, title: "Title \(first + Int64(rank) - 1)", fileExtension: "jpg")
    }
}
