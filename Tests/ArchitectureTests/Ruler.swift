import Foundation

/// The structure of the tree in numbers: net lines, and circles of files inside a module.
///
/// Net lines are those that are neither blank nor comment. A file has an arrow to each file of its module that declares, at its top level, a
/// type or function which it names. Files that reach each other by arrows make a circle.
///
/// The counting is lexical, as quick as reading: a name in a string is none, one that happens to be that of a type of the module counts.
struct Ruler {
    /// A file as it is counted.
    struct File {
        let path: String
        /// The folder below `Sources`, or below `Sources/Tools`.
        let module: String
        /// Lines that are neither blank nor comment.
        let net: Int
        /// The types, protocols, aliases and functions that it declares at its top level for others.
        let declared: Set<String>
        /// Every word of its code.
        let words: Set<String>

        init(path: String, text: String) {
            self.path = path
            let folders = path.split(separator: "/").dropFirst()
            module = String((folders.first == "Tools" ? folders.dropFirst() : folders).first ?? "")
            let code = Ruler.code(of: text)
            let lines = code.split(separator: "\n")
            net = lines.count { !$0.allSatisfy(\.isWhitespace) }
            declared = Set(lines.compactMap(Ruler.declared))
            words = Set(code.split { !$0.continuesWord }.map(String.init))
        }
    }

    let files: [File]

    /// The tree as it is, read once.
    static let tree = Result {
        Ruler(
            files: try Package.paths(below: "Sources", endings: [".swift", ".c", ".h"]).map { path in
                File(path: path, text: try String(contentsOf: Package.root.appending(path: path), encoding: .utf8))
            })
    }

    /// Circles of a module's Swift files, as paths, the largest first.
    func circles(in module: String) -> [[String]] {
        let files = files.filter { $0.module == module && $0.path.hasSuffix(".swift") }
        var owners: [String: [Int]] = [:]
        for (index, file) in files.enumerated() {
            for name in file.declared { owners[name, default: []].append(index) }
        }
        let arrows = files.map { file in
            Set(file.words.subtracting(file.declared).flatMap { owners[$0] ?? [] })
        }
        return Self.circles(of: arrows).map { circle in circle.map { files[$0].path }.sorted() }
            .sorted { $0.count > $1.count }
    }

    /// Sets of more than one node that all reach each other (Tarjan, "Depth-first search and linear graph algorithms", 1972).
    static func circles(of arrows: [Set<Int>]) -> [[Int]] {
        var (order, lowest): ([Int: Int], [Int: Int]) = ([:], [:])
        var (path, found): ([Int], [[Int]]) = ([], [])
        func visit(_ node: Int) {
            let number = order.count
            (order[node], lowest[node]) = (number, number)
            path.append(node)
            for next in arrows[node] {
                if order[next] == nil {
                    visit(next)
                    lowest[node] = min(lowest[node] ?? number, lowest[next] ?? number)
                } else if path.contains(next) {
                    lowest[node] = min(lowest[node] ?? number, order[next] ?? number)
                }
            }
            guard lowest[node] == number, let start = path.lastIndex(of: node) else { return }
            if path.count - start > 1 { found.append(Array(path[start...])) }
            path.removeSubrange(start...)
        }
        for node in arrows.indices where order[node] == nil { visit(node) }
        return found
    }
}

// MARK: - Text

extension Ruler {
    /// A text without comments and without what stands in strings of one line; its lines stay apart.
    static func code(of text: String) -> String {
        text.replacingOccurrences(of: #""(\\.|[^"\\\n])*""#, with: "\"\"", options: .regularExpression)
            .replacingOccurrences(
                of: #"//.*|/\*.*?(?:(\n)[\s\S]*?)?\*/"#, with: "$1", options: .regularExpression)
    }

    private static let types: Set<Substring> = ["class", "struct", "enum", "actor", "protocol", "typealias"]
    private static let open: Set<Substring> = ["public", "internal", "package"]
    private static let modifiers = open.union(["open", "final", "indirect", "nonisolated", "distributed"])

    /// What a line declares at the top level of its file for other files; nil for nothing.
    static func declared(on line: Substring) -> String? {
        guard let first = line.first, first.continuesWord || first == "@" else { return nil }
        var words = line.split(whereSeparator: \.isWhitespace)[...]
        while let attribute = words.first, attribute.hasPrefix("@") {
            let end = attribute.contains("(") ? words.firstIndex { $0.contains(")") } : nil
            words = words[((end ?? words.startIndex) + 1)...]
        }
        let said = words.prefix(while: Self.modifiers.contains)
        words = words.dropFirst(said.count)
        guard let kind = words.popFirst(), let rest = words.first else { return nil }
        guard types.contains(kind) || kind == "func" && open.isSuperset(of: said) else { return nil }
        let name = rest.prefix(while: \.continuesWord)
        return name.isEmpty ? nil : String(name)
    }
}

extension Character {
    fileprivate var continuesWord: Bool { isLetter || isNumber || self == "_" }
}
