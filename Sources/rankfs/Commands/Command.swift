import RankFS

/// What a command line asks for.
enum Command: Hashable, Sendable {
    case mount(MountRequest)
    case demo(MountRequest)
    case unmount(mountPoint: String)
    case status(mountPoint: String?, json: Bool)
    case watch(mountPoint: String?, json: Bool)
    case cache(CacheAction, MountRequest)
    case doctor(DoctorRequest)
    /// The file that holds the cookie; nil to ask on the terminal.
    case login(MountRequest, file: String?)
    /// Something asked of paths inside a mount.
    case act(MountCommand, paths: [String])
    case logout(MountRequest)
    case fetch(FetchRequest)
    case tier(TierAction)
    /// The script by which a shell completes command lines; for `make install`, not listed in help.
    case completions(CompletionShell)
    /// What `mount` starts before it gives up root; not listed in help.
    case guardMount(GuardedMount)
    case version
    case help(topic: String?)
}

extension Command {
    /// Does what was asked for; blocks the calling thread, which must not be a task's.
    func perform() throws(ProgramError) {
        switch self {
        case .mount(let request):
            if let descriptor = request.readyDescriptor { Launcher.closeInherited(above: descriptor) }
            try Main.makeAndMount(request)
        case .demo(let request):
            let (settings, warnings, home) = try Main.load(request)
            try DemoCommand.run(request, settings: settings, warnings: warnings, home: home)
        case .unmount(let mountPoint): try UnmountCommand.run(mountPoint)
        case .status(let mountPoint, let json): try StatusCommand.run(mountPoint: mountPoint, json: json)
        case .watch(let mountPoint, let json):
            try StatusCommand.watch(
                mountPoint: mountPoint, json: json, variables: ProcessEnvironment.variables())
        case .cache(let action, let request):
            let (settings, _, home) = try Main.load(request)
            try CacheCommand(request, settings: settings, home: home).run(action)
        case .doctor(let request): try DoctorCommand(request: request, home: .current()).run()
        case .login(let request, let file):
            let (settings, _, home) = try Main.load(request)
            try LoginCommand.run(file: file, source: request.source, settings: settings, home: home)
        case .logout(let request):
            let (settings, _, home) = try Main.load(request)
            try LogoutCommand.run(source: request.source, settings: settings, home: home)
        case .act(let command, let paths): try ActCommand.run(command, paths: paths)
        case .fetch(let request): try FetchCommand.run(request, variables: ProcessEnvironment.variables())
        case .tier(let action): try TierCommand.run(action)
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
}

/// What is to be mounted where, and how.
struct MountRequest: Hashable, Sendable {
    var source = SourceName.standard
    /// As given; empty where the default of the command is meant.
    var mountPoint = ""
    var options = MountOptions()
    /// Serve in this process instead of a new one.
    var foreground = false
    /// Debug lines, libfuse's too.
    var debug = false
    /// Where the serving process tells the waiting one that it has mounted; nil if nobody waits.
    var readyDescriptor: Int32?
}
