/// Tells reading from looking, for one open picture: the one place that does.
///
/// Type sniffers and previewers look at the beginning, some at the end; only who goes further reads. What is really read is
/// listed in `recent/` and begins a walk for the preloads; of what is gone through, by its bytes, the rest is fetched as well.
struct ReadMeasure: Sendable {
    /// Reads up to here are a look at the beginning, in pictures of more than twice the size.
    static let beginning: Int64 = 128 << 10
    /// Reads from here to the end are a look at the end.
    static let end: Int64 = 64 << 10

    /// Bytes read so far.
    private(set) var bytes: Int64 = 0
    /// Whether it is really read.
    private(set) var isReal = false
    /// Whether so much of it was read that its reader goes through all of it.
    private(set) var isThrough = false

    /// Takes note of a read.
    ///
    /// - Parameters:
    ///   - range: Bytes of the picture, at least one.
    ///   - length: Of the whole picture.
    mutating func note(_ range: Range<Int64>, of length: Int64) {
        bytes += Int64(range.count)
        // The kernel reads on behind a look; half of a small picture may be no more than that.
        let beginning = min(Self.beginning, max(length / 2, DownloadLimits.look))
        if bytes > beginning || bytes >= length { isThrough = true }
        let isLookAtEnd = range.lowerBound >= length - Self.end && range.lowerBound > 0
        if isThrough || range.upperBound > beginning && !isLookAtEnd { isReal = true }
    }
}
