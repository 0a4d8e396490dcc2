import Foundation

/// What processes wait for, as the kernel tells it: for the report of a hang.
enum Waits {
    /// A line for each thread of each process that this one started, directly or not: its command, state, system call and place.
    static func ofDescendants() -> String {
        let parents = Dictionary(
            numbers(in: "/proc").compactMap { process in parent(of: process).map { (process, $0) } },
            uniquingKeysWith: { first, _ in first })
        var found: [Int32] = []
        var parentsToSee = [getpid()]
        while let next = parentsToSee.popLast() {
            let children = parents.filter { $0.value == next }.map(\.key).sorted()
            found += children
            parentsToSee += children
        }
        return found.flatMap { process in
            [text("/proc/\(process)/cmdline").replacingOccurrences(of: "\0", with: " ")]
                + numbers(in: "/proc/\(process)/task").map { describe("/proc/\(process)/task/\($0)") }
        }.joined(separator: "\n")
    }

    private static func describe(_ thread: String) -> String {
        let state = text("\(thread)/status").split(separator: "\n").first { $0.hasPrefix("State:") } ?? ""
        let stack = text("\(thread)/stack").split(separator: "\n").prefix(6).map { $0.split(separator: " ").last ?? "" }
        let (command, call) = (text("\(thread)/comm"), text("\(thread)/syscall"))
        return "  \(thread) \(command) \(state) syscall \(call) stack \(stack.joined(separator: " "))"
    }

    /// The fourth field of proc_pid_stat(5), behind the command in parentheses, which may contain anything.
    private static func parent(of process: Int32) -> Int32? {
        text("/proc/\(process)/stat").split(separator: ")").last?.split(separator: " ").dropFirst().first
            .flatMap { Int32($0) }
    }

    private static func numbers(in directory: String) -> [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).compactMap { Int32($0) }.sorted()
    }

    private static func text(_ path: String) -> String {
        ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
