import CLinux
import Dispatch
import Glibc
import System
import Rankings
import Synchronization

/// Carries out a fetch: readers on threads of their own do the work that the schedule allows, in the order of the listings.
///
/// ## Concurrency
///
/// One thread calls `run` and owns the schedule and the tally; readers only put their results into a mailbox.
final class FetchRun {
    private struct Result: Sendable {
        let reader: Int
        let piece: FetchSchedule<FetchWork>.Piece
        let outcome: FetchOutcome
        /// The end of the service's cool-down at the time of a failure, in Unix seconds.
        let closedUntil: Int64?
    }

    /// The number of files read at once: the mount downloads up to eight ahead of them.
    static let readers = 4

    private let reader: FetchReader
    private let display: FetchDisplay
    private let queues = (0..<FetchRun.readers).map { DispatchQueue(label: "rankfs.fetch.\($0)") }
    private let mailbox = Mailbox()
    private let manyListings: Bool
    private let started = MonotonicClock.now
    private var idle = Array(0..<FetchRun.readers)
    private var schedule = FetchSchedule<FetchWork>()
    private var lastName = ""
    private(set) var tally = FetchTally()
    private var stop: ProgramError?

    init(paths: [String], reader: FetchReader, display: FetchDisplay) {
        self.reader = reader
        self.display = display
        manyListings = paths.count > 1
        schedule.add(paths.map { (.listing, FetchWork(path: $0, group: $0)) }, in: nil)
    }

    /// Whole seconds since the beginning.
    var seconds: Int64 { (MonotonicClock.now - started).components.seconds }

    /// Works until no work is left.
    ///
    /// - Throws: The error that makes further work pointless: a full disk, a mount that has ended.
    func run() throws(ProgramError) {
        while true {
            let until = begin()
            if schedule.left == 0 { break }
            mailbox.wait(display.pause, orUntil: until)
            for result in mailbox.take() {
                idle.append(result.reader)
                take(result)
            }
            if let stop { throw stop }
            if schedule.isOutage { giveUp() }
            display.update(progress, byTenths: !manyListings)
        }
    }

    /// Gives work to every idle reader.
    ///
    /// - Returns: The time of the next work in Unix seconds; nil if it is not known.
    private func begin() -> Int64? {
        while !idle.isEmpty {
            switch schedule.next(now: WallClock.now()) {
            case .finished: return nil
            case .wait(let until): return until
            case .begin(let piece):
                lastName = piece.work.path.pathNames.last ?? ""
                start(piece, on: idle.removeLast())
            }
        }
        return nil
    }

    private func start(_ piece: FetchSchedule<FetchWork>.Piece, on number: Int) {
        queues[number].async { [reader, mailbox] in
            let outcome = piece.kind == .listing ? reader.list(piece.work) : reader.fetch(piece.work)
            var closedUntil: Int64?
            if case .failed = outcome { closedUntil = MountedStatus.document(of: reader.mount)?.network.opensAgain }
            mailbox.put(Result(reader: number, piece: piece, outcome: outcome, closedUntil: closedUntil))
        }
    }

    private var progress: FetchProgress {
        let now = WallClock.now()
        let elapsed = (MonotonicClock.now - started).components
        return FetchProgress(
            filesDone: tally.filesDone, filesKnown: tally.filesKnown, listingsDone: tally.listings,
            listingsLeft: max(0, schedule.left - (tally.filesKnown - tally.filesDone)), bytes: reader.receivedBytes,
            elapsed: Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18, name: lastName,
            coolDown: schedule.coolDown.flatMap { $0 > now ? $0 : nil })
    }

    // MARK: - Results

    private func take(_ result: Result) {
        let work = result.piece.work
        switch result.outcome {
        case .listed(let files, let directories, let withheld):
            tally.opened(work.group, files: files.count, withheld: withheld)
            listed(result.piece, files: files.map(\.name), directories: directories)
        case .elsewhere(let path):
            schedule.add([(.listing, FetchWork(path: path, group: path))], in: result.piece)
            schedule.succeeded(result.piece.id)
        case .fetched(let bytes, let replaced):
            schedule.succeeded(result.piece.id)
            if replaced { display.tell("changed: \(LogText.escaped(work.path, limit: LogText.longestLine))") }
            ended(work) {
                $0.fetched += 1
                $0.bytes = $0.bytes.adding(saturating: bytes)
            }
        case .skipped:
            schedule.succeeded(result.piece.id)
            ended(work) { $0.skipped += 1 }
        case .withheld:
            schedule.succeeded(result.piece.id)
            if result.piece.kind == .listing { return lost(result.piece, "only signed-in users see it") }
            ended(work) { $0.withheld += 1 }
        case .missing:
            schedule.succeeded(result.piece.id)
            lost(result.piece, result.piece.kind == .listing ? Self.notThere : "it is gone")
        case .failed(let failure):
            failed(result, failure)
        case .stopped(let error):
            stop = stop ?? error
        }
    }

    private static let notThere = "there is nothing; a day may not be published yet"

    private func listed(
        _ piece: FetchSchedule<FetchWork>.Piece, files: [String], directories: [String]
    ) {
        let work = piece.work
        func below(_ name: String) -> String {
            name.isEmpty ? work.path : work.path.isEmpty ? name : "\(work.path)/\(name)"
        }
        let more = files.map { (FetchSchedule<FetchWork>.Kind.file, FetchWork(path: below($0), group: work.group)) }
        let deeper = directories.map {
            (FetchSchedule<FetchWork>.Kind.listing, FetchWork(path: below($0), group: below($0)))
        }
        schedule.add(more + deeper, in: piece)
        schedule.succeeded(piece.id)
    }

