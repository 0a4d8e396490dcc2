/// Whether and when a failed request is sent again.
///
/// Exponential back-off with full jitter: the wait before try n+1 is random between 0 and `base * 2^(n-1)`, so that many clients
/// that failed together do not come back together.
package struct RetryPolicy: Sendable {
    /// Tries in all, the first included: four fit a deadline of 15 s with waits of about 0.4 s, 0.8 s and 1.6 s at most.
    package var tries = 4
    /// The longest wait before the second try.
    package var base = Duration.milliseconds(400)
    /// The longest wait that jitter may choose.
    package var ceiling = Duration.seconds(5)

    package init() {}

    /// No second try.
    package static var once: RetryPolicy {
        var policy = RetryPolicy()
        policy.tries = 1
        return policy
    }

    /// Decides on another try.
    ///
    /// A 503 with `Retry-After` is waited for as long as it says, if that fits.
    ///
    /// - Parameters:
    ///   - result: What came of the last try.
    ///   - triesMade: Tries so far, at least 1.
    ///   - remaining: Time left until the deadline.
    ///   - random: A number from 0 to 1.
    ///   - now: Wall clock in Unix seconds, for `Retry-After` dates.
    ///   - isPatient: Whether 502 is tried again until the deadline: fronts of services say so for some seconds.
    /// - Returns: The time to wait before the next try, or nil to let the outcome stand.
    package func delay(
        after result: Result<HTTPAnswer, HTTPError>, triesMade: Int, remaining: Duration, random: Double, now: Int64,
        isPatient: Bool = false
    ) -> Duration? {
        var wait = min(base * (1 << min(triesMade - 1, 16)), ceiling) * random
        if triesMade >= tries {
            guard isPatient, tries > 1, case .success(let answer) = result, answer.status == 502 else { return nil }
            wait = ceiling * (1 + random) / 2
        }
        switch result {
        case .failure(.unreachable), .failure(.broken): break
        // What makes no sense may be what an earlier answer left on the connection; the next try comes on another one.
        case .failure(.invalidAnswer) where triesMade == 1: break
        case .success(let answer) where [500, 502, 503, 504].contains(answer.status):
            if answer.status == 503, let pause = answer.pause(now: now) { wait = .seconds(pause) }
        default: return nil
        }
        return wait < remaining ? wait : nil
    }
}
