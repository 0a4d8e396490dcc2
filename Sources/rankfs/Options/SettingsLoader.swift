import Rankings

/// Puts settings together: command line over environment over file over defaults.
struct SettingsLoader: Sendable {
    /// The path and text of the configuration file; nil if there is none.
    var file: (path: String, text: String)?
    /// Every variable of the environment.
    var environment: [String: String]
    /// In the order given; a later one wins.
    var commandLine: [Assignment]
    /// Relative paths of the command line and the environment begin here.
    var directory: String
    var home: String?

    /// Variables with this prefix are options.
    static let variablePrefix = "RANKFS_"

    /// The settings, and what is worth a warning: variables that name no option, but nearly.
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

    /// Applies a file's lines, collecting the mistakes of all of them.
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
                // Other variables are other programs'.
                warnings.append(
                    "\(LogText.escaped(variable, limit: 80)) is ignored: no option has that name; did you mean "
                        + "\(Self.variablePrefix)\(nearest.uppercased())?")
            }
        }
        return (assignments, warnings)
    }
}
