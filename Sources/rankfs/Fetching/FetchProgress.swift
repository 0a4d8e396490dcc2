import CLinux
import Glibc
import System
import Rankings

/// The progress of a fetch, and the line that shows it; pure.
struct FetchProgress: Hashable, Sendable {
    /// Files that are finished, with any outcome.
    var filesDone = 0
    /// Files of the listings read so far.
    var filesKnown = 0
    var listingsDone = 0
    var listingsLeft = 0
    /// Bytes read since the start.
    var bytes: Int64 = 0
    /// Seconds since the start.
    var elapsed: Double = 0
    /// The name of the work that began last.
    var name = ""
    /// The end of the cool-down that the service requested, in Unix seconds.
    var coolDown: Int64?

    /// The completed part, 0 to 1: listings not read yet count as many files as the read listings had on average.
    var fraction: Double {
        guard filesKnown > 0 else { return 0 }
        let average = Double(filesKnown) / Double(max(1, listingsDone))
        return min(1, Double(filesDone) / (Double(filesKnown) + average * Double(listingsLeft)))
    }

    /// The number of finished files, with the total once all listings are read: a smaller total would contradict the bar.
    var count: String {
        guard listingsLeft > 0 else { return "\(filesDone)/\(filesKnown) files" }
        return "\(filesDone.counted("file")), \(listingsLeft.counted("listing")) to come"
    }

    /// Seconds left at the average pace until now; nil as long as that is a guess.
    var secondsLeft: Int64? {
        let fraction = fraction
        guard fraction > Self.leastFraction, fraction < 1 else { return nil }
        return Int64(saturating: (elapsed * (1 - fraction) / fraction).rounded(.up))
    }

    /// The sequence that shows the progress beside the terminal's text.
    var sequence: String { Terminal.progress(fraction, isPaused: coolDown != nil) }

    /// Bytes per second since the start.
    var rate: Int64 { elapsed > 0 ? Int64(saturating: Double(bytes) / elapsed) : 0 }

    /// The completed part below which the remaining time varies too much to be shown.
    private static let leastFraction = 0.01
    private static let barWidth = 22
    /// Columns from which there is room for a bar.
    private static let widthForBar = 60

    /// The line, at most one column less than `width`: terminals break a line that fills its last column.
    ///
    /// - Parameters:
    ///   - width: The terminal's width in columns.
    ///   - colours: Whether the line may contain escape sequences.
    ///   - clock: Formats a time in Unix seconds for display.
    /// - Returns: The line, without its terminator.
    func line(width: Int, colours: Bool, clock: (Int64) -> String) -> String {
        let room = max(0, width - 1)
        if let coolDown {
            return DisplayText.cut("the service asks to slow down; going on at \(clock(coolDown))", to: room)
        }
        var parts = [count, SizeText.text(bytes)]
        parts.append("\(SizeText.text(rate))/s")
        if let left = secondsLeft { parts.append("\(DisplayText.duration(left)) left") }
        let figures = DisplayText.cut(parts.joined(separator: "  "), to: room)
        guard width >= Self.widthForBar else { return figures }
        let drawn = Terminal.bar(fraction, columns: Self.barWidth, colour: colours ? .blue : nil)
        let used = Self.barWidth + 1 + DisplayText.width(of: figures)
        let name = used + 2 < room ? "  " + DisplayText.cut(LogText.escaped(name), to: room - used - 2) : ""
        return "\(drawn) \(DisplayText.cut(figures, to: room - Self.barWidth - 1))\(name)"
    }
}

// MARK: - Fetch tally

/// The results of a fetch so far, as a whole and for each listing; pure.
struct FetchTally: Sendable {
    /// The files of one listing.
    struct Group: Hashable, Sendable {
        var left = 0
        var fetched = 0
        var bytes: Int64 = 0
        var skipped = 0
        var withheld = 0
        var failed = 0
    }

    /// A path that was not fetched, with the reason.
    typealias Loss = (path: String, reason: String)

    /// The reason for a listing that the mount or the service does not show to this user.
    static func refusal(isOthers: Bool) -> String {
        isOthers
            ? "only the mount's owner sees it; ask for share=all"
            : "only signed-in users see it; sign in with `rankfs login`"
    }

    private(set) var total = Group()
    private(set) var groups: [String: Group] = [:]
    private(set) var losses: [Loss] = []
    /// The listings of which files were read to their end, and the number of files that failed.
    private(set) var read: [(path: String, failed: Int)] = []
    /// The paths of the first files that were not there before, and the number of all of them.
    private(set) var news: [String] = []
    private(set) var newsCount = 0
    /// Works that were not tried after other works had failed.
    var untried = 0
    /// Whether a work failed for a reason that may pass.
    var mayPass = false
    var listings = 0
    private(set) var filesKnown = 0

    /// Files that are finished.
    var filesDone: Int { total.fetched + total.skipped + total.withheld + total.failed }

