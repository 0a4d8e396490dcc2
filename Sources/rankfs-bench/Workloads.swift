import Glibc

extension BenchProgram {
    static func listing(_ bench: Bench) {
        let before = bench.requests().heads
        let bare = seconds { _ = names(in: bench.dayDirectory) } * 1000
        let heads = bench.requests().heads - before
        figure("names only, cold", "\(text(bare)) ms, \(heads) HEADs", bar: "200 ms, 0")
        bench.remountEmpty()
        let cold = seconds { Child(["ls", "-l", bench.dayDirectory]).wait() } * 1000
        figure("ls -l of 500, cold", "\(text(cold)) ms", bar: "1200 ms on HTTP/1.1")
        let again = seconds { Child(["ls", "-l", bench.dayDirectory]).wait() } * 1000
        figure("ls -l of 500, again", "\(text(again)) ms", bar: "as the local directory")
        let memory = bench.daemon.memory
        figure(
            "resident when idle / without shared libraries",
            "\(text(Double(memory.now) / 1e6)) / \(text(Double(memory.own) / 1e6)) MB", bar: "20 MB")
    }

    /// What the daemon holds of its own while ten thousand entries are listed, and what it gives back.
    static func walking(_ bench: Bench) {
        bench.remountEmpty()
        var held = [bench.daemon.memory.own]
        for day in 1...20 {
            Child(["ls", "-l", "\(bench.mountPoint)/ranking/daily/2024-04-\(day < 10 ? "0" : "")\(day)"]).wait()
        }
        held.append(bench.daemon.memory.own)
        // It gives back ten seconds after the last directory was closed.
        sleep(12)
        held.append(bench.daemon.memory.own)
        bench.dropPageCache()
        sleep(12)
        held.append(bench.daemon.memory.own)
        figure(
            "own memory: idle / 10,000 listed / 12 s later / forgotten",
            held.map { text(Double($0) / 1e6) }.joined(separator: " / ") + " MB", bar: "back towards the first")
    }

    /// A person at an image viewer: forty pictures whole and in order, with a look of 300 ms at each.
    static func viewer(_ bench: Bench) {
        bench.remountEmpty()
        var waits: [Double] = []
        var first = 0.0
        for (number, name) in names(in: bench.dayDirectory).prefix(40).enumerated() {
            let path = "\(bench.dayDirectory)/\(name)"
            _ = size(of: path)
            let time = seconds {
                let result = readFile(path)
                if number == 0 { first = result.first }
            }
            if number >= 2 { waits.append(time * 1000) }
            usleep(300_000)
        }
        figure("first byte of an unread picture", "\(text(first * 1000)) ms", bar: "95 ms")
        figure(
            "paging: wait from the third on, median / p95",
            "\(text(percentile(waits, 0.5), 2)) / \(text(percentile(waits, 0.95))) ms",
            bar: "3 / 20 ms")
    }

    static func copying(_ bench: Bench) {
        for program in [["cp", "-r"], ["rsync", "-a"]] {
            bench.remountEmpty()
            let sixty = names(in: bench.dayDirectory).prefix(60).map { "\(bench.dayDirectory)/\($0)" }
            let target = "\(bench.directory)/copy-\(program[0])"
            unsafe mkdir(target, 0o700)
            let before = bench.requests().bytes
            let used = bench.daemon.processorSeconds
            let time = seconds { Child(program + sixty + [target]).wait() }
            let bytes = names(in: target).reduce(0) { $0 + size(of: "\(target)/\($1)") }
            let fetched = Double(bench.requests().bytes - before) / Double(max(1, bytes))
            figure(
                "\(program.joined(separator: " ")) of 60 cold files, \(bytes / 1_000_000) MB",
                "\(text(time, 2)) s, fetched \(text(fetched, 2)) x", bar: "3.4 s (90 MB)")
            let memory = Double(bench.daemon.memory.peak) / 1e6
            figure(
                "  peak memory / processor time",
                "\(text(memory)) MB / \(text(bench.daemon.processorSeconds - used, 2)) s", bar: "40 MB")
        }
    }

