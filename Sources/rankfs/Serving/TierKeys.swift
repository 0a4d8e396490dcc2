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
/// common; never on the command line. A key is searched in the order of the AWS tools (AWS SDKs and Tools Reference Guide,
/// "Standardized credential providers"), after the places of rankfs.
///
/// ## Concurrency
///
/// Any thread may call; `read` blocks.
final class TierKeys: Sendable {
    /// A place with a key: whether it is read when the mount starts, and how.
    private typealias Place = (isAtOnce: Bool, read: () throws(Failure) -> KeyRing.Loan)

    /// The names of systemd's credentials (`LoadCredential=rankfs-tier:FILE`).
    private static let credentials = (keys: "rankfs-tier", secret: "rankfs-tier-secret")

    private static let missing = ProgramError(
        .configuration,
        "there is no key for the tier; name a file with aws_access_key_id and aws_secret_access_key by tier_keys, "
            + "or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")

    private let settings: Settings
    private let home: Home
    /// The stamps of the files at the last reading.
    private let stamps = Mutex<[SessionFile.Stamp?]>([])
    /// Ends the program of `credential_process`.
    private let programStop = ProgramStop()

    private init(_ settings: Settings, _ home: Home) {
        self.settings = settings
        self.home = home
        stamps.withLock { $0 = present }
    }

    /// The keys from the first place that has one, and from then on whatever that place holds.
    ///
    /// - Throws: configuration, with the error of the first place that applies, or with the places to put a key.
    static func ring(_ settings: Settings, _ home: Home) throws(ProgramError) -> KeyRing {
        let places = TierKeys(settings, home)
        let place = try places.find()
        let loan: KeyRing.Loan?
        do throws(Failure) { loan = place.isAtOnce ? try place.read() : nil } catch { throw missing }
        let source: KeyRing.Source = (
            { places.stamps.withLock { $0 != places.present } }, { () throws(Failure) in try places.read() },
            { places.programStop.stop() }
        )
        return KeyRing(loan, source: source, wallClock: TimeSource.wallClock)
    }

    /// The secret in the file that `tier_secret` names, or in systemd's credential; nil if there is none.
    static func secret(_ settings: Settings, _ home: Home) throws(ProgramError) -> ObjectSecret? {
        guard let file = file(settings.tierSecret, credentials.secret, home) else { return nil }
        let name = "the file of the tier's secret \(LogText.escaped(file.path))"
        let bytes = try bytes(of: file, name)
        guard let secret = ObjectSecret(Array(bytes.prefix { $0 != 10 && $0 != 13 })) else {
            throw .configuration(
                "the first line of \(name) has fewer than \(ObjectSecret.shortest) or more than \(ObjectSecret.longest) bytes; "
                    + "make one with `head -c 32 /dev/urandom | base64`.")
        }
        return secret
    }

    /// The stamps of the files whose change may mean another key, now.
    private var present: [SessionFile.Stamp?] {
        let file = Self.file(settings.tierKeys, Self.credentials.keys, home)
        let others = StoreKeys(variables: home.variables) == nil ? Self.shared(home) : []
        return (file.map { [$0.path] } ?? others).map { try? SessionFile.stamp(of: $0).get() }
    }

    /// Reads the key; blocks.
    private func read() throws(Failure) -> KeyRing.Loan {
        let present = present
        let place: Place
        do throws(ProgramError) { place = try find() } catch {
            throw .refused(error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message)
        }
        let loan = try place.read()
        stamps.withLock { $0 = present }
        return loan
    }

    // MARK: - Search

    /// The first place with a key.
    private func find() throws(ProgramError) -> Place {
        if let file = Self.file(settings.tierKeys, Self.credentials.keys, home) {
            let name = "the file of the tier's key \(LogText.escaped(file.path))"
            let profiles = KeyProfile.all(in: try Self.bytes(of: file, name))
            if let place = place(in: [profiles]) { return place }
            throw .configuration(
                "\(name) holds no key; it needs the lines aws_access_key_id = … and aws_secret_access_key = …, or "
                    + "credential_process = ….")
        }
        if let keys = StoreKeys(variables: home.variables) { return (true, { KeyRing.Loan(keys) }) }
        if let place = try shared() { return place }
        if let place = role { return place }
        throw Self.missing
    }

    /// The key of the profile in the files of the AWS tools.
    private func shared() throws(ProgramError) -> Place? {
        let profile = home.variables["AWS_PROFILE"] ?? "default"
        var found: [[KeyProfile]] = []
        for path in Self.shared(home) where unsafe access(path, F_OK) == 0 {
            // It may name a program to run, so that others must not change it.
            let bytes = try Self.bytes(of: (path, 0o022), "the file of AWS's tools \(LogText.escaped(path))")
            found.append(KeyProfile.all(in: bytes).filter { $0.name == profile })
        }
        return place(in: found)
    }

