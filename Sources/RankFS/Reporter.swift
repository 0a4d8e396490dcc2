import Synchronization

/// Says what fails so that a person can read it: a storm of one failure is a few lines and a count.
///
/// Of one cause the first few subjects are named; what follows within a while is counted, and the count is said at its end.
///
/// ## Concurrency
///
/// Any thread may call; the closure that says a sentence runs outside the lock.
final class Reporter: Sendable {
    private struct Said {
        /// As it was said first.
        let cause: String
        var since: Int64
        var subjects: Set<String>
        var suppressed = 0

        /// What is to be said of those that were counted: a line, or nothing.
        var count: [String] { suppressed == 0 ? [] : ["and \(suppressed) more like this: \(cause)"] }
    }

    /// By cause without its digits: `try again in 58 s` and `in 57 s` are one.
    private let said = Mutex<[String: Said]>([:])
    private let now: @Sendable () -> Int64
    private let later: @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void
    private let say: @Sendable (String) -> Void
    private let troubled: @Sendable (String) -> Void

    /// - Parameters:
    ///   - now: Unix seconds.
    ///   - later: Does something after so many seconds.
    ///   - say: Told each sentence.
    ///   - troubled: Told what a service in trouble answered.
    init(
        now: @escaping @Sendable () -> Int64,
        later: @escaping @Sendable (_ seconds: Int64, _ work: @escaping @Sendable () -> Void) -> Void,
        say: @escaping @Sendable (String) -> Void, troubled: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.now = now
        self.later = later
        self.say = say
        self.troubled = troubled
    }

    /// How many causes are remembered.
    var remembered: Int { said.withLock { $0.count } }

    /// Reports a failing request if it is one worth a line.
    func report(_ failure: Failure, subject: @autoclosure () -> String) {
        guard let cause = failure.explanation else { return }
        if failure.isServiceTrouble { troubled(cause) }
        let key = cause.filter { !$0.isASCII || !$0.isNumber }
        let subject = Self.printable(subject())
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
        counts.forEach(say)
        if isSaid { say("\(subject): \(cause)") }
        if isFirstCounted { later(TreeLimits.messageInterval) { [weak self] in self?.tellCount(of: key) } }
    }

    /// Says how many were counted, once their while is over.
    private func tellCount(of key: String) {
        let now = now()
        let counts = said.withLock { said in
            guard let entry = said[key], Self.isOver(entry, now: now) else { return [String]() }
            said[key] = nil
            return entry.count
        }
        counts.forEach(say)
    }

    /// Says what was counted so far: nobody may be there when the while is over.
    func flush() {
        let counts = said.withLock { said in
            defer { said = [:] }
            return said.values.flatMap(\.count)
        }
        counts.forEach(say)
    }

    /// Whether a cause's while is over; a clock that was set ends it.
    private static func isOver(_ said: Said, now: Int64) -> Bool {
        let (passed, overflows) = now.subtractingReportingOverflow(said.since)
        return overflows || passed.magnitude >= TreeLimits.messageInterval
    }

    /// Forgets old causes where there are too many, and all if that is not enough; returns what is to be said of them.
    private static func makeRoom(in said: inout [String: Said], now: Int64) -> [String] {
        guard said.count >= TreeLimits.rememberedMessages else { return [] }
        let old = said.filter { isOver($0.value, now: now) }
        let gone = old.isEmpty ? said : old
        for key in gone.keys { said[key] = nil }
        return gone.values.flatMap(\.count)
    }

    /// Text from outside, fit for one line of a log: control characters and line separators escaped, cut to a bound.
    static func printable(_ text: String) -> String {
        var result = ""
        var length = 0
        for scalar in text.unicodeScalars {
            guard length < TreeLimits.longestMessagePart else { return result + "…" }
            length += 1
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned:
                result += "\\u{\(String(scalar.value, radix: 16))}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