    static func ranges(_ bench: Bench) {
        bench.remountEmpty()
        let paths = names(in: bench.dayDirectory).map { "\(bench.dayDirectory)/\($0)" }
        let sizes = paths.map { ($0, size(of: $0)) }.filter { $0.1 > 0 }
        let largest = largest(of: paths)
        let eight = Array(sizes.prefix(120).filter { $0.1 > 1_000_000 }.map(\.0).suffix(8))
        let together = seconds { onThreads(eight.count) { readFile(eight[$0]) } }
        let bytes = eight.reduce(0) { $0 + size(of: $1) }
        figure("8 readers of 8 cold files, \(bytes / 1_000_000) MB", "\(text(together, 2)) s", bar: "0.35 s (10 MB)")
        // Without the preloads that follow.
        bench.remountEmpty()
        _ = Child(["ls", "-l", bench.dayDirectory]).wait()
        let one = largest[0]
        let before = bench.requests().bytes
        let shared = seconds { onThreads(8) { _ in readFile(one.path) } }
        let fetched = Double(bench.requests().bytes - before) / Double(one.size)
        figure(
            "8 readers of one cold file of \(one.size / 1_000_000) MB",
            "\(text(shared, 2)) s, fetched \(text(fetched, 2)) x", bar: "0.45 s")
        let other = largest[1]
        let tail = seconds { readFile(other.path, from: other.size - 65_536) } * 1000
        figure("last 64 KB of a cold file of \(other.size / 1_000_000) MB", "\(text(tail)) ms", bar: "80 ms")
        bench.remountEmpty()
        _ = Child(["ls", "-l", bench.dayDirectory]).wait()
        let start = bench.requests().bytes
        let hundred = Array(sizes.prefix(100))
        let heads = seconds { for (path, _) in hundred { readFile(path, count: 65_536) } } * 10
        let needed = hundred.reduce(0) { $0 + min(65_536, $1.1) }
        figure(
            "first 64 KB of each of 100 cold files",
            "\(text(heads)) ms each, fetched \(text(Double(bench.requests().bytes - start) / Double(needed), 2)) x",
            bar: "80 ms, 1.5 x")
    }

    static func warm(_ bench: Bench) {
        bench.remountEmpty()
        let paths = names(in: bench.dayDirectory).prefix(60).map { "\(bench.dayDirectory)/\($0)" }
        let bytes = paths.reduce(0) { $0 + readFile($1).bytes }
        bench.dropPageCache()
        // Nothing can be faster than the disk that the pictures lie on.
        let plain = seconds {
            Child(["find", "\(bench.directory)/cache", "-type", "f", "-size", "+64k", "-exec", "cat", "{}", "+"]).wait()
        }
        bench.dropPageCache()
        let used = bench.daemon.processorSeconds
        let dropped = seconds { for path in paths { readFile(path) } }
        let processor = bench.daemon.processorSeconds - used
        let cached = seconds { for path in paths { readFile(path) } }
        figure(
            "warm read of \(bytes / 1_000_000) MB, dropped / cached",
            "\(Int(Double(bytes) / dropped / 1e6)) / \(Int(Double(bytes) / cached / 1e6)) MB/s", bar: "950 / 5000 MB/s")
        figure("  dropped, the cache's own files", "\(Int(Double(bytes) / plain / 1e6)) MB/s", bar: "-")
        figure("  processor time of the daemon", "\(text(processor, 2)) s", bar: "0.25 s for 167 MB")
        let all = names(in: bench.dayDirectory).map { "\(bench.dayDirectory)/\($0)" }
        for path in all { _ = size(of: path) }
        let stats =
            seconds { for _ in 0..<20 { for path in all { _ = size(of: path) } } } / Double(20 * all.count) * 1e6
        figure("warm stat", "\(text(stats, 2)) us", bar: "2.4 us")
    }

    static func restart(_ bench: Bench) {
        for path in names(in: bench.dayDirectory) { _ = size(of: "\(bench.dayDirectory)/\(path)") }
        let paths = names(in: bench.dayDirectory).prefix(60).map { "\(bench.dayDirectory)/\($0)" }
        bench.unmount()
        let before = bench.requests().all
        let start = bench.mount() * 1000
        let listed = seconds { Child(["ls", "-l", bench.dayDirectory]).wait() } * 1000
        var bytes = 0
        bench.dropPageCache()
        let time = seconds { for path in paths { bytes += readFile(path).bytes } }
        figure("start to answering mount", "\(text(start)) ms", bar: "300 ms")
        figure(
            "restarted: ls -l of 500", "\(text(listed)) ms, \(bench.requests().all - before) requests", bar: "30 ms, 0")
        figure("restarted: reading what is stored", "\(Int(Double(bytes) / time / 1e6)) MB/s", bar: "600 MB/s")
    }
}
