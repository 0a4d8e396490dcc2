import Foundation
package import Render

/// The programs that were built with the tests.
package enum TestPrograms {
    /// Where they are: beside the test bundle, or where `TEST_PROGRAMS` says.
    package static let directory: String =
        ProcessInfo.processInfo.environment["TEST_PROGRAMS"]
        ?? URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent().path

    /// A renderer with processes of its own, as every mount has one.
    package static func renderer() -> Renderer {
        Renderer(.init(program: { "\(directory)/rankfs-render" }, atOnce: 2))
    }
}
