import System
import Rankings

/// Reads files and directories without Foundation.
enum RecordedFiles {
    /// All bytes of a file; nil if it cannot be read or is larger than 64 MiB.
    static func bytes(_ path: String) -> [UInt8]? {
        let maximum = 64 << 20
        guard let bytes = try? Files.read(path, upTo: maximum + 1), bytes.count <= maximum else { return nil }
        return bytes
    }

    /// The recorded answers anywhere below a directory, in the order of their paths.
    ///
    /// Throws one sentence with cause and remedy.
    static func answers(below directory: String) throws(Failure) -> [(path: String, bytes: [UInt8], node: JSON)] {
        guard let paths = paths(below: directory) else {
            throw .unusable("\(directory) is no directory of recorded answers: give --replay one that is.")
        }
        return paths.compactMap { path in
            guard let bytes = bytes(path), let node = JSON(bytes) else { return nil }
            return (path, bytes, node)
        }
    }

    private static func paths(below directory: String) -> [String]? {
        guard let entries = try? Directory.entries(at: directory) else { return nil }
        return entries.map(\.name).filter { !$0.hasPrefix(".") }.flatMap { name in
            name.hasSuffix(".json") ? ["\(directory)/\(name)"] : paths(below: "\(directory)/\(name)") ?? []
        }.sorted()
    }
}
