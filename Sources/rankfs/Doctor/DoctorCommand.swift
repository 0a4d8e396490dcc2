import Glibc
import Rankings

extension Command {
    /// `rankfs doctor`: checks everything that mounts need, reports problems with their remedies, and makes the safe repairs.
    ///
    /// Every check is bounded in time: a dead name server, disk or mount costs seconds and is itself a finding.
    static let doctor = Command(
        name: "doctor", words: "[SOURCE] [--fix] [--service] [--record DIR] [--json] [-o OPTION,…]",
        brief: "[SOURCE] [--fix]", summary: "check what mounts need, and mend what is safe to mend",
        details: """
            Looks at everything that a mount of SOURCE needs: fuse, the configuration, the cache directory with its marks, space and
            databases, the session, thumbnails, the clock, proxy, names and hosts, indexers, and what is mounted. One line each:
              ok       all is well
              note     worth knowing
              wrong    with what to do about it
            Each host is asked once, by the rules of a mount; nothing takes longer than some seconds.
              --fix    mend what is safe to mend, and say so: set the marks on the cache directory, take others' rights on session
                       and configuration away, clear mounts whose process has died, remove what a crash left
              --service  only check what rankfs assumes about the service, in 16 requests at most and without the
                       session: a ranking, a record, parts of a picture, protocol, certificate; of a board order, rating and one
                       original's MD5 as well. Each is `kept`, `changed` or `unknown`. Nothing in it is private: paste it into
                       a report
              --record DIR  with --service: also keep the answers in DIR, an empty folder, to be sent with a report so that they can
                       become a test. Names, titles, tags, captions, authors' numbers, addresses on other hosts, cookies and
                       pictures are taken out; fields, numbers and shapes are left
              --json   the same for programs
            Exit status: 0 nothing is wrong (notes are allowed) or everything is kept, 1 otherwise, after --fix: still; 64 usage.
            """,
        check: { arguments throws(ProgramError) in
            let asksService = arguments.flags.contains("--service")
            guard arguments.values["--record"] == nil || asksService else {
                throw .usage("--record keeps what the service answers: give it with --service.")
            }
            guard !arguments.flags.contains("--fix") || !asksService else {
                throw .usage("--fix mends this machine, --service only asks the service; give one of them.")
            }
        }, run: { arguments throws(ProgramError) in try examine(arguments) })

    /// A check of one subject; it bounds its own time.
    typealias Examination = @Sendable (DoctorContext) -> [Finding]

    /// The checks of this machine, in the order of the report.
    private static let local: [Examination] = [
        Finding.system, Finding.configuration, Finding.cache, Finding.logFile, Finding.thumbnails, Finding.desktop,
        Finding.session, Finding.mounts,
    ]
    /// The checks that send requests: made once, since no repair changes the answers of hosts.
    private static let remote: [Examination] = [Finding.network, Finding.tier]

    /// The findings of the checks that send requests; none is sent with a configuration that does not say where to, and by what way.
    static func remote(_ context: DoctorContext) -> [Finding] {
        guard context.mistake == nil else {
            return [.note("network", "no host is asked before the mistake in the configuration is mended.")]
        }
        return remote.flatMap { $0(context) }
    }

    /// Runs the checks, makes the repairs if requested, and prints the findings.
    ///
    /// - Throws: status 1 if something is wrong and stays wrong.
    private static func examine(_ arguments: Arguments) throws(ProgramError) {
        let account = try arguments.request.account()
        let mounter = (fuse: Finding.fuse(), isRoot: geteuid() == 0)
        // All else is looked at with the eyes of the user that serves the mount.
        try account?.become()
        var context = try context(of: arguments.request)
        context.mounter = mounter
        let isColoured = isatty(1) == 1 && Terminal.wantsColours(context.home.variables)
        if arguments.flags.contains("--service") { return try reportService(context, arguments, isColoured) }
        func run(_ checks: [Examination]) -> [Finding] { checks.flatMap { $0(context) } }
        context.mounts = DoctorContext.currentMounts()
        var findings = run(local)
        let network = remote(context)
        var done: [String] = []
        if arguments.flags.contains("--fix") {
            done = findings.compactMap(\.repair).uniqued(by: \.self).compactMap { $0.perform() }
            if !done.isEmpty {
                context.mounts = DoctorContext.currentMounts()
                findings = run(local)
            }
        }
        findings += network
        Output.print(
            arguments.flags.contains("--json")
                ? json(findings, fixed: done) : text(findings, fixed: done, isColoured: isColoured) + "\n",
            terminator: "")
        // The problems are printed already; scripts check the exit status.
        if findings.contains(where: { $0.verdict == .wrong }) { throw .incomplete() }
    }

