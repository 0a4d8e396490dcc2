import Posix
import Rankings
import Sourcing

/// Where a path leads: a mount, and the way below it.
struct FetchPlace: Hashable, Sendable {
    let mount: String
    /// Without a slash at either end; empty for the mount's root.
    let path: String
}

/// From the words of a command line to paths below a mount: pure, but for the links that `canonical` follows.
enum FetchPath {
    /// Days of one range: more than the service has published in ten years.
    static let longestRange = 4000

    /// Finds the mount that an argument means.
    ///
    /// - Parameters:
    ///   - argument: Absolute, relative to the working directory, or relative to the root of the only mount.
    ///   - directory: The working directory.
    ///   - mounts: Mount points of rankfs, of which one may be meant by a path relative to it.
    ///   - others: Further mount points, whose files are named from / on.
    ///   - canonical: Follows the links in an absolute path as far as it exists.
    /// - Returns: The place, with links in the argument followed.
    /// - Throws: unavailable if nothing is mounted, usage if the argument is in no mount.
    static func place(
        of argument: String, in directory: String, mounts: [String], others: [String] = [],
        canonical: (String) -> String
    ) throws(ProgramError) -> FetchPlace {
        let shown = LogText.escaped(argument)
        guard !mounts.isEmpty else {
            throw ProgramError(.unavailable, "nothing is mounted; `rankfs mount FOLDER` or `rankfs demo` does that.")
        }
        let absolute = argument.isAbsolutePath ? argument : "\(directory == "/" ? "" : directory)/\(argument)"
        if let place = inside(canonical(absolute), mounts + others) { return try checked(place, shown) }
        guard !argument.isAbsolutePath else {
            throw ProgramError(.usage, "\(shown) is not in a mount of rankfs; `rankfs status` lists those there are.")
        }
        guard mounts.count == 1 else {
            throw ProgramError(
                .usage, "there are \(mounts.count) mounts and \(shown) can be in each; name the path from / on.")
        }
        guard let place = inside(canonical("\(mounts[0])/\(argument)"), mounts) else {
            throw ProgramError(.usage, "\(shown) leads out of the mount; name a path in it.")
        }
        return try checked(place, shown)
    }

    private static func inside(_ path: String, _ mounts: [String]) -> FetchPlace? {
        // The longest one: mounts may lie in each other.
        let ways = mounts.compactMap { mount in path.way(from: mount).map { (mount: mount, way: $0) } }
        return ways.max { $0.mount.utf8.count < $1.mount.utf8.count }.map { mount, way in
            FetchPlace(mount: mount, path: way.pathNames.filter { $0 != "." }.joined(separator: "/"))
        }
    }

    /// What does not exist was not made canonical, so it may still hold steps upwards.
    private static func checked(_ place: FetchPlace, _ shown: String) throws(ProgramError) -> FetchPlace {
        guard !place.path.pathNames.contains("..") else {
            throw ProgramError(.usage, "\(shown) goes up behind a folder that does not exist; name it without `..`.")
        }
        return place
    }

    // MARK: - The newest day

    /// Whether a path is that of `ranking/<mode>/latest`, in which each picture of the newest day has its second name.
    static func isLatest(_ path: String) -> Bool {
        // An absolute path may be meant.
        let last = path.pathNames.suffix(3).joined(separator: "/")
        guard case .latest(let mode) = TreePath(last) else { return false }
        return SourceRegistry.all.contains { $0.description[mode] != nil }
    }

    /// Whether a name is a further one of what has its place elsewhere: who goes through everything takes each picture once.
    ///
    /// - Parameters:
    ///   - name: A name in a directory.
    ///   - directory: The directory's path, absolute or below a mount's root.
    ///   - isRoot: Whether it is a mount's root.
    /// - Returns: Whether it is passed over there.
    static func isFurther(_ name: String, in directory: String, isRoot: Bool) -> Bool {
        isRoot
            ? [.recent, .random, .ownBookmarks].contains(TreePath.root.child(name)) : isLatest("\(directory)/\(name)")
    }

    /// The day's own path of what is named by way of `latest`: an export has each picture once, and for good.
    ///
    /// - Parameters:
    ///   - path: Below the mount's root.
    ///   - day: The day that the `latest` of a path below the mount's root shows.
    /// - Returns: Nil if the path does not lead through `latest`.
    /// - Throws: What `day` throws.
    static func ofDay(
        _ path: String, day: (String) throws(LocalFiles.Failure) -> String
    ) throws(LocalFiles.Failure) -> String? {
        let steps = TreePath(path).steps
        guard let place = steps.firstIndex(where: { isLatest($0.text) }), let ranking = steps[place].parent else {
            return nil
        }
        let shown = ranking.child(try day(steps[place].text))
        return steps[(place + 1)...].reduce(shown) { $0.child($1.name) }.text
    }

    // MARK: - Ranges

    /// What a path stands for.
    struct Expansion: Hashable, Sendable {
        /// One path, or one for each day of a range.
        var paths: [String]
        /// What was left out of a range, as a sentence.
        var note: String?
    }

    /// Expands `ranking/<mode>/<day>..<day>` to its days, both ends included; any other path stands for itself.
    ///
    /// - Parameters:
    ///   - path: Below a mount's root.
    ///   - source: What is mounted there.
    ///   - newest: The newest day that a ranking can have.
    /// - Returns: The paths, in the order of the calendar.
    /// - Throws: usage for what is no range of published days, and for a ranking that there is none of.
    static func expand(
        _ path: String, of source: SourceDescription, newest: (RankingMode) -> Day
    ) throws(ProgramError) -> Expansion {
        if let complaint = WrongMode.complaint(path, of: source) { throw ProgramError(.usage, complaint) }
        guard case .entry(.mode(let mode), let range) = TreePath(path), let dots = range.range(of: "..") else {
            return Expansion(paths: [path])
        }
        let shown = LogText.escaped(range, limit: 80)
        guard let first = Day(String(range[..<dots.lowerBound])), let last = Day(String(range[dots.upperBound...]))
        else {
            throw ProgramError(.usage, "\(shown) is no range of days; write it as 2024-01-01..2024-01-31.")
        }
        guard first <= last else {
            throw ProgramError(.usage, "\(shown) ends before it begins; write \(last)..\(first).")
        }
        let days = source.days(of: mode)
        let newest = newest(mode)
        let begin = max(first, days.first)
        let end = min(last, newest)
        guard begin <= end else {
            throw ProgramError(
                .usage, "\(shown) has no published day: there are those from \(days.first) to \(newest).")
        }
        let count = end.ordinal - begin.ordinal + 1
        guard count <= longestRange else {
            throw ProgramError(
                .usage, "\(shown) has \(count) days; fetch at most \(longestRange) at a time, in several commands.")
        }
        let note = (begin, end) == (first, last) ? nil : "\(shown): published days are those from \(begin) to \(end)"
        let published = (0..<count).map { begin.advanced(by: $0) }.filter(days.contains)
        return Expansion(paths: published.map { TreePath.day(mode, $0).text }, note: note)
    }
}

extension String {
    /// The first place of some text; the standard library's own needs Foundation or regular expressions.
    fileprivate func range(of text: String) -> Range<String.Index>? {
        var start = startIndex
        while start < endIndex {
            if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
            formIndex(after: &start)
        }
        return nil
    }
}
