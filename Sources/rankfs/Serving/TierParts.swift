import CLinux
import Glibc
import HTTP
import Tier
import System
import Rankings
import Sourcing

/// The shared tier of a mount, connected according to the settings.
///
/// It has its own transport, so that neither the tier nor the service waits for the other.
///
/// ## Concurrency
///
/// Built and closed on the main thread; its parts are used from any thread.
final class TierParts: Sendable {
    let tier: Tier
    private let transport: CurlTransport

    private init(_ tier: Tier, _ transport: CurlTransport) {
        self.tier = tier
        self.transport = transport
    }

    /// Makes the tier; nil if the settings name none, or if the mount is offline.
    static func make(
        _ settings: Settings, source: SourceName, choices: [String: String], place: CachePlace, home: Home,
        maySpend: @escaping @Sendable () -> Bool, log: Log
    ) throws(ProgramError) -> TierParts? {
        guard !settings.isOffline, let means = try TierMeans(settings, home: home) else { return nil }
        let configuration = Tier.Configuration(
            service: service(source, settings, choices), directory: place.catalog,
            sharesPrivate: settings.sharesPrivate, mayWrite: settings.writesToTier, maySpend: maySpend,
            owner: ChanceName.make())
        if let risk = means.risk { log.warning(risk) }
        do throws(DatabaseError) {
            return TierParts(try Tier(configuration, store: means.store) { log.record($0) }, means.transport)
        } catch {
            means.transport.shutdown()
            throw ProgramError(
                .cannotCreate, "the list of uploads in \(LogText.escaped(place.catalog)) cannot be used: \(error).")
        }
    }

    /// The name of the service in object keys; it differs wherever the listed works differ.
    static func service(_ source: SourceName, _ settings: Settings, _ choices: [String: String]) -> String {
        let origin = settings.apiURL.map { "-" + $0.authority } ?? ""
        let chosen = SourceChoices.text(choices, of: source)
        let name = source.description.name + origin + (chosen.isEmpty ? "" : "-" + chosen)
        return String(
            decoding: name.utf8.map { byte in
                (48...57).contains(byte) || (97...122).contains(byte) || byte == 45 || byte == 46 ? byte : 95
            }, as: UTF8.self)
    }

    /// Counts of the requests to the object store since the start.
    var requests: RequestCounts {
        transport.requestCounts.first { $0.purpose == .tier }?.counts ?? RequestCounts()
    }

    /// Ends uploads, then closes the transport; blocks, must not be called from a task.
    func close() {
        BlockingCall.wait { [tier] in await tier.close() }
        transport.shutdown()
    }
}

/// The object store that the settings name, and the transport to it.
struct TierMeans {
    let store: ObjectStore
    let transport: CurlTransport
    /// What anybody on the way to the store can do, as a sentence; nil if nothing.
    let risk: String?

    /// Object transfers at the same time.
    private static let connections = 16
    /// The time limit of connecting and of silence, after which the request goes to the service instead.
    private static let patience: Duration = .seconds(2)

    /// Nil if the settings name no tier.
    ///
    /// - Throws: configuration, if there is no key for it.
    init?(_ settings: Settings, home: Home) throws(ProgramError) {
        guard let address = settings.tier else { return nil }
        let place = StorePlace(address, origin: settings.tierURL?.origin, region: settings.tierRegion)
        let keys = try TierKeys.read(settings, home)
        let secret = try TierKeys.secret(settings, home)
        risk = secret == nil ? settings.tierURL.flatMap(Self.risk) : nil
        // An origin that the user named may be anywhere, also in the local network.
        let isNamed = settings.tierURL != nil
        let host = String(place.origin.drop { $0 != "/" }.drop { $0 == "/" })
        do throws(Failure) {
            transport = try CurlTransport(
                CurlTransport.Configuration(
                    limits: HostLimits(connections: Self.connections), userAgent: OwnAgent.text,
                    proxy: settings.proxy?.text,
                    hosts: isNamed ? [] : [host], trustedOrigins: isNamed ? [place.origin] : [],
                    connectTimeout: Self.patience, stallTimeout: Self.patience, certificates: settings.certificates))
        } catch .untrusted(let reason) {
            throw ProgramError(.configuration, "ca_file: \(reason)")
        } catch {
            throw ProgramError(.system, "the network library cannot be started: \(error.cause)")
        }
        store = ObjectStore(place, keys: keys, secret: secret, transport: RequestQueue(transport))
    }

