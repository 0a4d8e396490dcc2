import Fuse
import Glibc

extension Command {
    /// `rankfs mount`: mounts a source, in this process or a new one.
    static let mount = Command(
        name: "mount", words: "[SOURCE] MOUNTPOINT [-o OPTION,…] [--option VALUE] [-f] [-d]",
        brief: "[SOURCE] MOUNTPOINT", summary: "mount; returns when the folder answers",
        details: """
            Mounts SOURCE (\(SourceRegistry.names), or demo for the embedded one) on an empty folder and
            returns when it answers. A missing folder is made if the folder above it belongs to the user.
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
            """,
        check: { arguments throws(ProgramError) in
            guard let folder = arguments.positions.first else {
                let source = arguments.request.source.rawValue
                throw .usage(
                    "\(source) is a source; name the folder to mount it on too: rankfs mount \(source) FOLDER "
                        + "(or ./\(source) for a folder of that name).")
            }
            arguments.request.mountPoint = folder
        },
        run: { arguments throws(ProgramError) in
            if let descriptor = arguments.request.readyDescriptor { MountRequest.closeInherited(above: descriptor) }
            try arguments.request.makeAndMount()
        })

    // MARK: - Unmount

    /// `rankfs unmount`: unmounts a folder, and clears the remains of a crash.
    static let unmount = Command(
        name: "unmount", alias: "umount", words: "MOUNTPOINT", summary: "unmount; also clears what a crash left",
        details: """
            Unmounts, waits up to 5 s for the end of its process, and clears a mount whose process has died. Exit status 32 if
            it is in use or not a mount of rankfs.
            """,
        run: { arguments throws(ProgramError) in try unmount(arguments.positions[0]) })

    private static let patience: Duration = .seconds(5)

    private static func unmount(_ mountPoint: String) throws(ProgramError) {
        let shown = LogText.escaped(mountPoint)
        guard let canonical = MountPoint.canonical(try LocalFiles.absolute(mountPoint)) else {
            throw .mountFailure("\(shown) does not exist; `rankfs status` lists what is mounted.")
        }
        let mounts = MountTable.current().stack(at: canonical)
        guard mounts.last?.isOwn == true else {
            throw .mountFailure("\(shown) is not a mount of rankfs; `rankfs status` lists those there are.")
        }
        let server = MountTable.server(of: canonical)
        do throws(ProgramError) {
            try MountTable.unmount(canonical)
            if let server { MountTable.waitForEnd(of: server) }
        } catch {
            // Programs may still use a mount whose process has died.
            guard case .failed(ENOTCONN) = MountPoint.look(at: canonical, mounts: mounts, patience: patience)
            else { throw error }
            try MountTable.detach(canonical)
        }
    }
}
