package import Foundation

/// A directory of one test, which is removed with its object, or when the process ends.
package final class TemporaryFolder: Sendable, CustomStringConvertible {
    package let path: String

    package init() {
        path = FileManager.default.temporaryDirectory.appending(path: "rankfs-test-\(UUID().uuidString)").path
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        LeftAtExit.remove(path)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package var url: URL { URL(filePath: path) }

    /// The path.
    package var description: String { path }
}
