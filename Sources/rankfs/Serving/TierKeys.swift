import CLinux
import Glibc
import HTTP
import Rankings
import Sourcing
import Synchronization
import System
import Tier

/// The places of the key to the object store, and of the secret of the machines that share it.
///
/// They are in files that only the user may read, in systemd's credentials, or in the places that programs for such stores have in
/// common; never on the command line.
enum TierKeys {
    /// The names of systemd's credentials (`LoadCredential=rankfs-tier:FILE`).
    static let credentials = (keys: "rankfs-tier", secret: "rankfs-tier-secret")

    /// The keys from the first place that has one, and from then on whatever that place holds.
    ///
    /// - Throws: configuration, with the error of the first place that applies, or with the places to put a key.
    static func ring(_ settings: Settings, _ home: Home) throws(ProgramError) -> KeyRing {
        let places = KeyPlaces(settings, home)
        let loan: KeyRing.Loan?
        switch try places.find() {
        case .keys(let keys): loan = KeyRing.Loan(keys)
        // A program may need a network that is not there yet, and does not keep the mount from its start.
        case .program, .container: loan = nil
        case .instance(let origin):
            do throws(Failure) { loan = try RoleKeys.ofInstance(origin) } catch { throw KeyPlaces.missing }
        }
        let source = KeyRing.Source(
            isChanged: { places.isChanged }, read: { () throws(Failure) in try places.read() },
            stop: { places.programStop.stop() })
        return KeyRing(loan, source: source, wallClock: WallClock.now)
    }

    /// The secret in the file that `tier_secret` names, or in systemd's credential; nil if there is none.
    static func secret(_ settings: Settings, _ home: Home) throws(ProgramError) -> ObjectSecret? {
        guard let file = SecretFile(settings.tierSecret, credentials.secret, home) else { return nil }
        let name = "the file of the tier's secret \(LogText.escaped(file.path))"
        let bytes = try file.bytes(name)
        guard let secret = ObjectSecret(Array(bytes.prefix { $0 != 10 && $0 != 13 })) else {
            throw ProgramError(
                .configuration,
                "the first line of \(name) has fewer than \(ObjectSecret.shortest) or more than \(ObjectSecret.longest) bytes; "
                    + "make one with `head -c 32 /dev/urandom | base64`.")
        }
        return secret
    }
}

/// A file with a secret.
private struct SecretFile {
    let path: String
    /// The rights of others that the file must not give.
    let refused: mode_t
    /// Bytes; such files have some hundred.
    private static let longest = 64 << 10

    /// The file that the user names, which others must not read, or systemd's credential; nil if there is neither.
    init?(_ named: String?, _ credential: String, _ home: Home) {
        if let named {
            (path, refused) = (named, 0o077)
        } else {
            // systemd opens it to the service by an access list, which appears as a right of other users.
            guard let path = home.credential(named: credential), unsafe access(path, F_OK) == 0 else { return nil }
            (self.path, refused) = (path, 0)
        }
    }

    /// A file of the AWS tools, which may name a program to run, so that others must not change it.
    init(shared path: String) { (self.path, refused) = (path, 0o022) }

    func bytes(_ name: String) throws(ProgramError) -> [UInt8] {
        // Without O_NONBLOCK a pipe in place of the file would block the mount.
        let descriptor = Descriptors.own.open(path, O_RDONLY | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw ProgramError(.configuration, "\(name) cannot be read: \(SystemError(code: errno).text).")
        }
        defer { close(descriptor) }
        guard let status = fileStatus(open: descriptor), status.st_mode.isFile else {
            throw ProgramError(.configuration, "\(name) is no file.")
        }
        guard status.st_mode & refused == 0 else {
            throw ProgramError(
                .configuration,
                "\(name) can be \(refused == 0o022 ? "changed" : "read") by others; protect it with `chmod 600`.")
        }
        do throws(SystemError) { return try Files.read(descriptor, upTo: Self.longest) } catch {
            throw ProgramError(.configuration, "\(name) cannot be read: \(error.text).")
        }
    }
}

/// The places in which a key is searched, in the order of the AWS tools (AWS SDKs and Tools Reference Guide, "Standardized
/// credential providers"), after those of rankfs.
///
/// ## Concurrency
///
/// Any thread may call; `read` blocks.
private final class KeyPlaces: Sendable {
    /// A place with a key.
    enum Place: Sendable {
        case keys(StoreKeys)
        /// The command of `credential_process`, in words.
        case program([String])
        case container(url: String)
        /// The address of the machine's metadata service.
        case instance(origin: String)
    }

