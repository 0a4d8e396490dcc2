import CLinux
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
        let origin = settings.apiURL.map { "-" + $0.authority.replacing(":", with: "_") } ?? ""
        own = home.stateDirectory.map { "\($0)/session\(name)\(origin)" }
        host = settings.apiURL?.host ?? RequestQueue.host(of: source.description.access.apiURL)
        // A bare value does not name its service: for a custom origin, only the file named after that origin may hold one.
        let takesBare = settings.apiURL == nil
        var places: [SessionPlace] = []
        if let path = settings.cookies {
            places.append(SessionPlace(path, takesBare: takesBare || path == own, isExpected: true))
        }
        if let credential = Self.credential(home) {
            // systemd opens it to the service by an access list, which appears as a right of other users.
            places.append(SessionPlace(credential, takesBare: takesBare, mustBePrivate: false))
        }
        if let own { places.append(SessionPlace(own, takesBare: true)) }
        self.places = places
    }

    /// The path of systemd's credential, whether or not there is one; nil outside of services.
    static func credential(_ home: Home) -> String? {
        home.variables["CREDENTIALS_DIRECTORY"].flatMap { $0.hasPrefix("/") ? "\($0)/\(credentialName)" : nil }
    }

    /// The files besides the own one that exist now; they take precedence over it.
    var others: [String] {
        places.map(\.path).filter { path in unsafe path != own && access(path, F_OK) == 0 }
    }

    /// The own file, which commands change.
    func ownFile() throws(ProgramError) -> String {
        guard let own else {
            throw ProgramError(
                .configuration, "there is no home directory to keep the session in; set HOME or XDG_STATE_HOME.")
        }
        return own
    }

    /// Makes the directory of a session file, private to the user.
    static func prepare(_ file: String) throws(ProgramError) {
        guard let directory = LocalFiles.parent(of: file) else { return }
        do throws(SystemError) {
            try Directory.make(directory)
            try LocalFiles.makePrivate(directory)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "the directory \(LogText.escaped(directory)) cannot be made private: \(error.text); change its owner.")
        }
    }
}

// MARK: - Inherited marks

/// Copies the marks that exclude a cache from backups to a directory below it.
///
/// The image cache decides which marks there are: all that it put on the parent are copied.
enum InheritedMarks {
    /// Room for the names of a few attributes, and for the short value of one.
    private static let nameBytes = 4096
    private static let valueBytes = 256

    /// Copies `user.` attributes and the nodump flag; a file system without them is no error, the parent's tag counts too.
    static func copy(from parent: String, to child: String) {
        let source = unsafe open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        let target = unsafe open(child, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer { for descriptor in [source, target] where descriptor >= 0 { close(descriptor) } }
        guard source >= 0, target >= 0 else { return }
        var names = [UInt8](repeating: 0, count: nameBytes)
        let length = unsafe names.withUnsafeMutableBytes {
            unsafe flistxattr(source, $0.baseAddress?.assumingMemoryBound(to: CChar.self), $0.count)
        }
        for bytes in names.prefix(max(0, length)).split(separator: 0) {
            let name = String(decoding: bytes, as: UTF8.self)
            guard name.hasPrefix("user.") else { continue }
            var value = [UInt8](repeating: 0, count: valueBytes)
            let count = unsafe fgetxattr(source, name, &value, value.count)
            if count >= 0 { unsafe _ = fsetxattr(target, name, value, count, 0) }
        }
        if rankfs_get_nodump(source) == 1 { _ = rankfs_set_nodump(target) }
    }
}
