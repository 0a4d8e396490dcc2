import Rankings
import Glibc
import Tier

extension Command {
    /// `rankfs tier`: inspects, checks and fills the object store that machines share.
    static let tier = Command(
        name: "tier", words: "info|verify|trim|warm|forget [SOURCE | PATH…] [--dry-run] [--keep SIZE] [-o OPTION,…]",
        brief: "info|verify|trim|warm|forget …",
        summary: "what machines share: look at, check, shrink, fill or mend it",
        details: """
              info [SOURCE]     prints what is on the shared tier, whichever machine brought it there
              verify [SOURCE]   reads every picture and document there, and removes what does not have the bytes that were written;
                                objects that rankfs did not write are left alone; with --dry-run nothing is removed
              trim [SOURCE] --keep SIZE
                                removes the pictures there that were read longest ago, to a week, until those that stay take at most
                                SIZE; it goes by the names of objects; with --dry-run nothing is removed
              warm PATH…        reads what PATH names from a mount with a tier, as `rankfs fetch` does, and waits until it is on the tier:
                                a day, or a month as ranking/daily/2024-01-01..2024-01-31
              forget PATH…      removes what is there of a picture, or the names and sizes there of a day, an author or a work, and has
                                the mount that PATH lies in ask the service again

            The tier is the one that the options name: tier=s3://BUCKET/PREFIX, tier_url, tier_region, tier_keys. With SOURCE only the
            objects of that source are read, counted and removed, without it those of all.
            warm prints how many pictures it brought, how many were there, and how many files it did not look for, because the mount
            had stored them before; `rankfs evict` those first to have them brought, too.
            Exit status: 0 done and all was right, 1 verify removed something or could not read all, trim could not remove all, or warm
            could not bring all, 64 usage, 69 the store cannot be asked, 78 configuration.
            """, takesAnyWords: true,
        check: { arguments throws(ProgramError) in try checkTier(&arguments) },
        run: { arguments throws(ProgramError) in try shareTier(arguments) })

    /// The commands by whose synopses the words after `rankfs tier warm` and `rankfs tier forget` are parsed.
    static let partsOfTier = ["warm": fetch, "forget": unshare]

    private static func checkTier(_ arguments: inout Arguments) throws(ProgramError) {
        let words = arguments.positions
        switch words.first {
        case "warm":
            guard words.count > 1 else {
                throw .usage("name what to bring: rankfs tier warm PATH…, for example ranking/daily/latest.")
            }
            arguments = try fetch.parse(words.dropFirst())
            guard arguments.values["--to"] == nil || arguments.wantsHelp else {
                throw .usage("warm copies nothing; `rankfs fetch --to` does.")
            }
            arguments.positions.insert("warm", at: 0)
        case "forget":
            arguments = try unshare.parse(words.dropFirst())
            arguments.positions.insert("forget", at: 0)
        default:
            arguments = try Arguments(words[...], of: tier.synopsis, short: [:])
            if !arguments.wantsHelp { try checkInspection(&arguments) }
        }
    }

    private static func checkInspection(_ arguments: inout Arguments) throws(ProgramError) {
        let (positions, size) = (arguments.positions, arguments.values["--keep"])
        if positions.count == 2 { arguments.request.source = try SourceName(argument: positions[1]) }
        switch (positions.first, positions.count, size) {
        case ("info", 1...2, nil), ("verify", 1...2, nil): return
        case ("trim", 1...2, let size?):
            do throws(Failure) { _ = try bytes(size) } catch {
                throw .usage("--keep needs \(error.cause).")
            }
        default:
            throw .usage(
                "say what to do: rankfs tier info|verify [SOURCE] [-o OPTIONS], rankfs tier trim --keep SIZE, or rankfs tier "
                    + "warm|forget PATH….")
        }
    }

    private static func bytes(_ size: String) throws(Failure) -> Int64 {
        try ValueParsers.size(in: 0...(1 << 60))(size)
    }

    /// The pause between two queries of a mount's progress, in microseconds.
    private static let interval: UInt32 = 250_000
    /// Queries without progress after which the wait ends: a minute.
    private static let mostIdleLooks = 240
    /// Consecutive queries without a waiting upload after which the tier counts as settled.
    private static let quietLooks = 4

