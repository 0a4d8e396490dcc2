import Glibc
import Tier
import System
import Rankings

/// The values of all options.
struct Settings: Hashable, Sendable {
    /// An absolute path; nil for the default of the source.
    var cacheDirectory: String?
    /// Bytes.
    var cacheSize: Int64 = 2 << 30
    /// Bytes of disk left free.
    var cacheFree: Int64 = 1 << 30
    /// Nil for the source's standard rendition.
    var rendition: Rendition?
    /// Values of the options that individual sources define.
    var choices: [String: String] = [:]
    /// Whether every page of a work is an entry.
    var allPages = false
    var filter = ListingFilter()
    /// Whether directories list withheld entries.
    var listsWithheld = false
    /// Whether pictures that are read are listed in `recent/`.
    var notesRecent = true
    /// Whether other users with access to the mount see and may do the same as its owner.
    var sharesAll = false
    /// Whether file managers that open a directory find thumbnails.
    var makesThumbnails = true
    /// Entries of a ranking shown; nil for all.
    var top: Int?
    /// Recent days that a mode lists.
    var days = 7
    /// Pictures preloaded ahead of a reader.
    var preload = 2
    /// Whether the network counts as metered; on a metered network nothing is downloaded without a reader.
    var metered = MeteredRule.auto
    /// Whether no request may leave this machine.
    var isOffline = false
    var proxy: OriginURL?
    /// Nil for the User-Agent that the source's service expects.
    var userAgent: String?
    /// API requests a second once the burst is spent; nil for the default of the source.
    var rate: Double?
    /// Picture connections to one host.
    var connections = 16
    /// The time limit within which every request of the kernel is answered.
    var timeout: Duration = .seconds(30)
    var apiURL: OriginURL?
    var imageURL: OriginURL?
    /// PEM file of certificates that sign those of `apiURL` and `imageURL`; absolute.
    var certificates: String?
    /// A file with the session cookie; absolute.
    var cookies: String?
    /// The bucket in which machines share pictures and answers; nil for no sharing.
    var tier: BucketAddress?
    /// Nil for Amazon's own store in the region.
    var tierURL: OriginURL?
    var tierRegion: String?
    /// A file with the key to the store; absolute.
    var tierKeys: String?
    /// Whether answers for the signed-in user are shared with that user's other machines.
    var sharesPrivate = false
    var logLevel: LogLevel = .info
    /// The log file besides the standard error stream; nil for the default.
    var logFile: String?
}

/// The place where an option was given; a later case wins over an earlier one.
enum OptionPlace: Hashable, Sendable {
    case file(path: String, line: Int)
    case environment(variable: String)
    case commandLine

    /// The beginning of an error text: `rankfs.conf:3: `.
    var prefix: String {
        switch self {
        case .file(let path, let line): "\(path):\(line): "
        case .environment(let variable): "\(variable): "
        case .commandLine: ""
        }
    }

    /// The exit status for a mistake in this place.
    var status: ExitStatus {
        self == .commandLine ? .usage : .configuration
    }
}

// MARK: - Settings loader

/// Combines settings: command line over environment over file over defaults.
struct SettingsLoader: Sendable {
    /// The path and text of the configuration file; nil if there is none.
    var file: (path: String, text: String)?
    /// Every variable of the environment.
    var environment: [String: String]
    /// The options in the order given; a later one wins.
    var commandLine: [Assignment]
    /// The directory that relative paths of the command line and the environment start from.
    var directory: String
    var home: String?

    /// Variables with this prefix are options.
    static let variablePrefix = "RANKFS_"

    /// The settings, and warnings about variables with almost the name of an option.
    func load() throws(ProgramError) -> (settings: Settings, warnings: [String]) {
        var settings = Settings()
        if let file {
            try apply(try ConfigurationFile.parse(file.text, path: file.path), to: &settings)
        }
        let (assignments, warnings) = environmentAssignments()
        for assignment in assignments + commandLine {
            try assignment.apply(to: &settings, context: OptionContext(directory: directory, home: home))
        }
        return (settings, warnings)
    }

    /// Applies a file's lines and collects the mistakes of all of them.
    private func apply(_ assignments: [Assignment], to settings: inout Settings) throws(ProgramError) {
        var mistakes: [String] = []
        for assignment in assignments {
            do {
                try assignment.apply(to: &settings, context: OptionContext(directory: nil, home: home))
            } catch {
                mistakes.append(error.message)
            }
        }
        guard mistakes.isEmpty else { throw ProgramError(.configuration, mistakes.joined(separator: "\n")) }
    }

    /// Sorted by name, so that the same environment always gives the same error.
    private func environmentAssignments() -> (assignments: [Assignment], warnings: [String]) {
        var assignments: [Assignment] = []
        var warnings: [String] = []
        for (variable, value) in environment.sorted(by: { $0.key < $1.key }) {
            guard let name = variable.rest(after: Self.variablePrefix)?.lowercased() else { continue }
            if OptionTable.definition(named: name) != nil {
                assignments.append(Assignment(name: name, value: value, place: .environment(variable: variable)))
            } else if let nearest = UnknownOption.slip(of: name) {
                // Variables with other names belong to other programs.
                warnings.append(
                    "\(LogText.escaped(variable, limit: 80)) is ignored: no option has that name; did you mean "
                        + "\(Self.variablePrefix)\(nearest.uppercased())?")
            }
        }
        return (assignments, warnings)
    }
}

extension SettingsLoader {
    /// The settings from all places, and the home directory in which the configuration file was searched.
    static func load(
        _ request: MountRequest
    ) throws(ProgramError) -> (settings: Settings, warnings: [String], home: Home) {
        let home = Home.current()
        let loader = SettingsLoader(
            file: try configurationFile(of: home), environment: home.variables,
            commandLine: request.options.assignments, directory: LocalFiles.workingDirectory() ?? "/",
            home: home.directory)
        let (settings, warnings) = try loader.load()
        return (settings, warnings, home)
    }

    private static func configurationFile(of home: Home) throws(ProgramError) -> (path: String, text: String)? {
        guard let path = home.configurationFile else { return nil }
        let shown = LogText.escaped(path)
        let bytes: [UInt8]
        do throws(LocalFiles.Failure) {
            bytes = try LocalFiles.read(path, limit: ConfigurationFile.longest + 1)
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return nil }
            throw ProgramError(.configuration, "\(shown) cannot be read: \(error.text); change its permissions.")
        }
        guard bytes.count <= ConfigurationFile.longest, let text = String(validating: bytes, as: UTF8.self) else {
            throw ProgramError(
                .configuration, "\(shown) is no configuration file: it must be UTF-8 text of at most 64K.")
        }
        return (path, text)
    }
}
