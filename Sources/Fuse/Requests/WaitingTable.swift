/// The requests that wait for an answer and when each must have it; decides, and does nothing itself.
///
/// Requests share one deadline, so the timer is set for the oldest and set again when it fires: a request that is answered
/// in time costs one insertion and one removal, and no timer of its own.
struct WaitingTable<Request> {
    private var requests: [ObjectIdentifier: (request: Request, deadline: Duration)] = [:]
    private var timerIsSet = false
    private var isStopped = false

    /// What to do once a request was added.
    enum Addition: Equatable {
        /// Nothing: the timer runs already.
        case wait
        /// Set the timer to fire at this time.
        case setTimer(at: Duration)
        /// The session ends: answer at once.
        case refuse
    }

    /// Requests that wait.
    var count: Int { requests.count }

    /// Adds a request that must be answered at `deadline`.
    mutating func add(_ request: Request, key: ObjectIdentifier, deadline: Duration) -> Addition {
        guard !isStopped else { return .refuse }
        requests[key] = (request, deadline)
        guard !timerIsSet else { return .wait }
        timerIsSet = true
        return .setTimer(at: deadline)
    }

    /// Removes a request that was answered.
    mutating func remove(_ key: ObjectIdentifier) {
        requests[key] = nil
    }

    /// The timer fired: the requests whose time is over, and when it has to fire next.
    ///
    /// The requests stay in the table until they are answered and removed.
    mutating func expire(at now: Duration) -> (expired: [Request], next: Duration?) {
        let expired = requests.filter { $0.value.deadline <= now }
        for key in expired.keys {
            requests[key] = nil
        }
        let next = requests.values.map(\.deadline).min()
        timerIsSet = next != nil
        return (expired.values.map(\.request), next)
    }

    /// The session ends: every request that waits; later ones are refused.
    mutating func stop() -> [Request] {
        isStopped = true
        defer { requests = [:] }
        return requests.values.map(\.request)
    }
}