    /// Records a listing that was read: its files, and the withheld files that it only counts.
    mutating func opened(_ group: String, files: Int, withheld: Int = 0) {
        listings += 1
        filesKnown += files + withheld
        total.withheld += withheld
        guard files > 0 else { return }
        groups[group, default: Group()].left += files
        groups[group]?.withheld += withheld
    }

    /// Records a path of which a part is missing.
    mutating func lost(_ path: String, _ reason: String) { losses.append((path, reason)) }

    /// Records a file that is finished.
    ///
    /// - Returns: The listing's figures if the file was its last one.
    mutating func ended(_ work: FetchWork, _ change: (inout Group) -> Void, loss: String? = nil) -> Group? {
        change(&total)
        if let loss { losses.append((work.path, loss)) }
        guard var group = groups[work.group] else { return nil }
        change(&group)
        group.left -= 1
        groups[work.group] = group.left > 0 ? group : nil
        if group.left <= 0, group.fetched > 0 { read.append((work.group, group.failed)) }
        return group.left > 0 ? nil : group
    }

    /// Records a file that was not there before.
    mutating func isNew(_ path: String) {
        newsCount += 1
        if news.count < Self.mostNamed { news.append(path) }
    }

    /// The files that are named at most.
    private static let mostNamed = 20

    /// The lines that name what is new; none for a first run, of which everything is.
    var newsLines: [String] {
        guard total.skipped > 0 else { return [] }
        guard newsCount > 0 else { return ["nothing new"] }
        let named = news.map { "new: \(LogText.escaped($0, limit: LogText.longestLine))" }
        return named + (newsCount > news.count ? ["and \(newsCount - news.count) more"] : [])
    }

    /// The line about a listing that is finished.
    static func line(_ path: String, _ group: Group) -> String {
        LogText.escaped(path.isEmpty ? "/" : path, limit: LogText.longestLine) + ": " + figures(of: group)
    }

    /// The closing line.
    func closingLine(seconds: Int64) -> String {
        "\(Self.figures(of: total)), in \(DisplayText.duration(seconds))"
    }

    private static func figures(of group: Group) -> String {
        let rest = group.skipped + group.withheld + group.failed
        var parts: [String] = []
        if group.fetched > 0 || rest == 0 {
            parts.append(
                "\(group.fetched.counted("file")) fetched (\(SizeText.text(group.bytes)))")
        }
        if group.skipped > 0 { parts.append("\(group.skipped) there already") }
        if group.withheld > 0 { parts.append("\(group.withheld) withheld by the service") }
        if group.failed > 0 { parts.append("\(group.failed) failed") }
        return parts.joined(separator: ", ")
    }
}

// MARK: - Fetch estimate

/// The cost of a fetch, as far as it is known without a request to the service.
struct FetchEstimate: Sendable {
    /// Pictures and other files in known listings.
    var files = 0
    var bytes: Int64 = 0
    var unknownSizes = 0
    var stored = 0
    var storedBytes: Int64 = 0
    /// Files that the service lists but withholds.
    var withheld = 0
    var knownListings = 0
    /// Listings that must be requested from the service.
    var unknownListings = 0
    /// The approximate number of requests that the unknown listings take.
    var requests = 0
    /// The paths that cannot be read.
    private(set) var losses: [FetchTally.Loss] = []
    /// Whether one of them may be read at another time, as a fetch that fails so is tried again.
    private(set) var mayPass = false

    /// The approximate number of requests of a listing that is not stored.
    ///
    /// A day has ten listing pages of fifty entries at most; an author's works come a hundred to a request, a search's works sixty.
    /// The number of these works is not known before; ten requests stand for a few hundred works.
    ///
    /// - Parameter path: The listing's path, below the mount's root.
    /// - Returns: 0 for a path that is no listing.
    static func requests(for path: String) -> Int {
        switch TreePath(path) {
        case .listing(let kind, _) where kind.facts.contents == .pages: 2
        case .listing, .day, .latest, .authorLink: 10
        case .own(let kind): kind.showsPictures ? 10 : 0
        default: 0
        }
    }

    /// The time that requests take at a mount's pace, in seconds.
    static func seconds(requests: Int, tokens: Double, rate: Double) -> Int64 {
        Int64(saturating: (max(0, Double(requests) - tokens) / max(rate, 0.01)).rounded(.up))
    }

    /// The lines that show the estimate.
    ///
    /// - Parameters:
    ///   - tokens: Requests that may be sent at once.
    ///   - rate: Requests per second after that; nil if the mount does not report it.
    /// - Returns: One line about the known part, one about the unknown part.
    func lines(tokens: Double, rate: Double?) -> [String] {
        var known = ["\(files.counted("file"))", SizeText.text(bytes)]
        if unknownSizes > 0 { known.append("\(unknownSizes) of unknown size") }
        if stored > 0 { known.append("\(stored) stored already (\(SizeText.text(storedBytes)))") }
        if withheld > 0 { known.append("\(withheld) withheld by the service") }
        if knownListings > 0 { known.append("in \(knownListings.counted("known listing"))") }
        var lines = files > 0 || unknownListings == 0 ? ["to fetch   " + known.joined(separator: ", ")] : []
        if unknownListings > 0 {
            var text =
                "to ask     \(unknownListings.counted("listing")), about \(requests.counted("request"))"
            if let rate {
                let time = Self.seconds(requests: requests, tokens: tokens, rate: rate)
                text += time > 0 ? ", about \(DisplayText.duration(time))" : ", at once"
            }
            if files > 0, knownListings > 0 {
                let more = Int64(saturating: Double(bytes) / Double(knownListings) * Double(unknownListings))
                text += "; about \(SizeText.text(more)) more if they are like the known ones"
            }
            lines.append(text)
        }
        return lines
    }
}

