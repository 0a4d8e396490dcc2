/// Reads that failed after a wait, remembered for the moment in which the kernel repeats them.
///
/// When a read through the page cache fails, the kernel at once requests its first page alone (the first request was read-ahead,
/// and the kernel ignores its error), and then the pages of other readers that waited for the same ones. Without this memory, the
/// reader of a silent file would wait for twice the deadline, and a second reader for four times the deadline.
struct FailedReads {
    private struct Failure {
        var range: Range<Int64>
        var error: Errno
        var until: Duration
    }

    /// How long a failure is remembered: the kernel repeats a read within microseconds, a user after seconds.
    static let memory = Duration.milliseconds(100)
    /// The maximum number of remembered inodes; beyond it all are dropped, and some reads wait twice.
    static let most = 1000

    private var failures: [UInt64: Failure] = [:]

    /// Whether no failure is remembered.
    var isEmpty: Bool { failures.isEmpty }

    /// Remembers that a read failed.
    mutating func remember(_ error: Errno, of read: ReadRequest, at now: Duration) {
        expire(at: now)
        if failures.count >= Self.most {
            failures = [:]
        }
        var range = read.offset..<read.offset + Int64(read.size)
        if let earlier = failures[read.inode]?.range, earlier.overlaps(range) {
            range = min(earlier.lowerBound, range.lowerBound)..<max(earlier.upperBound, range.upperBound)
        }
        failures[read.inode] = Failure(range: range, error: error, until: now + Self.memory)
    }

    /// Forgets the failures of an inode: a process that opens the inode now repeats no read.
    mutating func forget(_ inode: UInt64) {
        failures[inode] = nil
    }

    /// Forgets the expired failures.
    mutating func expire(at now: Duration) {
        failures = failures.filter { $0.value.until > now }
    }

    /// The error for a read of bytes that have just failed; nil if there is none.
    func error(for read: ReadRequest, at now: Duration) -> Errno? {
        guard let failure = failures[read.inode], failure.until > now, failure.range.contains(read.offset)
        else { return nil }
        return failure.error
    }
}