    /// Checks the assumptions of the program about the service with requests to it, and prints the report.
    ///
    /// - Throws: status 1 if an assumption does not hold, or could not be checked.
    private static func reportService(
        _ context: DoctorContext, _ arguments: Arguments, _ isColoured: Bool
    ) throws(ProgramError) {
        guard !context.isEmbedded else {
            throw .usage("the source demo asks no service; name \(SourceName.standard.rawValue), or an api_url.")
        }
        // A request to a host other than the intended one would disclose the intention to a stranger.
        if let mistake = context.mistake { throw .configuration(mistake) }
        for warning in context.warnings { Output.complain(warning, as: "rankfs") }
        let folder = arguments.values["--record"]
        if let folder { try ServiceReport.makeFolder(folder) }
        let report = try ServiceReport(context, recording: folder)
        Output.print(
            arguments.flags.contains("--json") ? report.json : report.text(isColoured: isColoured) + "\n",
            terminator: "")
        if let folder {
            Output.complain(
                "the answers are in \(LogText.escaped(folder)), with names, texts, addresses and pictures taken out: look at "
                    + "them, then send them.", as: "rankfs")
        }
        if !report.isKept { throw .incomplete() }
    }

    /// The time limit for a disk that may be dead.
    private static let patience: Duration = .seconds(5)

    /// The context; without the configuration file if that file is the mistake.
    private static func context(of mount: MountRequest) throws(ProgramError) -> DoctorContext {
        let home = Home.current()
        var (warnings, mistake): ([String], String?) = ([], nil)
        let settings: Settings
        do throws(ProgramError) {
            (settings, warnings, _) = try SettingsLoader.load(mount)
        } catch {
            guard error.status == .configuration else { throw error }
            let loader = SettingsLoader(
                environment: [:], commandLine: mount.options.assignments,
                directory: LocalFiles.workingDirectory(), home: home.directory)
            settings = try loader.load().settings
            mistake = error.message
        }
        let source = mount.source
        let place = try CachePlace(settings, source: source, home: home) { directory in
            BlockingCall.run(within: patience) { CachePlace.look(at: directory) } ?? (directory, nil)
        }
        return DoctorContext(
            source: source, home: home, settings: settings, place: place, warnings: warnings, mistake: mistake,
            wantsOthers: mount.options.passedOn.contains { $0.hasPrefix("allow_") })
    }

    // MARK: - Texts

    private static func rows(_ findings: [Finding]) -> [Finding.Row] {
        findings.map { ($0.verdict.rawValue, $0.subject, $0.text) }
    }

    /// One line per finding: verdict, subject, reason and remedy.
    static func text(_ findings: [Finding], fixed: [String], isColoured: Bool) -> String {
        let lines = Finding.rows(rows(findings), wordWidth: 7, isColoured: isColoured)
        return (fixed.map { "fixed  \($0)" } + lines).joined(separator: "\n")
    }

    /// The findings as JSON, with sorted keys and a final newline.
    static func json(_ findings: [Finding], fixed: [String]) -> String {
        let entries = Finding.json("subject", rows(findings))
        let document = JSON.members([("findings", entries), ("fixed", .array(fixed.map { .string($0) }))])
        return document.document(colon: " : ")
    }
}
