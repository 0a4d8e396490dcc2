import Glibc
import Rankings
import Synchronization

/// The rules in force: read from a file whenever it changes, or posted to `/_control`.
///
/// ## Concurrency
/// Called from any thread; the rules and their counters are guarded by one lock. Reading the file happens under it, so
/// that a request never sees half a script; scripts are a few lines.
final class FaultScript: Sendable {
    private struct State {
        var rules: [FaultRule] = []
        var stamp: [Int]?
    }

    private let file: String?
    private let state = Mutex(State())

    init(file: String?) {
        self.file = file
    }

    /// What goes wrong with a request, if anything.
    func fault(for request: Request) -> Fault? {
        state.withLock { state in
            refresh(&state)
            for index in state.rules.indices where state.rules[index].applies(to: request) {
                return state.rules[index].fault
            }
            return nil
        }
    }

    /// Replaces all rules; answers how many there are, or nil, changing nothing, if a line is no rule.
    func replace(with text: [UInt8]) -> Int? {
        guard let rules = Self.rules(text) else { return nil }
        state.withLock { $0.rules = rules }
        return rules.count
    }

    private func refresh(_ state: inout State) {
        guard let file else { return }
        // What changes when a file is written.
        var status = stat()
        let isThere = unsafe stat(file, &status) == 0
        let written = status.st_mtim
        let stamp = [written.tv_sec, written.tv_nsec, Int(status.st_size), Int(status.st_ino)]
        guard (isThere ? stamp : nil) != state.stamp else { return }
        state.stamp = isThere ? stamp : nil
        // A script that is half written, or gone, leaves nothing in force: the next change is read again.
        state.rules = RecordedFiles.bytes(file).flatMap(Self.rules) ?? []
    }

    private static func rules(_ text: [UInt8]) -> [FaultRule]? {
        let lines = text.split(separator: UInt8(ascii: "\n")).filter { line in
            line.contains { $0 != 0x20 && $0 != 0x0d && $0 != 0x09 } && line.first != UInt8(ascii: "#")
        }
        let rules = lines.compactMap { FaultRule(Array($0)) }
        return rules.count == lines.count ? rules : nil
    }
}

/// One line of a script: which requests go wrong, how often, and in which way.
///
/// A line is an object: `{"action": "trunc", "path": "master1200", "method": "GET", "skip": 1, "count": 2}`. A request
/// matches if its path with query contains `path`, begins with `prefix`, ends with `suffix` and has the `method`, as far
/// as these are given. The first `skip` matches are spared; `count` ones go wrong, or all without `count`. The first
/// rule that applies decides.
struct FaultRule: Sendable {
    let fault: Fault
    private let node: JSON
    private var skip: Int64
    private var left: Int64?

    /// Nil for a line that is no rule.
    init?(_ line: [UInt8]) {
        guard let node = JSON(line), let fault = Fault(node) else { return nil }
        self.fault = fault
        self.node = node
        skip = node["skip"].number ?? 0
        left = node["count"].number
    }

    /// Whether a request goes wrong; counts it.
    mutating func applies(to request: Request) -> Bool {
        guard left != 0, (node["method"].string ?? request.method) == request.method,
            request.target.hasPrefix(node["prefix"].string ?? ""),
            request.target.hasSuffix(node["suffix"].string ?? ""),
            request.contains(node["path"].string ?? ""), !fault.admits(request)
        else { return false }
        if skip > 0 {
            skip -= 1
            return false
        }
        left = left.map { $0 - 1 }
        return true
    }
}
