/// A row of the table: a measured figure and its bar.
enum Row: CaseIterable {
    case names, listing, firstByte, firstPicture, heads, headBytes, eightFiles, oneFile, oneFileBytes, tail
    case pagingMedian, paging, copy, copyBytes, copyRequests, synchronise, synchroniseBytes
    case listingAgain, restartedListing, restartedReading, restartedDisk, dropped, droppedDisk, droppedProcessor, cached
    case plainCached, direct, directTogether, plainDirect, stat, plainStat
    case idle, idleOwn, peak, start, disk
    case shown60, thumbnails60, shown150, thumbnails150, shown300, thumbnails300

    /// Title, unit, digits after the decimal point, and bars: over TLS and HTTP/2, and plain.
    private var description: (title: String, unit: String, digits: Int, bars: (Double?, Double?)) {
        switch self {
        case .names: ("names only, 500, cold", "ms", 0, (200, 200))
        case .listing: ("ls -l of 500, cold", "ms", 0, (460, 1200))
        case .firstByte: ("first byte of an unread picture, size known", "ms", 0, (95, 95))
        case .firstPicture: ("first picture of a day, only names listed", "ms", 0, (220, 200))
        case .heads: ("first 64 KB of each of 100 cold files", "ms each", 0, (85, 85))
        case .headBytes: ("  bytes fetched for those needed", "x", 2, (1.5, 1.5))
        case .eightFiles: ("8 readers of 8 cold files, 20 MB", "s", 2, (0.40, 0.40))
        case .oneFile: ("8 readers of one cold file of 12 MB", "s", 2, (0.45, 0.45))
        case .oneFileBytes: ("  bytes of that file fetched for those needed", "x", 2, (1.0, 1.0))
        case .tail: ("last 64 KB of a cold file of 12 MB", "ms", 0, (80, 80))
        case .pagingMedian: ("paging with looks of 300 ms: wait, median", "ms", 2, (3, 3))
        case .paging: ("paging with looks of 300 ms: wait, p95", "ms", 1, (20, 20))
        case .copy: ("cp -r of 60 cold files", "s", 2, (3.5, 3.5))
        case .copyBytes, .synchroniseBytes: ("  bytes fetched, also beyond the end", "x", 2, (1.0, 1.0))
        case .copyRequests: ("  for bytes and sizes, also beyond", "requests", 0, (75, 75))
        case .synchronise: ("rsync -a of 60 cold files", "s", 2, (3.5, 3.5))
        case .listingAgain: ("warm ls -l of 500, at once", "ms", 1, (6, 6))
        case .restartedListing: ("restarted: ls -l of 500", "ms", 1, (30, 30))
        case .restartedReading: ("restarted: reading what is stored", "MB/s", 0, (700, 700))
        case .dropped: ("warm read, page cache dropped", "MB/s", 0, (600, 600))
        case .restartedDisk, .droppedDisk: ("  the stored files by themselves", "MB/s", 0, (nil, nil))
        case .droppedProcessor: ("  processor time of the daemon, per GB", "s", 2, (nil, nil))
        case .cached: ("warm read, in page cache", "MB/s", 0, (3600, 3600))
        case .direct: ("O_DIRECT reads of 4 KB, 1 job", "k/s", 1, (70, 70))
        case .directTogether: ("O_DIRECT reads of 4 KB, 8 jobs", "k/s", 1, (110, 110))
        case .plainCached: ("  the same of a plain directory", "MB/s", 0, (nil, nil))
        case .plainDirect: ("  of a plain file, 1 job", "k/s", 1, (nil, nil))
        case .plainStat: ("  of a plain directory", "us", 2, (nil, nil))
        case .stat: ("warm stat, after 1.5 s", "us", 2, (2.8, 2.8))
        case .idle: ("resident when idle", "MB", 1, (16, 16))
        case .idleOwn: ("  of that no file's", "MB", 1, (nil, nil))
        case .peak: ("peak of memory while copying", "MB", 1, (40, 40))
        case .start: ("start to answering mount", "ms", 0, (300, 300))
        case .shown60: ("a file manager's first look, 60 ms away", "s", 2, (1.5, 2))
        case .shown150: ("a file manager's first look, 150 ms away", "s", 2, (nil, nil))
        case .shown300: ("a file manager's first look, 300 ms away", "s", 2, (3, 5))
        case .thumbnails60: ("  all of its thumbnails", "s", 2, (4, 5))
        case .thumbnails150: ("  all of its thumbnails", "s", 2, (nil, nil))
        case .thumbnails300: ("  all of its thumbnails", "s", 2, (8, 12))
        case .disk: ("program, stripped, and libraries of its own", "MB", 1, (15, 15))
        }
    }

    /// The title in the table, with the unit.
    var title: String { "\(description.title), \(description.unit)" }

    var digits: Int { description.digits }

    func bar(_ wire: Wire) -> Double? { wire == .secure ? description.bars.0 : description.bars.1 }

    /// Whether a higher value is better.
    var isRate: Bool { description.unit.hasSuffix("/s") }

    /// The best of several values.
    func best(_ values: [Double]) -> Double? { isRate ? values.max() : values.min() }

    /// Whether a value meets its bar, both rounded as printed.
    func fulfils(_ value: Double, _ bar: Double) -> Bool {
        let step = (0..<digits).reduce(0.5) { step, _ in step / 10 }
        return isRate ? value > bar - step : value < bar + step
    }
}

/// The table on standard output, one line per row: each subject's figure, ours as a multiple of the best other one, and the bar.
struct Table {
    let wire: Wire
    let subjects: [String]

    private static let titleWidth = 48
    private static let width = 11

    func begin() {
        say("\n\(wire.rawValue)\n")
        say(line("", subjects.map { $0 }, "x best", "bar"))
    }

    /// Prints a row; `values` holds one value per subject, nil for a subject without this figure.
    func add(_ row: Row, _ values: [Double?]) {
        let peers = row.best(values.dropFirst().compactMap { $0 })
        let own = values.first ?? nil
        let ratio = own.flatMap { own in peers.flatMap { $0 > 0 ? Self.text(own / $0, 2) : nil } } ?? "-"
        let bar = row.bar(wire).map { bar in
            let sign = row.isRate ? ">= " : "<= "
            let missed = own.map { row.fulfils($0, bar) ? "" : " missed" } ?? ""
            return sign + Self.text(bar, row.digits) + missed
        }
        say(line(row.title, values.map { $0.map { Self.text($0, row.digits) } ?? "-" }, ratio, bar ?? "-"))
    }

    private func line(_ title: String, _ figures: [String], _ ratio: String, _ bar: String) -> String {
        let cells = (figures + [ratio]).map { String(repeating: " ", count: max(1, Self.width - $0.count)) + $0 }
        return title + String(repeating: " ", count: max(1, Self.titleWidth - title.count)) + cells.joined() + "  "
            + bar + "\n"
    }

    /// A number with the given digits after the decimal point.
    private static func text(_ value: Double, _ digits: Int = 1) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let whole = Int((value * scale).rounded())
        guard digits > 0 else { return "\(whole)" }
        let fraction = String(abs(whole) % Int(scale))
        return "\(whole / Int(scale)).\(String(repeating: "0", count: digits - fraction.count))\(fraction)"
    }
}
