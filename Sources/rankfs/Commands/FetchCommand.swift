import Fuse
import Glibc
import HTTP
import Rankings
import System

extension Command {
    /// `rankfs fetch`: downloads in advance, and exports with `--to`; uses a mount like any other program.
    static let fetch = Command(
        name: "fetch", words: "PATH… [--to FOLDER] [--sidecars] [--dry-run]", short: ["-n": "--dry-run"],
        brief: "PATH… [--to FOLDER]", summary: "download ahead; with --to copy, and go on after a stop",
        details: """
            Prints the cost, then reads what PATH names from a mount, so that it is stored. A PATH is absolute, relative to the
            present folder, or relative to the root of the mount that this folder is in, or of the only mount:
              ranking/daily/2024-05-01                  a day; so are works/ID, users/ID, users/ID/bookmarks, search/WORDS
              ranking/daily/2024-01-01..2024-01-31      a range of days, both included
              ranking/daily                             every day that is listed
              feed                                      the new works of followed authors; signed in
              --to FOLDER   write the files to FOLDER under the same paths, with times and attributes; what is there already with the
                            same size and time is left as it is, so that the same command goes on after a stop; what was not there
                            is named at the end
              --sidecars    with --to: NAME.json beside each picture, made from its attributes
              -n, --dry-run print the cost and read nothing

            Waits when the service asks to slow down. Ctrl-C stops at once.
            Exit status: 0 everything is there, 1 a part is not, 64 usage, 69 unavailable, 73 FOLDER cannot be written, 130 stopped
            by Ctrl-C, 143 by SIGTERM, 129 by the end of the terminal.
            """,
        check: { arguments throws(ProgramError) in
            guard arguments.values["--to"] != "" else { throw .usage("the folder behind --to is empty; name one.") }
            guard arguments.values["--to"] != nil || !arguments.flags.contains("--sidecars") else {
                throw .usage("--sidecars are written beside files: name a folder with --to too.")
            }
        }, run: { arguments throws(ProgramError) in _ = try read(arguments) })

    /// The exit status of a process that a signal ended, as shells report it: 128 plus the signal's number.
    private static let interrupted: Int32 = 128
    /// The failed paths that are named at the end, at most.
    private static let mostNamed = 20

    /// Reads the paths that the arguments of `rankfs fetch` name.
    ///
    /// - Returns: The figures of all files.
    /// - Throws: The reason why files are missing.
    static func read(_ arguments: Arguments) throws(ProgramError) -> FetchTally.Group {
        // Until the handlers are installed, a Ctrl-C just ends the process, which has written nothing yet.
        let now = TimeSource.wallClock()
        try StatusDocument.checkAnswers(above: arguments.positions)
        let (mount, paths, notes) = try resolve(arguments.positions, now: now)
        // Fails if the process of the mount has died.
        let status = StatusDocument(json: try StatusDocument.read(mount))
        let display = FetchDisplay(variables: Home.environment())
        let temporaries = TemporaryFiles()
        let folder = try folder(arguments, of: mount, temporaries: temporaries, display: display)
        notes.forEach(display.tell)
        let signals = arm(display: display, temporaries: temporaries)
        let table = MountTable.current()
        let source = SourceName.mounted(at: mount, table)
        let isExpired = status?.text("sign_in.state") == "expired"
        let estimate = FetchEstimate(
            of: paths, mount: mount, newest: source.days.newest(at: now), isOthers: table.isOthers(mount)
        ) { path in
            isExpired && ListingKey(of: path, user: UserID(rawValue: 0)).map(source.needsSignIn) ?? false
        }
        let rate = status.flatMap { $0.has("network.rate") ? $0.real("network.rate") : nil }
        estimate.lines(tokens: status?.real("network.tokens") ?? 0, rate: rate).forEach(display.tell)
        guard !arguments.flags.contains("--dry-run") else {
            tell(estimate.losses, display)
            let isOffline = status?.flag("network.offline") == true
            try end(failed: estimate.losses.count, mayPass: estimate.mayPass && !isOffline, display)
            return FetchTally.Group()
        }
        let reader = FetchReader(mount: mount, target: folder, isOffline: status?.flag("network.offline") == true)
        let run = FetchRun(paths: paths, reader: reader, display: display)
        do throws(ProgramError) { try run.run() } catch {
            temporaries.removeAll()
            display.end()
            throw error
        }
        var tally = run.tally
        if folder == nil { for loss in run.lacking { tally.lost(loss.path, loss.reason) } }
        tell(tally.losses, display)
        tally.newsLines.forEach(display.tell)
        display.tell(tally.closingLine(seconds: run.seconds))
        try end(failed: tally.losses.count + tally.untried, mayPass: tally.mayPass && !reader.isOffline, display)
        withExtendedLifetime(signals) {}
        return tally.total
    }

