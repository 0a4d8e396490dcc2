internal import HTTP

/// The numbers that a shared download is shaped by.
enum DownloadLimits {
    /// A read this close behind a running segment waits for it: 64 ms at 4 MiB/s, as long as a request of its own takes.
    static let near: Int64 = 256 << 10
    /// What a look at the beginning is given at least: type sniffers and previewers read so much, and then know enough.
    static let head: Int64 = 64 << 10
    /// What the kernel asks for at most for such a look; who wants more goes through the picture.
    ///
    /// The read-ahead that `Fuse` agrees on with the kernel, in bytes.
    static let look: Int64 = 80 << 10
    /// Pictures up to here come whole if they are read anywhere but at their beginning, whatever order they are read in.
    static let alwaysWhole: Int64 = 1 << 20
    /// What is fetched at once for a reader that goes backwards.
    static let stepBack: Int64 = 1 << 19
    /// What a far seek asks for at once, bounded so that a look at the end costs what it needs.
    static let seekWindow: Int64 = 512 << 10
    /// Ranges begin at pages, as the kernel's reads do.
    static let page: Int64 = 4096
    /// The largest picture taken when nobody told its length.
    static let largestUnknown: Int64 = 64 << 20
    /// A download this near its end is finished although its last reader left.
    static let worthFinishing: Int64 = 64 << 10
    /// Failed requests in a row, without a byte in between, before the readers hear of it.
    static let triesWithoutProgress = 3
    /// Failed requests in all; bounds servers that send one byte at a time.
    static let triesInAll = 8
    /// The pause before the second try; doubled each time.
    static let firstPause: Duration = .milliseconds(200)
    /// When one request must have ended: a picture of 64 MiB at 128 KiB/s.
    ///
    /// Stalls are cut by the transport long before.
    static let requestDeadline: Duration = .seconds(600)
}

/// One request of a download: the bytes from `written` on are its business alone.
struct Segment: Equatable, Sendable {
    /// The range asked for; nil for the whole picture by a plain GET.
    let asked: Range<Int64>?
    /// Whether it was asked for only if the version is still the one that is there.
    var isConditional = false
    /// The next byte of the picture that its body will bring.
    var next: Int64
    /// Where the bytes begin that its body brought and that are still being written; `next` when there are none.
    var written: Int64
    /// Where it is to end: the end of its answer, or where other bytes begin; `.max` while unknown.
    var end: Int64
    var hasAnswer = false
}

/// A request that a download wants made.
struct SegmentStart: Equatable, Sendable {
    let id: UInt64
    let asked: Range<Int64>?
    let ifRange: String?
}

/// What somebody waits for.
enum Need: Equatable, Sendable {
    case bytes(Range<Int64>)
    /// The length of a picture that no header tells.
    case length
}

/// What became of a download through one event; to be acted on outside the lock.
struct DownloadChange: Equatable, Sendable {
    /// Waiters whose bytes are there.
    var ready: [UInt64] = []
    /// Requests to end.
    var cancel: [UInt64] = []
    var outcome: DownloadOutcome?
}

/// A download's turning points.
enum DownloadOutcome: Equatable, Sendable {
    /// Every byte is there: compute their digest and tell it.
    case check(String, length: Int64)
    /// Every byte is there and was found right as far as can be known.
    case complete(length: Int64)
    /// Given up; `keepsPartial` tells whether what is there may be resumed.
    case failed(ImageCacheError, keepsPartial: Bool)
    /// What is there belongs to another version: throw it away and begin again.
    case restart
}

/// Bytes to write and whether more may follow.
struct Acceptance: Equatable, Sendable {
    /// Parts of the picture to write from this body, in order.
    var writes: [Range<Int64>]
    /// Where in the picture the body begins.
    var offset: Int64
    /// False ends the request: the rest is there already, is too much, or nobody wants it.
    var goesOn: Bool
    /// Set if the body is longer than promised.
    var isTooLong: Bool
}
