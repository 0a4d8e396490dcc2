import Glibc
import HTTP
import Rankings
import Sourcing
import System
import Tier

/// Keys that end after hours: of a program that the user names, of a container, or of a machine at Amazon's.
///
/// Each function blocks, within a time limit. No text of an answer is part of an error.
enum RoleKeys {
    /// The address of the agent of containers, and of the metadata service of machines (Amazon ECS Developer Guide, "Task IAM role";
    /// Amazon EC2 User Guide, "Use IMDS").
    static let containerAgent = "http://169.254.170.2"
    static let instanceService = "http://169.254.169.254"
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
    static func ofProgram(_ words: [String], stop: ProgramStop) throws(Failure) -> KeyRing.Loan {
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
    static func ofContainer(_ url: String, variables: [String: String]) throws(Failure) -> KeyRing.Loan {
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
    static func ofInstance(_ origin: String) throws(Failure) -> KeyRing.Loan {
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
                limits: HostLimits(connections: 1), userAgent: OwnAgent.text, proxy: nil, hosts: [],
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
