import Glibc
import Posix

/// Where the programs are that this one starts.
enum CompanionProgram {
    /// The path of a program: beside this one, as it is built, or in the directory for programs of programs, as it is installed.
    ///
    /// - Throws: unavailable, with one sentence, if it is in neither.
    static func path(of name: String) throws(ProgramError) -> String {
        let places = candidates(for: name, besides: LocalFiles.link("/proc/self/exe") ?? "")
        for place in places where unsafe access(place, X_OK) == 0 { return place }
        throw ProgramError(
            .unavailable,
            "the program \(name) is missing; looked for "
                + places.map { LogText.escaped($0) }.joined(separator: " and ") + "; install rankfs again.")
    }

    /// The places in which a program is looked for, in this order.
    ///
    /// - Parameters:
    ///   - name: The program's.
    ///   - path: That of the running program.
    /// - Returns: Paths.
    static func candidates(for name: String, besides path: String) -> [String] {
        let directory = path.lastIndex(of: "/").map { path[..<$0] } ?? ""
        let prefix = directory.lastIndex(of: "/").map { directory[..<$0] } ?? ""
        return ["\(directory)/\(name)", "\(prefix)/libexec/rankfs/\(name)"]
    }
}
