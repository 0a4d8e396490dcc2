package import HTTP
import Synchronization

/// Seeds the thumbnails of directories that desktops look at: the first screenful at once, the rest bit by bit.
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

    /// Pictures that a window shows at once: what the look may wait for.
    static let screenful = 60
    /// How long a look may wait for it; file managers show an empty window meanwhile.
    static let patience: Duration = .seconds(2)
    /// Previews asked for at once for a screenful: the image host's eight connections less those of a reader.
    static let atOnce = 6
    /// Previews asked for at once for what nobody sees yet.
    static let restAtOnce = 3
    /// Failures in a directory that are taken for a network in trouble.
    static let mostFailures = 3

    /// Whose looks count: thumbnails go to this user's home.
    package nonisolated let user: UInt32

    private let maker: ThumbnailMaker
    private let time: TimeSource
    private let report: @Sendable (String) -> Void
    private nonisolated let counted = Mutex(Figures())
    private var screens: [String: Task<Bool, Never>] = [:]
    /// Directories with pictures behind the first screenful; the last one that was looked at goes first.
    private var rests: [(directory: String, jobs: ArraySlice<ThumbnailJob>)] = []
    private var restWorker: Task<Void, Never>?
    private var pace: BytePace
    private var isClosed = false

    /// - Parameters:
    ///   - maker: Makes the thumbnails of one picture.
    ///   - user: The user whose thumbnails they are.
    ///   - time: For waiting and pacing.
    ///   - report: Told one line for each directory of which thumbnails were made.
    package init(
        maker: ThumbnailMaker, user: UInt32, time: TimeSource = .system,
        report: @escaping @Sendable (String) -> Void
    ) {
        self.maker = maker
        self.user = user
        self.time = time
        self.report = report
        pace = BytePace(now: time.now())
    }

    /// What was done so far.
    package nonisolated var figures: Figures {
        counted.withLock { $0 }
    }

    /// Runs work in a task of its own and returns when it is done, when the patience of a look is over, or when the caller
    /// is cancelled; the work goes on.
    package nonisolated func wait(for work: @escaping @Sendable () async -> Void) async {
        let time = time
        let patience = Task { _ = try? await time.sleep(Self.patience) }
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
            _ = await screen.value
            return
        }
        let screen = Task { await run(jobs.prefix(Self.screenful), of: directory, atOnce: Self.atOnce) }
        screens[directory] = screen
        let isFine = await screen.value
        screens[directory] = nil
        if isFine { postpone(directory, jobs.dropFirst(Self.screenful)) }
    }

    /// Ends the work; what is under way ends with the transport.
    package func close() {
        isClosed = true
        rests = []
        restWorker?.cancel()
        for screen in screens.values { screen.cancel() }
    }

    // MARK: - The rest

    private func postpone(_ directory: String, _ jobs: ArraySlice<ThumbnailJob>) {
        guard !jobs.isEmpty, !isClosed else { return }
        rests.removeAll { $0.directory == directory }
        rests.append((directory, jobs))
        if restWorker == nil { restWorker = Task { await workOff() } }
    }

    private func workOff() async {
        while let (directory, jobs) = rests.last, !isClosed {
            let isFine = await run(jobs.prefix(Self.restAtOnce), of: directory, atOnce: Self.restAtOnce)
            // The directory may have been looked at again meanwhile, and others with it.
            if let index = rests.firstIndex(where: { $0.directory == directory && $0.jobs.first == jobs.first }) {
                rests[index].jobs = jobs.dropFirst(Self.restAtOnce)
                if !isFine || rests[index].jobs.isEmpty { rests.remove(at: index) }
            }
            if let wait = pace.wait(now: time.now()) { _ = try? await time.sleep(wait) }
        }
        restWorker = nil
    }

    // MARK: - Some pictures

    /// Makes the thumbnails of some pictures, in order, so many at once; false if the network is in trouble.
    private func run(_ jobs: ArraySlice<ThumbnailJob>, of directory: String, atOnce: Int) async -> Bool {
        var failures = 0
        var files = 0
        var waiting = jobs
        let maker = maker
        await withTaskGroup(of: ThumbnailMaker.Outcome.self) { group in
            for job in jobs.prefix(atOnce) { group.addTask { await maker.make(job) } }
            waiting = waiting.dropFirst(atOnce)
            for await outcome in group {
                switch outcome {
                case .made(let made, let bytes):
                    files += made
                    count(made, bytes)
                case .failed: failures += 1
                case .present, .useless: break
                }
                guard failures < Self.mostFailures, !isClosed, let job = waiting.popFirst() else { continue }
                group.addTask { await maker.make(job) }
            }
        }
        if files > 0 { report("made \(files) thumbnails for \(directory)") }
        return failures < Self.mostFailures
    }

    private func count(_ files: Int, _ bytes: Int) {
        pace.took(bytes, now: time.now())
        counted.withLock { figures in
            figures.files += files
            figures.bytes += Int64(bytes)
        }
    }
}
