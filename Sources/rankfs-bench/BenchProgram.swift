import Glibc

/// The program `rankfs-bench`: the figures of speed, measured on this machine against the embedded origin.
@main
struct BenchProgram {
    static func main() {
        let path = CommandLine.arguments[0]
        let programs = path.contains("/") ? String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
        print("origin: \(Bench.latency) ms a request, \(Bench.rate / 1024 / 1024) MiB/s a connection")
        for wire in Wire.allCases { run(wire, programs: programs) }
    }

    /// All figures on one wire.
    private static func run(_ wire: Wire, programs: String) {
        print("\n\(wire.rawValue)")
        let bench = Bench(programs: programs, wire: wire)
        defer { bench.close() }
        bench.mount()
        // The origin draws a picture when it is first asked: that must not be timed.
        let all = names(in: bench.dayDirectory).map { "\(bench.dayDirectory)/\($0)" }
        let paths = Array(all.prefix(130)) + largest(of: all).prefix(2).map(\.path)
        onThreads(8) { reader in
            for number in stride(from: reader, to: paths.count, by: 8) { readFile(paths[number]) }
        }
        bench.remountEmpty()
        for workload in [listing, walking, viewer, copying, ranges, warm, restart] { workload(bench) }
    }

    /// Files with their sizes, the largest first.
    static func largest(of paths: [String]) -> [(path: String, size: Int)] {
        paths.map { (path: $0, size: size(of: $0)) }.sorted { $0.size > $1.size }
    }

    /// Prints one figure.
    static func figure(_ name: String, _ value: String, bar: String) {
        let padded = name + String(repeating: " ", count: max(1, 52 - name.count))
        print("\(padded)\(value)\(String(repeating: " ", count: max(1, 36 - value.count)))bar: \(bar)")
    }

    /// A number with so many digits behind the point.
    static func text(_ value: Double, _ digits: Int = 1) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let whole = Int((value * scale).rounded())
        guard digits > 0 else { return "\(whole)" }
        let fraction = String(abs(whole) % Int(scale))
        return "\(whole / Int(scale)).\(String(repeating: "0", count: digits - fraction.count))\(fraction)"
    }
}
