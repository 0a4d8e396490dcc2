import Synchronization

/// Says each failure once: identical sentences within a while are counted instead.
///
/// ## Concurrency
///
/// Any thread may call; the closure that says a sentence runs outside the lock.
final class Reporter: Sendable {
    private struct Said {
        var since: Int64
        var suppressed: Int
    }

    private let said = Mutex<[String: Said]>([:])
    private let now: @Sendable () -> Int64
    private let say: @Sendable (String) -> Void

    init(now: @escaping @Sendable () -> Int64, say: @escaping @Sendable (String) -> Void) {
        self.now = now
        self.say = say
    }

    /// How many sentences are remembered.
    var remembered: Int { said.withLock { $0.count } }

    /// Reports a failing request if it is one worth a line.
    func report(_ failure: Failure, subject: @autoclosure () -> String) {
        guard let explanation = failure.explanation else { return }
        let sentence = "\(Self.printable(subject())): \(explanation)"
        let now = now()
        let line: String? = said.withLock { said in
            if let before = said[sentence], abs(now - before.since) < Limits.messageInterval {
                said[sentence]?.suppressed += 1
                return nil
            }
            let suppressed = said[sentence]?.suppressed ?? 0
            if said.count >= Limits.rememberedMessages {
                said = said.filter { abs(now - $0.value.since) < Limits.messageInterval }
            }
            if said.count >= Limits.rememberedMessages { said.removeAll(keepingCapacity: true) }
            said[sentence] = Said(since: now, suppressed: 0)
            return suppressed == 0 ? sentence : "\(sentence) (and \(suppressed) times before)"
        }
        if let line { say(line) }
    }

    /// Text from outside, fit for one line of a log: control characters and line separators escaped, cut to a bound.
    static func printable(_ text: String) -> String {
        var result = ""
        var length = 0
        for scalar in text.unicodeScalars {
            guard length < Limits.longestMessagePart else { return result + "…" }
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
