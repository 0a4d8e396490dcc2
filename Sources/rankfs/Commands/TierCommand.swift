import Rankings
import Glibc
import HTTP
import Synchronization
import Tier

/// `rankfs tier`: inspects, checks and fills the object store that machines share.
enum TierCommand: Command {
    case info(MountRequest, of: SourceName? = nil)
    case verify(MountRequest, of: SourceName? = nil, isRemoving: Bool)
    case trim(MountRequest, of: SourceName? = nil, keeping: Int64, isRemoving: Bool)
    case warm(FetchCommand)
    case forget(ActCommand)

    static let definition = CommandDefinition(
        "tier", "info|verify|trim|warm|forget [SOURCE | PATH…] [--dry-run] [--keep SIZE] [-o OPTION,…]",
        brief: "info|verify|trim|warm|forget …",
        summary: "what machines share: look at, check, shrink, fill or mend it",
        details: """
              info [SOURCE]     prints what is on the shared tier, whichever machine brought it there
              verify [SOURCE]   reads every picture and document there, and removes what does not have the bytes that were written;
                                objects that rankfs did not write are left alone; with --dry-run nothing is removed
              trim [SOURCE] --keep SIZE
                                removes the pictures there that were read longest ago, to a week, until those that stay take at most
                                SIZE; with --dry-run nothing is removed
              warm PATH…        reads what PATH names from a mount with a tier, as `rankfs fetch` does, and waits until it is on the tier:
                                a day, or a month as ranking/daily/2024-01-01..2024-01-31
              forget PATH…      removes what is there of a picture, or the names and sizes there of a day, an author or a work, and has
                                the mount that PATH lies in ask the service again

            The tier is the one that the options name: tier=s3://BUCKET/PREFIX, tier_url, tier_region, tier_keys. With SOURCE only what is
            there of that source is looked at, counted and removed; without it that of all.
            warm tells how many pictures it brought, how many were there, and how many files were not looked for: what the mount had
            stored before is not brought there. `rankfs evict` it first.
            Exit status: 0 done and all was right, 1 verify removed something or could not read all, trim could not remove all, or warm
            could not bring all, 64 usage, 69 the store cannot be asked, 78 configuration.
            """
    ) { words, definition throws(ProgramError) in
        if words.first == "warm" {
            guard words.count > 1 else {
                throw ProgramError(
                    .usage, "name what to bring: rankfs tier warm PATH…, for example ranking/daily/latest.")
            }
            let parsed = try FetchCommand.definition.parse(words.dropFirst())
            guard let fetch = parsed as? FetchCommand else { return PrintedText(text: definition.help) }
            guard fetch.target == nil else {
                throw ProgramError(.usage, "warm copies nothing; `rankfs fetch --to` does.")
            }
            return TierCommand.warm(fetch)
        }
        if words.first == "forget" {
            let parsed = try ActCommand.onTier.parse(words.dropFirst())
            return (parsed as? ActCommand).map { TierCommand.forget($0) } ?? PrintedText(text: definition.help)
        }
        let arguments = try Arguments(words, of: definition.synopsis, short: [:])
        return arguments.wantsHelp ? PrintedText(text: definition.help) : try inspection(arguments)
    }

    private static func inspection(_ arguments: Arguments) throws(ProgramError) -> TierCommand {
        let positions = arguments.positions
        let request = arguments.request
        let source = positions.count == 2 ? try SourceName(argument: positions[1]) : nil
        let isRemoving = !arguments.flags.contains("--dry-run")
        let size = arguments.values["--keep"]
        switch (positions.first, positions.count, size) {
        case ("info", 1...2, nil): return .info(request, of: source)
        case ("verify", 1...2, nil): return .verify(request, of: source, isRemoving: isRemoving)
        case ("trim", 1...2, let size?):
            do throws(Failure) {
                let most = try ValueParsers.size(size, in: 0...(1 << 60))
                return .trim(request, of: source, keeping: most, isRemoving: isRemoving)
            } catch { throw ProgramError(.usage, "--keep needs \(error.cause).") }
        default:
            throw ProgramError(
                .usage,
                "say what to do: rankfs tier info|verify [SOURCE] [-o OPTIONS], rankfs tier trim --keep SIZE, or rankfs tier "
                    + "warm|forget PATH….")
        }
    }

