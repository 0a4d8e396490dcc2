import Fuse
import Glibc
import Rankings

/// `rankfs doctor`: checks everything that mounts need, reports problems with their remedies, and makes the safe repairs.
///
/// Every check is bounded in time: a dead name server, disk or mount costs seconds and is itself a finding.
struct DoctorCommand: Command {
    /// The source and the options, as for a mount.
    var mount = MountRequest()
    var fixes = false
    /// Whether the report is about the service, and about nothing else.
    var asksService = false
    /// The folder in which the service's answers are kept.
    var recordFolder: String?
    var json = false

    static let definition = CommandDefinition(
        "doctor", "[SOURCE] [--fix] [--service] [--record DIR] [--json] [-o OPTION,…]", brief: "[SOURCE] [--fix]",
        summary: "check what mounts need, and mend what is safe to mend",
        details: """
            Looks at everything that a mount of SOURCE needs: fuse, the configuration, the cache directory with its marks, space and
            databases, the session, thumbnails, the clock, proxy, names and hosts, indexers, and what is mounted. One line each:
              ok       all is well
              note     worth knowing
              wrong    with what to do about it
            Each host is asked once, by the rules of a mount; nothing takes longer than some seconds.
              --fix    mend what is safe to mend, and say so: set the marks on the cache directory, take others' rights on session
                       and configuration away, clear mounts whose process has died, remove what a crash left
              --service  only ask the service for what rankfs takes for granted of it, in 12 requests at most and without the
                       session: a ranking, a record, parts of a picture, protocol, certificate; of a board order, rating and one
                       original's MD5 as well. Each is `kept`, `changed` or `unknown`. Nothing in it is private: paste it into
                       a report
              --record DIR  with --service: also keep the answers in DIR, an empty folder, to be sent with a report so that they can
                       become a test. Names, titles, tags, captions, authors' numbers, addresses on other hosts, cookies and
                       pictures are taken out; fields, numbers and shapes are left
              --json   the same for programs
            Exit status: 0 nothing is wrong (notes are allowed) or everything is kept, 1 otherwise, after --fix: still; 64 usage.
            """
    ) { arguments throws(ProgramError) in
        var command = DoctorCommand(
            mount: arguments.request, fixes: arguments.flags.contains("--fix"),
            asksService: arguments.flags.contains("--service"), recordFolder: arguments.values["--record"],
            json: arguments.flags.contains("--json"))
        guard arguments.positions.count <= 1 else {
            throw ProgramError(
                .usage,
                "name at most one source: rankfs doctor [SOURCE] [--fix | --service [--record DIR]] [--json] [-o OPTIONS]."
            )
        }
        guard command.recordFolder == nil || command.asksService else {
            throw ProgramError(.usage, "--record keeps what the service answers: give it with --service.")
        }
        guard !command.fixes || !command.asksService else {
            throw ProgramError(.usage, "--fix mends this machine, --service only asks the service; give one of them.")
        }
        if let source = arguments.positions.first { command.mount.source = try SourceName(argument: source) }
        return command
    }

    /// A check of one subject; it bounds its own time.
    typealias Check = @Sendable (DoctorContext) -> [Finding]

    /// The checks of this machine, in the order of the report.
    static let local: [Check] = [
        Finding.system, Finding.configuration, Finding.cache, Finding.logFile, Finding.thumbnails, Finding.desktop,
        Finding.session, Finding.mounts,
    ]
    /// The checks that send requests: made once, since no repair changes the answers of hosts.
    private static let remote: [Check] = [Finding.network, Finding.tier]

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
    func run() throws(ProgramError) {
        let account = try Mounter.account(of: mount)
        let mounter = (fuse: Finding.fuse(), isRoot: geteuid() == 0)
        // All else is looked at with the eyes of the user that serves the mount.
        try account?.become()
        var context = try load(.current())
        context.mounter = mounter
        if asksService { return try reportService(context) }
        func run(_ checks: [Check]) -> [Finding] { checks.flatMap { $0(context) } }
        context.mounts = DoctorContext.currentMounts()
        var findings = run(Self.local)
        let network = Self.remote(context)
        var done: [String] = []
        if fixes {
            done = findings.compactMap(\.repair).uniqued(by: \.self).compactMap { $0.perform() }
            if !done.isEmpty {
                context.mounts = DoctorContext.currentMounts()
                findings = run(Self.local)
            }
        }
        findings += network
        if json {
            Output.print(Self.json(findings, fixed: done), terminator: "")
        } else {
            Output.print(Self.text(findings, fixed: done, isColoured: isColoured(context)))
        }
        // The problems are printed already; scripts check the exit status.
        if findings.contains(where: { $0.verdict == .wrong }) { throw ProgramError(.incomplete, "") }
    }

    /// Checks the assumptions of the program about the service with requests to it, and prints the report.
    ///
    /// - Throws: status 1 if an assumption does not hold, or could not be checked.
    private func reportService(_ context: DoctorContext) throws(ProgramError) {
        guard !context.isEmbedded else {
            throw ProgramError(
                .usage, "the source demo asks no service; name \(SourceName.standard.rawValue), or an api_url.")
        }
        // A request to a host other than the intended one would disclose the intention to a stranger.
        if let mistake = context.mistake { throw ProgramError(.configuration, mistake) }
        for warning in context.warnings { Output.complain(warning, as: "rankfs") }
        let folder = try recordFolder.map { folder throws(ProgramError) in try RecordFolder(folder) }
        let report = try ServiceReport(context, recording: folder)
        if json {
            Output.print(report.json, terminator: "")
        } else {
            Output.print(report.text(isColoured: isColoured(context)))
        }
        if let folder { Output.complain(folder.sentence, as: "rankfs") }
        if !report.isKept { throw ProgramError(.incomplete, "") }
    }

    /// The time limit for a disk that may be dead.
    private static let patience: Duration = .seconds(5)

    private func isColoured(_ context: DoctorContext) -> Bool {
        isatty(1) == 1 && Terminal.wantsColours(context.home.variables)
    }

    /// The context; without the configuration file if that file is the mistake.
    private func load(_ home: Home) throws(ProgramError) -> DoctorContext {
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
            BlockingCall.run(within: Self.patience) { CachePlace.look(at: directory) } ?? (directory, nil)
        }
        return DoctorContext(
            source: source, home: home, settings: settings, place: place, warnings: warnings, mistake: mistake,
            wantsOthers: mount.options.passedOn.contains { $0.hasPrefix("allow_") })
    }

    // MARK: - Texts

    private static func rows(_ findings: [Finding]) -> [FindingText.Row] {
        findings.map { ($0.verdict.rawValue, $0.subject, $0.text) }
    }

    /// One line per finding: verdict, subject, reason and remedy.
    static func text(_ findings: [Finding], fixed: [String], isColoured: Bool) -> String {
        let lines = FindingText.rows(rows(findings), wordWidth: 7, isColoured: isColoured)
        return (fixed.map { "fixed  \($0)" } + lines).joined(separator: "\n")
    }

    /// The findings as JSON, with sorted keys and a final newline.
    static func json(_ findings: [Finding], fixed: [String]) -> String {
        let entries = FindingText.json("subject", rows(findings))
        let document = JSON.members([("findings", entries), ("fixed", .array(fixed.map { .string($0) }))])
        return document.document(colon: " : ")
    }
}
