import Dispatch
import Fuse
import Glibc
import HTTP
import RankFS
import Rankings
import Synchronization
import System

/// Carries out a fetch: four readers of the mount, each with one work of the plan at a time.
///
/// The mount alone decides when its hosts get requests. A reader that got an error waits for the cool-downs that `status.json`
/// reports, or for a moment, and repeats its work.
///
/// ## Concurrency
///
/// Readers have threads of their own. One mutex guards the plan; it is not held while a file or the terminal is used.
final class FetchRun: Sendable {
    /// The number of files read at once: the mount downloads up to eight ahead of them.
    static let readers = 4

    private let reader: FetchReader
    private let display: FetchDisplay
    private let working = DispatchGroup()
    /// The plan, and the end of the last cool-down that made a reader wait, in Unix seconds.
    private let state: Mutex<(plan: FetchPlan, coolDown: Int64)>
    private let started = TimeSource.system.now()

    init(paths: [String], reader: FetchReader, display: FetchDisplay) {
        self.reader = reader
        self.display = display
        let isOthers = MountTable.current().isOthers(reader.mount)
        state = Mutex((FetchPlan(paths: paths, readers: Self.readers, isOthers: isOthers), 0))
    }

    /// The results so far.
    var tally: FetchTally { state.withLock(\.plan.tally) }

    /// The listings of which pictures were read and are not stored.
    var lacking: [FetchTally.Loss] {
        tally.read.compactMap { path, failed in
            let place = path.isEmpty ? reader.mount : "\(reader.mount)/\(path)"
            let lacking = ((try? LocalFiles.give(.lacking, to: place, in: [reader.mount])) ?? 0) - failed
            guard lacking > 0 else { return nil }
            let reason = "for lack of room: enlarge cache_size, or make room on its disk"
            return (path, "\(lacking.counted("picture")) read and not stored, \(reason)")
        }
    }

    /// Whole seconds since the beginning.
    var seconds: Int64 { (TimeSource.system.now() - started).components.seconds }

    /// Works until no work is left.
    ///
    /// - Throws: The error that makes further work pointless: a full disk, a mount that has ended.
    func run() throws(ProgramError) {
        begin()
        var isOver = false
        while !isOver {
            isOver = working.wait(timeout: .now() + display.pause) == .success
            if let stop = state.withLock(\.plan.stop) { throw stop }
            update()
        }
    }

    /// Gives work to every idle reader.
    private func begin() {
        while let work = state.withLock({ $0.plan.begin() }) {
            // A serial queue gets a thread at once; a concurrent one only as many as there are processors.
            DispatchQueue(label: "rankfs.fetch").async(group: working) { [self] in
                let outcome = perform(work)
                state.withLock { $0.plan.record(outcome, of: work) }.forEach(display.tell)
                update()
                begin()
            }
        }
    }

    /// Performs a work until its outcome is final.
    private func perform(_ work: FetchWork) -> FetchOutcome {
        var attempts = FetchAttempts()
        while true {
            let outcome = work.isListing ? reader.list(work) : reader.fetch(work)
            guard case .failed(let failure) = outcome else { return outcome }
            // Without a network nothing passes.
            guard !reader.isOffline else { return outcome }
            let status = StatusDocument.mounted(at: reader.mount)
            let now = TimeSource.wallClock()
            if let sentence = status?.frontSentence(at: now) { return .stopped(.unavailable(sentence)) }
            guard let pause = attempts.pause(closedUntil: status?.opensAgain, now: now) else { return outcome }
            if pause.isCoolDown {
                state.withLock { $0.coolDown = max($0.coolDown, now + pause.seconds) }
                update()
            } else if state.withLock({ $0.plan.isFirstFailure() }) {
                let reason = status?.messages("network.troubles").last?.text ?? failure.text
                display.tell("\(LogText.escaped(work.path)): \(reason); trying again")
            }
            // In steps: semaphores wait by a clock that may be set back by years, and the machine may be suspended.
            for _ in 0..<pause.seconds where TimeSource.wallClock() < now + pause.seconds {
                sleep(1)
                if state.withLock(\.plan.isOutage) { return outcome }
            }
        }
    }

    private func update() {
        let (progress, byTenths) = state.withLock { state in
            var progress = state.plan.progress
            progress.bytes = reader.receivedBytes
            progress.elapsed = (TimeSource.system.now() - started) / .seconds(1)
            progress.coolDown = state.coolDown > TimeSource.wallClock() ? state.coolDown : nil
            return (progress, !state.plan.manyListings)
        }
        display.update(progress, byTenths: byTenths)
    }
}

/// The attempts at one work of a fetch; pure.
struct FetchAttempts {
    /// Attempts at one work without a cool-down in between.
    static let most = 8
    /// The longest pause between two attempts without a cool-down, in seconds.
    private static let longestPause: Int64 = 60

    private var failures = 0

    /// The pause after a failure: until a cool-down has ended, otherwise 2, 4, 8, … seconds.
    ///
    /// - Parameters:
    ///   - closedUntil: The end of the last cool-down that the mount reports, in Unix seconds.
    ///   - now: The time, in Unix seconds.
    /// - Returns: The pause; nil after the last attempt.
    mutating func pause(closedUntil: Int64?, now: Int64) -> (seconds: Int64, isCoolDown: Bool)? {
        if let closedUntil, closedUntil >= now {
            failures = 0
            // One second more: the mount counts whole seconds too, and must be ready first.
            return (closedUntil - now + 1, true)
        }
        failures += 1
        return failures < Self.most ? (min(Self.longestPause, 1 << Int64(failures)), false) : nil
    }
}

// MARK: - Fetch plan

/// The works of a fetch in the order of their listings, and the outcome of each; pure.
struct FetchPlan: Sendable {
    /// Works lost in a row that show that the rest would fail too.
    static let outage = 3

