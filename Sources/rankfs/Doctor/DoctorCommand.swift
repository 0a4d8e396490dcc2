import Fuse
import Glibc
import Rankings

/// `rankfs doctor`: checks everything that mounts need, reports problems with their remedies, and makes the safe repairs.
///
/// Every check is bounded in time: a dead name server, disk or mount costs seconds and is itself a finding.
struct DoctorCommand {
    let request: DoctorRequest
    let home: Home

    /// Runs the checks, makes the repairs if requested, and prints the findings.
    ///
    /// - Throws: status 1 if something is wrong and stays wrong.
    func run() throws(ProgramError) {
        let (settings, warnings, mistake) = try load()
        let place = try CachePlace(settings, source: request.mount.source, home: home)
        if request.asksService { return try reportService(settings, place, warnings, mistake) }
        let look = { () -> [Finding] in
            let configuration = UserProbe.configuration(
                path: home.configurationFile, mistake: mistake, warnings: warnings, settings: settings)
            return self.look(settings, place, configuration)
        }
        var findings = look()
        // Sent once: no repair changes the answers of hosts.
        let network = NetworkProbe(
            settings: settings, source: request.mount.source, variables: home.variables, place: place
        )
        .findings(isEmbedded: isEmbedded(settings))
        var done: [String] = []
        if request.fixes {
            done = findings.compactMap(\.repair).uniqued().compactMap { $0.perform() }
            if !done.isEmpty { findings = look() }
        }
        findings += network
        if !settings.isOffline, let tier = TierProbe.finding(settings, home: home) { findings.append(tier) }
        if request.json {
            Output.print(Self.json(findings, fixed: done), terminator: "")
        } else {
            let isColoured = isatty(1) == 1 && Terminal.wantsColours(home.variables)
            Output.print(Self.text(findings, fixed: done, isColoured: isColoured))
        }
        // The problems are printed already; scripts check the exit status.
        if findings.contains(where: { $0.verdict == .wrong }) { throw ProgramError(.incomplete, "") }
    }

    /// Checks the assumptions of the program about the service with requests to it, and prints the report.
    ///
    /// - Throws: status 1 if an assumption does not hold, or could not be checked.
    private func reportService(
        _ settings: Settings, _ place: CachePlace, _ warnings: [String], _ mistake: String?
    ) throws(ProgramError) {
        guard !isEmbedded(settings) else {
            throw ProgramError(
                .usage, "the source demo asks no service; name \(SourceName.standard.rawValue), or an api_url.")
        }
        // A request to a host other than the intended one would disclose the intention to a stranger.
        if let mistake { throw ProgramError(.configuration, mistake) }
        for warning in warnings { Output.complain(warning, as: "rankfs") }
        let probe = ServiceProbe(settings: settings, source: request.mount.source, place: place)
        let folder = try request.recordFolder.map { folder throws(ProgramError) in try RecordFolder(folder) }
        let report = try probe.report(recording: folder)
        if request.json {
            Output.print(report.json, terminator: "")
        } else {
            Output.print(report.text(isColoured: isatty(1) == 1 && Terminal.wantsColours(home.variables)))
        }
        if let folder { Output.complain(folder.sentence, as: "rankfs") }
        if !report.isKept { throw ProgramError(.incomplete, "") }
    }

    /// Runs all checks except those of the network.
    private func look(
        _ settings: Settings, _ place: CachePlace, _ configuration: Finding.ConfigurationLook
    ) -> [Finding] {
        let mounts = SystemProbe.mounts()
        let wantsOthers = request.mount.options.passedOn.contains { $0.hasPrefix("allow_") }
        var findings = SystemProbe.findings(wantsOthers: wantsOthers) + Finding.configuration(configuration)
        findings += CacheProbe.findings(place, settings)
        findings.append(UserProbe.thumbnails(settings, home: home))
        findings.append(DesktopProbe.finding(settings, home: home))
        if !isEmbedded(settings) {
            let source = request.mount.source
            let hasExpired = mounts.contains {
                $0.status?.signIn.state == "expired" && $0.status?.source == source.description.name
            }
            findings += UserProbe.session(settings, source: source, home: home, hasExpired: hasExpired)
        }
        return findings + mounts.compactMap { Finding.mount($0.path, $0.look) }
    }

    /// Whether the source is inside the program; such a source has neither hosts nor sessions.
    private func isEmbedded(_ settings: Settings) -> Bool {
        request.mount.source.isDemo && settings.apiURL == nil
    }

    /// The settings; without the configuration file if that file is the mistake.
    private func load() throws(ProgramError) -> (settings: Settings, warnings: [String], mistake: String?) {
        do throws(ProgramError) {
            let (settings, warnings, _) = try SettingsLoader.load(request.mount)
            return (settings, warnings, nil)
        } catch {
            guard error.status == .configuration else { throw error }
            let loader = SettingsLoader(
                environment: [:], commandLine: request.mount.options.assignments,
                directory: LocalFiles.workingDirectory() ?? "/", home: home.directory)
            return (try loader.load().settings, [], error.message)
        }
    }

    // MARK: - Texts

    /// One line per finding: verdict, subject, reason and remedy.
    static func text(_ findings: [Finding], fixed: [String], isColoured: Bool) -> String {
        let width = findings.map(\.subject.count).max() ?? 0
        let lines = findings.map { finding in
            let word = finding.verdict.rawValue
            let shown = isColoured ? "\u{1B}[\(finding.verdict.colour)m\(word)\u{1B}[0m" : word
            return shown + String(repeating: " ", count: 7 - word.count) + finding.subject
                + String(repeating: " ", count: width - finding.subject.count + 2) + finding.text
        }
        return (fixed.map { "fixed  \($0)" } + lines).joined(separator: "\n")
    }

    private struct Document: Encodable {
        struct Entry: Encodable {
            var verdict: Finding.Verdict
            var subject: String
            var text: String
        }

        var fixed: [String]
        var findings: [Entry]
    }

    /// The findings as JSON, with sorted keys and a final newline.
    static func json(_ findings: [Finding], fixed: [String]) -> String {
        json(
            Document(
                fixed: fixed,
                findings: findings.map { .init(verdict: $0.verdict, subject: $0.subject, text: $0.text) }))
    }

    /// Any document as JSON, with sorted keys and a final newline.
    static func json(_ document: some Encodable) -> String {
        // Only numbers beyond 64 bits cannot be encoded, and there are none.
        ((try? JSONText(document)) ?? .object([])).document(colon: " : ")
    }
}

/// The arguments of `rankfs doctor`.
struct DoctorRequest: Hashable, Sendable {
    /// The source and the options, as for a mount.
    var mount = MountRequest()
    var fixes = false
    /// Whether the report is about the service, and about nothing else.
    var asksService = false
    /// The folder in which the service's answers are kept.
    var recordFolder: String?
    var json = false
}

extension Finding.Verdict {
    /// The terminal's colour: green, yellow, red (ECMA-48).
    fileprivate var colour: Int {
        switch self {
        case .ok: 32
        case .note: 33
        case .wrong: 31
        }
    }
}

extension Array where Element: Hashable {
    /// The elements without repetitions, in order.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
