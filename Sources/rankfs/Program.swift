import CLinux
import Glibc
import System

/// The program `rankfs`.
@main
struct Program {
    static func main() {
        Secrecy.begin()
        Output.open()
        // The background process is started as /proc/self/exe, and ps(1) would call it `exe`.
        unsafe rankfs_name_process("rankfs")
        exit(Main.run(CommandLine.arguments).rawValue)
    }
}

// MARK: - Program main

/// The command line as a whole: chooses the command to run and turns its outcome into an exit status.
enum Main {
    /// Runs a command line and returns the exit status.
    ///
    /// Blocks the calling thread, which must not be a thread of the task pool.
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

    /// Runs `work`, and writes the reason of a failure to the standard error stream.
    private static func finish(as name: String, _ work: () throws(ProgramError) -> Void) -> ExitStatus {
        do throws(ProgramError) {
            try work()
            return .success
        } catch {
            Output.complain(error.message, as: name)
            return error.status
        }
    }

    private static func mountAsHelper(_ arguments: [String]) throws(ProgramError) {
        let helper = try HelperArguments.parse(arguments)
        if helper.checkOnly {
            try Mounter.account(of: helper.request)?.become()
            _ = try SettingsLoader.load(helper.request)
            return
        }
        try Mounter.mount(helper.request)
        if helper.verbose {
            Output.print(
                "rankfs: \(helper.request.source.rawValue) mounted on \(LogText.escaped(helper.request.mountPoint)).")
        }
    }
}

extension Command {
    /// Runs the command; blocks the calling thread, which must not be a thread of the task pool.
    func perform() throws(ProgramError) {
        switch self {
        case .mount(let request):
            if let descriptor = request.readyDescriptor { Launcher.closeInherited(above: descriptor) }
            try Mounter.makeAndMount(request)
        case .demo(let request):
            let (settings, warnings, home) = try SettingsLoader.load(request)
            try DemoCommand.run(request, settings: settings, warnings: warnings, home: home)
        case .unmount(let mountPoint): try UnmountCommand.run(mountPoint)
        case .status(let mountPoint, let json): try StatusCommand.run(mountPoint: mountPoint, json: json)
        case .watch(let mountPoint, let json):
            try StatusCommand.watch(
                mountPoint: mountPoint, json: json, variables: ProcessEnvironment.variables())
        case .cache(let action, let request):
            let (settings, _, home) = try SettingsLoader.load(request)
            try CacheCommand(request, settings: settings, home: home).run(action)
        case .doctor(let request): try DoctorCommand(request: request, home: .current()).run()
        case .login(let request, let file):
            let (settings, _, home) = try SettingsLoader.load(request)
            try LoginCommand.run(file: file, source: request.source, settings: settings, home: home)
        case .logout(let request):
            let (settings, _, home) = try SettingsLoader.load(request)
            try LogoutCommand.run(source: request.source, settings: settings, home: home)
        case .act(let command, let paths): try ActCommand.run(command, paths: paths)
        case .fetch(let request): try FetchCommand.run(request, variables: ProcessEnvironment.variables())
        case .tier(let action): try TierCommand.run(action)
        case .completions(let shell): Output.print(Completions.script(for: shell), terminator: "")
        case .complete(let words):
            for candidate in Completions.candidates(for: words, .system) {
                Output.print(candidate.word + (candidate.help.isEmpty ? "" : "\t\(candidate.help)"))
            }
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
