import Glibc

/// Turns a request into a mount: in this process or a new one, as this user or another.
enum Mounter {
    /// Mounts on a folder that need not exist; with mount(8) and its helpers, the administrator makes the folder.
    static func makeAndMount(_ request: MountRequest) throws(ProgramError) {
        // Another user's folder is made by that user; for a background process, its starter has already made the folder.
        let makes =
            !request.options.remounts && request.options.account == nil && request.readyDescriptor == nil
        let made = makes ? MountPoint.make(request.mountPoint) : nil
        do throws(ProgramError) { try mount(request) } catch {
            if let made { unsafe _ = rmdir(made) }
            throw error
        }
    }

    /// Mounts on a folder that exists, as mount(8) requests it.
    static func mount(_ request: MountRequest) throws(ProgramError) {
        if request.options.remounts { return try MountPoint.remount(request) }
        let account = try account(of: request)
        guard request.foreground else {
            // Option mistakes of a background mount are found here too, before a process is started; only a process of another user
            // reads that user's own configuration.
            if account == nil { _ = try SettingsLoader.load(request) }
            return try Launcher.start(request, as: account)
        }
        var guardian: MountGuard?
        if let account {
            if request.readyDescriptor == nil { Launcher.closeInherited(above: 2) }
            guardian = try MountGuard.start(request, for: account)
            try account.become()
        }
        let (settings, warnings, home) = try SettingsLoader.load(request)
        try MountService(request: request, settings: settings, warnings: warnings, home: home, guardian: guardian).run()
    }

    /// The user to become before anything is read; nil if this process already runs as that user.
    static func account(of request: MountRequest) throws(ProgramError) -> Account? {
        try Account.change(to: request.options.account, from: geteuid(), find: Account.find)
    }
}
