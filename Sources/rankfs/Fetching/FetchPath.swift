import System
import Rankings
import Sourcing

/// Converts the words of a command line to paths below a mount; pure, except for the links that `canonical` resolves.
enum FetchPath {
    /// The location of a path: a mount, and the path below it without a slash at either end; empty for the mount's root.
    typealias Place = (mount: String, path: String)

    /// The greatest number of days of a range: more than the service has published in ten years.
    static let longestRange = 4000

    /// Finds the mount that an argument refers to.
    ///
    /// - Parameters:
    ///   - argument: Absolute, relative to the working directory, or relative to the root of the only mount or of the one that the
    ///     working directory is in.
    ///   - directory: The working directory; nil if no path can start from it.
    ///   - mounts: Mount points of rankfs; if there is only one, a path may be relative to it.
    ///   - others: Further mount points; no argument is relative to their roots.
    ///   - canonical: Resolves the links in an absolute path as far as it exists.
    ///   - exists: Returns whether an absolute path exists.
    /// - Returns: The place, with the links in the argument resolved.
    /// - Throws: `.unavailable` if nothing is mounted, `.usage` if the argument is in no mount.
    static func place(
        of argument: String, in directory: String?, mounts: [String], others: [String] = [],
        canonical: (String) -> String, exists: (String) -> Bool = { _ in true }
    ) throws(ProgramError) -> Place {
        let shown = LogText.escaped(argument)
        guard !mounts.isEmpty else {
            throw .unavailable("nothing is mounted; `rankfs mount FOLDER` or `rankfs demo` does that.")
        }
        let absolute = argument.isAbsolutePath ? argument : directory.map { "\($0 == "/" ? "" : $0)/\(argument)" }
        if let absolute, let place = inside(canonical(absolute), mounts + others) {
            // Who stands in one day and names another one names it from the root: no folder shows the names of the root again.
            let first = argument.pathNames.first ?? ""
            if !argument.isAbsolutePath, !first.hasPrefix("."), !exists(absolute), exists("\(place.mount)/\(first)"),
                let other = inside(canonical("\(place.mount)/\(argument)"), [place.mount])
            {
                return try checked(other, shown)
            }
            return try checked(place, shown)
        }
        // `.` and what begins with it name the working directory.
        guard !argument.isAbsolutePath, argument.pathNames.first?.hasPrefix(".") != true else {
            throw .usage("\(shown) is not in a mount of rankfs; `rankfs status` lists those there are.")
        }
        guard mounts.count == 1 else {
            throw .usage("there are \(mounts.count) mounts and \(shown) can be in each; give the full path.")
        }
        guard let place = inside(canonical("\(mounts[0])/\(argument)"), mounts) else {
            throw .usage("\(shown) leads out of the mount; name a path in it.")
        }
        return try checked(place, shown)
    }

    private static func inside(_ path: String, _ mounts: [String]) -> Place? {
        LocalFiles.innermost(of: mounts, above: path).map { mount, way in
            (mount, way.pathNames.filter { $0 != "." }.joined(separator: "/"))
        }
    }

    /// Refuses upward steps: a path that does not exist is not made canonical and may still contain them.
    private static func checked(_ place: Place, _ shown: String) throws(ProgramError) -> Place {
        guard !place.path.pathNames.contains("..") else {
            throw .usage("\(shown) goes up behind a folder that does not exist; name it without `..`.")
        }
        return place
    }

    // MARK: - The newest day

    /// Whether a path is `ranking/<mode>/latest`, in which each picture of the newest day has its second name.
    static func isLatest(_ path: String) -> Bool {
        // The path may be absolute.
        let last = path.pathNames.suffix(3).joined(separator: "/")
        guard case .latest(let mode) = TreePath(last) else { return false }
        return SourceRegistry.all.contains { $0.description[mode] != nil }
    }

    /// Whether a name is an additional name of an entry in another place; a traversal skips it to read each picture once.
    ///
    /// - Parameters:
    ///   - name: A name in a directory.
    ///   - directory: The directory's path, absolute or below a mount's root.
    ///   - isRoot: Whether the directory is a mount's root.
    /// - Returns: Whether a traversal skips the name.
    static func isFurther(_ name: String, in directory: String, isRoot: Bool) -> Bool {
        guard isRoot else { return isLatest("\(directory)/\(name)") }
        return switch TreePath.root.child(name) {
        case .recent, .random: true
        case .own(let kind): kind.facts.place != .root
        default: false
        }
    }

