import Glibc

extension Workload {
    /// Reads an unread day as the programs of GTK do, at several latencies: measures the time until all entries are listed, when
    /// these programs draw the window, and until each picture has a thumbnail.
    @Sendable static func look(_ subject: Subject, _ site: Site) -> [Row: Double] {
        guard subject.name == "rankfs" else { return [:] }
        var figures: [Row: Double] = [:]
        for (latency, shown, thumbnails) in [
            (60, Row.shown60, Row.thumbnails60), (150, .shown150, .thumbnails150), (300, .shown300, .thumbnails300),
        ] {
            let far = Site(programs: site.programs, wire: site.wire, latency: latency)
            defer { far.close() }
            let mount = Subject.rankfs(far)
            // A first run, in which the origin draws the previews.
            _ = look(at: mount, home: far.home)
            let looks = (0..<3).map { _ in look(at: mount, home: far.home) }
            figures[shown] = percentile(looks.map { $0.shown }, 0.5)
            figures[thumbnails] = percentile(looks.map { $0.thumbnails }, 0.5)
        }
        return figures
    }

    private static func look(at mount: Subject, home: String) -> (shown: Double, thumbnails: Double) {
        Child(["rm", "-rf", home]).wait()
        mount.start()
        defer {
            mount.stop()
            mount.forget()
        }
        let (clock, day) = (ContinuousClock(), mount.dayDirectory)
        let begin = clock.now
        let entries = names(in: day)
        _ = size(of: "\(day)/.hidden")
        let pictures = entries.count { size(of: "\(day)/\($0)") > 0 }
        let shown = clock.now - begin
        let store = "\(home)/thumbnails/large"
        while names(in: store).count < pictures, clock.now - begin < .seconds(60) { usleep(10_000) }
        return (shown / .seconds(1), (clock.now - begin) / .seconds(1))
    }
}
