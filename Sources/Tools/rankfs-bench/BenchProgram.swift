import Glibc

/// The program `rankfs-bench`: the figures that matter to readers, measured on this machine against the embedded origin,
/// beside other installed programs that mount pictures over HTTP.
@main
struct BenchProgram {
    static let help = """
        usage: rankfs-bench [OPTION]... [WORKLOAD]...

        Measures rankfs, and in the same run rclone and httpdirfs where they are installed, on an origin of its own.
        Workloads: \(Workload.all.map(\.name).joined(separator: " ")); all of them without a word.

          --alone    rankfs only
          --kept     also the figures of rankfs alone, a line each for Tests/Bench/gate.py: wire, name, value
          --plain    over HTTP/1.1 without TLS only
          --secure   over TLS and HTTP/2 only

        """

    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        let known = ["--alone", "--kept", "--plain", "--secure"]
        let chosen = Workload.all.filter { words.contains($0.name) }
        guard words.allSatisfy({ word in known.contains(word) || chosen.contains { $0.name == word } }) else {
            say(help)
            exit(words == ["--help"] ? 0 : 64)
        }
        let path = CommandLine.arguments[0]
        let programs = path.contains("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
        say("origin: \(Site.latency) ms a request, \(Site.rate / 1024 / 1024) MiB/s a connection\n")
        for wire in Wire.allCases where !words.contains(wire == .secure ? "--plain" : "--secure") {
            run(
                wire, chosen.isEmpty ? Workload.all : chosen, programs: programs, alone: words.contains("--alone"),
                isKept: words.contains("--kept"))
        }
    }

    /// Runs the chosen workloads on one wire, each for one subject after the other.
    private static func run(
        _ wire: Wire, _ workloads: [Workload], programs: String, alone: Bool, isKept: Bool
    ) {
        let site = Site(programs: programs, wire: wire)
        defer { site.close() }
        let own = Subject.rankfs(site)
        let peers = alone ? [] : [Subject.rclone(site), Subject.httpdirfs(site)]
        let subjects = [own] + peers.compactMap { $0 }
        site.prepare(with: own)
        let table = Table(wire: wire, subjects: subjects.map(\.name))
        table.begin()
        for workload in workloads {
            let figures = subjects.map { subject in
                subject.start()
                defer {
                    subject.stop()
                    subject.forget()
                }
                return workload.run(subject, site)
            }
            for row in Row.allCases where figures.contains(where: { $0[row] != nil }) {
                table.add(row, figures.map { $0[row] })
                if isKept, let figure = figures.first?[row] { say("kept\t\(wire)\t\(row)\t\(figure)\n") }
            }
        }
    }
}
