/// Pictures that failed a moment ago, so that nobody asks for them again at once.
struct Failures: Sendable {
    private struct Failure {
        var error: ImageCacheError
        var until: ContinuousClock.Instant
    }

    /// How long a picture that the service does not have is not asked for again.
    static let goneFor: Duration = .seconds(600)
    /// How long a preload that failed is not tried again; readers try at once.
    static let preloadFor: Duration = .seconds(60)
    /// Remembered at most.
    private static let most = 4096

    private var failures: [FileKey: Failure] = [:]

    /// The failure of a picture that still counts.
    func failure(of key: FileKey, now: ContinuousClock.Instant) -> ImageCacheError? {
        guard let failure = failures[key], failure.until > now else { return nil }
        return failure.error
    }

    /// Keeps a failure for a while.
    mutating func remember(
        _ error: ImageCacheError, of key: FileKey, for duration: Duration, now: ContinuousClock.Instant
    ) {
        if failures.count >= Self.most { failures = failures.filter { $0.value.until > now } }
        // Still full of young ones: forgetting them costs a request each.
        if failures.count >= Self.most { failures = [:] }
        failures[key] = Failure(error: error, until: now + duration)
    }

    /// The picture came after all.
    mutating func forget(_ key: FileKey) { failures[key] = nil }
}
