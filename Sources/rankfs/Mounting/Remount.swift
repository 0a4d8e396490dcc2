import Fuse

/// `mount -o remount`: a mount keeps the options that it was made with, so this either changes nothing or is refused.
enum Remount {
    /// Succeeds if the folder is a mount of rankfs and nothing is asked for that it does not have.
    ///
    /// Reads the kernel's table only and never waits.
    static func check(_ request: MountRequest) throws(ProgramError) {
        let path = MountPoint.canonical(request.mountPoint) ?? request.mountPoint
        if let refusal = refusal(path: path, mount: MountTable.current().stack(at: path).last, request.options) {
            throw ProgramError(.mountFailure, refusal)
        }
    }

    /// Decides.
    ///
    /// - Parameters:
    ///   - path: For the text.
    ///   - mount: What is seen there.
    ///   - options: mount(8) sends those of the line in fstab or of the kernel's table, with what was asked for behind them.
    /// - Returns: Why nothing can be done; nil if nothing is to be done.
    static func refusal(path: String, mount: MountTable.Mount?, _ options: MountOptions) -> String? {
        let shown = LogText.escaped(path)
        guard let mount, mount.isOwn else {
            return "\(shown) is not a mount of rankfs, which could be mounted anew; leave remount out."
        }
        let isSame =
            options.assignments.isEmpty && options.user == nil && options.group == nil && options.mask == 0
            && options.account == nil && options.passedOn.allSatisfy(mount.superOptions.contains)
        return isSame
            ? nil
            : "\(shown) keeps the options that it was mounted with; unmount it and mount it again to change them."
    }
}
