import CLinux
import Glibc
import HTTP
import Rankings
import Sourcing
import System

extension Command {
    /// `rankfs login`: reads the session cookie from a file or the terminal, has the service check it, and stores it.
    static let login = Command(
        name: "login", words: "[SOURCE] [FILE | -] [-o OPTION,…]", brief: "[FILE]",
        summary: "sign in, with a cookies.txt or by asking", details: loginDetails,
        run: { arguments throws(ProgramError) in try signIn(arguments.request, file: arguments.positions.first) })

    private static var loginDetails: String {
        let accounts = SourceRegistry.standard.accounts
        let help = accounts?.help ?? (use: "some lists", secret: "the secret")
        return """
            Signs in with the session of a browser: \(help.use) need that. FILE is a
            cookies.txt as browsers' extensions export it; - is the standard input; without either, \(help.secret) is
            asked for and not shown. One request checks it; then it is stored, readable by you alone, in
            $XDG_STATE_HOME/rankfs/session (~/.local/state/rankfs/session), and every mount uses it at once. It goes to
            \(accounts?.host ?? "its service") only; an origin of your own (-o api_url=) has a session of its own. With it go the cookies of a browser's
            check (cf_clearance, __cf_bm); of a SOURCE without accounts they are all that is taken.
            Exit status: 0 done, 64 usage, 69 the service cannot be asked, 73 the file cannot be written, 77 the service
            refuses the session, 78 configuration.
            """
    }

    /// The time limit of the check, which is one small answer.
    private static let patience: Duration = .seconds(15)

    private static func signIn(_ request: MountRequest, file: String?) throws(ProgramError) {
        let (settings, _, home) = try SettingsLoader.load(request)
        let source = request.source
        let accounts = source.plugIn.accounts
        guard accounts != nil || source.description.access.takesClearance else {
            throw .usage("\(source.rawValue) has no accounts to sign in to.")
        }
        let files = SessionFiles(settings, source: source, home: home)
        let own = try files.ownFile()
        let (session, clearance) = try secrets(from: file, accounts, host: files.host)
        var user: UserID?
        if let session, let accounts {
            user = try validate(
                session, accounts, clearance, source: source, settings: settings, home: home)
        }
        try SessionFiles.prepare(own)
        do throws(Failure) {
            try SessionFile.store((session.map { [$0.line] } ?? []) + (clearance?.cookies ?? []), at: own)
        } catch {
            throw .cannotCreate("the session file \(LogText.escaped(own)) \(error.cause).")
        }
        let done = user.map { "signed in as user \($0.rawValue)" } ?? "the cookies of the check are stored"
        Output.print("\(done); mounts that are running notice it by themselves")
        for path in files.others {
            Output.complain(
                "\(LogText.escaped(path)) is used before what was stored now; remove it if that is not meant.",
                as: "rankfs")
        }
    }

    // MARK: Input

    /// The content of a text of cookies: a session if the source has accounts, and the cookies of a browser check.
    private typealias Secrets = (session: (any SourceSession)?, clearance: Clearance?)

