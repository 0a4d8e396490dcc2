import Fuse
import Glibc
import Rankings

/// The configuration and the mounts that the checks of `rankfs doctor` are about.
struct DoctorContext {
    let source: SourceName
    let home: Home
    let settings: Settings
    let place: CachePlace
    /// The variables that name no option, one sentence each.
    let warnings: [String]
    /// The reason why the configuration file cannot be used, one sentence per line.
    let mistake: String?
    /// Whether the options name `allow_other` or `allow_root`.
    let wantsOthers: Bool
    /// The mounts of rankfs on this machine.
    var mounts: [Mount] = []

    /// Whether the source is inside the program; such a source has neither hosts nor sessions.
    var isEmbedded: Bool { source.isDemo && settings.apiURL == nil }
    /// The address of the API: scheme and host, without a trailing slash.
    var apiURL: String { settings.apiURL?.text ?? source.description.access.apiURL }
    /// The address of the image host, likewise.
    var imageURL: String { settings.imageURL?.text ?? source.description.access.imageURL }
}

/// `rankfs doctor`: checks everything that mounts need, reports problems with their remedies, and makes the safe repairs.
///
/// Every check is bounded in time: a dead name server, disk or mount costs seconds and is itself a finding.
struct DoctorCommand {
    let request: DoctorRequest
    let home: Home

    /// A check of one subject; it bounds its own time.
    typealias Check = @Sendable (DoctorContext) -> [Finding]

    /// The checks of this machine, in the order of the report.
    static let local: [Check] = [
        Finding.system, Finding.configuration, Finding.cache, Finding.thumbnails, Finding.desktop, Finding.session,
        Finding.mounts,
    ]
    /// The checks that send requests: made once, since no repair changes the answers of hosts.
    static let remote: [Check] = [Finding.network, Finding.tier]

    /// Runs the checks, makes the repairs if requested, and prints the findings.
    ///
    /// - Throws: status 1 if something is wrong and stays wrong.
    func run() throws(ProgramError) {
        var context = try load()
        if request.asksService { return try reportService(context) }
        func run(_ checks: [Check]) -> [Finding] { checks.flatMap { $0(context) } }
        context.mounts = DoctorContext.currentMounts()
        var findings = run(Self.local)
        let network = run(Self.remote)
        var done: [String] = []
        if request.fixes {
            done = findings.compactMap(\.repair).uniqued().compactMap { $0.perform() }
            if !done.isEmpty {
                context.mounts = DoctorContext.currentMounts()
                findings = run(Self.local)
            }
        }
        findings += network
        if request.json {
            Output.print(Self.json(findings, fixed: done), terminator: "")
        } else {
            Output.print(Self.text(findings, fixed: done, isColoured: isColoured))
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
        let folder = try request.recordFolder.map { folder throws(ProgramError) in try RecordFolder(folder) }
        let report = try ServiceReport(context, recording: folder)
        if request.json {
            Output.print(report.json, terminator: "")
        } else {
            Output.print(report.text(isColoured: isColoured))
        }
        if let folder { Output.complain(folder.sentence, as: "rankfs") }
        if !report.isKept { throw ProgramError(.incomplete, "") }
    }

    private var isColoured: Bool { isatty(1) == 1 && Terminal.wantsColours(home.variables) }

    /// The context; without the configuration file if that file is the mistake.
    private func load() throws(ProgramError) -> DoctorContext {
        var (warnings, mistake): ([String], String?) = ([], nil)
        let settings: Settings
        do throws(ProgramError) {
            (settings, warnings, _) = try SettingsLoader.load(request.mount)
        } catch {
            guard error.status == .configuration else { throw error }
            let loader = SettingsLoader(
                environment: [:], commandLine: request.mount.options.assignments,
                directory: LocalFiles.workingDirectory() ?? "/", home: home.directory)
            settings = try loader.load().settings
            mistake = error.message
        }
        let source = request.mount.source
        return DoctorContext(
            source: source, home: home, settings: settings,
            place: try CachePlace(settings, source: source, home: home), warnings: warnings, mistake: mistake,
            wantsOthers: request.mount.options.passedOn.contains { $0.hasPrefix("allow_") })
    }

    // MARK: - Texts

    /// One line per finding: verdict, subject, reason and remedy.
    static func text(_ findings: [Finding], fixed: [String], isColoured: Bool) -> String {
        let lines = rows(
            findings.map { ($0.verdict.rawValue, $0.verdict.colour, $0.subject, $0.text) }, wordWidth: 7,
            isColoured: isColoured)
        return (fixed.map { "fixed  \($0)" } + lines).joined(separator: "\n")
    }

    /// Lines of a table: a word in the terminal's colour (ECMA-48), a subject and a text, in columns.
    static func rows(
        _ rows: [(word: String, colour: Int, subject: String, text: String)], wordWidth: Int, isColoured: Bool
    ) -> [String] {
        let width = rows.map(\.subject.count).max() ?? 0
        return rows.map { word, colour, subject, text in
            let shown = isColoured ? "\u{1B}[\(colour)m\(word)\u{1B}[0m" : word
            return shown + String(repeating: " ", count: wordWidth - word.count) + subject
                + String(repeating: " ", count: width - subject.count + 2) + text
        }
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
