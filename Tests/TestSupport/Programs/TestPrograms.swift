package import Foundation
package import Render

/// The programs that were built with the tests, and what they are made of.
package enum TestPrograms {
    /// The root of the package.
    package static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// Where SwiftPM puts programs that are parts of tests: beside their bundle.
    package static let besideTests: String = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    /// Where the programs under test are: beside the test bundle, or where `TEST_PROGRAMS` says.
    package static let directory: String = ProcessInfo.processInfo.environment["TEST_PROGRAMS"] ?? besideTests

    /// A renderer with processes of its own, as every mount has one.
    package static func renderer() -> Renderer {
        Renderer(.init(program: { "\(directory)/rankfs-render" }, atOnce: 2))
    }
}
