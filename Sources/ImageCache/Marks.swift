internal import CLinux
internal import System
internal import Glibc

/// The marks that make backup programs and indexers skip the cache.
///
/// No mark is understood by all of them: `CACHEDIR.TAG` by most backup programs (https://bford.info/cachedir/), the nodump flag
/// by dar, bsdtar and borg 2, `user.xdg.robots.*` by borg 2 and search tools, Apple's name by Duplicati, `.nomedia` and
/// `.trackerignore` by indexers.
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

    /// A mark that is missing, and the reason.
    typealias Missing = (mark: String, reason: String)

    /// Puts every mark on the cache's own directory; marks that are already right are not written again.
    ///
    /// - Returns: The marks that could not be set.
    static func set(on directory: Int32) -> [Missing] {
        missing(on: directory).compactMap { set($0.mark, on: directory) }
    }

    /// Puts the marks that each directory below needs itself: attributes and the flag.
    static func setInherited(on directory: Int32) -> [Missing] {
        missingInherited(on: directory).compactMap { set($0.mark, on: directory) }
    }

    /// The marks that the cache's own directory lacks.
    static func missing(on directory: Int32) -> [Missing] {
        var missing: [Missing] = []
        if !tag(of: directory).hasPrefix(signature) { missing.append((tagName, "missing or with another signature")) }
        for name in emptyFiles where unsafe faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) != 0 {
            missing.append((name, "missing"))
        }
        return missing + missingInherited(on: directory)
    }

    private static func missingInherited(on directory: Int32) -> [Missing] {
        var missing: [Missing] = []
        for (name, value) in attributes where read(name, of: directory) != value {
            missing.append((name, "not set to \(value)"))
        }
        if rankfs_get_nodump(directory) != 1 { missing.append((nodumpName, "not set")) }
        return missing
    }

    /// Sets one mark; returns it if it cannot be set.
    private static func set(_ mark: String, on directory: Int32) -> Missing? {
        do throws(SystemError) {
            if mark == tagName {
                let file = try Files.open(tagName, in: directory, O_WRONLY | O_CREAT | O_TRUNC, mode: 0o644)
                defer { close(file) }
                try Files.write(Array(tagText.utf8), to: file, at: 0)
            } else if mark == nodumpName {
                guard rankfs_set_nodump(directory) == 0 else { throw SystemError("setting it") }
            } else if let value = attributes.first(where: { $0.name == mark }).map({ Array($0.value.utf8) }) {
                guard unsafe fsetxattr(directory, mark, value, value.count, 0) == 0 else {
                    throw SystemError("setting it")
                }
            } else {
                close(try Files.open(mark, in: directory, O_WRONLY | O_CREAT))
            }
            return nil
        } catch { return (mark, error.text) }
    }

    /// Whether a directory's tag was written by rankfs; caches of other programs have the signature too.
    static func isOwn(_ directory: Int32) -> Bool {
        let tag = tag(of: directory)
        return tag.hasPrefix(signature + "\n") && tag.contains("rankfs")
    }

    /// The beginning of a directory's tag; empty without one.
    private static func tag(of directory: Int32) -> String {
        guard let file = try? Files.open(tagName, in: directory, O_RDONLY | O_NONBLOCK) else { return "" }
        defer { close(file) }
        return (try? Files.read(file, at: 0, count: longestTag)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Bytes of a tag that are read; that of rankfs has 200.
    private static let longestTag = 1024

    private static func read(_ name: String, of directory: Int32) -> String? {
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = unsafe fgetxattr(directory, name, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer.prefix(count), as: UTF8.self)
    }
}