    private static func secrets(
        from file: String?, _ accounts: (any AccountService)?, host: String
    ) throws(ProgramError) -> Secrets {
        guard let file else { return try asked(accounts, host: host) }
        // The file's name is not repeated: the user may have given the cookie in its place.
        let name = file == "-" ? "the standard input" : "the file"
        let descriptor = file == "-" ? 0 : unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .usage("the file cannot be opened: \(SystemError.last().text); name a cookies.txt, or - for stdin.")
        }
        defer { if descriptor > 0 { close(descriptor) } }
        do throws(Failure) {
            let (bytes, now) = (try SessionFile.content(of: descriptor), TimeSource.wallClock())
            let session = try accounts?.session(in: bytes, host: host, now: now)
            let clearance = Clearance(in: bytes, host: host, now: now)
            guard session != nil || clearance != nil else {
                throw .unusable(
                    "holds no cookie of a browser's check (cf_clearance) of \(host); open the site in a browser, pass its "
                        + "check and export its cookies again")
            }
            // The exported file stays in its place.
            if let status = fileStatus(open: descriptor), status.st_mode.isFile, status.st_mode & 0o077 != 0 {
                Output.complain(
                    "warning: the file can be read by others; remove it, or protect it with `chmod 600`.", as: "rankfs")
            }
            return (session, clearance)
        } catch {
            throw .usage("\(name) \(error.cause).")
        }
    }

    private static func asked(_ accounts: (any AccountService)?, host: String) throws(ProgramError) -> Secrets {
        guard let accounts else {
            throw .usage("there is nothing to ask for; name a cookies.txt with the cookies of \(host).")
        }
        guard isatty(0) == 1 else {
            throw .usage(
                "there is no terminal to ask on; name a cookies.txt (`rankfs login FILE`) or pipe it in (`rankfs login -`)."
            )
        }
        let line: [UInt8]?
        do throws(SystemError) {
            line = try Terminal.prompt(accounts.question)
        } catch {
            throw .system("the terminal cannot be used: \(error.text); try `rankfs login FILE`.")
        }
        guard let line, !line.isEmpty else { throw .usage("nothing was given; nothing was changed.") }
        do throws(Failure) {
            let session = try accounts.session(typed: String(decoding: line, as: UTF8.self))
            return (session, Clearance(in: line, host: host, now: TimeSource.wallClock()))
        } catch {
            throw .usage("what was given \(error.cause).")
        }
    }

    // MARK: Check

    private static func validate(
        _ session: any SourceSession, _ accounts: any AccountService, _ clearance: Clearance?, source: SourceName,
        settings: Settings, home: Home
    ) throws(ProgramError) -> UserID {
        let place = try CachePlace(settings, source: source, home: home)
        let transport = try Parts.makeTransport(settings, source: source, origin: nil, network: patience)
        defer { transport.shutdown() }
        let asking = AskingMeans(
            mark: "login", clearance: clearance?.header,
            site: RequestQueue.host(of: settings.apiURL?.text ?? source.description.access.apiURL))
        let queue = Parts.makeQueue(transport, settings, source: source, place: place, means: { asking })
        let client = HTTPClient(transport: settings.isOffline ? OfflineNetwork() : queue)
        let means = SourceMeans(
            send: { request throws(Failure) in try await client.send(request) }, apiURL: settings.apiURL?.text,
            imageURL: settings.imageURL?.text, wallClock: TimeSource.wallClock)
        let isAccepted: Bool
        do throws(Failure) {
            isAccepted = try BlockingCall.wait { () async throws(Failure) in
                try await accounts.check(session, means, deadline: TimeSource.system.now().advanced(by: patience))
            }
        } catch {
            throw .unavailable(sentence(on: error, closedUntil: queue.service.closedUntil))
        }
        guard isAccepted else {
            throw .refused(
                "the service refuses the session of user \(session.user.rawValue), nothing was stored; sign in with a "
                    + "browser again and take its new cookie.")
        }
        return session.user
    }

    private static func sentence(on error: Failure, closedUntil: Int64?) -> String {
        if let closedUntil {
            let pause = DisplayText.duration(max(1, closedUntil - TimeSource.wallClock()))
            return "the service asks to be left alone for another \(pause), nothing was stored; try again then."
        }
        return switch error {
        case .timedOut: "the service does not answer, so nothing was stored; check the network and try again."
        case .unreachable(let reason):
            "the session could not be checked, so nothing was stored; check the network and try again: \(reason)"
        case .turnedAway(let reason):
            "the session could not be checked, so nothing was stored, for \(reason)."
        case .troubled(let reason): "the session could not be checked, so nothing was stored: \(reason)"
        case .offline:
            "the option offline lets no request leave, so that the session could not be checked and nothing was stored; "
                + "try again with -o offline=off."
        case .unreadable(let reason): "the session could not be checked, so nothing was stored; try again: \(reason)"
        default: "the session could not be checked, so nothing was stored; try again later."
        }
    }

    // MARK: Sign out

    /// `rankfs logout`: removes the session that `rankfs login` stored.
    static let logout = Command(
        name: "logout", words: "[SOURCE] [-o OPTION,…]", brief: "", summary: "sign out: removes the session",
        details: """
            Overwrites and removes the session that `rankfs login` stored; every mount notices it at once.
            Exit status: 0 done, 64 usage, 73 the file cannot be overwritten or removed, 78 configuration.
            """,
        run: { arguments throws(ProgramError) in try signOut(arguments.request) })

    private static func signOut(_ request: MountRequest) throws(ProgramError) {
        let (settings, _, home) = try SettingsLoader.load(request)
        let files = SessionFiles(settings, source: request.source, home: home)
        let own = try files.ownFile()
        let shown = LogText.escaped(own)
        do throws(Failure) {
            Output.print(
                try SessionFile.remove(own)
                    ? "signed out: \(shown) was overwritten and removed" : "nobody was signed in: there is no \(shown)")
        } catch {
            throw .cannotCreate("the session file \(shown) \(error.cause); remove what is left yourself.")
        }
        for path in files.others {
            let origin = path == settings.cookies ? "option cookies" : "a credential of systemd"
            Output.complain("\(LogText.escaped(path)) is still used (\(origin)); remove it to sign out.", as: "rankfs")
        }
    }
}
