import CLinux
import Dispatch
import Glibc
import System
import Synchronization

/// Seconds by the monotonic clock.
func seconds(_ work: () -> Void) -> Double {
    ContinuousClock().measure(work) / .seconds(1)
}

/// The names in a directory, in its own order, without dot names.
func names(in directory: String) -> [String] {
    ((try? Directory.entries(at: directory)) ?? []).map(\.name).filter { !$0.hasPrefix(".") }
}

/// The paths of the files below a directory.
func files(below directory: String) -> [String] {
    ((try? Directory.entries(at: directory)) ?? []).flatMap { entry in
        let path = "\(directory)/\(entry.name)"
        return entry.kind == .directory ? files(below: path) : [path]
    }
}

/// The size of a file; -1 if it cannot be read.
func size(of path: String) -> Int {
    fileStatus(link: path)?.st_size ?? -1
}

/// Reads a range of a file and returns the number of bytes read.
@discardableResult
func readFile(_ path: String, from offset: Int = 0, count: Int = .max) -> Int {
    let file = unsafe open(path, O_RDONLY)
    guard file >= 0 else { return 0 }
    defer { close(file) }
    var buffer = [UInt8](repeating: 0, count: 131_072)
    var total = 0
    while total < count {
        let wanted = min(buffer.count, count - total)
        let got = unsafe buffer.withUnsafeMutableBytes {
            unsafe pread(file, $0.baseAddress, wanted, off_t(offset + total))
        }
        guard got > 0 else { break }
        total += got
    }
    return total
}

/// The quantile of sorted values at `place`: 0.5 is the median.
func percentile(_ values: [Double], _ place: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * place))]
}

/// The median of several measurements.
func median(of count: Int, _ measure: () -> Double) -> Double {
    percentile((0..<count).map { _ in measure() }, 0.5)
}

/// Reads of 4 KB at random offsets past the page cache, in thousands a second, by the given number of readers in two seconds.
func directReads(of path: String, readers: Int) -> Double {
    let block = 4096
    let blocks = size(of: path) / block
    let pastTheCache = O_RDONLY | rankfs_o_direct()
    let reads = Atomic(0)
    let time = seconds {
        let end = ContinuousClock.now + .seconds(2)
        onThreads(readers) { reader in
            let file = unsafe open(path, pastTheCache)
            guard file >= 0, blocks > 0 else { return }
            defer { close(file) }
            // open(2): buffers for O_DIRECT are aligned to the block size.
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: block)
            defer { unsafe buffer.deallocate() }
            var chance = UInt64(reader + 1) &* 0x9e37_79b9_7f4a_7c15
            while ContinuousClock.now < end {
                for _ in 0..<64 {
                    chance ^= chance << 13
                    chance ^= chance >> 7
                    chance ^= chance << 17
                    let place = off_t(chance % UInt64(blocks)) * off_t(block)
                    guard unsafe pread(file, buffer.baseAddress, block, place) == block else { return }
                }
                reads.add(64, ordering: .relaxed)
            }
        }
    }
    return Double(reads.load(ordering: .relaxed)) / time / 1000
}

/// Runs a function once for each number, each on its own thread, and waits for all.
func onThreads(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    // Each separate queue has a thread, even on few processors.
    for number in 0..<count { DispatchQueue(label: "reader \(number)").async(group: group) { work(number) } }
    group.wait()
}

/// Ends the benchmark with a message.
func fatal(_ message: String) -> Never {
    Files.write(Array("rankfs-bench: \(message)\n".utf8), to: 2)
    exit(1)
}

/// Writes text to standard output at once, so that a long run shows its progress.
func say(_ text: String) { Files.write(Array(text.utf8), to: 1) }

/// The contents of a small file, or an empty text.
func contents(of path: String) -> String {
    String(decoding: (try? Files.read(path, upTo: .max)) ?? [], as: UTF8.self)
}

/// Whether a program is in the usual directories.
func isInstalled(_ program: String) -> Bool {
    ["/usr/local/bin", "/usr/bin"].contains { unsafe access("\($0)/\(program)", X_OK) == 0 }
}

/// Waits until a condition holds, or ends the benchmark.
func wait(for what: String, _ condition: () -> Bool) {
    for _ in 0..<3000 {
        if condition() { return }
        usleep(5000)
    }
    fatal("\(what) did not come within 15 s; run it by hand to see why")
}

/// Empties the page cache, so that the next reads come from the disk; needs root.
func dropPageCache() {
    sync()
    let file = unsafe open("/proc/sys/vm/drop_caches", O_WRONLY)
    guard file >= 0 else { return }
    _ = unsafe write(file, "3", 1)
    Glibc.close(file)
}
