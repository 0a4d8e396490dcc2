import Glibc
import HTTP
import System
import Rankings
import Sourcing

/// The files that may hold the user's session for one API.
struct SessionFiles: Hashable, Sendable {
    /// The file that `rankfs login` writes; nil if there is no home directory.
    let own: String?
    /// All places, the first one with precedence.
    let places: [SessionPlace]
    /// The API's host: only its secrets are read.
    let host: String

    /// The name of systemd's credential (`LoadCredential=rankfs-session:FILE`).
    static let credentialName = "rankfs-session"

    /// The files that settings and environment name.
    ///
    /// A custom origin has a file of its own, so that it never receives the service's secret; so has every source but the standard
    /// one.
    ///
    /// - Parameters:
    ///   - settings: The settings, which may name a file and an origin.
    ///   - source: The source.
    ///   - home: The directories of the user's files.
    init(_ settings: Settings, source: SourceName = .standard, home: Home) {
        let service = source.description.name
        let name = service == SourceName.standard.rawValue ? "" : "-" + service
        let origin = settings.apiURL?.suffix ?? ""
        own = home.stateDirectory.map { "\($0)/session\(name)\(origin)" }
        host = settings.apiURL?.host ?? RequestQueue.host(of: source.description.access.apiURL)
        // A bare value does not name its service: for a custom origin, only the file named after that origin may hold one.
        let takesBare = settings.apiURL == nil
        var places: [SessionPlace] = []
        if let path = settings.cookies {
            places.append(SessionPlace(path, takesBare: takesBare || path == own, isExpected: true))
        }
        if let credential = home.credential(named: Self.credentialName) {
            // systemd opens it to the service by an access list, which appears as a right of other users.
            places.append(SessionPlace(credential, takesBare: takesBare, mustBePrivate: false))
        }
        if let own { places.append(SessionPlace(own, takesBare: true)) }
        self.places = places
    }

    /// The files besides the own one that exist now; they take precedence over it.
    var others: [String] {
        places.map(\.path).filter { path in unsafe path != own && access(path, F_OK) == 0 }
    }

    /// The own file, which commands change.
    func ownFile() throws(ProgramError) -> String {
        guard let own else {
            throw .configuration("there is no home directory to keep the session in; set HOME or XDG_STATE_HOME.")
        }
        return own
    }

    /// Makes the directory of a session file, private to the user.
    static func prepare(_ file: String) throws(ProgramError) {
        guard let directory = LocalFiles.parent(of: file) else { return }
        do throws(SystemError) {
            try Directory.make(directory)
            guard unsafe chmod(directory, 0o700) == 0 else { throw SystemError.last() }
        } catch {
            throw .cannotCreate(
                "the directory \(LogText.escaped(directory)) cannot be made private: \(error.text); change its owner.")
        }
    }
}
