import System
import HTTP
import Rankings
import Sourcing
import Synchronization

extension SourceName {
    /// The reason why no requests are sent to a host of the source whose front turns programs away, and the remedy.
    ///
    /// - Parameters:
    ///   - host: The host with its port, as in `HostPause`s.
    ///   - pause: A pause with a front.
    ///   - settings: The settings, which may name the address at which a person opens the service.
    ///   - now: Unix seconds.
    /// - Returns: A sentence without its full stop.
    func frontSentence(
        _ host: String, _ pause: HostPause, _ settings: Settings, now: Int64 = TimeSource.wallClock()
    ) -> String {
        let (host, access) = (LogText.escaped(host), description.access)
        let page = settings.apiURL?.text ?? access.apiURL
        let left =
            pause.end > now
            ? "is not asked for another \(DisplayText.duration(pause.end - now))" : "is asked once as a trial"
        let meanwhile = "so that it \(left) and only what is stored can be read"
        switch pause.front?.refusal {
        case .block:
            return
                "what stands in front of \(host) refuses this network, by every family of addresses, \(meanwhile); no "
                + "cookie helps: try another network, or do without a VPN or proxy"
        case .challenge where access.takesClearance:
            let name = self == .standard ? "" : " \(rawValue)"
            let options = page == access.apiURL ? "" : " -o api_url=\(page)"
            let other = page != access.apiURL && access.hosts.contains(host) ? ", or \(access.apiURL)" : ""
            return
                "\(host) lets nobody in without a check that only browsers pass, \(meanwhile); open \(page) in a browser "
                + "on this machine, and if it shows a check, pass it, set the option user_agent to exactly that browser's "
                + "and give its cookies to `rankfs login\(name) cookies.txt\(options)` (they last for half an hour, and may "
                + "not help); if it shows none, try another network\(other)"
        default:
            return
                "\(host) takes this program for one that it lets in only after a browser's check, \(meanwhile); set the "
                + "option user_agent to another name of your own with an address to write to, never a browser's, or try "
                + "another network"
        }
    }
}

/// The User-Agent, session and clearance of requests, as the configuration and session files have them at this moment.
///
/// A mount follows the configuration file in this one option, so that a user that is turned away for a name need not mount again.
///
/// ## Concurrency
///
/// Any thread may call; one mutex guards all. Each query reads the files' metadata (a few microseconds).
final class FollowedMeans: Sendable {
    private let path: String?
    private let sessions: SessionMeans?
    /// The host that clearances are valid for, as in `AskingMeans`.
    private let site: String
    /// Whether the command line or a variable sets the option, and thus overrides every file.
    private let isFixed: Bool
    /// The User-Agent that the transport sends anyway.
    private let initial: String?
    private let standard: String
    private let state:
        Mutex<
            (
                stamp: SessionFile.Stamp?, agent: String?, session: SessionFile.Stamp?, clearance: Clearance?
            )
        >

    /// - Parameters:
    ///   - agent: The value of the option when the mount was made.
    ///   - standard: The User-Agent without the option.
    ///   - path: The configuration file.
    ///   - sessions: The places of a session and a clearance; nil for a source that takes neither.
    ///   - site: Scheme and host of the API.
    init(agent: String?, standard: String, path: String?, sessions: SessionMeans?, site: String) {
        let stamp = path.flatMap { try? SessionFile.stamp(of: $0).get() }
        isFixed = agent != nil && agent != path.flatMap { try? Self.agent(in: $0).get() }
        initial = agent
        self.standard = standard
        self.path = path
        self.sessions = sessions
        self.site = RequestQueue.host(of: site)
        state = Mutex((stamp, agent, nil, nil))
    }

    func look() -> AskingMeans {
        let session = sessions?.places.lazy.compactMap { place in
            (try? SessionFile.stamp(of: place.path).get()).map { (place: place, stamp: $0) }
        }.first
        let stamp = path.flatMap { try? SessionFile.stamp(of: $0).get() }
        let (agent, clearance) = state.withLock { state in
            if !isFixed, let path, stamp != state.stamp {
                state.stamp = stamp
                // An editor may be in the middle of writing the file, or its user has made a mistake.
                if case .success(let agent) = Self.agent(in: path) { state.agent = agent }
            }
            if state.session != session?.stamp, let sessions {
                state.session = session?.stamp
                state.clearance = session.flatMap { Clearance(at: $0.place, host: sessions.host, now: sessions.now()) }
            }
            return (state.agent, state.clearance)
        }
        let mark = XXH3.hash128("\(agent ?? "")\n\(session.map { "\($0.stamp)" } ?? "")")
        return AskingMeans(
            userAgent: agent == initial ? nil : agent ?? standard, mark: XXH3.hex(mark.high),
            clearance: clearance?.header, site: site)
    }

    /// The option in a configuration file, nil if it is absent; or the error that makes it unreadable.
    private static func agent(in path: String) -> Result<String?, any Error> {
        Result {
            let bytes = try Files.read(path, upTo: Assignment.longestFile)
            let lines = try Assignment.all(in: String(decoding: bytes, as: UTF8.self), path: path).map { try $0.get() }
            let line = lines.last { OptionTable.normalised($0.name) == "user_agent" }
            return try line.flatMap { try ValueParsers.headerText($0.value) }
        }
    }
}
