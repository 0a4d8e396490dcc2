/// Texts that are paths or words of a command line, by bytes.
///
/// To Swift a slash, a dash or a dot and a mark that combines with it are one character, and texts that differ in
/// normalisation are equal; to the kernel neither holds.
extension StringProtocol {
    /// The names between slashes; double ones, and those at the ends, mean nothing.
    package var pathNames: [String] {
        utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: Array($0), as: UTF8.self) }
    }

    /// Whether it begins with a slash.
    package var isAbsolutePath: Bool { utf8.first == UInt8(ascii: "/") }

    /// What stands behind some text at the beginning; nil if it does not begin with that.
    package func rest(after beginning: String) -> String? {
        guard utf8.starts(with: beginning.utf8) else { return nil }
        return String(decoding: Array(utf8.dropFirst(beginning.utf8.count)), as: UTF8.self)
    }

    /// The way from a directory to this path, without a slash at its beginning; nil for a path that is not below it.
    package func way(from directory: String) -> String? {
        utf8.elementsEqual(directory.utf8) ? "" : rest(after: directory + "/")
    }
}
