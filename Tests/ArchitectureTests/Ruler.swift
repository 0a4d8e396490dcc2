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

        init(path: String, text: [UInt8]) {
            self.path = path
            let folders = path.split(separator: "/").dropFirst()
            module = String((folders.first == "Tools" ? folders.dropFirst() : folders).first ?? "")
            let code = Ruler.code(of: text)
            let lines = code.split(separator: UInt8(ascii: "\n"))
            net = lines.count { !$0.allSatisfy(\.isBlank) }
            declared = Set(lines.compactMap(Ruler.declared))
            words = Ruler.words(of: code)
        }
    }

    let files: [File]

    /// The tree as it is, read once.
    static let tree = Result {
        Ruler(
            files: try Package.paths(below: "Sources", endings: [".swift", ".c", ".h"]).map { path in
                File(path: path, text: [UInt8](try Data(contentsOf: Package.root.appending(path: path))))
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
    static func code(of text: [UInt8]) -> [UInt8] {
        withoutComments(withoutStrings(text))
    }

    private static func withoutStrings(_ text: [UInt8]) -> [UInt8] {
        var (code, place): ([UInt8], Int) = ([], 0)
        code.reserveCapacity(text.count)
        while place < text.count {
            code.append(text[place])
            place += 1
            guard text[place - 1] == UInt8(ascii: "\""), let end = endOfString(text, from: place) else { continue }
            code.append(UInt8(ascii: "\""))
            place = end
        }
        return code
    }

    /// The place after the quotation mark that ends a string; nil if its line has none.
    private static func endOfString(_ text: [UInt8], from start: Int) -> Int? {
        var place = start
        while place < text.count, text[place] != UInt8(ascii: "\n") {
            if text[place] == UInt8(ascii: "\"") { return place + 1 }
            if text[place] == UInt8(ascii: "\\") {
                guard place + 1 < text.count, text[place + 1] != UInt8(ascii: "\n") else { return nil }
                place += 1
            }
            place += 1
        }
        return nil
    }

    private static func withoutComments(_ text: [UInt8]) -> [UInt8] {
        var (code, place): ([UInt8], Int) = ([], 0)
        code.reserveCapacity(text.count)
        while place < text.count {
            if text[place] == UInt8(ascii: "/"), place + 1 < text.count {
                if text[place + 1] == UInt8(ascii: "/") {
                    place = text[place...].firstIndex(of: UInt8(ascii: "\n")) ?? text.count
                    continue
                }
                if text[place + 1] == UInt8(ascii: "*"), let end = endOfComment(text, from: place + 2) {
                    code += text[place..<end].filter { $0 == UInt8(ascii: "\n") }
                    place = end
                    continue
                }
            }
            code.append(text[place])
            place += 1
        }
        return code
    }

    /// The place after a comment's end; nil if it has none.
    private static func endOfComment(_ text: [UInt8], from start: Int) -> Int? {
        var place = start
        while place + 1 < text.count {
            if text[place] == UInt8(ascii: "*"), text[place + 1] == UInt8(ascii: "/") { return place + 2 }
            place += 1
        }
        return nil
    }

    /// What begins with an ASCII letter and goes on with letters, digits and underscores.
    static func words(of code: [UInt8]) -> Set<String> {
        var (words, place): (Set<String>, Int) = ([], 0)
        while place < code.count {
            let start = place
            place += 1
            guard code[start].beginsWord else { continue }
            while place < code.count, code[place].continuesWord { place += 1 }
            words.insert(String(decoding: code[start..<place], as: UTF8.self))
        }
        return words
    }

    private static let types: Set<Substring> = ["class", "struct", "enum", "actor", "protocol", "typealias"]
    private static let open: Set<Substring> = ["public", "internal", "package"]
    private static let modifiers = open.union(["open", "final", "indirect", "nonisolated", "distributed"])

    /// What a line declares at the top level of its file for other files; nil for nothing.
    static func declared(on line: ArraySlice<UInt8>) -> String? {
        guard let first = line.first, first.beginsWord || first == UInt8(ascii: "@") else { return nil }
        var words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)[...]
        while let attribute = words.first, attribute.hasPrefix("@") {
            let end = attribute.contains("(") ? words.firstIndex { $0.contains(")") } : nil
            words = words[((end ?? words.startIndex) + 1)...]
        }
        let said = words.prefix(while: Self.modifiers.contains)
        words = words.dropFirst(said.count)
        guard let kind = words.popFirst(), let rest = words.first else { return nil }
        guard types.contains(kind) || kind == "func" && open.isSuperset(of: said) else { return nil }
        let name = Array(rest.utf8.prefix { $0.continuesWord })
        return name.first?.beginsWord == true ? String(decoding: name, as: UTF8.self) : nil
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == UInt8(ascii: " ") || (9...13).contains(self) || (28...31).contains(self) }

    fileprivate var beginsWord: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// A letter of another alphabet goes on with a word too.
    fileprivate var continuesWord: Bool {
        beginsWord || self >= 0x80 || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self)
    }
}
