import Fuse
import Glibc
import Rankings

/// `rankfs fetch`: downloads in advance, and exports with `--to`; uses a mount like any other program.
enum FetchCommand {
    /// The exit status of a process that a signal ended, as shells report it: 128 plus the signal's number.
    private static let interrupted: Int32 = 128
    /// The failed paths that are named at the end, at most.
    private static let mostNamed = 20

    /// Reads the named paths.
    ///
    /// - Returns: The figures of all files.
    /// - Throws: The reason why files are missing.
    @discardableResult
    static func run(_ request: FetchRequest, variables: [String: String]) throws(ProgramError) -> FetchTally.Group {
        // Until the handlers are installed, a Ctrl-C just ends the process, which has written nothing yet.
        let now = WallClock.now()
        let (mount, paths, notes) = try resolve(request.paths, now: now)
        // Fails if the process of the mount has died or does not answer.
        let status = StatusDocument(json: try MountedStatus.read(mount))
        let display = FetchDisplay(variables: variables)
        let temporaries = TemporaryFiles()
        let folder = try target(request, temporaries: temporaries, display: display)
        notes.forEach(display.tell)
        let signals = arm(display: display, temporaries: temporaries)
        let newest = SourceName.mounted(at: mount, MountTable.current()).days.newest(at: now)
        let estimate = FetchSurvey.estimate(paths, mount: mount, newest: newest)
        estimate.lines(tokens: status?.network.tokens ?? 0, rate: status?.network.rate).forEach(display.tell)
        guard !request.dryRun else { return FetchTally.Group() }
        let run = FetchRun(paths: paths, reader: FetchReader(mount: mount, target: folder), display: display)
        do throws(ProgramError) { try run.run() } catch {
            temporaries.removeAll()
            display.end()
            throw error
        }
        try conclude(run, display: display)
        withExtendedLifetime(signals) {}
        return run.tally.total
    }

    /// The only mount that contains all paths.
    static func mount(of paths: [String]) throws(ProgramError) -> String {
        try resolve(paths, now: WallClock.now()).mount
    }

    /// The only mount that contains all paths, and the paths in the order given, without repetitions.
    private static func resolve(
        _ arguments: [String], now: Int64
    ) throws(ProgramError) -> (mount: String, paths: [String], notes: [String]) {
        let table = MountTable.current()
        let mounts = table.mountPoints(of: getuid())
        let others = table.ownMountPoints.filter { !mounts.contains($0) }
        let directory = LocalFiles.workingDirectory() ?? "/"
        var mount: String?
        var paths: [String] = []
        var seen: Set<String> = []
        var notes: [String] = []
        for argument in arguments {
            let place = try FetchPath.place(
                of: argument, in: directory, mounts: mounts, others: others,
                canonical: { LocalFiles.canonicalBeginning(of: $0) })
            guard mount == nil || mount == place.mount else {
                throw ProgramError(.usage, "the paths are in different mounts; fetch from one at a time.")
            }
            mount = place.mount
            // If the newest day cannot be determined now, the reader determines it.
            let path = (try? FetchReader(mount: place.mount, target: nil).ofDay(place.path)) ?? place.path
            let source = SourceName.mounted(at: place.mount, table)
            let expansion = try FetchPath.expand(path, of: source) { source.days(of: $0).newest(at: now) }
            paths += expansion.paths.filter { seen.insert($0).inserted }
            if let note = expansion.note { notes.append(note) }
        }
        guard let mount else { throw ProgramError(.usage, "name what to fetch: rankfs fetch PATH….") }
        return (mount, paths, notes)
    }

    private static func target(
        _ request: FetchRequest, temporaries: TemporaryFiles, display: FetchDisplay
    ) throws(ProgramError) -> ExportFolder? {
        guard let named = request.target else { return nil }
        let path = LocalFiles.canonicalBeginning(of: LocalFiles.absolute(named))
        let mounts = MountTable.current().ownMountPoints
        guard !mounts.contains(where: { path.way(from: $0) != nil }) else {
            throw ProgramError(
                .usage, "\(LogText.escaped(named)) is in a mount, which cannot be written to; name another folder.")
        }
        return ExportFolder(path: path, sidecars: request.sidecars, temporaries: temporaries) {
            display.tell("\(LogText.escaped(path)) does not take all extended attributes; files come without them.")
        }
    }

    /// Installs handlers that end the process at once, even while readers wait: the kernel interrupts their requests then.
    private static func arm(display: FetchDisplay, temporaries: TemporaryFiles) -> Signals {
        _ = signal(SIGXFSZ, SIG_IGN)
        let handlers = [SIGINT, SIGTERM, SIGHUP].map { number in
            let handler: @Sendable () -> Void = {
                temporaries.removeAll()
                display.end()
                Output.complain("stopped; the same command goes on from here.", as: "rankfs")
                _exit(interrupted + number)
            }
            return (number, handler)
        }
        return Signals(Dictionary(uniqueKeysWithValues: handlers))
    }

    private static func conclude(_ run: FetchRun, display: FetchDisplay) throws(ProgramError) {
        let tally = run.tally
        for loss in tally.losses.prefix(mostNamed) {
            display.tell("not fetched: \(LogText.escaped(loss.path, limit: LogText.longestLine)): \(loss.reason)")
        }
        if tally.losses.count > mostNamed { display.tell("and \(tally.losses.count - mostNamed) more") }
        display.tell(tally.closingLine(seconds: run.seconds))
        display.end()
        let failed = tally.losses.count + tally.untried
        guard failed > 0 else { return }
        throw ProgramError(
            .incomplete, "\(FetchEstimate.count(failed, "path")) could not be fetched; the same command tries again.")
    }
}
