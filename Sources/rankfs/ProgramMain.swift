import Glibc
import Posix

/// The program behind its arguments: which command runs, and what its end means.
enum Main {
    /// Runs a command line and returns the exit status.
    ///
    /// Blocks the calling thread, which must not be a task's.
    static func run(_ arguments: [String]) -> ExitStatus {
        let name = String(arguments.first?.split(separator: "/").last ?? "rankfs")
        let words = Array(arguments.dropFirst())
        if HelperArguments.names.contains(name) || HelperArguments.isGiven(words) {
            return finish(as: name) { () throws(ProgramError) in try mountAsHelper(words) }.ofMountHelper
        }
        return finish(as: "rankfs") { () throws(ProgramError) in
            try CommandParser.parse(words).perform()
        }
    }

    /// Runs, and says on the standard error stream why not.
    private static func finish(as name: String, _ work: () throws(ProgramError) -> Void) -> ExitStatus {
        do throws(ProgramError) {
            try work()
            return .success
        } catch {
            Output.complain(error.message, as: name)
            return error.status
        }
    }

    /// Mounts on a folder that need not exist; mount(8) and its helpers leave that to whoever wrote the line.
    static func makeAndMount(_ request: MountRequest) throws(ProgramError) {
        // Another user's folder is made by that user; who started this process in the background made what was to be made.
        let makes =
            !request.options.remounts && request.options.account == nil && request.readyDescriptor == nil
        let made = makes ? MountPoint.make(request.mountPoint) : nil
        do throws(ProgramError) { try mount(request) } catch {
            if let made { unsafe _ = rmdir(made) }
            throw error
        }
    }

    private static func mount(_ request: MountRequest) throws(ProgramError) {
        if request.options.remounts { return try Remount.check(request) }
        let account = try account(of: request)
        guard request.foreground else {
            // Mistakes in options are found here also for the background, before anything is started; another user's own
            // configuration is only read by a process of that user.
            if account == nil { _ = try load(request) }
            return try Launcher.start(request, as: account)
        }
        var guardian: MountGuard?
        if let account {
            if request.readyDescriptor == nil { Launcher.closeInherited(above: 2) }
            guardian = try MountGuard.start(request, for: account)
            try account.become()
        }
        let (settings, warnings, home) = try load(request)
        try MountService(request: request, settings: settings, warnings: warnings, home: home, guardian: guardian).run()
    }

    private static func mountAsHelper(_ arguments: [String]) throws(ProgramError) {
        let helper = try HelperArguments.parse(arguments)
        if helper.checkOnly {
            try account(of: helper.request)?.become()
            _ = try load(helper.request)
            return
        }
        try mount(helper.request)
        if helper.verbose {
            Output.print(
                "rankfs: \(helper.request.source.rawValue) mounted on \(LogText.escaped(helper.request.mountPoint)).")
        }
    }

    /// The user to become before anything is read; nil if this process is that user.
    private static func account(of request: MountRequest) throws(ProgramError) -> Account? {
        switch try Account.change(to: request.options.account, from: geteuid(), find: Account.find) {
        case .none: nil
        case .become(let account): account
        }
    }

    /// The settings from every place, and the home directory they were looked for in.
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
