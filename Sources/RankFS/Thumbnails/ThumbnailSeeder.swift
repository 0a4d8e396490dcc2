import Catalog
package import HTTP
import Rankings
import Synchronization

/// Makes the thumbnails of directories that desktops open, by name and many at once; and single ones for shared stores.
///
/// Each picture costs one request for a small preview, and only if its thumbnails are missing. The pictures that a window shows
/// first precede background requests; on a listing page that comes later there may be some of those.
///
/// ## Concurrency
///
/// An actor; its waits run in tasks of their own, so that a caller may stop waiting.
package actor ThumbnailSeeder {
    /// The thumbnail files written since the start, and the bytes of previews received for them: figures for status displays.
    package typealias Figures = (files: Int, bytes: Int64)

    /// A directory that is being seeded.
    private struct Work {
        let directory: String
        /// All pictures added since the seeding began: those that were begun, then the others by name.
        private(set) var jobs: [ThumbnailJob] = []
        /// The number of pictures that were begun.
        var begun = 0
        /// The thumbnails in progress, by the addresses of their previews.
        var underWay: [String: ThumbnailJob] = [:]
        var failures = 0
        /// The thumbnail files written.
        var files = 0
        /// The last picture, by name, of those that a window shows first.
        private var lastShown: NamePlace?

        init(_ directory: String) { self.directory = directory }

        var isWaiting: Bool { begun < jobs.count }

        /// Adds pictures.
        ///
        /// Pictures that were tried are examined again, since a waiter expects their turn; pictures in progress would only count
        /// twice.
        mutating func add(_ more: [ThumbnailJob]) {
            let coming = Set(underWay.keys).union(jobs[begun...].map(\.preview.url))
            jobs += more.filter { !coming.contains($0.preview.url) }
            jobs[begun...].sort { $0.namePlace < $1.namePlace }
            lastShown = Set(jobs.map(\.namePlace)).sorted().prefix(ThumbnailSeeder.screenful).last
        }

        /// Whether a picture is one that a window shows first.
        func isShown(_ job: ThumbnailJob) -> Bool { lastShown.map { job.namePlace <= $0 } ?? false }

        /// The number of thumbnails in progress that a window shows first.
        var shownUnderWay: Int { underWay.values.count(where: isShown) }
    }

    /// The pictures that a large window shows at once: some file managers read those without thumbnails when it appears.
    package static let screenful = 100
    /// The time limit of a wait for thumbnails; file managers show an empty window meanwhile.
    package static let patience: Duration = .seconds(2)
    /// The most previews requested at once: the streams that servers allow on one connection (nginx).
    ///
    /// The transport decides which of them are sent; more would only grow old in its request queue.
    static let atOnce = 128
    /// The number of a window's previews that may still be missing when the others begin.
    static let stragglers = 8
    /// The time in which a file manager notes that its thumbnailer failed.
    static let noteTime: Duration = .seconds(10)
    /// The number of failures in a directory that counts as network trouble.
    static let mostFailures = 3
    /// The bytes of previews that may arrive at once: those of two whole days of 500 pictures.
    ///
    /// A preview has a tenth of the bytes of the picture that some file managers read without it.
    static let burst = 64.0 * 1_048_576
    /// The bytes a second after that: eighty previews, more than KDE's worker reads pictures.
    static let bytesPerSecond = 4.0 * 1_048_576

    private let maker: ThumbnailMaker
    private let time: TimeSource
    private let mayAsk: @Sendable () -> Bool
    private let report: @Sendable (String) -> Void
    private nonisolated let counted = Mutex<Figures>((0, 0))
    private nonisolated let turns = ThumbnailTurns()
    /// The directories in progress; the one opened last is at the end, and goes first.
    private var works: [Work] = []
    private var underWay = 0
    /// Ends with the pause that the bound on bytes requires.
    private var pause: Task<Void, Never>?
    /// Pictures in progress for the user's own store: the same picture under other paths is another job.
    private var own: [ThumbnailJob: Task<ThumbnailMaker.Outcome, Never>] = [:]
    /// Pictures in progress for a shared store, by the address of the preview.
    private var shared: [String: Task<Void, Never>] = [:]
    /// Pictures that are refused to thumbnailers, so that file managers note a failure.
    private var refused: [ThumbnailJob] = []
    private var sweeper: Task<Void, Never>?
    private var pace = SteadyPace(burst: ThumbnailSeeder.burst, perSecond: ThumbnailSeeder.bytesPerSecond)
    private var isClosed = false

    /// - Parameters:
    ///   - maker: Makes the thumbnails of one picture.
    ///   - time: The clock of waits and pacing.
    ///   - mayAsk: Returns whether previews may be downloaded now; must not wait.
    ///   - report: Receives one line for each directory with new thumbnails.
    package init(
        maker: ThumbnailMaker, time: TimeSource = .system, mayAsk: @escaping @Sendable () -> Bool = { true },
        report: @escaping @Sendable (String) -> Void
    ) {
        self.maker = maker
        self.time = time
        self.mayAsk = mayAsk
        self.report = report
    }

    /// The user with the store in the home: only requests of this user count; nil if there is no store.
    package nonisolated var user: UInt32? { maker.home?.user }

    /// The figures since the start.
    package nonisolated var figures: Figures {
        counted.withLock { $0 }
    }

    /// Runs work in a task of its own and returns when it is done, when the time limit ends, or when the caller is cancelled.
    ///
    /// The work continues in the last two cases. The time limit is `patience` unless given.
    package nonisolated func wait(
        atMost longest: Duration = patience, for work: @escaping @Sendable () async -> Void
    ) async {
        _ = await Task { await work() }.value(until: time.now() + longest, time)
    }

    /// Seeds pictures of a directory; returns when all of them were tried.
    package func seed(_ directory: String, _ jobs: [ThumbnailJob]) async {
        add(directory, jobs)
        for job in jobs { await turns.wait(for: job) }
    }

    /// Begins to seed pictures of a directory, by name among those that it waits to seed.
    package func add(_ directory: String, _ jobs: [ThumbnailJob]) {
        guard !isClosed, !jobs.isEmpty else { return turns.passed(jobs) }
        expect(jobs)
        var work = Work(directory)
        if let index = works.firstIndex(where: { $0.directory == directory }) { work = works.remove(at: index) }
        work.add(jobs)
        works.append(work)
        pump()
    }

    /// Notes that pictures will be seeded soon.
    package nonisolated func expect(_ jobs: [ThumbnailJob]) { turns.expect(jobs) }

    /// Returns whether a picture's thumbnails are still to be made; if so, the caller can wait for its turn.
    ///
    /// - Parameters:
    ///   - job: The picture.
    ///   - index: The picture's place in a directory; its listing page may have come a moment before it was seeded.
    ///   - directory: The seeder's name of the directory.
    /// - Returns: False if the picture was tried, or if it is not seeded.
    package nonisolated func isExpected(_ job: ThumbnailJob, at index: Int, of directory: String) -> Bool {
        if turns.isComing(index, of: directory) { turns.expect([job]) }
        return turns.isExpected(job)
    }

    /// Seeds a directory with its known entries, then with each further listing page as it comes.
    ///
    /// - Parameters:
    ///   - directory: The seeder's name of the directory.
    ///   - count: The number of known entries.
    ///   - first: The known entries that get thumbnails.
    ///   - more: Waits for entries after the first `count`; returns the new number of entries and the new jobs, or nil at the
    ///     end.
    package nonisolated func follow(
        _ directory: String, _ count: Int, _ first: [ThumbnailJob],
        more: @escaping @Sendable (_ count: Int) async -> (count: Int, jobs: [ThumbnailJob])?
    ) {
        // Must precede the report of the entries to any reader.
        expect(first)
        turns.begin(directory, count)
        Task {
            await add(directory, first)
            var count = count
            while let page = await more(count) {
                expect(page.jobs)
                count = page.count
                turns.goOn(directory, count)
                await add(directory, page.jobs)
            }
            turns.end(directory)
        }
    }

    /// Returns once a picture's thumbnails were tried or the time limit ends; at once if the picture is not seeded.
    package nonisolated func waitForTurn(of job: ThumbnailJob, atMost longest: Duration = patience) async {
        await wait(atMost: longest) { [turns] in await turns.wait(for: job) }
    }

    /// Makes a picture's thumbnails at once in place of a file manager's thumbnailer; false if they cannot be made.
    ///
    /// They go to the user's own store. The thumbnailer would read the whole picture, and is refused it. When the time limit ends,
    /// the thumbnails are on their way, and reading the picture would take longer. The file manager's note of the failure is
    /// removed soon after: it would outlive the thumbnails.
    package func seedInPlaceOfThumbnailer(_ job: ThumbnailJob) async -> Bool {
        guard !isClosed, mayAsk() else { return false }
        let outcome = Mutex<ThumbnailMaker.Outcome?>(nil)
        await wait {
            let made = await self.make(job, .shown)
            outcome.withLock { $0 = made }
        }
        switch outcome.withLock({ $0 }) {
        case .present, nil: break
        case .made(let files, _) where files > 0: break
        case .made, .useless, .failed: return false
        }
        refused.append(job)
        if sweeper == nil { sweeper = Task { await sweep() } }
        return true
    }

    /// Returns once a directory's thumbnails are made or the time limit ends; at once if none are being made.
    package nonisolated func waitForThumbnails(of directory: String) async {
        guard let jobs = await seeded(directory) else { return }
        await wait { [turns] in for job in jobs { await turns.wait(for: job) } }
    }

    private func seeded(_ directory: String) -> [ThumbnailJob]? { works.first { $0.directory == directory }?.jobs }

    private func sweep() async {
        while !refused.isEmpty, !isClosed {
            let count = refused.count
            guard (try? await time.sleep(Self.noteTime)) != nil else { break }
            await maker.removeFailures(of: Array(refused.prefix(count)))
            refused.removeFirst(min(count, refused.count))
        }
        sweeper = nil
    }

    /// Returns the file of a thumbnail for a shared store, made if necessary; nil if there is none within the time limit.
    package nonisolated func file(of thumbnail: Thumbnail, _ job: ThumbnailJob) async -> [UInt8]? {
        if let file = await maker.sharedFile(thumbnail, of: job) { return file }
        await wait { await self.share(job) }
        return await maker.sharedFile(thumbnail, of: job)
    }

    /// Makes the thumbnails of one picture, once for all simultaneous callers, at the pace of background requests.
    private func share(_ job: ThumbnailJob) async {
        if let task = shared[job.preview.url] { return await task.value }
        guard !isClosed, mayAsk() else { return }
        let task = Task {
            let wait = pace.wait(now: time.now())
            if wait > .zero { _ = try? await time.sleep(wait) }
            if case .made(let files, let bytes) = await maker.makeShared(job) { count(files, bytes) }
        }
        shared[job.preview.url] = task
        await task.value
        shared[job.preview.url] = nil
    }

    /// Ends the work; requests in progress end with the transport.
    package func close() async {
        isClosed = true
        works = []
        sweeper?.cancel()
        await maker.removeFailures(of: refused)
        refused = []
        pause?.cancel()
        for task in own.values { task.cancel() }
        for task in shared.values { task.cancel() }
        turns.end()
    }

    // MARK: - Some pictures

    /// Begins as many pictures as allowed, in order; gives a directory up if the network is in trouble or must not be used.
    private func pump() {
        while underWay < Self.atOnce, let place = works.lastIndex(where: \.isWaiting) {
            guard works[place].failures < Self.mostFailures, mayAsk() else {
                turns.passed(works[place].jobs[works[place].begun...])
                works[place].begun = works[place].jobs.count
                settle(works[place].directory)
                continue
            }
            let (directory, job) = (works[place].directory, works[place].jobs[works[place].begun])
            let isShown = works[place].isShown(job)
            // The requests for the sizes of a directory, which its window waits for as well, go in between.
            if !isShown, pause != nil || works[place].shownUnderWay > Self.stragglers { return }
            let wait = isShown ? .zero : pace.wait(now: time.now())
            if wait > .zero {
                pause = Task {
                    _ = try? await time.sleep(wait)
                    pause = nil
                    if !isClosed { pump() }
                }
                return
            }
            works[place].begun += 1
            works[place].underWay[job.preview.url] = job
            underWay += 1
            Task { await self.seed(job, of: directory, isShown ? .shown : .preload) }
        }
    }

    private func seed(_ job: ThumbnailJob, of directory: String, _ priority: TransferPriority) async {
        let outcome = await make(job, priority)
        underWay -= 1
        if let place = works.firstIndex(where: { $0.directory == directory }) {
            works[place].underWay[job.preview.url] = nil
            switch outcome {
            case .made(let made, _): works[place].files += made
            case .failed: works[place].failures += 1
            case .present, .useless: break
            }
            settle(directory)
        }
        pump()
    }

    /// Removes a directory when everything in it was tried.
    private func settle(_ directory: String) {
        guard let place = works.firstIndex(where: { $0.directory == directory }), !works[place].isWaiting,
            works[place].underWay.isEmpty
        else { return }
        let files = works.remove(at: place).files
        if files > 0 { report("made \(files) thumbnails for \(TreePath(directory).disclosed)") }
    }

    /// Makes the thumbnails of one picture, once for all simultaneous callers.
    private func make(_ job: ThumbnailJob, _ priority: TransferPriority) async -> ThumbnailMaker.Outcome {
        // The length may become known between two calls.
        var key = job
        key.length = nil
        if let task = own[key] {
            defer { turns.passed([job]) }
            return await task.value
        }
        let task = Task { await maker.make(job, priority: priority) }
        own[key] = task
        let outcome = await task.value
        own[key] = nil
        turns.passed([job])
        if case .made(let files, let bytes) = outcome { count(files, bytes) }
        return outcome
    }

    private func count(_ files: Int, _ bytes: Int) {
        pace.take(Double(bytes), now: time.now())
        counted.withLock { figures in
            figures.files += files
            figures.bytes += Int64(bytes)
        }
    }
}