    private static func shareTier(_ arguments: Arguments) throws(ProgramError) {
        let isRemoving = !arguments.flags.contains("--dry-run")
        var rest = arguments
        switch rest.positions.removeFirst() {
        case "info":
            Output.print(text(of: try ask(arguments) { (store) async throws(Failure) in try await store.survey() }))
        case "verify":
            let found = try ask(arguments) { (store) async throws(Failure) in
                try await store.verify(isRemoving: isRemoving)
            }
            Output.print(text(of: found, removed: isRemoving))
            // The mistakes are listed already; scripts check the exit status.
            guard found.mistakes.isEmpty, found.failures.isEmpty, found.stopped == nil else { throw .incomplete() }
        case "trim":
            let found = try ask(arguments) { (store) async throws(Failure) in
                try await store.trim(keeping: try bytes(arguments.values["--keep"] ?? ""), isRemoving: isRemoving)
            }
            Output.print(text(of: found, removed: isRemoving))
            guard found.failures.isEmpty else { throw .incomplete() }
        case "warm": try fill(rest)
        default:
            _ = try sharing(rest.positions)
            try unshare.run(rest)
        }
    }

    // MARK: - Inspection

    /// Sends a request to the store that the settings name; blocks, so it is not for tasks.
    private static func ask<Answer: Sendable>(
        _ arguments: Arguments,
        _ question: @escaping @Sendable (TierInspection) async throws(Failure) -> Answer
    ) throws(ProgramError) -> Answer {
        let (settings, _, home) = try SettingsLoader.load(arguments.request)
        guard let means = try TierMeans(settings, home: home) else {
            throw .usage("no tier is set; name one with -o tier=s3://BUCKET/PREFIX.")
        }
        defer { means.close() }
        let source = arguments.positions.count == 2 ? arguments.request.source : nil
        let inspection = TierInspection(means.store, of: source.map { TierMeans.services($0, settings) })
        do throws(Failure) {
            return try BlockingCall.wait { () async throws(Failure) in try await question(inspection) }
        } catch {
            let cause = LogText.escaped(error.cause, limit: LogText.longestLine)
            throw .unavailable("the tier cannot be asked: \(cause)\(cause.hasSuffix("?") ? "" : ".")")
        }
    }

    // MARK: - Filling

    /// Reads the named paths from a mount, and waits until no upload to the tier is left.
    private static func fill(_ arguments: Arguments) throws(ProgramError) {
        let (mount, before) = try sharing(arguments.positions)
        guard before.text("tier.reason") != Tier.Status.notWriting else {
            throw .usage("\(LogText.escaped(mount)) brings nothing to the tier: it is mounted with tier_write=off.")
        }
        let files = try read(arguments)
        if arguments.flags.contains("--dry-run") { return }
        let after = try settled(mount, before)
        let result = warmed(files, before: before, after: after)
        Output.print(result.text)
        if result.dropped > 0 {
            throw .incomplete(
                "\(result.dropped.counted("picture")) could not be brought to the tier: the store does not take them, which "
                    + "the mount's log says, or they left the cache before their turn.")
        }
    }

    /// The mount that contains all paths, and its figures; it must have a tier.
    private static func sharing(_ paths: [String]) throws(ProgramError) -> (mount: String, figures: StatusDocument) {
        let mount = try mount(of: paths)
        guard let figures = try tier(of: mount) else {
            throw .usage("\(LogText.escaped(mount)) shares nothing; mount it with -o tier=s3://BUCKET/PREFIX.")
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
                throw .incomplete(
                    "\(waiting.counted("picture")) could not be brought to the tier yet"
                        + (figures.has("tier.reason") ? " (\(LogText.escaped(figures.text("tier.reason"))))" : "")
                        + "; the mount tries again as long as it is there, and after the next start.")
            }
            usleep(interval)
        }
        return last
    }

    /// The result of filling the tier, from the figures of the mount: simultaneous use by other programs is included.
    ///
    /// - Returns: The text, and the number of pictures that could not be brought there.
    static func warmed(
        _ files: FetchTally.Group, before: StatusDocument, after: StatusDocument
    ) -> (text: String, dropped: Int) {
        func more(_ path: String) -> Int { Int(max(0, after.number(path) - before.number(path))) }
        let (uploads, hits, dropped) = (more("tier.uploads"), more("tier.hits"), more("tier.dropped"))
        var text = "brought to the tier: \(uploads.counted("picture")); there already: \(hits)"
        // Files that the mount had stored, or that were neither read from nor written to the tier. A picture that this fetch itself
        // had preloaded is stored already at its turn.
        let rest = max(0, files.skipped + files.fetched - uploads - hits - dropped)
        if rest > 0 {
            text +=
                "\nnot looked for there: \(rest.counted("file")) that the mount had stored before, or shares with"
                + " nobody; what `rankfs evict` removes is looked for again"
        }
        return (text, dropped)
    }

    private static func tier(of mount: String) throws(ProgramError) -> StatusDocument? {
        let document = try StatusDocument.parse(try StatusDocument.read(mount), of: mount)
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
        return tally.objects.counted(word) + (tally.objects > 0 ? ", \(SizeText.text(tally.bytes))" : "")
    }
}
