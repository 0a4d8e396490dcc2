package import HTTP
package import Rankings

/// A source as its module brings it; the registry has one value of each.
///
/// The program reads a description, and gets a source that it asks; what it may not know of one (hosts, headers, sessions, times
/// of the day) stands in the description or stays in the module.
package protocol SourcePlugIn: Sendable {
    /// What is true of the source whoever asks it; the same object each time.
    var description: SourceDescription { get }

    /// Makes the source that a mount asks.
    func source(_ means: SourceMeans) -> any RankingSource

    /// Where users sign in; nil for a source without accounts.
    var accounts: (any AccountService)? { get }

    /// A request for something that everybody may see, by which one finds out whether the API answers: path and query.
    var plainRequest: String { get }

    /// The header lines with which both hosts are asked; never credentials.
    var headers: [String] { get }

    /// Words of the service's addresses, which say nothing of a picture or person: recorded answers keep them.
    var vocabulary: Set<String> { get }

    /// Asks the service for what the module takes for granted of it.
    ///
    /// - Parameter means: How to ask: each request once.
    /// - Returns: What was found; nil where there is nothing to ask.
    func examine(_ means: ExaminationMeans) async -> [Assumption]?
}

extension SourcePlugIn {
    package var accounts: (any AccountService)? { nil }
    package var headers: [String] { [] }
    package var vocabulary: Set<String> { [] }

    package func examine(_ means: ExaminationMeans) async -> [Assumption]? { nil }
}

/// What a mount gives a source to work with.
package struct SourceMeans: Sendable {
    /// Sends the API requests, with retries.
    package var client: HTTPClient
    /// Paces them.
    package var gate: any RequestGate
    /// Replaces the API's scheme and host; no trailing slash.
    package var apiURL: String?
    /// Replaces the image hosts' scheme and host; no trailing slash.
    package var imageURL: String?
    /// Where the user's session may be; nil for a source that is asked without one.
    package var sessions: SessionMeans?
    /// Values of the source's own options by name; one that is missing has its first word.
    package var choices: [String: String]
    /// The clock of deadlines.
    package var time: TimeSource
    /// Unix seconds.
    package var wallClock: @Sendable () -> Int64

    package init(
        client: HTTPClient, gate: any RequestGate, apiURL: String?, imageURL: String?, sessions: SessionMeans? = nil,
        choices: [String: String] = [:], time: TimeSource = .system, wallClock: @escaping @Sendable () -> Int64
    ) {
        self.client = client
        self.gate = gate
        self.apiURL = apiURL
        self.imageURL = imageURL
        self.sessions = sessions
        self.choices = choices
        self.time = time
        self.wallClock = wallClock
    }
}

/// What an examination of the service works with.
package struct ExaminationMeans: Sendable {
    /// Sends one request, once.
    package var send: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    /// Paces those to the API.
    package var gate: any RequestGate
    /// Without a trailing slash, as is the next.
    package var apiURL: String
    package var imageURL: String
    /// What takes the place of every image host's scheme and host, without a trailing slash; nil for the hosts themselves.
    package var imageReplacement: String?
    /// Unix seconds.
    package var now: Int64
    /// For each request.
    package var patience: Duration
    /// The clock of deadlines.
    package var time = TimeSource.system

    package init(
        send: @escaping @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse, gate: any RequestGate,
        apiURL: String, imageURL: String, now: Int64, patience: Duration
    ) {
        self.send = send
        self.gate = gate
        self.apiURL = apiURL
        self.imageURL = imageURL
        self.now = now
        self.patience = patience
    }
}
