import Rankings

/// One line of a script: which requests go wrong, how often, and in which way.
///
/// A line is an object: `{"action": "trunc", "path": "master1200", "method": "GET", "skip": 1, "count": 2}`. A request
/// matches if its path with query contains `path`, begins with `prefix`, ends with `suffix` and has the `method`, as far
/// as these are given. The first `skip` matches are spared; `count` ones go wrong, or all without `count`. The first
/// rule that applies decides.
struct FaultRule: Sendable {
    /// What the script calls the action; requests are logged with it.
    let name: String
    let action: FaultAction
    private let part: String
    private let prefix: String
    private let suffix: String
    private let method: String?
    private var skip: Int64
    private var left: Int64?

    /// Nil for a line that is no rule.
    init?(_ line: [UInt8]) {
        guard let node = JSON(line), let action = FaultAction(node) else { return nil }
        self.action = action
        name = node["action"]?.string ?? ""
        part = node["path"]?.string ?? ""
        prefix = node["prefix"]?.string ?? ""
        suffix = node["suffix"]?.string ?? ""
        method = node["method"]?.string
        skip = node["skip"]?.number ?? 0
        left = node["count"]?.number
    }

    /// Whether a request goes wrong; counts it.
    mutating func applies(to request: Request) -> Bool {
        guard left != 0, method == nil || method == request.method, request.target.hasPrefix(prefix),
            request.target.hasSuffix(suffix), part.isEmpty || Self.contains(request.target, part)
        else { return false }
        if case .challenge(let fault) = action, fault.admits(request) { return false }
        if skip > 0 {
            skip -= 1
            return false
        }
        left = left.map { $0 - 1 }
        return true
    }

    private static func contains(_ text: String, _ part: String) -> Bool {
        let text = Array(text.utf8)
        let part = Array(part.utf8)
        guard part.count <= text.count else { return false }
        return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
    }
}
