import CLinux
import Glibc
import ObjectStore
import Posix

/// Where the key to the store may be.
///
/// In a file that the user alone may read, in systemd's credentials, or in the variables that programs for such stores have in
/// common; never on the command line.
enum TierKeys {
    /// The name of systemd's credential (`LoadCredential=rankfs-tier:FILE`).
    static let credentialName = "rankfs-tier"
    /// Bytes; such files have some hundred.
    private static let longest = 64 << 10

    /// The first key there is: the file that `tier_keys` names, systemd's, the variables'.
    ///
    /// - Throws: configuration, with what is wrong with the place that counts, or where one may be put.
    static func read(_ settings: Settings, _ home: Home) throws(ProgramError) -> StoreKeys {
        if let path = settings.tierKeys { return try keys(in: path, mustBePrivate: true) }
        if let directory = home.variables["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") {
            let path = "\(directory)/\(credentialName)"
            if unsafe access(path, F_OK) == 0 { return try keys(in: path, mustBePrivate: false) }
        }
        if let keys = StoreKeys(variables: home.variables) { return keys }
        throw ProgramError(
            .configuration,
            "there is no key for the tier; name a file with aws_access_key_id and aws_secret_access_key by tier_keys, "
                + "or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.")
    }

    private static func keys(in path: String, mustBePrivate: Bool) throws(ProgramError) -> StoreKeys {
        let name = "the file of the tier's key \(LogText.escaped(path))"
        // Without O_NONBLOCK a pipe in place of the file would hold up the mount.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            throw ProgramError(.configuration, "\(name) cannot be read: \(SystemError(code: errno).text).")
        }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ProgramError(.configuration, "\(name) is no file.")
        }
        guard !mustBePrivate || status.st_mode & 0o077 == 0 else {
            throw ProgramError(.configuration, "\(name) can be read by others; protect it with `chmod 600`.")
        }
        guard let bytes = try? FileBytes.read(descriptor, upTo: longest), let keys = StoreKeys(file: bytes) else {
            throw ProgramError(
                .configuration,
                "\(name) holds no key; it needs the lines aws_access_key_id = … and aws_secret_access_key = ….")
        }
        return keys
    }
}
