import Fuse
import Rankings
/// The result of parsing the items of a `-o` list.
struct MountOptions: Hashable, Sendable {
    /// Options of the option table.
    var assignments: [Assignment] = []
    /// Options of libfuse, passed on to it.
    var passedOn: [String] = []
    /// The owner of every file; nil for the user that mounts.
    var user: UInt32?
    var group: UInt32?
    /// Permission bits that no file has.
    var mask: UInt32 = 0
    /// The user that serves the mount, by name or number; nil for the user that mounts.
    var account: String?
    /// Whether the request concerns an existing mount.
    var remounts = false

    /// The values of the assignments; a later one wins.
    var values: [String: String] {
        Dictionary(assignments.map { ($0.name, $0.value) }) { _, later in later }
    }

    /// Whether the kernel admits users other than the mounting one; with `allow_root` libfuse rejects them later.
    var admitsOthers: Bool { passedOn.contains("allow_other") || passedOn.contains("allow_root") }

    /// Options that every mount of rankfs has; naming them changes nothing.
    private static let implied: Set<String> = [
        "ro", "nosuid", "nodev", "noexec", "default_permissions", "fsname", "subtype",
    ]

    /// Words of mount(8) and fstab(5) that do not apply to a read-only network file system, or that options of rankfs overrule.
    private static let ignored: Set<String> = [
        "auto", "noauto", "user", "nouser", "users", "owner", "group", "nofail", "_netdev", "defaults", "rw", "dev",
        "suid",
        "exec", "atime", "noatime", "diratime", "nodiratime", "relatime", "norelatime", "strictatime", "nostrictatime",
        "lazytime", "nolazytime", "sync", "async", "dirsync", "mand", "nomand", "silent", "loud", "iversion",
        "noiversion",
        "comment", "symfollow", "nosymfollow",
    ]

    /// Parses the items of one `-o` list.
    ///
    /// - Parameters:
    ///   - text: `name,name=value,…`, where blanks around a name count for nothing; `\,` and `\\` stand for a comma and a backslash inside
    ///     a value, and a value in `"` loses both.
    ///   - sloppy: Whether unknown options are ignored, as with `mount -s`.
    /// - Throws: usage, for an option that is unknown or lacks its value.
    mutating func add(list text: String, sloppy: Bool = false) throws(ProgramError) {
        let items = Self.items(of: text)
        remounts = remounts || items.contains("remount")
        for item in items where !item.allSatisfy(\.isWhitespace) {
            do {
                try add(item: item)
            } catch {
                if !sloppy { throw error }
            }
        }
    }

    private mutating func add(item: String) throws(ProgramError) {
        let (given, written) = OptionTable.parts(of: item)
        // As in the configuration file.
        let name = String(given.trimmed(\.isWhitespace))
        let value = try written.map { value throws(ProgramError) in
            guard let plain = Assignment.withoutQuotes(value[...]) else {
                throw .usage("option \(OptionTable.normalised(name)): the quote does not end.")
            }
            return plain
        }
        if name.hasPrefix("x-") || name.hasPrefix("X-") || Self.ignored.contains(name) { return }
        let normalised = OptionTable.normalised(name)
        if Self.implied.contains(normalised) { return }
        if OptionTable.definition(named: name) != nil {
            guard let value else { throw .usage("option \(normalised) needs a value: \(normalised)=…") }
            assignments.append(Assignment(name: normalised, value: value, place: .commandLine))
        } else if OptionTable.ownership.contains(normalised) {
            try add(ownership: normalised, value: value)
        } else if remounts, value != nil, normalised == "user_id" || normalised == "group_id" {
            // mount(8) repeats the options that the kernel's table shows.
            return
        } else if normalised == "max_read" {
            passedOn.append("max_read=\(try Self.identifier(value, of: normalised))")
        } else if OptionTable.passedOn.contains(normalised), value == nil {
            passedOn.append(normalised)
        } else {
            throw .usage(OptionTable.complaint(unknown: name))
        }
    }

    private mutating func add(ownership name: String, value: String?) throws(ProgramError) {
        switch name {
        case "uid": user = try Self.identifier(value, of: name)
        case "gid": group = try Self.identifier(value, of: name)
        case "umask":
            guard let value, (1...4).contains(value.utf8.count), let number = UInt32(value, radix: 8), number <= 0o777,
                value.utf8.allSatisfy({ (48...55).contains($0) })
            else { throw .usage("option umask needs an octal number up to 0777: umask=077.") }
            mask = number
        case "setuid":
            guard let value, !value.isEmpty else {
                throw .usage("option setuid needs the name or number of a user: setuid=alice.")
            }
            account = value
        default:
            guard value == nil else { throw .usage("option \(name) takes no value.") }
            remounts = true
        }
    }

    private static func identifier(_ value: String?, of name: String) throws(ProgramError) -> UInt32 {
        // The highest number means "no change" to chown(2).
        guard let value, value.utf8.allSatisfy({ $0.isDigit }), let number = UInt32(value), number < .max
        else { throw .usage("option \(name) needs a number: \(name)=1000.") }
        return number
    }

    /// The items between commas, with `\,` and `\\` unescaped; commas of a value in quotes divide nothing, as in mount(8).
    static func items(of text: String) -> [String] {
        let bytes = Array(text.utf8)
        var items: [String] = []
        var item: [UInt8] = []
        var escaped = false
        // The quote that ends a value in quotes.
        var closing: Int?
        for (index, byte) in bytes.enumerated() {
            if escaped {
                if byte != 44, byte != 92 { item.append(92) }
                item.append(byte)
                escaped = false
            } else if byte == 92 {
                escaped = true
            } else if byte == 44, closing.map({ index > $0 }) ?? true {
                items.append(String(decoding: item, as: UTF8.self))
                item = []
            } else {
                // A quote right after the first equals sign, and the next one, if the value ends with it.
                if byte == 34, !item.isEmpty, item.firstIndex(of: 61) == item.count - 1,
                    let next = bytes[(index + 1)...].firstIndex(of: 34),
                    next + 1 == bytes.count || bytes[next + 1] == 44
                {
                    closing = next
                }
                item.append(byte)
            }
        }
        if escaped { item.append(92) }
        return items + [String(decoding: item, as: UTF8.self)]
    }

    /// The `-o` list that yields these options again, for passing them to another process.
    var list: String {
        var items = assignments.map { assignment in
            // Its own quotes would be lost on the way.
            let isQuoted = assignment.value.unicodeScalars.first == "\""
            return "\(assignment.name)=" + (isQuoted ? "\"\(assignment.value)\"" : assignment.value)
        }
        items += passedOn
        if let user { items.append("uid=\(user)") }
        if let group { items.append("gid=\(group)") }
        if mask != 0 { items.append("umask=\(String(mask, radix: 8))") }
        if let account { items.append("setuid=\(account)") }
        return items.map(Session.escaped).joined(separator: ",")
    }
}

/// A request to mount: the source, the mount point and the options.
struct MountRequest: Hashable, Sendable {
    var source = SourceName.standard
    /// The path as given; empty for the default of the command.
    var mountPoint = ""
    var options = MountOptions()
    /// Whether this process serves the mount instead of a new one.
    var foreground = false
    /// Whether debug lines are written, libfuse's included.
    var debug = false
    /// The descriptor on which the serving process reports that it has mounted; nil if no process waits for that.
    var readyDescriptor: Int32?
}
