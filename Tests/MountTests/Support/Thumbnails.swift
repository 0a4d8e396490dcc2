import TestSupport

/// `Tests/Wire/thumbnails.py`, which finds thumbnails as other programs do, and holds them against the specification.
enum Thumbnails {
    private static let script = TestPrograms.root.appending(path: "Tests/Wire/thumbnails.py").path

    /// Finds those of files in the home that the mount writes to.
    static func own(_ files: [String], _ workplace: Workplace) throws -> Output {
        let store = workplace.directory.appending(path: "xdg/thumbnails").path
        return try workplace.run(["python3", script, "own", store] + files)
    }

    /// Finds those that everybody finds in a directory; prints of how many pictures.
    static func shared(_ directory: String, _ workplace: Workplace) throws -> Output {
        try workplace.run("python3", script, "shared", directory)
    }
}