    /// The mistakes that a long report lists at most.
    private static let mostLines = 20
    /// The pause between two queries of a mount's progress, in microseconds.
    private static let interval: UInt32 = 250_000
    /// Queries without progress after which the wait ends: a minute.
    private static let mostIdleLooks = 240
    /// Consecutive queries without a waiting upload after which the tier counts as settled.
    private static let quietLooks = 4

    func run() throws(ProgramError) {
        switch self {
        case .info(let request, let source):
            let found = try Self.ask(request, source) { (inspection) async throws(Failure) in
                try await inspection.survey()
            }
            Output.print(Self.text(of: found))
        case .verify(let request, let source, let isRemoving):
            let found = try Self.ask(request, source) { (inspection) async throws(Failure) in
                try await inspection.verify(isRemoving: isRemoving)
            }
            Output.print(Self.text(of: found, removed: isRemoving))
            // The mistakes are listed already; scripts check the exit status.
            guard found.mistakes.isEmpty, found.failures.isEmpty, found.stopped == nil else {
                throw ProgramError(.incomplete, "")
            }
        case .trim(let request, let source, let size, let isRemoving):
            let found = try Self.ask(request, source) { (inspection) async throws(Failure) in
                try await inspection.trim(keeping: size, isRemoving: isRemoving)
            }
            Output.print(Self.text(of: found, removed: isRemoving))
            guard found.failures.isEmpty else { throw ProgramError(.incomplete, "") }
        case .warm(let fetch): try Self.fill(fetch)
        case .forget(let act):
            _ = try Self.sharing(act.paths)
            try act.run()
        }
    }

    // MARK: - Inspection

    /// Sends a request to the store that the settings name; blocks, so it is not for tasks.
    private static func ask<Answer: Sendable>(
        _ request: MountRequest, _ source: SourceName?,
        _ question: @escaping @Sendable (TierInspection) async throws(Failure) -> Answer
    ) throws(ProgramError) -> Answer {
        let (settings, _, home) = try SettingsLoader.load(request)
        guard let means = try TierMeans(settings, home: home) else {
            throw ProgramError(.usage, "no tier is set; name one with -o tier=s3://BUCKET/PREFIX.")
        }
        defer { means.close() }
        let inspection = TierInspection(means.store, of: source.map { TierMeans.services($0, settings) })
        do throws(Failure) {
            return try BlockingCall.wait { () async throws(Failure) in try await question(inspection) }
        } catch {
            throw ProgramError(
                .unavailable, "the tier cannot be asked: \(LogText.escaped(error.cause, limit: LogText.longestLine)).")
        }
    }

    // MARK: - Filling

    /// Reads the named paths from a mount, and waits until no upload to the tier is left.
    private static func fill(_ fetch: FetchCommand) throws(ProgramError) {
        let (mount, before) = try sharing(fetch.paths)
        guard before.text("tier.reason") != Tier.Status.notWriting else {
            throw ProgramError(
                .usage, "\(LogText.escaped(mount)) brings nothing to the tier: it is mounted with tier_write=off.")
        }
        let files = try fetch.fetch()
        if fetch.dryRun { return }
        let after = try settled(mount, before)
        let result = Warming(files, before: before, after: after)
        Output.print(text(of: result))
        if result.dropped > 0 {
            throw ProgramError(
                .incomplete,
                "\(Counted.text(result.dropped, "picture")) could not be brought to the tier: the store does not take them, which "
                    + "the mount's log says, or they left the cache before their turn.")
        }
    }

    /// The mount that contains all paths, and its figures; it must have a tier.
    private static func sharing(_ paths: [String]) throws(ProgramError) -> (mount: String, figures: StatusDocument) {
        let mount = try FetchCommand.mount(of: paths)
        guard let figures = try tier(of: mount) else {
            throw ProgramError(
                .usage, "\(LogText.escaped(mount)) shares nothing; mount it with -o tier=s3://BUCKET/PREFIX.")
        }
        return (mount, figures)
    }

    /// Waits until no upload is waiting.
    private static func settled(
        _ mount: String, _ before: StatusDocument
    ) throws(ProgramError) -> StatusDocument {
        var (last, idle, quiet) = (before, 0, 0)
        while let figures = try tier(of: mount) {
            let waiting = figures.number("tier.waiting")
            let goesOn =
                waiting < last.number("tier.waiting") || figures.number("tier.uploads") > last.number("tier.uploads")
            last = figures
            // The last picture joins the waiting uploads a moment after its reader has it.
            quiet = waiting == 0 && !goesOn ? quiet + 1 : 0
            if quiet >= quietLooks { break }
            idle = goesOn || waiting == 0 ? 0 : idle + 1
            guard waiting == 0 || figures.text("tier.state") == "up", idle < mostIdleLooks else {
                throw ProgramError(
                    .incomplete,
                    "\(Counted.text(waiting, "picture")) could not be brought to the tier yet"
                        + (figures.has("tier.reason") ? " (\(LogText.escaped(figures.text("tier.reason"))))" : "")
                        + "; the mount tries again as long as it is there, and after the next start.")
            }
            usleep(interval)
        }
        return last
    }

