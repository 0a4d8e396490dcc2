internal import CLinux
internal import Glibc

/// The marks by which backup programs and indexers pass the cache by.
///
/// None is understood by all of them: `CACHEDIR.TAG` by most backup programs (https://bford.info/cachedir/), the nodump
/// flag by dar, bsdtar and borg 2, `user.xdg.robots.*` by borg 2 and search tools, Apple's name by Duplicati, `.nomedia`
/// and `.trackerignore` by indexers.
enum Marks {
    /// The first 43 bytes that make a file a cache directory tag.
    static let signature = "Signature: 8a477f597d28d172789f06886806bc55"
    static let tagText = """
        \(signature)
        # This directory holds pictures that rankfs downloads again when they are missing.
        # Backup programs may leave it out; see https://bford.info/cachedir/
        """ + "\n"

    static let attributes: [(name: String, value: String)] = [
        ("user.xdg.robots.backup", "false"),
        ("user.xdg.robots.index", "false"),
        ("user.com.apple.MobileBackup", "1"),
    ]

    static let emptyFiles = [".nomedia", ".trackerignore"]
    static let tagName = "CACHEDIR.TAG"
    static let nodumpName = "nodump flag"

    /// A mark that is not there.
    struct Missing: Hashable, Sendable {
        var mark: String
        var reason: String
    }

    /// Puts every mark on the cache's own directory; what is right already is not written again.
    ///
    /// - Returns: The marks that could not be set.
    static func set(on directory: Int32) -> [Missing] {
        var missing: [Missing] = []
        if !hasTag(directory) { attempt(tagName, &missing) { () throws(FileError) in try writeTag(directory) } }
        for name in emptyFiles where !exists(name, in: directory) {
            attempt(name, &missing) { () throws(FileError) in
                close(try CacheFiles.open(name, in: directory, O_WRONLY | O_CREAT))
            }
        }
        return missing + setInherited(on: directory)
    }

    /// Puts the marks that each directory below needs for itself: attributes and the flag.
    static func setInherited(on directory: Int32) -> [Missing] {
        var missing: [Missing] = []
        for (name, value) in attributes where read(name, of: directory) != value {
            attempt(name, &missing) { () throws(FileError) in
                let text = Array(value.utf8)
                guard unsafe fsetxattr(directory, name, text, text.count, 0) == 0 else { throw FileError("setting it") }
            }
        }
        if rankfs_get_nodump(directory) != 1 {
            attempt(nodumpName, &missing) { () throws(FileError) in
                guard rankfs_set_nodump(directory) == 0 else { throw FileError("setting it") }
            }
        }
        return missing
    }

    /// The marks that the cache's own directory lacks, for `rankfs doctor`.
    static func missing(on directory: Int32) -> [Missing] {
        var missing: [Missing] = []
        if !hasTag(directory) { missing.append(Missing(mark: tagName, reason: "missing or with another signature")) }
        for name in emptyFiles where !exists(name, in: directory) {
            missing.append(Missing(mark: name, reason: "missing"))
        }
        for (name, value) in attributes where read(name, of: directory) != value {
            missing.append(Missing(mark: name, reason: "not set to \(value)"))
        }
        if rankfs_get_nodump(directory) != 1 { missing.append(Missing(mark: nodumpName, reason: "not set")) }
        return missing
    }

    private static func attempt(_ mark: String, _ missing: inout [Missing], _ set: () throws(FileError) -> Void) {
        do throws(FileError) { try set() } catch { missing.append(Missing(mark: mark, reason: error.text)) }
    }

    private static func writeTag(_ directory: Int32) throws(FileError) {
        let file = try CacheFiles.open(tagName, in: directory, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
        defer { close(file) }
        try CacheFiles.write(Array(tagText.utf8), to: file, at: 0)
    }

    private static func hasTag(_ directory: Int32) -> Bool {
        guard let file = try? CacheFiles.open(tagName, in: directory, O_RDONLY) else { return false }
        defer { close(file) }
        return (try? CacheFiles.read(file, at: 0, count: signature.utf8.count)) == Array(signature.utf8)
    }

    private static func exists(_ name: String, in directory: Int32) -> Bool {
        unsafe faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    private static func read(_ name: String, of directory: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = unsafe fgetxattr(directory, name, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
