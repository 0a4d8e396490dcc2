import CLinux
import Glibc
import System

/// Memory that the program holds but does not need at present.
enum FreeMemory {
    /// Gives back the allocator's free memory and the mapped code of the program and its libraries.
    ///
    /// Of the heap, whole pages wherever they are (malloc_trim(3)): a millisecond for some ten megabytes. Code stays in the
    /// system's page cache, from which it is mapped again, sixteen pages at a time, when it runs.
    @Sendable static func giveBack() {
        _ = malloc_trim(0)
        for range in Self.code(in: (try? Files.read("/proc/self/smaps", upTo: longestMaps)) ?? []) {
            // Unchanged pages of a mapped file lose nothing (madvise(2)).
            _ = unsafe madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, MADV_DONTNEED)
        }
    }

    /// The bytes of proc_pid_smaps(5) that are read: enough for more than a thousand mappings.
    private static let longestMaps = 1 << 20

    /// The address ranges of code that is mapped unchanged from files, from proc_pid_smaps(5).
    ///
    /// Pages that something has changed, such as a debugger that set a breakpoint, are the process's own (`Anonymous`, or `Swap`
    /// when they were written out) and would be lost.
    static func code(in maps: [UInt8]) -> [Range<UInt>] {
        var found: [Range<UInt>] = []
        var mapping: Range<UInt>?
        var isAsInFile = false
        for line in maps.split(separator: UInt8(ascii: "\n")) {
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard let name = fields.first, name.last == UInt8(ascii: ":") else {
                mapping = codeMapping(fields)
                isAsInFile = false
                continue
            }
            guard let range = mapping, fields.count > 1 else { continue }
            let isNone = fields[1].elementsEqual("0".utf8)
            if name.elementsEqual("Anonymous:".utf8) { isAsInFile = isNone }
            // The line `Swap` follows `Anonymous`.
            if name.elementsEqual("Swap:".utf8), isNone, isAsInFile { found.append(range) }
        }
        return found
    }

    /// The addresses of a mapping of code, from its first line.
    private static func codeMapping(_ fields: [ArraySlice<UInt8>]) -> Range<UInt>? {
        guard fields.count == 6, fields[1].elementsEqual("r-xp".utf8), fields[5].contains(UInt8(ascii: "/")),
            let dash = fields[0].firstIndex(of: UInt8(ascii: "-")),
            let start = UInt(String(decoding: fields[0][..<dash], as: UTF8.self), radix: 16),
            let end = UInt(String(decoding: fields[0][(dash + 1)...], as: UTF8.self), radix: 16), start < end
        else { return nil }
        return start..<end
    }
}