    private func failed(_ result: Result, _ failure: LocalFiles.Failure) {
        let verdict = schedule.failed(
            result.piece.id, unreachable: FetchReader.isUnreachable(failure), closedUntil: result.closedUntil,
            now: WallClock.now())
        if verdict == .givenUp { lost(result.piece, failure.text) }
    }

    private func lost(_ piece: FetchSchedule<FetchWork>.Piece, _ reason: String) {
        if piece.kind == .listing {
            tally.lost(listing: piece.work.path, reason)
        } else {
            ended(piece.work, loss: reason) { $0.failed += 1 }
        }
    }

    private func ended(_ work: FetchWork, loss: String? = nil, _ change: (inout FetchTally.Group) -> Void) {
        guard let group = tally.ended(work, change, loss: loss), manyListings || tally.listings > 1 else { return }
        display.tell(FetchTally.line(work.group, group))
    }

    private func giveUp() {
        let left = schedule.abandon()
        guard !left.isEmpty else { return }
        tally.abandoned(left.count)
        display.tell("nothing gets through any more; the rest is left for another time")
    }

    // MARK: - The mailbox

    /// The results on their way from the readers to the thread of the run.
    ///
    /// ## Concurrency
    ///
    /// Any thread puts, one thread takes; the semaphore only wakes it.
    private final class Mailbox: Sendable {
        private let results = Mutex<[Result]>([])
        private let arrived = DispatchSemaphore(value: 0)

        func put(_ result: Result) {
            results.withLock { $0.append(result) }
            arrived.signal()
        }

        func take() -> [Result] {
            results.withLock { results in
                defer { results = [] }
                return results
            }
        }

        /// Waits for a result, at most for a number of seconds and not beyond a time in Unix seconds.
        func wait(_ seconds: Double, orUntil end: Int64?) {
            var time = seconds
            // Slightly longer, so that the clock of whole seconds has reached that time.
            if let end { time = min(time, max(0.02, Double(end - WallClock.now()))) }
            _ = arrived.wait(timeout: .now() + time)
        }
    }
}

// MARK: - Fetch survey

/// Examines the files that a fetch will read, without requesting listings from the service.
enum FetchSurvey {
    /// Days that a mount lists even if they are not stored: the default of `days`.
    private static let listedAnyway = 7
    /// Sizes that the image host fails to report, after which no further size is requested.
    private static let mostFailures = 3

    /// Estimates the cost of fetching paths.
    ///
    /// Blocks: known listings are read, and unknown sizes are requested.
    ///
    /// - Parameters:
    ///   - paths: Paths below the mount's root.
    ///   - mount: The mount point.
    ///   - newest: The newest published day.
    /// - Returns: The estimate; paths that cannot be read are omitted.
    static func estimate(_ paths: [String], mount: String, newest: Day) -> FetchEstimate {
        var estimate = FetchEstimate()
        var siblings: [String: Set<String>] = [:]
        var failures = 0
        for path in paths {
            let requests = FetchEstimate.requests(for: path)
            if requests > 0 {
                let parent = LocalFiles.parent(of: "/\(path)").flatMap { $0.rest(after: "/") } ?? ""
                if siblings[parent] == nil {
                    let names = (try? MountedFiles.list("\(mount)/\(parent)"))?.map(\.name)
                    siblings[parent] = Set(names ?? [])
                }
                let name = path.pathNames.last ?? ""
                let isRecent = Day(name).map { $0.ordinal > newest.ordinal - listedAnyway } ?? false
                if isRecent || siblings[parent]?.contains(name) != true {
                    estimate.unknownListings += 1
                    estimate.requests += requests
                    continue
                }
            }
            add(path, mount: mount, to: &estimate, &failures)
        }
        return estimate
    }

    private static func add(_ path: String, mount: String, to estimate: inout FetchEstimate, _ failures: inout Int) {
        let full = path.isEmpty ? mount : "\(mount)/\(path)"
        guard let status = try? MountedFiles.status(of: full) else { return }
        guard MountedFiles.kind(status) == .directory else { return count(full, &estimate, &failures) }
        guard let entries = try? MountedFiles.list(full) else { return }
        estimate.knownListings += 1
        estimate.withheld += MountedFiles.withheld(in: full)
        for entry in entries where entry.kind == .file { count("\(full)/\(entry.name)", &estimate, &failures) }
    }

    private static func count(_ file: String, _ estimate: inout FetchEstimate, _ failures: inout Int) {
        estimate.files += 1
        guard failures < mostFailures else {
            estimate.unknownSizes += 1
            return
        }
        guard let status = try? MountedFiles.status(of: file) else {
            failures += 1
            estimate.unknownSizes += 1
            return
        }
        let size = Int64(status.st_size)
        estimate.bytes = estimate.bytes.adding(saturating: size)
        if size == 0, MountedFiles.attribute("user.rankfs.withheld", of: file) != nil {
            estimate.withheld += 1
        } else if MountedFiles.attribute("user.rankfs.state", of: file) == "stored" {
            estimate.stored += 1
            estimate.storedBytes = estimate.storedBytes.adding(saturating: size)
        }
    }
}
