import Rankings
import Synchronization

/// Reports failures in readable sentences: a storm of one failure becomes a few lines and a count.
///
/// For each cause the first few subjects are named; those that follow within an interval are counted, and the count is reported
/// at the end of the interval.
///
/// ## Concurrency
///
/// Any thread may call; the closure that outputs a sentence runs outside the lock.
final class Reporter: Sendable {
    private struct Said {
        /// The cause, in its first wording.
        let cause: String
        var since: Int64
        var subjects: Set<String>
        var suppressed = 0

        /// The line about the counted failures, or nothing.
        var count: [String] { suppressed == 0 ? [] : ["and \(suppressed) more like this: \(cause)"] }
    }

    /// The reported causes, keyed by the cause without digits: `try again in 58 s` and `in 57 s` are one cause.
    private let said = Mutex<[String: Said]>([:])
    private let configuration: MountConfiguration

    /// - Parameter configuration: The clocks, and the receivers of the sentences.
    init(_ configuration: MountConfiguration) {
        self.configuration = configuration
    }

    /// The number of remembered causes.
    var remembered: Int { said.withLock { $0.count } }

    /// Reports a failing request if it deserves a log line.
    func report(_ failure: Failure, subject: @autoclosure () -> String) {
        let path = TreePath(subject())
        guard let cause = failure.explanation(isSecret: path.isSecret) else { return }
        if case .troubled = failure { configuration.troubled(cause) }
        let key = cause.filter { !$0.isASCII || !$0.isNumber }
        let subject = Failure.printable(path.disclosed)
        let now = configuration.now()
        let (isSaid, isFirstCounted, counts) = said.withLock { said in
            var counts: [String] = []
            if let before = said[key], Self.isOver(before, now: now) {
                said[key] = nil
                counts = before.count
            }
            if said[key] == nil { counts += Self.makeRoom(in: &said, now: now) }
            var entry = said[key] ?? Said(cause: cause, since: now, subjects: [])
            let isSaid = entry.subjects.count < TreeLimits.messagesOfOneCause && entry.subjects.insert(subject).inserted
            if !isSaid { entry.suppressed += 1 }
            said[key] = entry
            return (isSaid, !isSaid && entry.suppressed == 1, counts)
        }
        counts.forEach(configuration.report)
        if isSaid { configuration.report("\(subject): \(cause)") }
        guard isFirstCounted else { return }
        configuration.later(TreeLimits.messageInterval) { [weak self] in self?.tellCount(of: key) }
    }

    /// Reports the count of a cause at the end of its interval.
    private func tellCount(of key: String) {
        let now = configuration.now()
        let counts = said.withLock { said in
            guard let entry = said[key], Self.isOver(entry, now: now) else { return [String]() }
            said[key] = nil
            return entry.count
        }
        counts.forEach(configuration.report)
    }

    /// Reports all counts now, since no receiver may exist at the end of an interval.
    func flush() {
        let counts = said.withLock { said in
            defer { said = [:] }
            return said.values.flatMap(\.count)
        }
        counts.forEach(configuration.report)
    }

    /// Whether the interval of a cause is over; a change of the clock ends it.
    private static func isOver(_ said: Said, now: Int64) -> Bool {
        let (passed, overflows) = now.subtractingReportingOverflow(said.since)
        return overflows || passed.magnitude >= TreeLimits.messageInterval
    }

    /// Forgets old causes where there are too many, and all if that is not enough; returns their count lines.
    private static func makeRoom(in said: inout [String: Said], now: Int64) -> [String] {
        guard said.count >= TreeLimits.rememberedMessages else { return [] }
        let old = said.filter { isOver($0.value, now: now) }
        let gone = old.isEmpty ? said : old
        for key in gone.keys { said[key] = nil }
        return gone.values.flatMap(\.count)
    }
}