    /// The first key in the profiles of some files, or else the command of `credential_process`.
    private func place(in files: [[KeyProfile]]) -> Place? {
        let profiles = files.joined()
        if let keys = profiles.lazy.compactMap({ StoreKeys(profile: $0) }).first {
            return (true, { KeyRing.Loan(keys) })
        }
        // A program may need a network that is not there yet, and does not keep the mount from its start.
        return profiles.lazy.compactMap { $0["credential_process"].flatMap(Self.words) }.first.map { words in
            (false, { [programStop] () throws(Failure) in try Self.ofProgram(words, stop: programStop) })
        }
    }

    /// The role of the container or of the machine, for Amazon's own store only: another one must not receive its token.
    private var role: Place? {
        if let host = settings.tierURL?.host, !host.hasSuffix(".amazonaws.com"), !host.hasSuffix(".amazonaws.com.cn") {
            return nil
        }
        if let path = home.variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            return container(Self.containerAgent + path)
        }
        if let url = home.variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] { return container(url) }
        guard home.variables["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else { return nil }
        let origin = home.variables["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? Self.instanceService
        return (true, { () throws(Failure) in try Self.ofInstance(origin) })
    }

    private func container(_ url: String) -> Place {
        (false, { [home] () throws(Failure) in try Self.ofContainer(url, variables: home.variables) })
    }

    /// The files of the AWS tools, whether or not they exist.
    private static func shared(_ home: Home) -> [String] {
        [("AWS_SHARED_CREDENTIALS_FILE", "credentials"), ("AWS_CONFIG_FILE", "config")].compactMap { variable, name in
            guard let named = home.variables[variable] else { return home.directory.map { "\($0)/.aws/\(name)" } }
            if named.hasPrefix("~/") { return home.directory.map { $0 + named.dropFirst() } }
            return named.hasPrefix("/") ? named : nil
        }
    }

    // MARK: - Files

    /// A file with a secret, and the rights of others that it must not give.
    private typealias SecretFile = (path: String, refused: UInt32)

    /// The file that the user names, which others must not read, or systemd's credential; nil if there is neither.
    private static func file(_ named: String?, _ credential: String, _ home: Home) -> SecretFile? {
        if let named { return (named, 0o077) }
        // systemd opens it to the service by an access list, which appears as a right of other users.
        guard let path = home.credential(named: credential), unsafe access(path, F_OK) == 0 else { return nil }
        return (path, 0)
    }

    private static func bytes(of file: SecretFile, _ name: String) throws(ProgramError) -> [UInt8] {
        do throws(Failure) { return try SessionFile.content(at: file.path, refusing: file.refused) } catch {
            throw .configuration("\(name) \(error.cause).")
        }
    }

    // MARK: - Keys that end

    // Keys that end after hours: of a program that the user names, of a container, or of a machine at Amazon's.
    //
    // Each function blocks, within a time limit. No text of an answer is part of an error.

    /// The address of the agent of containers, and of the metadata service of machines (Amazon ECS Developer Guide, "Task IAM role";
    /// Amazon EC2 User Guide, "Use IMDS").
    private static let containerAgent = "http://169.254.170.2"
    private static let instanceService = "http://169.254.169.254"
    /// The hosts that may be queried without TLS (AWS SDKs and Tools Reference Guide, "Container credential provider"), besides loopback.
    private static let plainHosts: Set = ["169.254.170.2", "169.254.170.23", "fd00:ec2::23"]
    /// The time limit of a program, which may sign in somewhere.
    private static let programPatience = Duration.seconds(60)
    /// The time limit of connecting to a service, and of an answer; AWS's tools wait for one second.
    private static let patience = (connecting: Duration.seconds(1), answer: Duration.seconds(5))
    /// The most bytes of an answer; a session token has some thousand.
    private static let longest = 64 << 10

    // MARK: - Program

    /// Runs the program of `credential_process`, without a shell; a name without a slash is searched for in PATH.
    private static func ofProgram(_ words: [String], stop: ProgramStop) throws(Failure) -> KeyRing.Loan {
        let end: (status: Int32?, text: [UInt8])
        do throws(SystemError) {
            let deadline = TimeSource.system.now() + programPatience
            end = try ChildProcess.run(
                words.first ?? "", words, reading: STDOUT_FILENO, upTo: longest, by: deadline, stop: stop)
        } catch { throw .refused("the program of credential_process cannot be used: \(error.text)") }
        guard end.status == 0 else {
            throw .refused("the program of credential_process failed" + (end.status.map { " with status \($0)" } ?? ""))
        }
        guard let loan = KeyRing.Loan(answer: end.text, version: 1) else {
            throw .refused("the program of credential_process printed no keys of version 1")
        }
        return loan
    }

    // MARK: - Services

    /// Queries the agent of a container.
    private static func ofContainer(_ url: String, variables: [String: String]) throws(Failure) -> KeyRing.Loan {
        let agent: OriginURL
        do throws(Failure) { agent = try OriginURL(url) } catch {
            throw .refused("AWS_CONTAINER_CREDENTIALS_FULL_URI is no address")
        }
        guard agent.origin.hasPrefix("https://") || agent.isLoopback || plainHosts.contains(agent.host) else {
            throw .refused("AWS_CONTAINER_CREDENTIALS_FULL_URI names a host that may not be queried without TLS")
        }
        var token = variables["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
        if let file = variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] {
            do throws(SystemError) {
                let bytes = try Files.read(file, upTo: longest)
                token = String(decoding: bytes.prefix { $0 != 10 && $0 != 13 }, as: UTF8.self)
            } catch { throw .refused("the file AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE cannot be read: \(error.text)") }
        }
        let headers = token.map { ["Authorization: \($0)"] } ?? []
        return try answers(of: agent) { (ask) async throws(Failure) in
            try loan(
                try await ask(.get, String(url.dropFirst(agent.origin.utf8.count)), headers), "the container's agent")
        }
    }

    /// Queries the metadata service of a machine, version 2: a session first, then the role, then its keys.
    private static func ofInstance(_ origin: String) throws(Failure) -> KeyRing.Loan {
        let service = try OriginURL(origin)
        return try answers(of: service) { (ask) async throws(Failure) in
            let session = try await ask(.put, "/latest/api/token", ["X-aws-ec2-metadata-token-ttl-seconds: 300"])
            let headers = ["X-aws-ec2-metadata-token: \(String(decoding: session, as: UTF8.self))"]
            let roles = "/latest/meta-data/iam/security-credentials/"
            let role = String(decoding: try await ask(.get, roles, headers).prefix { $0 != 10 }, as: UTF8.self)
            // The characters of a role's name (IAM User Guide, "IAM and AWS STS quotas").
            guard !role.isEmpty,
                role.utf8.allSatisfy({ byte in
                    (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                        || "+=,.@-_".utf8.contains(byte)
                })
            else { throw .refused("the machine has no role") }
            return try loan(try await ask(.get, roles + role, headers), "the machine's metadata service")
        }
    }

    private static func loan(_ answer: [UInt8], _ place: String) throws(Failure) -> KeyRing.Loan {
        guard let loan = KeyRing.Loan(answer: answer) else { throw .refused("\(place) gave no keys") }
        return loan
    }

    private typealias Query = @Sendable (HTTPRequest.Method, String, [String]) async throws(Failure) -> [UInt8]

    /// Runs queries to a service of this machine, without a proxy and without redirects, on a transport of their own.
    private static func answers(
        of service: OriginURL, _ work: @escaping @Sendable (@escaping Query) async throws(Failure) -> KeyRing.Loan
    ) throws(Failure) -> KeyRing.Loan {
        let transport = try CurlTransport(
            CurlTransport.Configuration(
                limits: HostLimits(connections: 1), userAgent: Version.userAgent, proxy: nil, hosts: [],
                trustedOrigins: [service.origin], connectTimeout: patience.connecting, stallTimeout: patience.answer))
        defer { transport.shutdown() }
        let client = HTTPClient(transport: transport, policy: .once)
        let ask: Query = { (method, path, headers) async throws(Failure) in
            var request = HTTPRequest(
                method: method, url: service.origin + path, headers: headers, transferClass: .metadata,
                deadline: TimeSource.system.now() + patience.answer, bodyLimit: Int64(longest), purpose: .tier)
            request.followsRedirects = false
            let answer = try await client.send(request)
            guard answer.head.status == 200 else {
                throw .refused("the service of this machine's role answered \(answer.head.status)")
            }
            return answer.body
        }
        return try BlockingCall.wait { () async throws(Failure) in try await work(ask) }
    }

    /// The words of a command line, as the AWS tools split it without a shell: blanks separate, quotes join, a backslash escapes.
    ///
    /// Nil for a text without words, or with a quote that does not end.
    static func words(of text: String) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var rest = text[...]
        while let character = rest.popFirst() {
            if let open = quote {
                if character == open {
                    quote = nil
                } else if character == "\\", open == "\"", let next = rest.first, "\"\\".contains(next) {
                    word?.append(rest.removeFirst())
                } else {
                    word?.append(character)
                }
            } else if character == "\"" || character == "'" {
                (quote, word) = (character, word ?? "")
            } else if character == "\\", let next = rest.popFirst() {
                word = (word ?? "") + String(next)
            } else if character == " " || character == "\t" {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        if let word { words.append(word) }
        return words.isEmpty || quote != nil ? nil : words
    }
}
