import Rankings

/// A day's pictures as a web server lists a directory, for file systems over HTTP that know nothing of rankings.
///
/// `/index/<mode>/<day>/` links to `<rank>-<work>.jpg`, which are the very pictures of the image host, for whoever asks. So
/// such file systems can be measured beside rankfs, with the same bytes at the same latency and rate.
struct DayIndex: Sendable {
    let universe: Universe
    let host: PictureHost
    let now: Int64

    /// The first part of the paths.
    private static let name = "index"

    /// The answer for a path; nil if it is not one of an index.
    func answer(_ request: Request) -> Response? {
        let path = request.segments
        guard path.first == Self.name, (3...4).contains(path.count), let mode = Universe.modes.firstIndex(of: path[1]),
            !Universe.rankingModes[mode].needsSignIn, let day = Day(path[2]),
            day >= Universe.rankingModes[mode].firstDay, day <= universe.newest(at: now)
        else { return nil }
        if path.count == 4 {
            return host.serve(request, picture(path[3], mode: mode, day: day))
        }
        let links = entries(mode: mode, day: day, ranks: 1...Universe.ranks(ofMode: mode))
            .map { "<a href=\"\(Self.name(of: $0))\">\(Self.name(of: $0))</a>" }
        let page =
            "<html>\n<head><title>Index of \(request.path)</title></head>\n<body>\n<h1>Index of \(request.path)</h1><pre>"
            + "<a href=\"../\">../</a>\n\(links.joined(separator: "\n"))\n</pre></body>\n</html>\n"
        return Response(
            status: 200, headers: [("Content-Type", "text/html; charset=utf-8")], body: .bytes(Array(page.utf8)))
    }

    private func entries(mode: Int, day: Day, ranks: ClosedRange<Int>) -> [Universe.Entry] {
        universe.entries(mode: mode, day: day, ranks: ranks).filter { !$0.work.isWithheld(from: .anonymous) }
    }

    private func picture(_ name: String, mode: Int, day: Day) -> Picture? {
        guard let rank = Int(name.prefix { $0 != "-" }), (1...Universe.ranks(ofMode: mode)).contains(rank),
            let entry = entries(mode: mode, day: day, ranks: rank...rank).first, Self.name(of: entry) == name
        else { return nil }
        return universe.picture(at: ServedPath(entry.work, page: 0, kind: .regular).text, now: now)
    }

    private static func name(of entry: Universe.Entry) -> String {
        let rank = "\(entry.rank)"
        return "\(String(repeating: "0", count: max(0, 3 - rank.count)))\(rank)-\(entry.work.id.rawValue).jpg"
    }
}
