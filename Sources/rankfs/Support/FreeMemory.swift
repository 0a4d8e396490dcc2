import CLinux
import Glibc
import Posix

/// Memory that the program has and does not need just now.
enum FreeMemory {
    /// Gives back what the allocator holds free, and what is mapped of the program's and its libraries' code.
    ///
    /// Of the heap whole pages wherever they are (malloc_trim(3)): a millisecond for some ten megabytes. Code stays in the
    /// system's page cache, from where it is mapped again, sixteen pages at a time, when it runs.
    @Sendable static func giveBack() {
        _ = malloc_trim(0)
        for range in Self.code(in: (try? FileBytes.read("/proc/self/maps", upTo: longestMaps)) ?? []) {
            // Of pages that a file backs and nothing has changed nothing is lost (madvise(2)).
            _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// Bytes of proc_pid_maps(5) that are looked at: those of thousands of mappings.
    private static let longestMaps = 1 << 20

    /// The addresses at which code of files is mapped that nobody can have written to, from proc_pid_maps(5).
    static func code(in maps: [UInt8]) -> [Range<UInt>] {
        maps.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard fields.count == 6, fields[1].elementsEqual("r-xp".utf8), fields[5].contains(UInt8(ascii: "/")),
                let dash = fields[0].firstIndex(of: UInt8(ascii: "-")),
                let start = UInt(String(decoding: fields[0][..<dash], as: UTF8.self), radix: 16),
                let end = UInt(String(decoding: fields[0][(dash + 1)...], as: UTF8.self), radix: 16), start < end
            else { return nil }
            return start..<end
        }
    }
}
