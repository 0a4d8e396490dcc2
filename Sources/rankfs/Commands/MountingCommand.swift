import Rankings

/// `rankfs mount`: mounts a source, in this process or a new one.
struct MountingCommand: Command {
    var request: MountRequest

    static let definition = CommandDefinition(
        "mount", "[SOURCE] MOUNTPOINT [-o OPTION,…] [--option VALUE] [-f] [-d]", brief: "[SOURCE] MOUNTPOINT",
        summary: "mount; returns when the folder answers",
        details: """
            Mounts SOURCE (\(SourceRegistry.names), or demo for the embedded one) on an empty folder and returns when it answers. A folder that does
            not exist is made where the one that it is to be in is the user's own.
              -f   serve in this process until it is unmounted or gets SIGTERM or SIGINT
              -d   as -f, with debug lines

            Options, as --name VALUE, -o name=value, `name = value` in the configuration file
            ($XDG_CONFIG_HOME/rankfs/rankfs.conf) or RANKFS_NAME in the environment; the command line wins over the
            environment, the environment over the file:

            \(OptionTable.help)

            What the sources differ in, the default first:

            \(SourceRegistry.help)

            Also, behind -o, allow_other, allow_root, auto_unmount, max_read=BYTES; uid=NUMBER, gid=NUMBER, umask=OCTAL for
            the files; setuid=USER, who serves the mount if root makes it. A mount is always
            ro,nosuid,nodev,noexec,default_permissions. Signals: SIGTERM and SIGINT unmount, SIGHUP drops listings from
            memory, SIGUSR1 turns debug lines on and off.
            Exit status: 0 mounted, 32 the folder cannot be mounted on, 64 usage, 69 unavailable, 71 the system lacks something,
            73 the cache directory cannot be written, 78 configuration.
            """
    ) { arguments throws(ProgramError) in try MountingCommand(arguments) }

    func run() throws(ProgramError) {
        if let descriptor = request.readyDescriptor { Launcher.closeInherited(above: descriptor) }
        try Mounter.makeAndMount(request)
    }
}

extension MountingCommand {
    fileprivate init(_ arguments: Arguments) throws(ProgramError) {
        let positions = arguments.positions
        request = arguments.request
        switch positions.count {
        case 1 where SourceName(rawValue: positions[0]) != nil:
            throw ProgramError(
                .usage,
                "\(positions[0]) is a source; name the folder to mount it on too: rankfs mount \(positions[0]) FOLDER "
                    + "(or ./\(positions[0]) for a folder of that name).")
        case 1: request.mountPoint = positions[0]
        case 2:
            request.source = try SourceName(argument: positions[0])
            request.mountPoint = positions[1]
        default:
            throw ProgramError(.usage, "name one folder to mount on: rankfs mount [SOURCE] MOUNTPOINT [-o OPTIONS].")
        }
        guard !request.mountPoint.isEmpty else {
            throw ProgramError(.usage, "the mount point is empty; name a folder.")
        }
    }
}