    /// The files of the listings read so far that no reader has begun.
    private var files: ArraySlice<FetchWork> = []
    /// The listings that no reader has begun, the next one last.
    private var listings: [String]
    /// The paths that were named, which a listing may show too.
    private let named: Set<[UInt8]>
    /// The listings that were begun, and the named files: each is read once.
    private var taken: Set<[UInt8]> = []
    /// Whether a listing is being read: one at a time, since their order is that of the files.
    private var isListing = false
    /// The number of further works that may begin.
    private var idle: Int
    /// The name of the work that began last.
    private var lastName = ""
    private var lostInARow = 0
    private var hasFailed = false
    /// Whether another user's mount is read, which keeps what its owner sees.
    private let isOthers: Bool
    /// Whether several listings were named, so that each gets a line.
    let manyListings: Bool
    /// Whether so many works were lost that no other work begins.
    private(set) var isOutage = false
    /// The error that makes further work pointless.
    private(set) var stop: ProgramError?
    private(set) var tally = FetchTally()

    init(paths: [String], readers: Int, isOthers: Bool = false) {
        self.isOthers = isOthers
        listings = paths.reversed()
        // By bytes: to Swift texts that differ in normalisation are equal.
        named = Set(paths.map { Array($0.utf8) })
        manyListings = paths.count > 1
        idle = readers
    }

    /// The part of the progress that follows from the plan.
    var progress: FetchProgress {
        FetchProgress(
            filesDone: tally.filesDone, filesKnown: tally.filesKnown, listingsDone: tally.listings,
            listingsLeft: listings.count + (isListing ? 1 : 0), name: lastName)
    }

    /// The next work; nil if none may begin now.
    mutating func begin() -> FetchWork? {
        guard stop == nil, !isOutage, idle > 0 else { return nil }
        let work: FetchWork
        if let file = files.popFirst() {
            work = file
        } else if !isListing, let path = nextListing() {
            isListing = true
            work = FetchWork(path: path, group: path, isListing: true)
        } else {
            return nil
        }
        idle -= 1
        lastName = work.path.pathNames.last ?? ""
        return work
    }

    private mutating func nextListing() -> String? {
        while let path = listings.popLast() {
            if taken.insert(Array(path.utf8)).inserted { return path }
        }
        return nil
    }

    /// Whether no attempt has failed before this one: its reason is printed once.
    mutating func isFirstFailure() -> Bool {
        defer { hasFailed = true }
        return !hasFailed
    }

    /// Records the outcome of a work.
    ///
    /// - Returns: The lines to print: a changed file, a finished listing, an outage.
    mutating func record(_ outcome: FetchOutcome, of work: FetchWork) -> [String] {
        idle += 1
        if work.isListing { isListing = false }
        if case .failed = outcome { lostInARow += 1 } else { lostInARow = 0 }
        var lines = lines(recording: outcome, of: work)
        isOutage = isOutage || lostInARow >= Self.outage
        let left = files.count + listings.count
        if isOutage, left > 0 {
            (files, listings) = ([], [])
            tally.untried += left
            lines.append("nothing gets through any more; the rest is left for another time")
        }
        return lines
    }

    private mutating func lines(recording outcome: FetchOutcome, of work: FetchWork) -> [String] {
        switch outcome {
        case .listed(let names, let directories, let withheld, let isPartial):
            func below(_ name: String) -> String {
                name.isEmpty ? work.path : work.path.isEmpty ? name : "\(work.path)/\(name)"
            }
            let paths = names.map(below).filter {
                let bytes = Array($0.utf8)
                return bytes.elementsEqual(work.path.utf8) || !named.contains(bytes) || taken.insert(bytes).inserted
            }
            tally.opened(work.group, files: paths.count, withheld: withheld)
            if isPartial {
                tally.lost(work.path, "not all of it is stored, and the option offline lets no request leave")
            }
            files += paths.map { FetchWork(path: $0, group: work.group) }
            listings += directories.reversed().map(below)
            return []
        case .elsewhere(let path):
            listings.append(path)
            return []
        case .fetched(let bytes, let isReplaced):
            if !isReplaced { tally.isNew(work.path) }
            let changed = "changed: \(LogText.escaped(work.path, limit: LogText.longestLine))"
            return (isReplaced ? [changed] : [])
                + ended(work) {
                    $0.fetched += 1
                    $0.bytes = $0.bytes.adding(saturating: bytes)
                }
        case .skipped: return ended(work) { $0.skipped += 1 }
        case .withheld:
            if work.isListing { return lost(work, FetchTally.refusal(isOthers: isOthers)) }
            return ended(work) { $0.withheld += 1 }
        case .missing:
            guard work.isListing else { return lost(work, "it is gone") }
            let isDay = if case .day = TreePath(work.path) { true } else { false }
            return lost(work, "there is nothing\(isDay ? "; the day may not be published yet" : " of that name")")
        case .failed(let failure):
            tally.mayPass = true
            return lost(work, failure.code == EBUSY ? "another rankfs is writing it" : failure.text)
        case .stopped(let error):
            stop = stop ?? error
            return []
        }
    }

    private mutating func lost(_ work: FetchWork, _ reason: String) -> [String] {
        guard work.isListing else { return ended(work, loss: reason) { $0.failed += 1 } }
        tally.listings += 1
        tally.lost(work.path, reason)
        return []
    }

    private mutating func ended(
        _ work: FetchWork, loss: String? = nil, _ change: (inout FetchTally.Group) -> Void
    ) -> [String] {
        guard let group = tally.ended(work, change, loss: loss), manyListings || tally.listings > 1 else {
            return []
        }
        return [FetchTally.line(work.group, group)]
    }
}
