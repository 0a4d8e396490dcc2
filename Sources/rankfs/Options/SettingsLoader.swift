import CLinux
import Glibc
import Rankings
import System

/// Combines settings: command line over environment over file over defaults.
struct SettingsLoader: Sendable {
    /// The path and text of the configuration file; nil if there is none.
    var file: (path: String, text: String)?
    /// Every variable of the environment.
    var environment: [String: String]
    /// The options in the order given; a later one wins.
    var commandLine: [Assignment]
    /// The directory that relative paths of the command line and the environment start from; nil if they may not be relative.
    var directory: String?
    var home: String?
    /// The source that is mounted, if any; the embedded one needs no network: only the command line names one, or a tier.
    var source: SourceName?

    /// The settings, and warnings about variables with almost the name of an option, and about choices of other sources.
    func load() throws(ProgramError) -> (settings: Settings, warnings: [String]) {
        var settings = Settings()
        let variables = environmentAssignments()
        var warnings = variables.warnings
        if let file { try apply(Assignment.all(in: file.text, path: file.path), to: &settings, &warnings) }
        for assignment in variables.assignments { try apply(assignment, in: directory, to: &settings, &warnings) }
        if source?.isDemo == true {
            (settings.apiURL, settings.imageURL, settings.proxy, settings.tier) = (nil, nil, nil, nil)
            settings.isOffline = false
        }
        for assignment in commandLine { try assignment.apply(to: &settings, context: (directory, home)) }
        return (settings, warnings)
    }

    /// Applies a file's lines and collects the mistakes of all of them.
    private func apply(
        _ lines: [Result<Assignment, ProgramError>], to settings: inout Settings, _ warnings: inout [String]
    ) throws(ProgramError) {
        var mistakes: [String] = []
        for line in lines {
            do throws(ProgramError) {
                try apply(line.get(), in: nil, to: &settings, &warnings)
            } catch { mistakes.append(error.message) }
        }
        guard mistakes.isEmpty else { throw .configuration(mistakes.joined(separator: "\n")) }
    }

    /// Applies what is meant for any source; of a choice that this source lacks its default stays.
    private func apply(
        _ assignment: Assignment, in directory: String?, to settings: inout Settings, _ warnings: inout [String]
    ) throws(ProgramError) {
        try assignment.apply(to: &settings, context: (directory, home))
        do throws(ProgramError) { _ = try source?.choices(among: settings.choices) } catch {
            settings.choices[OptionTable.normalised(assignment.name)] = nil
            warnings.append("\(assignment.place.prefix)\(error.message)")
        }
    }

    /// Sorted by name, so that the same environment always gives the same error.
    private func environmentAssignments() -> (assignments: [Assignment], warnings: [String]) {
        var assignments: [Assignment] = []
        var warnings: [String] = []
        for (variable, value) in environment.sorted(by: { $0.key < $1.key }) {
            guard let name = variable.rest(after: Home.optionPrefix)?.lowercased() else { continue }
            if OptionTable.definition(named: name) != nil {
                assignments.append(Assignment(name: name, value: value, place: .environment(variable: variable)))
            } else if let nearest = OptionTable.nearest(
                to: OptionTable.normalised(name), among: OptionTable.all.map(\.name), edits: { _ in 1 })
            {
                // Variables with names that contain more than a slip belong to other programs.
                warnings.append(
                    "\(LogText.escaped(variable, limit: 80)) is ignored: no option has that name; did you mean "
                        + "\(Home.optionPrefix)\(nearest.uppercased())?")
            }
        }
        return (assignments, warnings)
    }

    /// The settings from all places, and the home directory in which the configuration file was searched.
    static func load(
        _ request: MountRequest
    ) throws(ProgramError) -> (settings: Settings, warnings: [String], home: Home) {
        let home = Home.current()
        let loader = SettingsLoader(
            file: try configurationFile(of: home), environment: home.variables,
            commandLine: request.options.assignments, directory: LocalFiles.workingDirectory(),
            home: home.directory, source: request.source)
        let (settings, warnings) = try loader.load()
        return (settings, warnings, home)
    }

    /// The sentence about a configuration file in which other users may read a proxy's password; nil if they may not.
    static func exposure(of home: Home) -> String? {
        guard let file = (try? configurationFile(of: home)) ?? nil,
            let mode = fileStatus(at: file.path)?.st_mode, mode & 0o044 != 0,
            let loaded = try? SettingsLoader(file: file, environment: [:], commandLine: [], home: home.directory)
                .load(),
            loaded.settings.proxy?.hasUserInfo == true
        else { return nil }
        return "others may read the proxy's password in \(LogText.escaped(file.path)): `chmod go=` it."
    }

    /// The path and text of the configuration file; nil if there is none.
    static func configurationFile(of home: Home) throws(ProgramError) -> (path: String, text: String)? {
        guard let path = home.configurationFile else { return nil }
        let shown = LogText.escaped(path)
        // A pipe would be waited for.
        if let kind = fileStatus(at: path).map({ $0.st_mode & S_IFMT }), kind == S_IFDIR || kind == S_IFIFO {
            throw .configuration("\(shown) is no file; remove it, or write options into a file of its name.")
        }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try Files.read(path, upTo: Assignment.longestFile + 1)
        } catch {
            if error.code == ENOENT || error.code == ENOTDIR { return nil }
            throw .configuration("\(shown) cannot be read: \(error.text); change its permissions.")
        }
        guard bytes.count <= Assignment.longestFile, let text = String(validating: bytes, as: UTF8.self) else {
            throw .configuration("\(shown) is no configuration file: it must be UTF-8 text of at most 64K.")
        }
        return (path, text)
    }
}
