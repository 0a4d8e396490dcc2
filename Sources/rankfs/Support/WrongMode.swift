import Rankings

/// What is said of a path whose ranking the service does not have: to the kernel it is a name like any other that is missing.
enum WrongMode {
    /// Characters of the name that are shown.
    private static let longestName = 80

    /// The cause and the remedy for a path below a mount's root; nil for one that names a ranking, or none.
    static func complaint(_ path: String) -> String? {
        let parts = path.split(separator: "/").map(String.init)
        guard parts.count >= 2, ["ranking", "by-date"].contains(parts[0]), RankingMode(rawValue: parts[1]) == nil else {
            return nil
        }
        return "there is no ranking \(LogText.escaped(parts[1], limit: longestName)); name one of \(list)."
    }

    /// The complaint about an absolute path in one of some mounts.
    static func complaint(at path: String, in mounts: [String]) -> String? {
        let mount = mounts.filter { path.hasPrefix($0 + "/") }.max { $0.utf8.count < $1.utf8.count }
        return mount.flatMap { complaint(String(path.dropFirst($0.count))) }
    }

    private static let list =
        "\(text(RankingMode.everyone)), signed in also \(text(RankingMode.signedIn)), or one of a single content such as "
        + "daily-manga"

    private static func text(_ modes: [RankingMode]) -> String {
        modes.map(\.rawValue).joined(separator: ", ")
    }
}
