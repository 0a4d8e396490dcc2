import CLinux
import Dispatch
import Glibc
import Posix
import Synchronization

/// Seconds by the monotonic clock.
func seconds(_ work: () -> Void) -> Double {
    let clock = ContinuousClock()
    let time = clock.measure(work)
    return Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
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

/// The size of a file; -1 if it cannot be had.
func size(of path: String) -> Int {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status.st_size : -1
}

/// Reads a piece of a file and returns how many bytes came.
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

/// The value at a place of the sorted values: 0.5 is the median.
func percentile(_ values: [Double], _ place: Double) -> Double {
    guard !values.isEmpty else { return 0 }
    let sorted = values.sorted()
    return sorted[min(sorted.count - 1, Int(Double(sorted.count) * place))]
}

/// The median of several measurements.
func median(of count: Int, _ measure: () -> Double) -> Double {
    percentile((0..<count).map { _ in measure() }, 0.5)
}

/// Thousand reads of 4 KB a second at random places past the page cache, by so many readers in two seconds.
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
            // open(2): buffers for O_DIRECT are aligned as the blocks are.
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

/// Runs one function for each number on threads of their own and waits for all.
func onThreads(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
    let group = DispatchGroup()
    // Each queue of its own has a thread, however few processors there are.
    for number in 0..<count { DispatchQueue(label: "reader \(number)").async(group: group) { work(number) } }
    group.wait()
}

/// Writes a small file.
func save(_ text: String, as path: String) {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard file >= 0, FileBytes.write(Array(text.utf8), to: file) else {
        fatal("\(path) cannot be written; is the disk full?")
    }
    close(file)
}

/// Ends the benchmark with a sentence.
func fatal(_ message: String) -> Never {
    FileBytes.write(Array("rankfs-bench: \(message)\n".utf8), to: 2)
    exit(1)
}

/// Writes text to standard output at once, so that a long run shows how far it is.
func say(_ text: String) { FileBytes.write(Array(text.utf8), to: 1) }

/// A whole small file, or nothing.
func contents(of path: String) -> String {
    String(decoding: (try? FileBytes.read(path, upTo: .max)) ?? [], as: UTF8.self)
}

/// Whether a program is in the usual places.
func isInstalled(_ program: String) -> Bool {
    ["/usr/local/bin", "/usr/bin"].contains { unsafe access("\($0)/\(program)", X_OK) == 0 }
}

/// Waits until something is so, or ends the benchmark.
func wait(for what: String, _ condition: () -> Bool) {
    for _ in 0..<3000 {
        if condition() { return }
        usleep(5000)
    }
    fatal("\(what) did not come within 15 s; run it by hand to see why")
}

/// Empties the page cache, so that what is read next comes from the disk; needs root.
func dropPageCache() {
    sync()
    let file = unsafe open("/proc/sys/vm/drop_caches", O_WRONLY)
    guard file >= 0 else { return }
    _ = unsafe write(file, "3", 1)
    Glibc.close(file)
}