    /// The result of filling the tier, from the figures of the mount: simultaneous use by other programs is included.
    struct Warming: Hashable {
        /// Pictures uploaded to the tier.
        var uploads: Int
        /// Pictures that the tier had already.
        var hits: Int
        var dropped: Int
        /// Files that the mount had stored, or that were neither read from nor written to the tier.
        var unasked: Int

        init(_ files: FetchTally.Group, before: StatusDocument, after: StatusDocument) {
            func more(_ path: String) -> Int { Int(max(0, after.number(path) - before.number(path))) }
            uploads = more("tier.uploads")
            hits = more("tier.hits")
            dropped = more("tier.dropped")
            // A picture that this fetch itself had preloaded is stored already at its turn.
            unasked = max(0, files.skipped + files.fetched - uploads - hits - dropped)
        }
    }

    private static func tier(of mount: String) throws(ProgramError) -> StatusDocument? {
        let document = try MountedStatus.document(in: try MountedStatus.read(mount), of: mount)
        return document.has("tier.state") ? document : nil
    }

    // MARK: - Texts

    static func text(of survey: TierInspection.Survey) -> String {
        let services = Set(survey.pictures.keys).union(survey.documents.keys).sorted()
        var lines = services.map { service in
            "\(LogText.escaped(service)): " + text(survey.pictures[service], "picture") + ", "
                + text(survey.documents[service], "document")
        }
        if lines.isEmpty { lines = ["nothing is there yet"] }
        if survey.leases.objects > 0 {
            lines.append(text(survey.leases, "lease") + " of machines at work, or that died")
        }
        if survey.others.objects > 0 { lines.append(text(survey.others, "object") + " of others") }
        return lines.joined(separator: "\n")
    }

    static func text(of result: Warming) -> String {
        var text = "brought to the tier: \(Counted.text(result.uploads, "picture")); there already: \(result.hits)"
        if result.unasked > 0 {
            text +=
                "\nnot looked for there: \(Counted.text(result.unasked, "file")) that the mount had stored before, or shares with"
                + " nobody; what `rankfs evict` removes is looked for again"
        }
        return text
    }

    static func text(of found: TierInspection.Verification, removed: Bool = true) -> String {
        var lines =
            lines(removed ? "removed    " : "damaged    ", found.mistakes) + lines("not read   ", found.failures)
        lines.append("in order   " + text(found.pictures, "picture") + ", " + text(found.documents, "document"))
        if found.others.objects > 0 {
            lines.append("left       " + text(found.others, "object") + " of others")
        }
        if let reason = found.stopped {
            lines.append(
                "stopped    " + LogText.escaped(reason, limit: LogText.longestLine) + "; not everything was looked at")
        }
        return lines.joined(separator: "\n")
    }

    static func text(of found: TierInspection.Trimming, removed: Bool = true) -> String {
        let lines = [
            (removed ? "removed    " : "too much   ") + text(found.removed, "picture"),
            "stays      " + text(found.kept, "picture"),
        ]
        return (lines + self.lines("not removed ", found.failures)).joined(separator: "\n")
    }

    private static func lines(_ word: String, _ mistakes: [TierInspection.Mistake]) -> [String] {
        let lines = mistakes.prefix(mostLines).map { mistake in
            word + LogText.escaped(mistake.key, limit: LogText.longestLine) + ": "
                + LogText.escaped(mistake.reason, limit: LogText.longestLine)
        }
        guard mistakes.count > mostLines else { return lines }
        return lines + [String(repeating: " ", count: word.count) + "and \(mistakes.count - mostLines) more"]
    }

    private static func text(_ tally: TierInspection.Tally?, _ word: String) -> String {
        let tally = tally ?? TierInspection.Tally()
        return Counted.text(tally.objects, word) + (tally.objects > 0 ? ", \(SizeText.text(tally.bytes))" : "")
    }
}