    /// The risk of a store without a secret of the machines that share it; nil for one that is on this machine, or encrypted.
    static func risk(of url: OriginURL) -> String? {
        guard url.origin.hasPrefix("http://"), url.host != "localhost", url.host != "::1", !url.host.hasPrefix("127.")
        else { return nil }
        return
            "whoever is on the way to \(LogText.escaped(url.origin)) can change what the shared tier shows; name a tier_secret, or "
            + "an https:// store."
    }
}

// MARK: - Tier keys

/// The places of the key to the object store, and of the secret of the machines that share it.
///
/// They are in files that only the user may read, in systemd's credentials, or in the variables that programs for such stores
/// have in common; never on the command line.
enum TierKeys {
    /// The names of systemd's credentials (`LoadCredential=rankfs-tier:FILE`).
    static let credentials = (keys: "rankfs-tier", secret: "rankfs-tier-secret")
    /// Bytes; such files have some hundred.
    private static let longest = 64 << 10

    /// The first key found: in the file that `tier_keys` names, in systemd's credential, in the variables.
    ///
    /// - Throws: configuration, with the error of the first place that applies, or with the places to put a key.
    static func read(_ settings: Settings, _ home: Home) throws(ProgramError) -> StoreKeys {
        if let file = file(settings.tierKeys, credentials.keys, home) { return try keys(in: file) }
        if let keys = StoreKeys(variables: home.variables) { return keys }
        throw ProgramError(
            .configuration,
            "there is no key for the tier; name a file with aws_access_key_id and aws_secret_access_key by tier_keys, "
                + "or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
    }

    /// The secret in the file that `tier_secret` names, or in systemd's credential; nil if there is none.
    static func secret(_ settings: Settings, _ home: Home) throws(ProgramError) -> ObjectSecret? {
        guard let file = file(settings.tierSecret, credentials.secret, home) else { return nil }
        let name = "the file of the tier's secret \(LogText.escaped(file.path))"
        let bytes = try bytes(of: file, name)
        guard let secret = ObjectSecret(Array(bytes.prefix { $0 != 10 && $0 != 13 })) else {
            throw ProgramError(
                .configuration,
                "the first line of \(name) has fewer than \(ObjectSecret.shortest) or more than \(ObjectSecret.longest) bytes; "
                    + "make one with `head -c 32 /dev/urandom | base64`.")
        }
        return secret
    }

    /// A file with a secret; one that the user names must not be readable by others.
    private struct SecretFile {
        let path: String
        let mustBePrivate: Bool
    }

    private static func file(_ named: String?, _ credential: String, _ home: Home) -> SecretFile? {
        if let named { return SecretFile(path: named, mustBePrivate: true) }
        guard let directory = home.variables["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") else { return nil }
        let path = "\(directory)/\(credential)"
        return unsafe access(path, F_OK) == 0 ? SecretFile(path: path, mustBePrivate: false) : nil
    }

    private static func keys(in file: SecretFile) throws(ProgramError) -> StoreKeys {
        let name = "the file of the tier's key \(LogText.escaped(file.path))"
        guard let keys = StoreKeys(file: try bytes(of: file, name)) else {
            throw ProgramError(
                .configuration,
                "\(name) holds no key; it needs the lines aws_access_key_id = … and aws_secret_access_key = ….")
        }
        return keys
    }

    private static func bytes(of file: SecretFile, _ name: String) throws(ProgramError) -> [UInt8] {
        // Without O_NONBLOCK a pipe in place of the file would block the mount.
        let descriptor = unsafe open(file.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw ProgramError(.configuration, "\(name) cannot be read: \(SystemError(code: errno).text).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ProgramError(.configuration, "\(name) is no file.")
        }
        guard !file.mustBePrivate || status.st_mode & 0o077 == 0 else {
            throw ProgramError(.configuration, "\(name) can be read by others; protect it with `chmod 600`.")
        }
        do throws(SystemError) { return try FileBytes.read(descriptor, upTo: longest) } catch {
            throw ProgramError(.configuration, "\(name) cannot be read: \(error.text).")
        }
    }
}