    /// The path by day of an entry that is named through `latest`: an export holds each picture once, and permanently.
    ///
    /// - Parameters:
    ///   - path: The path below the mount's root.
    ///   - day: Returns the day that the `latest` of a path below the mount's root shows.
    /// - Returns: Nil if the path does not lead through `latest`.
    /// - Throws: The errors of `day`.
    static func ofDay(
        _ path: String, day: (String) throws(SystemError) -> String
    ) throws(SystemError) -> String? {
        let steps = TreePath(path).steps
        guard let place = steps.firstIndex(where: { isLatest($0.text) }), let ranking = steps[place].parent else {
            return nil
        }
        let shown = ranking.child(try day(steps[place].text))
        return steps[(place + 1)...].reduce(shown) { $0.child($1.name) }.text
    }

    // MARK: - Ranges

    /// The paths that an argument stands for: one, or one for each day of a range; and the part of a range that is omitted, as a
    /// sentence.
    typealias Expansion = (paths: [String], note: String?)

    /// Expands `ranking/<mode>/<day>..<day>` to its days, both ends included; any other path stands for itself.
    ///
    /// - Parameters:
    ///   - path: The path below a mount's root.
    ///   - source: The source of the mount.
    ///   - newest: Returns the newest day that a ranking can have.
    /// - Returns: The paths, in the order of the calendar.
    /// - Throws: `.usage` if the path is no range of published days, or names a ranking that does not exist.
    static func expand(
        _ path: String, of source: SourceDescription, newest: (RankingMode) -> Day
    ) throws(ProgramError) -> Expansion {
        if let complaint = source.complaint(about: path) { throw .usage(complaint) }
        guard case .entry(.mode(let mode), let range) = TreePath(path), let dots = range.firstRange(of: "..") else {
            return ([path], nil)
        }
        let shown = LogText.escaped(range, limit: 80)
        guard let first = Day(String(range[..<dots.lowerBound])), let last = Day(String(range[dots.upperBound...]))
        else { throw .usage("\(shown) is no range of days; write it as 2024-01-01..2024-01-31.") }
        guard first <= last else { throw .usage("\(shown) ends before it begins; write \(last)..\(first).") }
        let days = source.days(of: mode)
        let newest = newest(mode)
        let begin = max(first, days.first)
        let end = min(last, newest)
        guard begin <= end else {
            throw .usage("\(shown) has no published day: there are those from \(days.first) to \(newest).")
        }
        let count = end.ordinal - begin.ordinal + 1
        guard count <= longestRange else {
            throw .usage("\(shown) has \(count) days; fetch at most \(longestRange) at a time, in several commands.")
        }
        let note = (begin, end) == (first, last) ? nil : "\(shown): published days are those from \(begin) to \(end)"
        let published = (0..<count).map { begin.advanced(by: $0) }.filter(days.contains)
        return (published.map { TreePath.day(mode, $0).text }, note)
    }
}

// MARK: - Rankings that do not exist

extension SourceDescription {
    /// Characters of the name that are shown.
    private static let longestName = 80

    /// The cause and the remedy for a path below the root of a mount with a ranking that the service lacks, which to the kernel is
    /// just a missing name, or with links alone; nil if it names pictures, or none.
    func complaint(about path: String) -> String? {
        let path = TreePath(path)
        let steps = path.steps
        if steps.count >= 2, [.rankings, .dates(.all)].contains(steps[0]),
            RankingMode(rawValue: steps[1].name).flatMap({ self[$0] }) == nil
        {
            return
                "there is no ranking \(LogText.escaped(steps[1].name, limit: Self.longestName)); name one of \(listed)."
        }
        guard case .dates = path else { return nil }
        return "\(path.text) has only links to days; name days, or all of a month as by-date/MODE/YEAR/MONTH/*."
    }

    /// The rankings for all readers, those for members, and a limited one as an example, as far as they exist.
    private var listed: String {
        let everyone = modes(isSignedIn: false)
        let others = modes(isSignedIn: true).filter { !everyone.contains($0) }
        let limited = rankings.filter { $0.partOf != nil }
        // An example that says more than its kind: usually the second.
        let example = limited.dropFirst().first ?? limited.first
        return text(everyone) + (others.isEmpty ? "" : ", signed in also \(text(others))")
            + (example.map { ", or one of a single content such as \($0.mode.rawValue)" } ?? "")
    }

    private func text(_ modes: [RankingMode]) -> String {
        modes.map(\.rawValue).joined(separator: ", ")
    }
}