// MARK: - Fetch survey

extension FetchEstimate {
    /// Sizes that the image host fails to report, after which no further size is requested.
    private static let mostFailures = 3

    /// Estimates the cost of fetching paths, without requesting listings from the service.
    ///
    /// Blocks: known listings are read, and unknown sizes are requested.
    ///
    /// - Parameters:
    ///   - paths: Paths below the mount's root.
    ///   - mount: The mount point.
    ///   - newest: The newest published day.
    ///   - isOthers: Whether the mount is another user's.
    ///   - isClosed: Whether the service shows a path to no session of the mount's.
    init(
        of paths: [String], mount: String, newest: Day, isOthers: Bool = false,
        isClosed: (TreePath) -> Bool = { _ in false }
    ) {
        // The last one is examined next; directories of directories add theirs.
        var left = Array(paths.reversed())
        while let path = left.popLast() {
            let cost = Self.requests(for: path)
            guard cost == 0 || Self.isKnown(path, mount: mount, newest: newest) else {
                do throws(SystemError) {
                    if isClosed(TreePath(path)) { throw SystemError(code: EACCES) }
                    if try Self.isPublished(path, mount: mount, newest: newest) {
                        unknownListings += 1
                        requests += cost
                    } else {
                        losses.append((path, "the day is not published yet"))
                    }
                } catch {
                    lose(path, error, mount, isOthers)
                }
                continue
            }
            do throws(SystemError) { left += try add(path, mount: mount) } catch { lose(path, error, mount, isOthers) }
        }
    }

    /// Records a path that cannot be read, with the words of the fetch that would fail so.
    private mutating func lose(_ path: String, _ failure: SystemError, _ mount: String, _ isOthers: Bool) {
        let reason =
            switch failure.code {
            case ENOENT: "there is nothing of that name"
            case EACCES: FetchTally.refusal(isOthers: isOthers)
            default: failure.text
            }
        losses.append((path, reason))
        if case .failed = FetchReader.outcome(of: failure, mount: mount, isMounted: { _ in true }) { mayPass = true }
    }

    /// Whether a mount has a listing; a lookup of the newest day would request it, and one of `latest` does not.
    private static func isKnown(_ path: String, mount: String, newest: Day) -> Bool {
        guard case .day(let mode, let day) = TreePath(path), day >= newest else {
            return LocalFiles.attribute(withheldName, of: "\(mount)/\(path)") != nil
        }
        let latest = "\(mount)/\(TreePath.latest(mode).text)"
        return LocalFiles.attribute("user.rankfs.day", of: latest) == day.description
            && LocalFiles.attribute(withheldName, of: latest) != nil
    }

    /// Whether a listing that is not known may be requested; throws the reason why it cannot be.
    private static func isPublished(_ path: String, mount: String, newest: Day) throws(SystemError) -> Bool {
        if case .day(_, let day) = TreePath(path), day >= newest { return day == newest }
        guard unsafe access("\(mount)/\(path)", R_OK) == 0 else { throw .last() }
        return true
    }

    /// The attribute that a directory has whose listing is stored.
    private static let withheldName = "user.rankfs.withheld"

    /// Adds a file or the files of a directory; returns the directories in it.
    private mutating func add(_ path: String, mount: String) throws(SystemError) -> [String] {
        let full = path.isEmpty ? mount : "\(mount)/\(path)"
        guard try LocalFiles.status(of: full).st_mode.isDirectory else {
            count(full)
            return []
        }
        let (names, directories) = FetchReader.parts(of: try Directory.entries(at: full), in: path)
        // A directory of directories alone is no listing of pictures.
        if !names.isEmpty || directories.isEmpty { knownListings += 1 }
        withheld += LocalFiles.withheld(in: full)
        for name in names { count("\(full)/\(name)") }
        return directories.reversed().map { path.isEmpty ? $0 : "\(path)/\($0)" }
    }

    private mutating func count(_ file: String) {
        files += 1
        guard unknownSizes < Self.mostFailures, let status = try? LocalFiles.status(of: file) else {
            unknownSizes += 1
            return
        }
        let size = Int64(status.st_size)
        bytes = bytes.adding(saturating: size)
        if size == 0, LocalFiles.attribute(Self.withheldName, of: file) != nil {
            withheld += 1
        } else if LocalFiles.attribute("user.rankfs.state", of: file) == "stored" {
            stored += 1
            storedBytes = storedBytes.adding(saturating: size)
        }
    }
}
