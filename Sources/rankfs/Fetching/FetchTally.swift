/// What came of a fetch so far, as a whole and for each listing: pure.
struct FetchTally: Hashable, Sendable {
    /// The files of one listing.
    struct Group: Hashable, Sendable {
        var left = 0
        var fetched = 0
        var bytes: Int64 = 0
        var skipped = 0
        var withheld = 0
        var failed = 0
    }

    /// A path that was not fetched, and why.
    struct Loss: Hashable, Sendable {
        let path: String
        let reason: String
    }

    private(set) var total = Group()
    private(set) var groups: [String: Group] = [:]
    private(set) var losses: [Loss] = []
    /// Works that were not tried after others had failed.
    private(set) var untried = 0
    private(set) var listings = 0
    private(set) var filesKnown = 0

    /// Files that are through.
    var filesDone: Int { total.fetched + total.skipped + total.withheld + total.failed }

    /// A listing was read: so many files, and so many that it only counts.
    mutating func opened(_ group: String, files: Int, withheld: Int = 0) {
        listings += 1
        filesKnown += files + withheld
        total.withheld += withheld
        guard files > 0 else { return }
        groups[group, default: Group()].left += files
        groups[group]?.withheld += withheld
    }

    /// A listing could not be read.
    mutating func lost(listing: String, _ reason: String) {
        listings += 1
        losses.append(Loss(path: listing, reason: reason))
    }

    /// A file is through.
    ///
    /// - Returns: The listing's figures if it was its last one.
    mutating func ended(_ work: FetchWork, _ change: (inout Group) -> Void, loss: String? = nil) -> Group? {
        change(&total)
        if let loss { losses.append(Loss(path: work.path, reason: loss)) }
        guard var group = groups[work.group] else { return nil }
        change(&group)
        group.left -= 1
        groups[work.group] = group.left > 0 ? group : nil
        return group.left > 0 ? nil : group
    }

    /// So much is not even tried.
    mutating func abandoned(_ works: Int) {
        untried += works
    }

    /// The line about a listing that is through.
    static func line(_ path: String, _ group: Group) -> String {
        LogText.escaped(path.isEmpty ? "/" : path, limit: LogText.longestLine) + ": " + figures(of: group)
    }

    /// The closing line.
    func closingLine(seconds: Int64) -> String {
        "\(Self.figures(of: total)), in \(StatusCommand.duration(seconds))"
    }

    private static func figures(of group: Group) -> String {
        let rest = group.skipped + group.withheld + group.failed
        var parts: [String] = []
        if group.fetched > 0 || rest == 0 {
            parts.append(
                "\(FetchEstimate.count(group.fetched, "file")) fetched (\(ValueParsers.sizeText(group.bytes)))")
        }
        if group.skipped > 0 { parts.append("\(group.skipped) there already") }
        if group.withheld > 0 { parts.append("\(group.withheld) withheld by the service") }
        if group.failed > 0 { parts.append("\(group.failed) failed") }
        return parts.joined(separator: ", ")
    }
}
