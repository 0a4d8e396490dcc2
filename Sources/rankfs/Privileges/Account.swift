import CLinux
import Glibc
import Rankings

/// A user of the system, from its passwd entry.
struct Account: Hashable, Sendable {
    var name: String
    var user: UInt32
    var group: UInt32
    var home: String

    /// Decides which user serves the mount.
    ///
    /// - Parameters:
    ///   - text: The option's value; nil if it was not given.
    ///   - current: The effective user of this process.
    ///   - find: Returns the passwd entry of a name or number; nil if there is none.
    /// - Returns: The account to become; nil if the process already runs as that user, or the option was not given.
    /// - Throws: usage, for a user that does not exist, or for another user where only root may choose.
    static func change(
        to text: String?, from current: UInt32, find: (String) -> Account?
    ) throws(ProgramError) -> Account? {
        guard let text else { return nil }
        let shown = LogText.escaped(text, limit: 80)
        guard let account = find(text) else {
            throw .usage("there is no user \(shown) here; name one of /etc/passwd: setuid=alice.")
        }
        if account.user == current { return nil }
        guard current == 0 else {
            throw .usage(
                "only root may serve a mount as another user: leave setuid=\(shown) out, or let root mount it.")
        }
        return account
    }

    /// The passwd entry of a name, or else of a number, as chown(1) reads it.
    ///
    /// Must not run on two threads at once: getpwnam(3) is not reentrant.
    static func find(_ text: String) -> Account? {
        if let entry = unsafe getpwnam(text) { return unsafe Account(entry) }
        guard text.utf8.allSatisfy({ $0.isDigit }), let number = UInt32(text),
            let entry = unsafe getpwuid(number)
        else { return nil }
        return unsafe Account(entry)
    }
}

extension Account {
    private init(_ entry: UnsafeMutablePointer<passwd>) {
        name = unsafe String(cString: entry.pointee.pw_name)
        user = unsafe entry.pointee.pw_uid
        group = unsafe entry.pointee.pw_gid
        home = unsafe entry.pointee.pw_dir.map { unsafe String(cString: $0) } ?? "/"
    }

    // MARK: - Becoming that user

    /// Makes this process run as the user for good: groups, user, no capabilities, and none gained by running a program.
    ///
    /// Only for root, and before the process has a second thread, because capabilities belong to threads. No file of the user may
    /// have been opened before. Descriptors stay open.
    func become() throws(ProgramError) {
        if let tasks = try? LocalFiles.names(in: "/proc/self/task"), tasks.count > 1 {
            throw failure("the process has other threads already")
        }
        // The bounding set can only be changed while the process has capabilities.
        var capability: UInt = 0
        while rankfs_prctl(PR_CAPBSET_READ, capability) >= 0 {
            guard rankfs_prctl(PR_CAPBSET_DROP, capability) == 0 else {
                throw failure("capabilities cannot be dropped")
            }
            capability += 1
        }
        guard unsafe initgroups(name, group) == 0 else { throw failure("its groups cannot be taken") }
        guard setresgid(group, group, group) == 0 else { throw failure("its group cannot be taken") }
        guard setresuid(user, user, user) == 0 else { throw failure("it has too many processes, or may not be taken") }
        guard rankfs_clear_capabilities() == 0, rankfs_prctl(PR_SET_NO_NEW_PRIVS, 1) == 0 else {
            throw failure("privileges cannot be dropped")
        }
        guard isComplete else { throw failure("privileges remained") }
        _ = umask(0o077)
        takeEnvironment()
    }

    private func failure(_ reason: String) -> ProgramError {
        .system(
            "setuid=\(LogText.escaped(name, limit: 80)): \(reason); mount without setuid, or as that user.")
    }

    /// Whether all of root's rights are gone and cannot be regained.
    private var isComplete: Bool {
        var users: (uid_t, uid_t, uid_t) = (0, 0, 0)
        var groups: (gid_t, gid_t, gid_t) = (0, 0, 0)
        guard unsafe getresuid(&users.0, &users.1, &users.2) == 0, users == (user, user, user),
            unsafe getresgid(&groups.0, &groups.1, &groups.2) == 0, groups == (group, group, group)
        else { return false }
        return setresuid(.max, 0, .max) != 0 && rankfs_has_no_capability() == 1
            && rankfs_prctl(PR_GET_NO_NEW_PRIVS, 0) == 1
    }

    /// Sets the user's own directories in place of root's; the service manager's variables stay.
    private func takeEnvironment() {
        for variable in Home.environment().keys
        where variable.hasPrefix("XDG_") || variable.hasPrefix("DBUS_") {
            unsafe _ = unsetenv(variable)
        }
        for (variable, value) in [("HOME", home), ("USER", name), ("LOGNAME", name)] {
            unsafe _ = setenv(variable, value, 1)
        }
    }
}
