package import HTTP
import Rankings
import Synchronization

/// Seeds the thumbnails of directories that desktops look at, the first screenful at once, the rest bit by bit; and gives
/// single ones to whoever asks for them in a shared store.
///
/// Each picture costs one request for a small preview, at a preload's priority, and only if its thumbnails are missing.
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

    /// Pictures that a large window shows at once: what the look may wait for.
    static let screenful = 100
    /// How long a look may wait for it; file managers show an empty window meanwhile.
    package static let patience: Duration = .seconds(2)
    /// Pictures behind the first screenful that are worked off before another directory's turn may come.
    static let atATurn = 24
    /// How long a file manager may take to note that its thumbnailer failed.
    static let noteTime: Duration = .seconds(10)
    /// Failures in a directory that are taken for a network in trouble.
    static let mostFailures = 3

    /// Previews asked for at once: as many as may ever be under way; which of them are, is not decided here.
    let atOnce: Int
    private let maker: ThumbnailMaker
    private let time: TimeSource
    private let mayAsk: @Sendable () -> Bool
    private let report: @Sendable (String) -> Void
    private nonisolated let counted = Mutex(Figures())
    private nonisolated let turns = ThumbnailTurns()
    private var screens: [String: Task<Bool, Never>] = [:]
    /// Pictures that are made for the user's own store: the same one under other paths is another job.
    private var own: [ThumbnailJob: Task<ThumbnailMaker.Outcome, Never>] = [:]
    /// Pictures that are made for a shared store, likewise.
    private var shared: [String: Task<Void, Never>] = [:]
    /// Directories with pictures behind the first screenful; the last one that was looked at goes first.
    private var rests: [(directory: String, jobs: ArraySlice<ThumbnailJob>)] = []
    private var restWorker: Task<Void, Never>?
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
        atOnce = maker.slots.ahead
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

    /// Seeds a directory; returns once its first screenful is there.
    package func seed(_ directory: String, _ jobs: [ThumbnailJob]) async {
        guard !isClosed, !jobs.isEmpty else { return }
        if let screen = screens[directory] {
            // Another look, which may know of fewer pictures: desktops look more than once, and listings grow.
            if await screen.value { postpone(directory, jobs.dropFirst(Self.screenful)) } else { turns.passed(jobs) }
            return
        }
        turns.expect(jobs)
        let screen = Task { await run(jobs.prefix(Self.screenful), of: directory) }
        screens[directory] = screen
        let isFine = await screen.value
        screens[directory] = nil
        if isFine { postpone(directory, jobs.dropFirst(Self.screenful)) } else { turns.passed(jobs) }
    }

    /// All of a directory is about to be seeded, bit by bit, until ``end(_:isGivenUp:)``.
    package nonisolated func begin(_ directory: String) { turns.begin(directory) }

    /// Which entries of a directory that is being seeded nobody has taken for ``expect(_:of:)`` yet.
    ///
    /// - Parameters:
    ///   - directory: Which.
    ///   - count: How many entries of it are known.
    /// - Returns: Their places; nil if there are none, or if it is not being seeded.
    package nonisolated func newPlaces(of directory: String, upTo count: Int) -> Range<Int>? {
        turns.newPlaces(of: directory, upTo: count)
    }

    /// Notes that pictures of a directory that is being seeded will have their turn.
    package nonisolated func expect(_ jobs: [ThumbnailJob], of directory: String) {
        turns.expect(jobs, of: directory)
    }

    /// All that is known of a directory was seeded or is about to be.
    ///
    /// - Parameters:
    ///   - directory: Which.
    ///   - isGivenUp: Whether the rest of it could not be had, so that nobody is to wait for what was expected.
    package nonisolated func end(_ directory: String, isGivenUp: Bool = false) {
        turns.end(directory, isGivenUp: isGivenUp)
    }

    /// Whether a picture is one of those whose thumbnails are still to be made.
    package nonisolated func isExpected(_ job: ThumbnailJob) -> Bool { turns.isExpected(job) }

    /// Returns once a picture's thumbnails were tried, or the patience of a look is over; at once if nobody seeds them.
    package nonisolated func waitForTurn(of job: ThumbnailJob) async {
        await wait { [turns] in await turns.wait(for: job) }
    }

    /// Makes the thumbnails of one picture in the user's own store at once, for a file manager's thumbnailer that would read
    /// the picture for them and will be refused it; false if they are not to be had.
    ///
    /// What the file manager notes of the failure is removed soon after: it would outlive the thumbnails.
    package func seedInPlaceOfThumbnailer(_ job: ThumbnailJob) async -> Bool {
        guard !isClosed, mayAsk() else { return false }
        switch await make(job) {
        case .present: break
        case .made(let files, _) where files > 0: break
        case .made, .useless, .failed: return false
        }
        refused.append(job)
        if sweeper == nil { sweeper = Task { await sweep() } }
        return true
    }

    /// Returns once a directory's thumbnails are made, or the patience of a look is over; at once if none are being made.
    package nonisolated func waitForThumbnails(of directory: String) async {
        guard await isSeeding(directory) else { return }
        await wait { await self.finish() }
    }

    private func isSeeding(_ directory: String) -> Bool {
        screens[directory] != nil || rests.contains { $0.directory == directory }
    }

    private func finish() async {
        for screen in screens.values { _ = await screen.value }
        await restWorker?.value
    }

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
        rests = []
        sweeper?.cancel()
        await maker.removeFailures(of: refused)
        refused = []
        restWorker?.cancel()
        for screen in screens.values { screen.cancel() }
        for task in own.values { task.cancel() }
        for task in shared.values { task.cancel() }
        turns.end()
    }

    // MARK: - The rest

    private func postpone(_ directory: String, _ jobs: ArraySlice<ThumbnailJob>) {
        guard !jobs.isEmpty, !isClosed else { return }
        let former = rests.first { $0.directory == directory }?.jobs ?? []
        let known = Set(former.map(\.preview.url))
        rests.removeAll { $0.directory == directory }
        rests.append((directory, former + jobs.filter { !known.contains($0.preview.url) }))
        turns.expect(jobs)
        if restWorker == nil { restWorker = Task { await workOff() } }
    }

    private func workOff() async {
        while let (directory, jobs) = rests.last, !isClosed {
            let isFine = await run(jobs.prefix(Self.atATurn), of: directory)
            // The directory may have been looked at again meanwhile, and others with it.
            if let index = rests.firstIndex(where: { $0.directory == directory && $0.jobs.first == jobs.first }) {
                rests[index].jobs = rests[index].jobs.dropFirst(Self.atATurn)
                if !isFine { turns.passed(rests[index].jobs) }
                if !isFine || rests[index].jobs.isEmpty { rests.remove(at: index) }
            }
            if let wait = pace.wait(now: time.now()) { _ = try? await time.sleep(wait) }
        }
        restWorker = nil
    }

    // MARK: - Some pictures

    /// Makes the thumbnails of some pictures, in order, some at once; false if the network is in trouble or not to be asked.
    private func run(_ jobs: ArraySlice<ThumbnailJob>, of directory: String) async -> Bool {
        defer { turns.passed(jobs) }
        guard mayAsk() else { return false }
        var failures = 0
        var files = 0
        var waiting = jobs
        await withTaskGroup(of: ThumbnailMaker.Outcome.self) { group in
            for job in jobs.prefix(atOnce) { group.addTask { await self.make(job) } }
            waiting = waiting.dropFirst(atOnce)
            for await outcome in group {
                switch outcome {
                case .made(let made, _): files += made
                case .failed: failures += 1
                case .present, .useless: break
                }
                guard failures < Self.mostFailures, !isClosed, mayAsk(), let job = waiting.popFirst() else { continue }
                group.addTask { await self.make(job) }
            }
        }
        if files > 0 { report("made \(files) thumbnails for \(directory)") }
        return failures < Self.mostFailures
    }

    /// Makes one, once for all who want it meanwhile.
    private func make(_ job: ThumbnailJob) async -> ThumbnailMaker.Outcome {
        if let task = own[job] { return await task.value }
        let task = Task { await maker.make(job) }
        own[job] = task
        let outcome = await task.value
        own[job] = nil
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
