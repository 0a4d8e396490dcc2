/// What keeps the process that decodes pictures from doing anything else, as far as the system has it.
package struct Protection: OptionSet, Hashable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Only the calls that decoding needs can be made: no file can be opened and no socket made (seccomp(2)).
    package static let calls = Protection(rawValue: 1)
    /// Memory, processor time and descriptors are bounded (setrlimit(2)).
    package static let limits = Protection(rawValue: 2)
    /// It is nobody in a user namespace of its own (user_namespaces(7)).
    package static let users = Protection(rawValue: 4)
    /// There is no network in its network namespace (network_namespaces(7)).
    package static let network = Protection(rawValue: 8)
    /// No file of the system can be reached from its root directory (chroot(2)).
    package static let root = Protection(rawValue: 16)
    /// It can get no privileges by running a program, and nobody else's process can look into it (prctl(2)).
    package static let privileges = Protection(rawValue: 32)

    package static let all: Protection = [.calls, .limits, .users, .network, .root, .privileges]

    /// Each that is in force, as words of a list.
    package var names: [String] { Self.named.filter { contains($0.0) }.map(\.1) }

    private static let named: [(Protection, String)] = [
        (.calls, "filtered system calls"), (.limits, "bounded memory and time"), (.users, "a user namespace"),
        (.network, "a network namespace"), (.root, "an empty root directory"), (.privileges, "no new privileges"),
    ]

    // MARK: - As the first message of that process

    /// Says that the process is ready.
    package var greeting: [UInt8] {
        var writer = MessageWriter()
        writer.write(Self.version)
        writer.write(rawValue)
        return writer.bytes
    }

    /// Takes the first message back; nil for that of another version's process.
    package init?(greeting: [UInt8]) {
        var reader = MessageReader(greeting)
        guard let version = try? reader.number(), version == Self.version, let value = try? reader.number(),
            (try? reader.end()) != nil
        else { return nil }
        self.init(rawValue: value)
    }

    package static let greetingLength = 16
    /// Of the messages; both programs are installed together, but one may run while they are replaced.
    private static let version: Int64 = 0x726b_0001
}
