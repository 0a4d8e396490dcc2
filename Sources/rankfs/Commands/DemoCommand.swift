import Glibc
import System
import Rankings

/// `rankfs demo`: the embedded source in the foreground, with a tour.
enum DemoCommand {
    /// The default folder: where users expect their pictures, and easily found in a file manager.
    static let standardMountPoint = "~/Rankings"

    static func run(_ request: MountRequest, settings: Settings, warnings: [String], home: Home) throws(ProgramError) {
        var request = request
        var settings = settings
        if request.mountPoint.isEmpty {
            guard let directory = home.directory else {
                throw ProgramError(.usage, "there is no home directory; name a folder: rankfs demo FOLDER.")
            }
            request.mountPoint = directory + standardMountPoint.dropFirst(1)
        }
        let ownCache =
            settings.cacheDirectory == nil ? home.cacheDirectory(named: "\(request.source.rawValue)-tour") : nil
        if let ownCache { settings.cacheDirectory = ownCache }
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
        let failure = LocalFiles.Failure.last()
        if failure.code == EEXIST { return false }
        throw ProgramError(
            .cannotCreate, "the folder \(LogText.escaped(path)) cannot be made: \(failure.text); name another one.")
    }

    private static func tour(_ mountPoint: String, _ source: SourceDescription) -> String {
        let modes = source.modes(isSignedIn: false)
        let (first, second) = (modes.first?.rawValue ?? "", modes.dropFirst().first?.rawValue ?? "")
        return """

            Rankings are now files in \(mountPoint). Try, in another terminal or a file manager:

              ls -l \(mountPoint)/ranking/\(first)/latest/
              feh \(mountPoint)/ranking/\(first)/latest/      (or open the folder in any image viewer)
              rsync -a \(mountPoint)/ranking/\(second)/latest/ ./\(second)/

            Nothing is downloaded until it is read; `rankfs status` shows what is going on. Ctrl-C ends it.

            """
    }
}