    /// The only mount that contains all paths.
    static func mount(of paths: [String]) throws(ProgramError) -> String {
        try resolve(paths, now: TimeSource.wallClock()).mount
    }

    /// The only mount that contains all paths, and the paths in the order given, without repetitions.
    private static func resolve(
        _ arguments: [String], now: Int64
    ) throws(ProgramError) -> (mount: String, paths: [String], notes: [String]) {
        let table = MountTable.current()
        let mounts = table.mountPoints(of: getuid())
        let others = table.ownMountPoints.filter { !mounts.contains($0) }
        let directory = LocalFiles.workingDirectory()
        var mount: String?
        var paths: [String] = []
        var notes: [String] = []
        for argument in arguments {
            let place = try FetchPath.place(
                of: argument, in: directory, mounts: mounts, others: others,
                canonical: { LocalFiles.canonicalBeginning(of: $0) },
                exists: { fileStatus(link: $0) != nil || errno != ENOENT })
            // By bytes: two folders may differ in the form of an accent only.
            guard mount?.utf8.elementsEqual(place.mount.utf8) ?? true else {
                throw .usage("the paths are in different mounts; fetch from one at a time.")
            }
            mount = place.mount
            // If the newest day cannot be determined now, the reader determines it.
            let path = (try? FetchReader(mount: place.mount, target: nil).ofDay(place.path)) ?? place.path
            let source = SourceName.mounted(at: place.mount, table)
            let expansion = try FetchPath.expand(path, of: source) { source.days(of: $0).newest(at: now) }
            paths += expansion.paths
            if let note = expansion.note { notes.append(note) }
        }
        guard let mount else { throw .usage("name what to fetch: rankfs fetch PATH….") }
        return (mount, paths.uniqued { Array($0.utf8) }, notes)
    }

    private static func folder(
        _ arguments: Arguments, of mount: String, temporaries: TemporaryFiles, display: FetchDisplay
    ) throws(ProgramError) -> ExportFolder? {
        guard let named = arguments.values["--to"] else { return nil }
        let path = LocalFiles.canonicalBeginning(of: try LocalFiles.absolute(named))
        let mounts = MountTable.current().ownMountPoints
        guard !mounts.contains(where: { path.way(from: $0) != nil }) else {
            throw .usage("\(LogText.escaped(named)) is in a mount, which cannot be written to; name another folder.")
        }
        return ExportFolder(
            path: path, mount: mount, sidecars: arguments.flags.contains("--sidecars"), temporaries: temporaries
        ) {
            display.tell("\(LogText.escaped(path)) does not take all extended attributes; files come without them.")
        }
    }

    /// Installs handlers that end the process at once, even while readers wait: the kernel interrupts their requests then.
    private static func arm(display: FetchDisplay, temporaries: TemporaryFiles) -> Signals {
        let stop: @Sendable (Int32) -> Void = { number in
            temporaries.removeAll()
            display.end()
            Output.complain("stopped; the same command goes on from here.", as: "rankfs")
            _exit(interrupted + number)
        }
        return Signals([SIGINT: { stop(SIGINT) }, SIGTERM: { stop(SIGTERM) }, SIGHUP: { stop(SIGHUP) }])
    }

    private static func tell(_ losses: [FetchTally.Loss], _ display: FetchDisplay) {
        for loss in losses.prefix(mostNamed) {
            display.tell("not fetched: \(LogText.escaped(loss.path, limit: LogText.longestLine)): \(loss.reason)")
        }
        if losses.count > mostNamed { display.tell("and \(losses.count - mostNamed) more") }
    }

    private static func end(failed: Int, mayPass: Bool, _ display: FetchDisplay) throws(ProgramError) {
        display.end()
        guard failed > 0 else { return }
        let remedy = mayPass ? "; the same command tries again." : ", for the reasons above."
        throw .incomplete("\(failed.counted("path")) could not be fetched\(remedy)")
    }
}
