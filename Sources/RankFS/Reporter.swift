import Dispatch
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
package final class Reporter: Sendable {
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
    private let output: @Sendable (String) -> Void
    private let now: @Sendable () -> Int64
    private let later: Later
    private let troubled: @Sendable (String) -> Void

    /// Runs work after so many seconds.
    package typealias Later = @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void

    /// - Parameters:
    ///   - now: The wall clock, in Unix seconds.
    ///   - later: Runs the reports of counts.
    ///   - troubled: Takes sentences about the trouble that a service reported.
    ///   - output: Takes each line.
    package init(
        now: @escaping @Sendable () -> Int64, later: @escaping Later = Reporter.later,
        troubled: @escaping @Sendable (String) -> Void = { _ in }, output: @escaping @Sendable (String) -> Void
    ) {
        (self.now, self.later, self.troubled, self.output) = (now, later, troubled, output)
    }

    /// Creates the reporter of a mount's failing requests.
    convenience init(_ configuration: MountConfiguration) {
        self.init(
            now: configuration.now, later: configuration.later, troubled: configuration.troubled,
            output: configuration.report)
    }

    package static let later: Later = {
        DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Int($0)), execute: $1)
    }

    /// The number of remembered causes.
    var remembered: Int { said.withLock { $0.count } }

    /// Reports a failing request if it deserves a log line.
    func report(_ failure: Failure, subject: @autoclosure () -> String) {
        let path = TreePath(subject())
        guard let cause = failure.explanation(isSecret: path.isSecret) else { return }
        if case .troubled = failure { troubled(cause) }
        report(cause, subject: path.disclosed)
    }

    /// Reports a cause of trouble and its subject; a cause of an empty subject is named once in an interval.
    package func report(_ cause: String, subject: String) {
        let key = cause.filter { !$0.isASCII || !$0.isNumber }
        let now = now()
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
        counts.forEach(output)
        if isSaid { output(subject.isEmpty ? cause : "\(subject): \(cause)") }
        guard isFirstCounted else { return }
        later(TreeLimits.messageInterval) { [weak self] in self?.tellCount(of: key) }
    }

    /// Reports the count of a cause at the end of its interval.
    private func tellCount(of key: String) {
        let now = now()
        let counts = said.withLock { said in
            guard let entry = said[key], Self.isOver(entry, now: now) else { return [String]() }
            said[key] = nil
            return entry.count
        }
        counts.forEach(output)
    }

    /// Reports all counts now, since no receiver may exist at the end of an interval.
    package func flush() {
        let counts = said.withLock { said in
            defer { said = [:] }
            return said.values.flatMap(\.count)
        }
        counts.forEach(output)
    }

    /// Whether the interval of a cause is over; a change of the clock ends it.
    private static func isOver(_ said: Said, now: Int64) -> Bool {
        now.subtracting(saturating: said.since).magnitude >= TreeLimits.messageInterval
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
