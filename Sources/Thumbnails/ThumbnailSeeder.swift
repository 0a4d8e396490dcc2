package import HTTP
import Rankings
import Synchronization

/// Seeds the thumbnails of directories that desktops look at, in their order and many side by side; and gives single ones to whoever
/// asks for them in a shared store.
///
/// Each picture costs one request for a small preview, and only if its thumbnails are missing. Those that a window shows first go
/// before what nobody waits for.
///
/// ## Concurrency
///
/// An actor; what it waits for runs in tasks of its own, so that who looked may leave.
package actor ThumbnailSeeder {
    /// Figures for status displays, since the start.
    package struct Figures: Hashable, Sendable {
        /// Thumbnail files written.
        package var files = 0
        /// Bytes of previews received for them.
        package var bytes: Int64 = 0
    }

    /// A directory whose thumbnails are made.
    private struct Work {
        let directory: String
        /// All pictures that were told of since it began, in order.
        var jobs: [ThumbnailJob] = []
        /// How many of them were begun.
        var begun = 0
        /// The addresses of the previews of those that are being made.
        var underWay: Set<String> = []
        var failures = 0
        /// Files written.
        var files = 0

        var isWaiting: Bool { begun < jobs.count }
    }

    /// Pictures that a large window shows at once: some file managers read those whose thumbnails are not there when it appears.
    package static let screenful = 100
    /// How long somebody may wait for thumbnails; file managers show an empty window meanwhile.
    package static let patience: Duration = .seconds(2)
    /// Previews asked for at once: the streams that servers allow on one connection (nginx).
    ///
    /// Which of them are sent is the transport's to say; more would only grow old in its line.
    static let atOnce = 128
    /// How many of those that a window shows may be late before the others begin.
    static let stragglers = 8
    /// How long a file manager may take to note that its thumbnailer failed.
    static let noteTime: Duration = .seconds(10)
    /// Failures in a directory that are taken for a network in trouble.
    static let mostFailures = 3

    private let maker: ThumbnailMaker
    private let time: TimeSource
    private let mayAsk: @Sendable () -> Bool
    private let report: @Sendable (String) -> Void
    private nonisolated let counted = Mutex(Figures())
    private nonisolated let turns = ThumbnailTurns()
    /// The directory that was looked at last is the last one, and goes first.
    private var works: [Work] = []
    private var underWay = 0
    /// Ends with the pause that the bound on bytes asks for.
    private var pause: Task<Void, Never>?
    /// Pictures that are made for the user's own store: the same one under other paths is another job.
    private var own: [ThumbnailJob: Task<ThumbnailMaker.Outcome, Never>] = [:]
    /// Pictures that are made for a shared store, likewise.
    private var shared: [String: Task<Void, Never>] = [:]
    /// Pictures of which file managers are told that their thumbnailers failed, and note it.
    private var refused: [ThumbnailJob] = []
    private var sweeper: Task<Void, Never>?
    private var pace: BytePace
    private var isClosed = false

    /// - Parameters:
    ///   - maker: Makes the thumbnails of one picture.
    ///   - time: For waiting and pacing.
    ///   - mayAsk: Whether previews may be downloaded now; must not wait.
    ///   - report: Told one line for each directory of which thumbnails were made.
    package init(
        maker: ThumbnailMaker, time: TimeSource = .system, mayAsk: @escaping @Sendable () -> Bool = { true },
        report: @escaping @Sendable (String) -> Void
    ) {
        self.maker = maker
        self.time = time
        self.mayAsk = mayAsk
        self.report = report
        pace = BytePace(now: time.now())
    }

    /// Whose looks count: thumbnails go to this user's home; nil if there is none.
    package nonisolated var user: UInt32? { maker.home?.user }

    /// What was done so far.
    package nonisolated var figures: Figures {
        counted.withLock { $0 }
    }

    /// Runs work in a task of its own and returns when it is done, when a time is over (the patience of a look, unless told),
    /// or when the caller is cancelled; the work goes on.
    package nonisolated func wait(
        atMost longest: Duration = patience, for work: @escaping @Sendable () async -> Void
    ) async {
        let time = time
        let patience = Task { _ = try? await time.sleep(longest) }
        Task {
            await work()
            patience.cancel()
        }
        await withTaskCancellationHandler {
            await patience.value
        } onCancel: {
            patience.cancel()
        }
    }

    /// Seeds pictures of a directory, behind those that it was seeded with before; returns when all of them were tried.
    package func seed(_ directory: String, _ jobs: [ThumbnailJob]) async {
        add(directory, jobs)
        for job in jobs { await turns.wait(for: job) }
    }

    /// Begins to seed pictures of a directory, behind those that it was seeded with before.
    package func add(_ directory: String, _ jobs: [ThumbnailJob]) {
        guard !isClosed, !jobs.isEmpty else { return turns.passed(jobs) }
        expect(jobs)
        var work = Work(directory: directory)
        if let index = works.firstIndex(where: { $0.directory == directory }) { work = works.remove(at: index) }
        // What was tried is looked at again: who expects it is to hear of it. What is on its way would only count twice.
        let coming = work.underWay.union(work.jobs[work.begun...].map(\.preview.url))
        work.jobs += jobs.filter { !coming.contains($0.preview.url) }
        works.append(work)
        pump()
    }

    /// Notes that pictures are about to be seeded.
    package nonisolated func expect(_ jobs: [ThumbnailJob]) { turns.expect(jobs) }

    /// Whether a picture is one of those whose thumbnails are still to be made; if so, its turn can be waited for.
    ///
    /// - Parameters:
    ///   - job: The picture.
    ///   - index: Its place in a directory, whose page may have come a moment before it was seeded.
    ///   - directory: What the seeder calls that.
    /// - Returns: False if it was tried, or nobody seeds it.
    package nonisolated func isExpected(_ job: ThumbnailJob, at index: Int, of directory: String) -> Bool {
        if turns.isComing(index, of: directory) { turns.expect([job]) }
        return turns.isExpected(job)
    }

    /// Seeds a directory with what is known of it, then with each further page as it comes.
    ///
    /// - Parameters:
    ///   - directory: What the seeder calls it.
    ///   - count: How many entries are known.
    ///   - first: Those of them that get thumbnails.
    ///   - more: Waits for entries behind so many: how many are known then, and which of the new ones get thumbnails; nil if none come.
    package nonisolated func follow(
        _ directory: String, _ count: Int, _ first: [ThumbnailJob],
        more: @escaping @Sendable (_ count: Int) async -> (count: Int, jobs: [ThumbnailJob])?
    ) {
        // Before anybody is told of the entries.
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

    /// Returns once a picture's thumbnails were tried, or a time is over; at once if nobody seeds them.
    package nonisolated func waitForTurn(of job: ThumbnailJob, atMost longest: Duration = patience) async {
        await wait(atMost: longest) { [turns] in await turns.wait(for: job) }
    }

    /// Makes the thumbnails of one picture in the user's own store at once, for a file manager's thumbnailer that would read
    /// the picture for them and will be refused it; false if they are not to be had.
    ///
    /// After the patience of a look they are on their way, and reading the picture would take longer. What the file manager notes of
    /// the failure is removed soon after: it would outlive the thumbnails.
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

    /// Returns once a directory's thumbnails are made, or the patience of a look is over; at once if none are being made.
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

    /// The file of a thumbnail for a shared store, made if need be; nil if there is none to be had within a look's patience.
    package nonisolated func file(of thumbnail: Thumbnail, _ job: ThumbnailJob) async -> [UInt8]? {
        if let file = await maker.sharedFile(thumbnail, of: job) { return file }
        await wait { await self.share(job) }
        return await maker.sharedFile(thumbnail, of: job)
    }

    /// Makes the thumbnails of one picture, once for all who ask meanwhile, at the pace of what nobody sees yet.
    private func share(_ job: ThumbnailJob) async {
        if let task = shared[job.preview.url] { return await task.value }
        guard !isClosed, mayAsk() else { return }
        let task = Task {
            if let wait = pace.wait(now: time.now()) { _ = try? await time.sleep(wait) }
            if case .made(let files, let bytes) = await maker.makeShared(job) { count(files, bytes) }
        }
        shared[job.preview.url] = task
        await task.value
        shared[job.preview.url] = nil
    }

    /// Ends the work; what is under way ends with the transport.
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

    /// Begins what may be under way now, in order; gives a directory up if the network is in trouble or not to be asked.
    private func pump() {
        while underWay < Self.atOnce, let place = works.lastIndex(where: \.isWaiting) {
            guard works[place].failures < Self.mostFailures, mayAsk() else {
                turns.passed(works[place].jobs[works[place].begun...])
                works[place].begun = works[place].jobs.count
                settle(works[place].directory)
                continue
            }
            let isShown = works[place].begun < Self.screenful
            // The sizes of a directory, which its window waits for as well, go in between.
            if works[place].begun == Self.screenful, works[place].underWay.count > Self.stragglers { return }
            if !isShown, pause != nil { return }
            if !isShown, let wait = pace.wait(now: time.now()) { return rest(wait) }
            let (directory, job) = (works[place].directory, works[place].jobs[works[place].begun])
            works[place].begun += 1
            works[place].underWay.insert(job.preview.url)
            underWay += 1
            Task { await self.seed(job, of: directory, isShown ? .shown : .preload) }
        }
    }

    private func seed(_ job: ThumbnailJob, of directory: String, _ priority: TransferPriority) async {
        let outcome = await make(job, priority)
        underWay -= 1
        if let place = works.firstIndex(where: { $0.directory == directory }) {
            works[place].underWay.remove(job.preview.url)
            switch outcome {
            case .made(let made, _): works[place].files += made
            case .failed: works[place].failures += 1
            case .present, .useless: break
            }
            settle(directory)
        }
        pump()
    }

    /// Forgets a directory of which everything was tried.
    private func settle(_ directory: String) {
        guard let place = works.firstIndex(where: { $0.directory == directory }), !works[place].isWaiting,
            works[place].underWay.isEmpty
        else { return }
        let files = works.remove(at: place).files
        if files > 0 { report("made \(files) thumbnails for \(directory)") }
    }

    private func rest(_ duration: Duration) {
        pause = Task {
            _ = try? await time.sleep(duration)
            pause = nil
            if !isClosed { pump() }
        }
    }

    /// Makes one, once for all who want it meanwhile.
    private func make(_ job: ThumbnailJob, _ priority: TransferPriority) async -> ThumbnailMaker.Outcome {
        // Its length may become known between two looks.
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
        pace.took(bytes, now: time.now())
        counted.withLock { figures in
            figures.files += files
            figures.bytes += Int64(bytes)
        }
    }
}

// MARK: - Turns

/// Which pictures' thumbnails are still to be tried, and who waits for them.
///
/// ## Concurrency
///
/// Any thread may call; waiters are resumed outside the lock.
final class ThumbnailTurns: Sendable {
    /// A directory that is told of page by page.
    private struct Pages {
        /// How many looks see to that.
        var looks = 0
        /// How many of its entries were told of.
        var count = 0
    }

    /// Who waits for each expected picture, by the address of its preview.
    private let waiters = Mutex<[String: [CheckedContinuation<Void, Never>]]>([:])
    private let pages = Mutex<[String: Pages]>([:])

    /// Pictures whose turn will come.
    func expect(_ jobs: some Sequence<ThumbnailJob>) {
        waiters.withLock { waiters in
            for job in jobs where waiters[job.preview.url] == nil { waiters[job.preview.url] = [] }
        }
    }

    /// They were tried, or will not be.
    func passed(_ jobs: some Sequence<ThumbnailJob>) {
        let resumed = waiters.withLock { waiters in
            jobs.flatMap { waiters.removeValue(forKey: $0.preview.url) ?? [] }
        }
        for waiter in resumed { waiter.resume() }
    }

    // MARK: - Pages that are still to come

    /// A look begins to tell of a directory's entries, of which so many are known.
    func begin(_ directory: String, _ count: Int) {
        pages.withLock { $0[directory, default: Pages()].looks += 1 }
        goOn(directory, count)
    }

    /// So many entries of a directory have been told of.
    func goOn(_ directory: String, _ count: Int) {
        pages.withLock { pages in pages[directory].map { pages[directory]?.count = max($0.count, count) } }
    }

    /// A look tells of no more.
    func end(_ directory: String) {
        pages.withLock { pages in
            pages[directory]?.looks -= 1
            if pages[directory]?.looks == 0 { pages[directory] = nil }
        }
    }

    /// Whether an entry of a directory is about to be told of.
    func isComing(_ index: Int, of directory: String) -> Bool {
        pages.withLock { $0[directory].map { $0.count <= index } ?? false }
    }

    /// None will be tried any more.
    func end() {
        let resumed = waiters.withLock { waiters in
            defer { waiters = [:] }
            return waiters.values.flatMap(\.self)
        }
        for waiter in resumed { waiter.resume() }
    }

    /// Whether a picture's turn is still to come.
    func isExpected(_ job: ThumbnailJob) -> Bool {
        waiters.withLock { $0[job.preview.url] != nil }
    }

    /// Returns when a picture's turn is over; at once if none is to come.
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

// MARK: - Pace

/// A bound on bytes: a burst, then a steady rate.
struct BytePace: Sendable {
    /// Bytes that may go at once: the previews of two whole days of 500 pictures.
    ///
    /// A preview has a tenth of the bytes of the picture that some file managers read without it.
    static let burst = 64.0 * 1_048_576
    /// Bytes a second afterwards: eighty previews, more than KDE's worker reads pictures.
    static let perSecond = 4.0 * 1_048_576

    /// Bytes that may go now; negative after too many.
    private var allowed = BytePace.burst
    private var last: ContinuousClock.Instant

    init(now: ContinuousClock.Instant) {
        last = now
    }

    /// So many bytes were received.
    mutating func took(_ bytes: Int, now: ContinuousClock.Instant) {
        refill(now)
        allowed -= Double(bytes)
    }

    /// How long the next request has to wait; nil if it need not.
    mutating func wait(now: ContinuousClock.Instant) -> Duration? {
        refill(now)
        return allowed >= 0 ? nil : .seconds(-allowed / Self.perSecond)
    }

    private mutating func refill(_ now: ContinuousClock.Instant) {
        let seconds = max(0, last.duration(to: now) / .seconds(1))
        allowed = min(Self.burst, allowed + seconds * Self.perSecond)
        last = now
    }
}
