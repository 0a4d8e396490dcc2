/// One service as the origin speaks it: its API and its image hosts.
///
/// ## Concurrency
/// Called from the threads of all connections.
protocol OriginRoutes: Sendable {
    /// The right answer to GET or HEAD.
    func answer(_ request: Request, _ moment: ServedMoment) -> Response

    /// The picture that stands for one that is withheld; nil if there is none.
    var placeholder: Picture? { get }

    /// Whether a request shows a session that is valid.
    func isSignedIn(_ request: Request) -> Bool

    /// What is posted below `/_control` and is no script of faults; nil for what the service does not know.
    func control(_ path: Substring) -> Response?
}

/// When a request is answered, and how.
struct ServedMoment: Sendable {
    /// Unix seconds.
    let now: Int64
    /// Seconds by which pictures seem to be younger than they are.
    let laterBy: Int64
}

extension OriginRoutes {
    func isSignedIn(_ request: Request) -> Bool { false }

    func control(_ path: Substring) -> Response? { nil }
}
