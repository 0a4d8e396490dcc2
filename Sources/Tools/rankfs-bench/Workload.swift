import Glibc

/// A workload that measures a subject; the subject is mounted, with nothing stored, when the workload begins.
struct Workload: Sendable {
    /// The word that selects the workload on the command line.
    let name: String
    let run: @Sendable (Subject, Site) -> [Row: Double]

    static let all = [
        Workload(name: "listing", run: listing), Workload(name: "first", run: first),
        Workload(name: "heads", run: heads), Workload(name: "together", run: together),
        Workload(name: "paging", run: paging), Workload(name: "copying", run: copying),
        Workload(name: "warm", run: warm), Workload(name: "restart", run: restart), Workload(name: "look", run: look),
    ]

    /// Lists the names of the day and runs `ls -l`: cold, and again.
    @Sendable private static func listing(_ subject: Subject, _ site: Site) -> [Row: Double] {
        var figures: [Row: Double] = [:]
        let list = ["ls", "-l", subject.dayDirectory]
        func cold(_ work: () -> Void) -> Double {
            let start = subject.startEmpty()
            return ((subject.listsAtStart ? start : 0) + seconds(work)) * 1000
        }
        figures[.names] = cold { _ = names(in: subject.dayDirectory) }
        figures[.listing] = cold { Child(list).wait() }
        figures[.listingAgain] = median(of: 9) { seconds { Child(list).wait() } * 1000 }
        // Excludes the memory that the daemon releases some seconds after the work.
        sleep(12)
        let memory = subject.daemon.memory
        figures[.idle] = Double(memory.now) / 1e6
        figures[.idleOwn] = Double(memory.own) / 1e6
        figures[.disk] = Double(subject.daemon.ownFiles(strippedInto: "\(site.directory)/stripped")) / 1e6
        return figures
    }

    /// Opens the first picture of a day: all of it with only its name known, and its first bytes with its size known too.
    @Sendable private static func first(_ subject: Subject, _ site: Site) -> [Row: Double] {
        let whole = median(of: 3) {
            subject.startEmpty()
            let path = subject.path(ofRank: site.pictures[0].rank)
            return seconds { readFile(path) } * 1000
        }
        let first = median(of: 3) {
            subject.startEmpty()
            let path = subject.path(ofRank: site.pictures[0].rank)
            _ = size(of: path)
            return seconds { readFile(path, count: 1) } * 1000
        }
        return [.firstPicture: whole, .firstByte: first]
    }

    /// Reads the beginnings of files, and the end of one file.
    @Sendable private static func heads(_ subject: Subject, _ site: Site) -> [Row: Double] {
        Child(["ls", "-l", subject.dayDirectory]).wait()
        let paths = subject.paths(site).prefix(100)
        let before = site.sentBytes
        let time = seconds { for path in paths { readFile(path, count: 65_536) } } * 10
        let needed = site.pictures.prefix(100).reduce(0) { $0 + min(65_536, $1.size) }
        // Bytes that were requested and are still in transit count too.
        sleep(2)
        let fetched = site.sentBytes - before
        subject.startEmpty()
        Child(["ls", "-l", subject.dayDirectory]).wait()
        let (rank, size) = site.largest[1]
        let path = subject.path(ofRank: rank)
        let tail = seconds { readFile(path, from: size - 65_536) } * 1000
        return [.heads: time, .headBytes: Double(fetched) / Double(needed), .tail: tail]
    }

    /// Reads with eight readers at a time.
    @Sendable private static func together(_ subject: Subject, _ site: Site) -> [Row: Double] {
        var figures: [Row: Double] = [:]
        Child(["ls", "-l", subject.dayDirectory]).wait()
        let ranks = site.pictures.prefix(120).filter { $0.size > 1_000_000 }.suffix(8).map(\.rank)
        let known = subject.files()
        let eight = ranks.compactMap { rank in known.first { $0.rank == rank }?.path }
        figures[.eightFiles] = seconds { onThreads(eight.count) { readFile(eight[$0]) } }
        subject.startEmpty()
        Child(["ls", "-l", subject.dayDirectory]).wait()
        let (rank, size) = site.largest[0]
        let one = subject.path(ofRank: rank)
        let before = site.logged
        figures[.oneFile] = seconds { onThreads(8) { _ in readFile(one) } }
        sleep(1)
        // Counts this picture alone: its request precedes those of the pictures that are preloaded after it.
        let sent = site.sent(after: before)
        let path = sent.min { $0.began < $1.began }?.path
        figures[.oneFileBytes] = Double(sent.reduce(0) { $0 + ($1.path == path ? $1.bytes : 0) }) / Double(size)
        return figures
    }

    /// Reads forty pictures whole and in order, as a user of an image viewer does, with a pause of 300 ms at each.
    @Sendable private static func paging(_ subject: Subject, _ site: Site) -> [Row: Double] {
        var waits: [Double] = []
        for path in subject.paths(site).prefix(40) {
            _ = size(of: path)
            waits.append(seconds { readFile(path) } * 1000)
            usleep(300_000)
        }
        // Two pictures are preloaded when the third is opened.
        let paged = Array(waits.dropFirst(2))
        return [.pagingMedian: percentile(paged, 0.5), .paging: percentile(paged, 0.95)]
    }

    @Sendable private static func copying(_ subject: Subject, _ site: Site) -> [Row: Double] {
        var figures: [Row: Double] = [:]
        for (program, time, bytes) in [
            (["cp", "-r"], Row.copy, Row.copyBytes), (["rsync", "-a"], .synchronise, .synchroniseBytes),
        ] {
            if figures[.copy] != nil { subject.startEmpty() }
            let sixty = Array(subject.paths(site).prefix(60))
            let target = "\(site.directory)/copies"
            unsafe mkdir(target, 0o700)
            let (before, lines) = (site.sentBytes, site.logged)
            figures[time] = seconds { Child(program + sixty + [target]).wait() }
            let copied = names(in: target).reduce(0) { $0 + size(of: "\(target)/\($1)") }
            // Bytes that were requested and are still in transit count too.
            sleep(2)
            figures[bytes] = Double(site.sentBytes - before) / Double(max(1, copied))
            if time == .copy { figures[.copyRequests] = Double(site.sent(after: lines).count) }
            figures[.peak] = max(figures[.peak] ?? 0, Double(subject.daemon.memory.peak) / 1e6)
            Child(["rm", "-rf", target]).wait()
        }
        return figures
    }
}