    static let missing = ProgramError(
        .configuration,
        "there is no key for the tier; name a file with aws_access_key_id and aws_secret_access_key by tier_keys, "
            + "or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")

    private let settings: Settings
    private let home: Home
    /// The stamps of the files at the last reading.
    private let stamps: Mutex<[SessionFile.Stamp?]>
    /// Ends the program of `credential_process`.
    let programStop = ProgramStop()

    init(_ settings: Settings, _ home: Home) {
        self.settings = settings
        self.home = home
        stamps = Mutex(Self.paths(settings, home).map { try? SessionFile.stamp(of: $0).get() })
    }

    /// Whether a file has changed since the last reading that succeeded.
    var isChanged: Bool { stamps.withLock { $0 != present } }

    private var present: [SessionFile.Stamp?] {
        Self.paths(settings, home).map { try? SessionFile.stamp(of: $0).get() }
    }

    /// Reads the key; blocks.
    func read() throws(Failure) -> KeyRing.Loan {
        let present = present
        let place: Place
        do throws(ProgramError) { place = try find() } catch {
            throw .refused(error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message)
        }
        let loan: KeyRing.Loan
        switch place {
        case .keys(let keys): loan = KeyRing.Loan(keys)
        case .program(let words): loan = try RoleKeys.ofProgram(words, stop: programStop)
        case .container(let url): loan = try RoleKeys.ofContainer(url, variables: home.variables)
        case .instance(let origin): loan = try RoleKeys.ofInstance(origin)
        }
        stamps.withLock { $0 = present }
        return loan
    }

    // MARK: - Search

    /// The first place with a key.
    func find() throws(ProgramError) -> Place {
        if let file = SecretFile(settings.tierKeys, TierKeys.credentials.keys, home) {
            let name = "the file of the tier's key \(LogText.escaped(file.path))"
            let profiles = KeyProfile.all(in: try file.bytes(name))
            if let keys = profiles.lazy.compactMap({ StoreKeys(profile: $0) }).first { return .keys(keys) }
            if let program = Self.program(in: profiles) { return program }
            throw ProgramError(
                .configuration,
                "\(name) holds no key; it needs the lines aws_access_key_id = … and aws_secret_access_key = …, or "
                    + "credential_process = ….")
        }
        if let keys = StoreKeys(variables: home.variables) { return .keys(keys) }
        if let place = try shared() { return place }
        if let place = role { return place }
        throw Self.missing
    }

    /// The key of the profile in the files of the AWS tools.
    private func shared() throws(ProgramError) -> Place? {
        let profile = home.variables["AWS_PROFILE"] ?? "default"
        var found: [[KeyProfile]] = []
        for path in Self.shared(home) where unsafe access(path, F_OK) == 0 {
            let bytes = try SecretFile(shared: path).bytes("the file of AWS's tools \(LogText.escaped(path))")
            found.append(KeyProfile.all(in: bytes).filter { $0.name == profile })
        }
        for profiles in found {
            if let keys = profiles.lazy.compactMap({ StoreKeys(profile: $0) }).first { return .keys(keys) }
        }
        return Self.program(in: found.flatMap(\.self))
    }

    private static func program(in profiles: [KeyProfile]) -> Place? {
        profiles.lazy.compactMap { $0["credential_process"].flatMap(RoleKeys.words) }.first.map { .program($0) }
    }

    /// The role of the container or of the machine, for Amazon's own store only: another one must not receive its token.
    private var role: Place? {
        guard settings.tierURL.map({ Self.isAmazons($0.host) }) ?? true else { return nil }
        if let path = home.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            return .container(url: RoleKeys.containerAgent + path)
        }
        if let url = home.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] { return .container(url: url) }
        guard home.variables["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
        return .instance(origin: home.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? RoleKeys.instanceService)
    }

    private static func isAmazons(_ host: String) -> Bool {
        host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn")
    }

    /// The files whose change may mean another key.
    private static func paths(_ settings: Settings, _ home: Home) -> [String] {
        if let file = SecretFile(settings.tierKeys, TierKeys.credentials.keys, home) { return [file.path] }
        return StoreKeys(variables: home.variables) == nil ? shared(home) : []
    }

    /// The files of the AWS tools, whether or not they exist.
    private static func shared(_ home: Home) -> [String] {
        [("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")].compactMap { variable, name in
            guard let named = home.variables[variable] else { return home.directory.map { "\($0)/.aws/\(name)" } }
            if named.hasPrefix("~/") { return home.directory.map { $0 + named.dropFirst() } }
            return named.hasPrefix("/") ? named : nil
        }
    }
}
