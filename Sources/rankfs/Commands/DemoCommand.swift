import Glibc
import Rankings
import System

extension Command {
    /// `rankfs demo`: the embedded source in the foreground, with a tour.
    static let demo = Command(
        name: "demo", words: "[SOURCE] [MOUNTPOINT] [-o OPTION,…]", brief: "[SOURCE] [MOUNTPOINT]",
        summary: "try it: an embedded source, no network needed",
        details: """
            Mounts the embedded source on MOUNTPOINT (\(standardMountPoint) if none is named) until Ctrl-C. It draws its pictures itself and
            answers as the service of SOURCE does (\(SourceRegistry.names); the first one if none is
            named). A missing folder is made, and removed at the end; so is the cache unless -o cache_dir=DIR is given.
            """,
        check: { arguments throws(ProgramError) in
            arguments.request.source = .demo(of: arguments.request.source)
            arguments.request.mountPoint = arguments.positions.first ?? ""
            arguments.request.foreground = true
        }, run: { arguments throws(ProgramError) in try demonstrate(arguments.request) })

    /// The default folder: where users expect their pictures, and easily found in a file manager.
    private static let standardMountPoint = "~/Rankings"

    private static func demonstrate(_ request: MountRequest) throws(ProgramError) {
        var request = request
        var (settings, warnings, home) = try SettingsLoader.load(request)
        if request.mountPoint.isEmpty {
            guard let directory = home.directory else {
                throw .usage("there is no home directory; name a folder: rankfs demo FOLDER.")
            }
            request.mountPoint = directory + standardMountPoint.dropFirst(1)
        }
        // A cache_dir of the configuration is meant for the service's pictures.
        let isGiven = request.options.assignments.contains { $0.name == "cache_dir" }
        let ownCache = isGiven ? nil : home.cacheDirectory(named: "\(request.source.rawValue)-tour")
        if let ownCache { settings.cacheDirectory = ownCache }
        // Until the mount has handlers, a moment later: the folder and the cache are removed at the end.
        Signals.hold([SIGINT, SIGTERM, SIGHUP])
        let made = try makeFolder(request.mountPoint)
        // A relative path would not lead back to the folder.
        let folder = LocalFiles.canonicalParent(of: request.mountPoint) ?? request.mountPoint
        defer { if made { unsafe _ = rmdir(folder) } }
        try MountService(
            request: request, settings: settings, warnings: warnings, home: home, stopsOnHangup: true,
            announce: { [source = request.source] in Output.print(tour($0, source.description)) }
        ).run()
        // Not after a failure: the cache may belong to another demo.
        if let ownCache { LocalFiles.removeTree(ownCache) }
    }

    /// Creates the folder; returns false if it existed.
    private static func makeFolder(_ path: String) throws(ProgramError) -> Bool {
        if unsafe mkdir(path, 0o700) == 0 { return true }
        let failure = SystemError.last()
        if failure.code == EEXIST { return false }
        throw .cannotCreate("the folder \(LogText.escaped(path)) cannot be made: \(failure.text); name another one.")
    }

    private static func tour(_ mountPoint: String, _ source: SourceDescription) -> String {
        let modes = source.modes(isSignedIn: false)
        let (first, second) = (modes.first?.rawValue ?? "", modes.dropFirst().first?.rawValue ?? "")
        let place = LogText.word(mountPoint)
        return """

            Rankings are now files in \(mountPoint). Try, in another terminal or a file manager:

              ls -l \(place)/ranking/\(first)/latest/
              feh \(place)/ranking/\(first)/latest/      (or open the folder in any image viewer)
              rsync -a \(place)/ranking/\(second)/latest/ ./\(second)/

            Nothing is downloaded until it is read; `rankfs status` shows what is going on. Ctrl-C ends it.

            """
    }
}
