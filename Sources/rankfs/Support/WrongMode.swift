import Rankings

/// What is said of a path whose ranking the service does not have: to the kernel it is a name like any other that is missing.
enum WrongMode {
    /// Characters of the name that are shown.
    private static let longestName = 80

    /// The cause and the remedy for a path below the root of a source's mount; nil for one that names a ranking, or none.
    static func complaint(_ path: String, of source: SourceDescription) -> String? {
        let steps = TreePath(path).steps
        guard steps.count >= 2, [.rankings, .dates(.all)].contains(steps[0]),
            RankingMode(rawValue: steps[1].name).flatMap({ source[$0] }) == nil
        else { return nil }
        return "there is no ranking \(LogText.escaped(steps[1].name, limit: longestName)); name one of \(list(source))."
    }

    /// The complaint about an absolute path in one of some mounts.
    ///
    /// - Parameters:
    ///   - path: The path.
    ///   - mounts: Mount points.
    ///   - source: The source that is mounted there.
    /// - Returns: Nil for a path in none of them, and for one that names a ranking.
    static func complaint(
        at path: String, in mounts: [String], source: (_ mount: String) -> SourceDescription
    ) -> String? {
        let ways = mounts.compactMap { mount in path.way(from: mount).map { (mount: mount, way: $0) } }
        return ways.max { $0.mount.utf8.count < $1.mount.utf8.count }.flatMap {
            complaint($0.way, of: source($0.mount))
        }
    }

    /// Those of everybody, those of members, and one that is limited, as far as there are any.
    private static func list(_ source: SourceDescription) -> String {
        let everyone = source.modes(isSignedIn: false)
        let others = source.modes(isSignedIn: true).filter { !everyone.contains($0) }
        let limited = source.rankings.filter { $0.partOf != nil }
        // One that says more than its kind: the second, as a rule.
        let example = limited.dropFirst().first ?? limited.first
        return text(everyone) + (others.isEmpty ? "" : ", signed in also \(text(others))")
            + (example.map { ", or one of a single content such as \($0.mode.rawValue)" } ?? "")
    }

    private static func text(_ modes: [RankingMode]) -> String {
        modes.map(\.rawValue).joined(separator: ", ")
    }
}
