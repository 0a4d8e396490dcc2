import Glibc

/// The environment and the directories that follow from it (XDG Base Directory Specification 0.8).
///
/// mount(8) gives its helper an empty environment: the home directory then comes from the passwd entry. Root mounts for the
/// system and then has `/var/cache`, `/var/lib` and `/etc/xdg`.
struct Home: Sendable {
    let variables: [String: String]
    /// The home directory, from HOME or the passwd entry; nil if neither is an absolute path.
    let directory: String?
    private let isSystem: Bool

    init(variables: [String: String], userID: UInt32, passwdHome: String?) {
        self.variables = variables
        let home = variables["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        isSystem = home == nil && userID == 0
        directory = home ?? passwdHome.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }

    /// The environment of this process.
    static func current() -> Home {
        Home(variables: environment(), userID: geteuid(), passwdHome: passwdHome())
    }

    /// The default cache directory of a name below `rankfs`; nil if there is no home directory.
    func cacheDirectory(named name: String) -> String? {
        base("XDG_CACHE_HOME", below: ".cache", system: "/var/cache").map { "\($0)/rankfs/\(name)" }
    }

    /// The store of thumbnails that the user's desktops share; nil for a system without a user.
    var thumbnailDirectory: String? {
        if isSystem, variables["XDG_CACHE_HOME"] == nil { return nil }
        return base("XDG_CACHE_HOME", below: ".cache", system: "/var/cache").map { "\($0)/thumbnails" }
    }

    /// The directory for files that are neither cache nor configuration, such as sessions; nil if there is no home directory.
    var stateDirectory: String? {
        base("XDG_STATE_HOME", below: ".local/state", system: "/var/lib").map { "\($0)/rankfs" }
    }

    /// The directory of the user's own data, which programs read before the system's; nil if there is no home directory.
    var dataDirectory: String? {
        base("XDG_DATA_HOME", below: ".local/share", system: "/usr/local/share")
    }

    /// The configuration file's path, whether or not it exists.
    var configurationFile: String? {
        base("XDG_CONFIG_HOME", below: ".config", system: "/etc/xdg").map { "\($0)/rankfs/rankfs.conf" }
    }

    /// The path of systemd's credential, whether or not there is one; nil outside of services.
    func credential(named name: String) -> String? {
        variables["CREDENTIALS_DIRECTORY"].flatMap { $0.hasPrefix("/") ? "\($0)/\(name)" : nil }
    }

    /// Relative values are ignored, as the specification demands.
    private func base(_ variable: String, below: String, system: String) -> String? {
        if let value = variables[variable], value.hasPrefix("/") { return value }
        if isSystem { return system }
        return directory.map { "\($0)/\(below)" }
    }

    // MARK: - Environment of the process

    /// Variables with this prefix are options.
    static let optionPrefix = "RANKFS_"

    /// All variables; of duplicates the first counts, as in getenv(3).
    static func environment() -> [String: String] {
        var variables: [String: String] = [:]
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            // What is not UTF-8 is refused where it matters, and repaired elsewhere.
            let text = unsafe String(cString: entry)
            if let equals = text.firstIndex(of: "="), variables[String(text[..<equals])] == nil {
                variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            unsafe next += 1
        }
        return variables
    }

    /// The home directory of the effective user's passwd entry.
    private static func passwdHome() -> String? {
        // getpwuid(3) is not reentrant, but this runs before the program has other threads.
        guard let entry = unsafe getpwuid(geteuid()), let home = unsafe entry.pointee.pw_dir else { return nil }
        return unsafe String(validatingCString: home)
    }

    /// The name of a variable that may name a folder and is not UTF-8; nil if there is none.
    static func misspelt() -> String? {
        var next = unsafe environ
        while let entry = unsafe next.pointee {
            unsafe next += 1
            guard unsafe String(validatingCString: entry) == nil else { continue }
            let name = unsafe String(cString: entry).prefix { $0 != "=" }
            if name == "HOME" || name.hasPrefix("XDG_") || name.hasPrefix(optionPrefix) {
                return String(name)
            }
        }
        return nil
    }
}
