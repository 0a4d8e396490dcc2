/// Reads that failed after a wait, remembered for the moment in which the kernel repeats them.
///
/// When a read through the page cache fails, the kernel asks at once for its first page alone (the first request was
/// read-ahead, whose error it does not look at), and then for the pages of others who waited for the same ones. Without a
/// memory the reader of a silent file would wait for twice the deadline, and a second reader four times.
struct FailedReads {
    private struct Failure {
        var range: Range<Int64>
        var error: Errno
        var until: Duration
    }

    /// How long a failure is remembered: the kernel repeats within microseconds, a person in seconds.
    static let memory = Duration.milliseconds(100)
    /// Inodes remembered at most; when there are more, all are dropped, and some reads wait twice.
    static let most = 1000

    private var failures: [UInt64: Failure] = [:]

    /// Whether none is remembered.
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

    /// Forgets what failed of an inode: whoever opens it now repeats nothing.
    mutating func forget(_ inode: UInt64) {
        failures[inode] = nil
    }

    /// Forgets what has been remembered for long enough.
    mutating func expire(at now: Duration) {
        failures = failures.filter { $0.value.until > now }
    }

    /// The error that a read is answered with because the same bytes have just failed.
    func error(for read: ReadRequest, at now: Duration) -> Errno? {
        guard let failure = failures[read.inode], failure.until > now, failure.range.contains(read.offset)
        else { return nil }
        return failure.error
    }
}
