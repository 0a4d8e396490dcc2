import Glibc

/// From a request to a mount: in this process or a new one, as this user or another.
enum Mounter {
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

    /// Mounts as a line of mount(8) says, on a folder that exists.
    static func mount(_ request: MountRequest) throws(ProgramError) {
        if request.options.remounts { return try Remount.check(request) }
        let account = try account(of: request)
        guard request.foreground else {
            // Mistakes in options are found here also for the background, before anything is started; another user's own
            // configuration is only read by a process of that user.
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

    /// The user to become before anything is read; nil if this process is that user.
    static func account(of request: MountRequest) throws(ProgramError) -> Account? {
        switch try Account.change(to: request.options.account, from: geteuid(), find: Account.find) {
        case .none: nil
        case .become(let account): account
        }
    }
}
