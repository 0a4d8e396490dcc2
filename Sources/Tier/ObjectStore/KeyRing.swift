package import HTTP
package import Rankings
internal import Dispatch
internal import Synchronization

/// The present credentials of a store, which are read again when they change, before they end, and when the store refuses them.
///
/// ## Concurrency
///
/// Any thread may call. Reading blocks a thread of a queue, once for all callers; no foreign code is called under the mutex.
package final class KeyRing: Sendable {
    /// Credentials with the time of their end.
    package struct Loan: Sendable {
        package let keys: StoreKeys
        /// The end in Unix seconds; nil for credentials without one.
        package let ends: Int64?

        package init(_ keys: StoreKeys, ends: Int64? = nil) {
            self.keys = keys
            self.ends = ends
        }
    }

    /// The place of credentials.
    ///
    /// `isChanged` returns whether it may hold others than those read last, and must not wait for the network. `read` reads them, and
    /// blocks, within a time limit of its own. `stop` ends a reading in progress, and each later one.
    package typealias Source = (
        isChanged: @Sendable () -> Bool, read: @Sendable () throws(Failure) -> Loan, stop: @Sendable () -> Void
    )

    /// The interval at which a place is examined, and the shortest one between two readings that a refusal or an end causes.
    static let interval = Duration.seconds(5)
    /// The time before their end at which credentials are renewed, in seconds (AWS SDKs renew ten to fifteen minutes before).
    static let ahead: Int64 = 600
    /// The shortest interval between two renewals ahead of the end.
    static let renewalInterval = Duration.seconds(60)

    private struct State {
        var loan: Loan?
        var reading: Task<Result<Loan, Failure>, Never>?
        /// The reason why the last reading gave no credentials.
        var failure: Failure?
        /// The start of the last reading.
        var began: ContinuousClock.Instant?
        /// The time of the last examination of the place.
        var examined: ContinuousClock.Instant?
    }

    private let source: Source
    private let time: TimeSource
    private let wallClock: @Sendable () -> Int64
    private let queue = DispatchQueue(label: "rankfs.tier.keys")
    private let state: Mutex<State>

    /// Makes a ring; without credentials the first reading begins at once.
    ///
    /// - Parameters:
    ///   - loan: The credentials read so far.
    ///   - source: The place for further ones.
    ///   - time: The clock of intervals and deadlines.
    ///   - wallClock: Returns this machine's time in Unix seconds.
    package init(
        _ loan: Loan?, source: Source, time: TimeSource = .system, wallClock: @escaping @Sendable () -> Int64
    ) {
        self.source = source
        self.time = time
        self.wallClock = wallClock
        state = Mutex(State(loan: loan, examined: time.now()))
        if loan == nil { _ = read() }
    }

    /// Returns the credentials for a request; waits for a reading only if there are none that may be valid.
    ///
    /// - Parameter deadline: The time at which the wait ends.
    /// - Returns: The credentials.
    /// - Throws: The reason that there are none.
    package func current(by deadline: ContinuousClock.Instant) async throws(Failure) -> StoreKeys {
        guard let loan = state.withLock({ $0.loan }) else { return try await renewed(by: deadline).keys }
        let left = loan.ends.map { $0.subtracting(saturating: wallClock()) } ?? .max
        if left <= Self.ahead, left > 0, mayRead(after: Self.renewalInterval) { _ = read() }
        guard left <= 0 && mayRead(after: Self.interval) || isChanged else { return loan.keys }
        do throws(Failure) { return try await renewed(by: deadline).keys } catch {
            // The store decides about the old ones: a file may be written at this moment, and this machine's clock may be wrong.
            return loan.keys
        }
    }

    /// Returns other credentials in place of some that the store refused; nil if there are none.
    ///
    /// - Throws: The reason why the place of credentials gives none.
    func others(than refused: StoreKeys, by deadline: ContinuousClock.Instant) async throws(Failure) -> StoreKeys? {
        if let present = state.withLock({ $0.loan?.keys }), present != refused { return present }
        guard mayRead(after: Self.interval) else {
            if let failure = state.withLock({ $0.failure }) { throw failure }
            return nil
        }
        let loan = try await renewed(by: deadline)
        return loan.keys == refused ? nil : loan.keys
    }

    /// Ends a reading in progress; there is no other one.
    package func close() { source.stop() }

    /// Whether the last reading began long enough ago; one in progress is joined.
    private func mayRead(after interval: Duration) -> Bool {
        let now = time.now()
        return state.withLock { state in state.reading != nil || state.began.map { now - $0 >= interval } ?? true }
    }

    /// Whether the place may hold others, examined at intervals.
    private var isChanged: Bool {
        let now = time.now()
        let isDue = state.withLock { state in
            guard state.examined.map({ now - $0 >= Self.interval }) ?? true else { return false }
            state.examined = now
            return true
        }
        return isDue && source.isChanged()
    }

    private func renewed(by deadline: ContinuousClock.Instant) async throws(Failure) -> Loan {
        guard let result = await read().value(until: deadline, time) else {
            throw Task.isCancelled ? .cancelled : .troubled("its key could not be read in time")
        }
        return try result.get()
    }

    /// Begins a reading, or joins the one in progress.
    private func read() -> Task<Result<Loan, Failure>, Never> {
        let now = time.now()
        return state.withLock { state in
            if let reading = state.reading { return reading }
            state.began = now
            let reading = Task {
                let result = await withCheckedContinuation { continuation in
                    queue.async { [source] in
                        continuation.resume(returning: Result { () throws(Failure) in try source.read() })
                    }
                }
                self.state.withLock { state in
                    state.reading = nil
                    switch result {
                    case .success(let loan): (state.loan, state.failure) = (loan, nil)
                    case .failure(let failure): state.failure = failure
                    }
                }
                return result
            }
            state.reading = reading
            return reading
        }
    }
}

extension KeyRing.Loan {
    /// Reads the answer of a program, a container's agent or a machine's metadata service: all use the same names.
    ///
    /// Nil for an answer without keys, or with an end that is no time.
    ///
    /// Sources: AWS SDKs and Tools Reference Guide, "Process credential provider" and "Container credential provider"; Amazon EC2 User
    /// Guide, "Retrieve security credentials from instance metadata".
    ///
    /// - Parameters:
    ///   - answer: The text in JSON.
    ///   - version: The value of `Version` that the answer must have; nil for none.
    package init?(answer: [UInt8], version: Int64? = nil) {
        guard let fields = try? JSONReader.read(answer), version.map({ fields["Version"].number == $0 }) ?? true,
            let keyID = fields["AccessKeyId"].text, let secret = fields["SecretAccessKey"].text,
            let keys = StoreKeys(
                keyID: keyID, secret: secret, sessionToken: fields["SessionToken"].text ?? fields["Token"].text)
        else { return nil }
        let ends = fields["Expiration"].text
        guard ends == nil || Timestamp.seconds(ends ?? "") != nil else { return nil }
        self.init(keys, ends: ends.flatMap(Timestamp.seconds))
    }
}
