import Rankings
import Synchronization

/// The active rules: read from a file whenever it changes, or posted to `/_control`.
///
/// ## Concurrency
/// Called from any thread; the rules and their counters are guarded by one lock. Reading the file happens under it, so
/// that a request never sees half a script; scripts are a few lines.
final class FaultScript: Sendable {
    private let file: String?
    private let state = Mutex<(rules: [Fault], text: [UInt8]?)>(([], nil))

    init(file: String?) {
        self.file = file
    }

    /// The fault that applies to a request, if any.
    func fault(for request: Request) -> Fault? {
        state.withLock { state in
            refresh(&state)
            for index in state.rules.indices where state.rules[index].applies(to: request) {
                return state.rules[index]
            }
            return nil
        }
    }

    /// Replaces all rules; returns their number, or nil, without a change, if a line is no rule.
    func replace(with text: [UInt8]) -> Int? {
        guard let rules = Self.rules(text) else { return nil }
        state.withLock { $0.rules = rules }
        return rules.count
    }

    private func refresh(_ state: inout (rules: [Fault], text: [UInt8]?)) {
        guard let file else { return }
        let text = RecordedFiles.bytes(file)
        guard text != state.text else { return }
        state.text = text
        // An incomplete or missing script deactivates all rules; the next change is read again.
        state.rules = text.flatMap(Self.rules) ?? []
    }

    private static func rules(_ text: [UInt8]) -> [Fault]? {
        let lines = text.split(separator: UInt8(ascii: "\n")).filter { line in
            line.contains { $0 != 0x20 && $0 != 0x0d && $0 != 0x09 } && line.first != UInt8(ascii: "#")
        }
        let rules = lines.compactMap { Fault(Array($0)) }
        return rules.count == lines.count ? rules : nil
    }
}