// MARK: - Turns

/// The pictures with thumbnails still to be tried, and their waiters.
///
/// ## Concurrency
///
/// Any thread may call; waiters are resumed outside the lock.
final class ThumbnailTurns: Sendable {
    /// The waiters for each expected picture, by the address of its preview.
    private let waiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])
    /// The directories that are reported listing page by listing page: the readers that follow the listing, and the entries reported.
    private let pages = Mutex<[String: (readers: Int, count: Int)]>([:])

    /// Adds pictures to be tried.
    func expect(_ jobs: some Sequence<ThumbnailJob>) {
        waiters.withLock { waiters in
            for job in jobs where waiters[job.preview.url] == nil { waiters[job.preview.url] = [] }
        }
    }

    /// Removes pictures that were tried, or will not be, and resumes their waiters.
    func passed(_ jobs: some Sequence<ThumbnailJob>) {
        let resumed = waiters.withLock { waiters in
            jobs.flatMap { waiters.removeValue(forKey: $0.preview.url) ?? [] }
        }
        for waiter in resumed { waiter.resume() }
    }

    // MARK: - Pages that are still to come

    /// Begins the reports of a directory's entries for one reader, with the number of known entries.
    func begin(_ directory: String, _ count: Int) {
        pages.withLock { $0[directory, default: (0, 0)].readers += 1 }
        goOn(directory, count)
    }

    /// Sets the number of reported entries of a directory.
    func goOn(_ directory: String, _ count: Int) {
        pages.withLock { pages in pages[directory].map { pages[directory]?.count = max($0.count, count) } }
    }

    /// Ends the reports for one reader.
    func end(_ directory: String) {
        pages.withLock { pages in
            pages[directory]?.readers -= 1
            if pages[directory]?.readers == 0 { pages[directory] = nil }
        }
    }

    /// Returns whether an entry of a directory has still to be reported.
    func isComing(_ index: Int, of directory: String) -> Bool {
        pages.withLock { $0[directory].map { $0.count <= index } ?? false }
    }

    /// Removes all pictures, and resumes all waiters.
    func end() {
        let resumed = waiters.withLock { waiters in
            defer { waiters = [:] }
            return waiters.values.flatMap(\.self)
        }
        for waiter in resumed { waiter.resume() }
    }

    /// Returns whether a picture is still to be tried.
    func isExpected(_ job: ThumbnailJob) -> Bool {
        waiters.withLock { $0[job.preview.url] != nil }
    }

    /// Returns when a picture was tried; at once if it is not expected.
    func wait(for job: ThumbnailJob) async {
        await withCheckedContinuation { continuation in
            let isOver = waiters.withLock { waiters in
                guard waiters[job.preview.url] != nil else { return true }
                waiters[job.preview.url]?.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}
