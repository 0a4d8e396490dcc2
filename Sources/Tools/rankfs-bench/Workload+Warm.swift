import Glibc

extension Workload {
    /// Reads stored pictures again and again.
    @Sendable static func warm(_ subject: Subject, _ site: Site) -> [Row: Double] {
        let paths = Array(subject.paths(site).prefix(60))
        let bytes = Double(paths.reduce(0) { $0 + readFile($1) })
        let largest = subject.path(ofRank: site.largest[0].rank)
        readFile(largest)
        var figures: [Row: Double] = [:]
        let used = subject.daemon.processorSeconds
        // The disk is measured between the runs, because its speed varies.
        var disk: [Double] = []
        figures[.dropped] = median(of: 5) {
            disk.append(rateOfDisk(below: subject.cache))
            dropPageCache()
            return bytes / seconds { for path in paths { readFile(path) } } / 1e6
        }
        figures[.droppedProcessor] = (subject.daemon.processorSeconds - used) / 5 / bytes * 1e9
        figures[.droppedDisk] = percentile(disk, 0.5)
        figures[.cached] = median(of: 9) { bytes / seconds { for path in paths { readFile(path) } } / 1e6 }
        figures[.direct] = directReads(of: largest, readers: 1)
        figures[.directTogether] = directReads(of: largest, readers: 8)
        let all = subject.paths(site)
        for path in all { _ = size(of: path) }
        figures[.stat] = median(of: 5) {
            // Longer than the second for which file systems usually let the kernel answer from its cache.
            usleep(1_500_000)
            return seconds { for path in all { _ = size(of: path) } } / Double(all.count) * 1e6
        }
        return figures.merging(plain(paths, largest, all.count, site)) { own, _ in own }
    }

    /// The same of a plain directory with the same pictures, the speed of the machine itself.
    private static func plain(_ paths: [String], _ largest: String, _ count: Int, _ site: Site) -> [Row: Double] {
        let directory = "\(site.directory)/plain"
        unsafe mkdir(directory, 0o700)
        defer { Child(["rm", "-rf", directory]).wait() }
        Child(["cp"] + paths + [largest, directory]).wait()
        let copies = paths.map { "\(directory)/\($0.split(separator: "/").last ?? "")" }
        let bytes = Double(copies.reduce(0) { $0 + readFile($1) })
        return [
            .plainCached: median(of: 9) { bytes / seconds { for path in copies { readFile(path) } } / 1e6 },
            .plainDirect: directReads(of: "\(directory)/\(largest.split(separator: "/").last ?? "")", readers: 1),
            .plainStat: median(of: 5) {
                seconds { for number in 0..<count { _ = size(of: copies[number % copies.count]) } } / Double(count)
                    * 1e6
            },
        ]
    }

    /// Lists and reads stored pictures after a restart of the daemon.
    @Sendable static func restart(_ subject: Subject, _ site: Site) -> [Row: Double] {
        Child(["ls", "-l", subject.dayDirectory]).wait()
        let paths = Array(subject.paths(site).prefix(60))
        let bytes = Double(paths.reduce(0) { $0 + readFile($1) })
        var starts: [Double] = []
        var listings: [Double] = []
        var disk: [Double] = []
        let reading = median(of: 5) {
            // The last of the pictures may not be on the disk yet.
            sleep(1)
            subject.stop()
            starts.append(subject.start() * 1000)
            listings.append(seconds { Child(["ls", "-l", subject.dayDirectory]).wait() } * 1000)
            disk.append(rateOfDisk(below: subject.cache))
            dropPageCache()
            return bytes / seconds { for path in paths { readFile(path) } } / 1e6
        }
        return [
            .start: percentile(starts, 0.5), .restartedListing: percentile(listings, 0.5), .restartedReading: reading,
            .restartedDisk: percentile(disk, 0.5),
        ]
    }

    /// MB a second at which the files that a subject stores, up to 100 MB of them, are read directly from the disk.
    private static func rateOfDisk(below directory: String) -> Double {
        var bytes = 0
        let stored = files(below: directory).filter { path in
            defer { bytes += size(of: path) }
            return bytes < 100_000_000
        }
        dropPageCache()
        var got = 0
        let time = seconds { for path in stored { got += readFile(path) } }
        return Double(got) / time / 1e6
    }
}
