import Glibc

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
            try perform(try CommandParser.parse(words))
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

    private static func perform(_ command: Command) throws(ProgramError) {
        switch command {
        case .mount(let request):
            if let descriptor = request.readyDescriptor { Launcher.closeInherited(above: descriptor) }
            try makeAndMount(request)
        case .demo(let request):
            let (settings, warnings, home) = try load(request)
            try DemoCommand.run(request, settings: settings, warnings: warnings, home: home)
        case .unmount(let mountPoint): try UnmountCommand.run(mountPoint)
        case .status(let mountPoint, let json): try StatusCommand.run(mountPoint: mountPoint, json: json)
        case .watch(let mountPoint, let json):
            try StatusCommand.watch(
                mountPoint: mountPoint, json: json, variables: ProcessEnvironment.variables())
        case .cache(let action, let request):
            let (settings, _, home) = try load(request)
            try CacheCommand(request, settings: settings, home: home).run(action)
        case .doctor(let request): try DoctorCommand(request: request, home: .current()).run()
        case .login(let request, let file):
            let (settings, _, home) = try load(request)
            try LoginCommand.run(file: file, settings: settings, home: home)
        case .logout(let request):
            let (settings, _, home) = try load(request)
            try LogoutCommand.run(settings: settings, home: home)
        case .act(let command, let paths): try ActCommand.run(command, paths: paths)
        case .fetch(let request): try FetchCommand.run(request, variables: ProcessEnvironment.variables())
        case .completions(let shell): Output.print(shell.script, terminator: "")
        case .guardMount(let mount): mount.serve()
        case .version: Output.print("rankfs \(Version.text)")
        case .help(let topic):
            guard let text = HelpText.text(for: topic) else {
                throw ProgramError(
                    .usage, "there is no help on \(LogText.escaped(topic ?? "", limit: 80)); `rankfs help` lists all.")
            }
            Output.print(text, terminator: "")
        }
    }

    /// Mounts on a folder that need not exist; mount(8) and its helpers leave that to whoever wrote the line.
    private static func makeAndMount(_ request: MountRequest) throws(ProgramError) {
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
        try Service(request: request, settings: settings, warnings: warnings, home: home, guardian: guardian).run()
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
            commandLine: request.options.assignments, directory: Files.workingDirectory() ?? "/", home: home.directory)
        let (settings, warnings) = try loader.load()
        return (settings, warnings, home)
    }

    private static func configurationFile(of home: Home) throws(ProgramError) -> (path: String, text: String)? {
        guard let path = home.configurationFile else { return nil }
        let shown = LogText.escaped(path)
        let bytes: [UInt8]
        do throws(Files.Failure) {
            bytes = try Files.read(path, limit: ConfigurationFile.longest + 1)
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
