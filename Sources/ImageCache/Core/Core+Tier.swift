internal import HTTP
internal import Synchronization

/// A question to the tier about a picture that is to be downloaded.
///
/// ## Concurrency
///
/// Any thread may call.
final class TierQuestion: Sendable {
    /// Raised when somebody waits for the picture.
    let urgency = Urgency()
    private let state = Mutex<(task: Task<Void, Never>?, isCancelled: Bool)>((nil, false))

    /// Asks, unless the question has been withdrawn.
    func ask(_ question: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            let task = Task { await question() }
            state.task = task
            if state.isCancelled { task.cancel() }
        }
    }

    /// Withdraws it; it is then answered at once.
    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }
}

extension Core {
    /// What of a network's time the tier may take before the image host is asked after all.
    private static let tiersShare = 2

    /// Has the tier asked for a picture before the image host is.
    mutating func askTier(_ picture: PictureRequest, of key: FileKey) {
        guard configuration.tier != nil, !picture.isPrivate, let entry = downloads[key] else { return }
        let question = TierQuestion()
        if entry.priority == .reader { question.urgency.raise() }
        downloads[key]?.question = question
        downloads[key]?.download.phase = .asking
        effects.append(.askTier(key, entry.file, picture, question))
    }

    /// The tier has brought a picture of so many bytes, or nothing.
    mutating func tierAnswered(
        _ key: FileKey, _ file: PartialFile, _ picture: PictureRequest, length: Int64?, now: ContinuousClock.Instant
    ) {
        guard let entry = downloads[key], entry.file === file, entry.download.phase == .asking else {
            // Nobody wants it any more.
            if length == nil { effects.append(.giveUp(picture)) }
            return
        }
        downloads[key]?.question = nil
        downloads[key]?.download.phase = .running
        downloads[key]?.download.lastProgress = now
        if let length, length == entry.download.total ?? length {
            downloads[key]?.isFromTier = true
            apply(downloads[key]?.download.arrived(whole: length), to: key, now: now)
        } else {
            downloads[key]?.isOurs = true
        }
        release(key, now: now)
    }

    /// Withdraws questions that have taken too much of a waiting reader's time.
    mutating func withdrawQuestions(now: ContinuousClock.Instant) {
        for entry in downloads.entries.values
        where entry.download.phase == .asking && !entry.download.waiters.isEmpty
            && now - entry.download.lastProgress >= configuration.networkTimeout / Self.tiersShare
        {
            if let question = entry.question { effects.append(.withdraw(question)) }
        }
    }
}

extension Download {
    /// All bytes have come at once, and are known to be right.
    mutating func arrived(whole length: Int64) -> DownloadChange {
        total = length
        present = RangeSet()
        present.insert(0..<length)
        headIsRight = true
        tailIsRight = true
        return settle()
    }
}
