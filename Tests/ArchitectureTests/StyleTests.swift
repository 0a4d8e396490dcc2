import Foundation
import Testing

/// Rules of the code that the compiler does not know.
@Suite struct StyleTests {
    /// Where a file is one thought: more than this is two.
    static let longestFile = 600
    static let longestFunction = 70

    @Test func filesAreShort() throws {
        for file in try Package.swiftFiles(below: "Sources") + Package.swiftFiles(below: "Tests") {
            #expect(file.lines.count <= Self.longestFile, "\(file.path) has \(file.lines.count) lines")
        }
    }

    @Test func functionsAreShort() throws {
        for file in try Package.swiftFiles(below: "Sources") {
            for function in file.functions() {
                #expect(
                    function.length <= Self.longestFunction,
                    "\(file.path):\(function.line) is \(function.length) lines long")
            }
        }
    }

    /// Whoever writes one of these promises something that the compiler cannot check: the promise must be written down.
    @Test func unsafePromisesAreArgued() throws {
        let promises = ["@unchecked Sendable", "nonisolated(unsafe)", "Unmanaged<", "Unmanaged."]
        for file in try Package.swiftFiles(below: "Sources") {
            for (number, line) in file.lines.enumerated()
            where promises.contains(where: line.contains) && !line.isComment {
                let before = file.lines[max(0, number - 12)...number]
                #expect(
                    before.contains { $0.isComment || $0.contains("//") },
                    "\(file.path):\(number + 1) makes an unsafe promise without a comment that argues it")
            }
        }
    }

    @Test func errnoIsDecidedInOneFile() throws {
        let decided = "Sources/RankFS/Failure.swift"
        for file in try Package.swiftFiles(below: "Sources/RankFS") where file.path != decided {
            for (number, line) in file.lines.enumerated() where !line.isComment {
                #expect(
                    !line.contains("= EIO") && !line.contains("Errno(rawValue:"),
                    "\(file.path):\(number + 1) makes an errno of its own; \(decided) is the place")
            }
        }
    }

    /// What a mount is made of leaves the last descriptors to libraries (`Descriptors`); the program opens few files besides.
    @Test func descriptorsHaveOneOwner() throws {
        for (module, path) in try Package.modules()
        where !["System", "rankfs", "Origin"].contains(module) && !module.contains("-") {
            for file in try Package.swiftFiles(below: path) {
                for (number, line) in file.lines.enumerated() where !line.isComment {
                    #expect(!line.contains("unsafe open("), "\(file.path):\(number + 1) opens a file past Descriptors")
                }
            }
        }
    }

    @Test func testsDoNotSleep() throws {
        let sleeps = ["Thread." + "sleep", "Task." + "sleep", "us" + "leep("]
        for file in try Package.swiftFiles(below: "Tests") where !file.path.hasSuffix("Poll.swift") {
            for (number, line) in file.lines.enumerated() where !line.isComment {
                #expect(
                    !sleeps.contains(where: line.contains),
                    "\(file.path):\(number + 1) sleeps; wait for an event instead")
            }
        }
    }

    @Test func theReadmeIsShort() throws {
        let readme = try String(contentsOf: Package.root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
    }
}
