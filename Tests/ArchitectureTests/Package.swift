import Foundation

/// The package's own files, read as text.
enum Package {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// What is no part of the product: what its tests, its demonstration and its figures are made with.
    static let tools = "Sources/Tools"

    /// The directories below Sources that hold Swift code, by the names of their modules.
    static func modules() throws -> [(name: String, path: String)] {
        let product = try folders(below: "Sources").filter { $0.path != tools }
        return try product + folders(below: tools)
    }

    /// The folders of Swift code in a directory.
    static func folders(below directory: String) throws -> [(name: String, path: String)] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: directory).path).sorted()
            .map { ($0, "\(directory)/\($0)") }.filter { try !swiftFiles(below: $0.1).isEmpty }
    }

    static func swiftFiles(below directory: String) throws -> [SourceFile] {
        try paths(below: directory, endings: [".swift"]).map { path in
            SourceFile(path: path, text: try String(contentsOf: root.appending(path: path), encoding: .utf8))
        }
    }

    /// The files below a directory whose names end so, in order.
    static func paths(below directory: String, endings: [String]) -> [String] {
        let found = FileManager.default.enumerator(atPath: root.appending(path: directory).path)
        return (found?.compactMap { $0 as? String } ?? []).filter { path in endings.contains { path.hasSuffix($0) } }
            .sorted().map { "\(directory)/\($0)" }
    }
}

struct SourceFile {
    let path: String
    let lines: [Substring]

    init(path: String, text: String) {
        self.path = path
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        self.lines = lines
    }

    /// The modules that this file imports, without access levels and attributes.
    var imports: [String] {
        lines.compactMap { line in
            let words = line.split(separator: " ").filter { !$0.hasPrefix("@") }
            guard let place = words.firstIndex(of: "import"), place <= 1, words.count > place + 1 else { return nil }
            guard place == 0 || ["package", "internal", "private", "public", "fileprivate"].contains(words[0]) else {
                return nil
            }
            let module = words.last { !["struct", "class", "enum", "func", "let"].contains($0) }
            return module.map { String($0.split(separator: ".")[0]) }
        }
    }

    /// Functions and initialisers by the indentation of their first and last lines, which swift-format keeps.
    func functions() -> [(line: Int, length: Int)] {
        var found: [(line: Int, length: Int)] = []
        for (start, line) in lines.enumerated() where line.beginsFunction {
            let indentation = line.prefix { $0 == " " }
            // The line that ends the head; a requirement of a protocol has no body.
            let head = line.hasSuffix("{") ? line : lines[start...].first { $0.hasPrefix(indentation + ")") }
            guard head?.hasSuffix("{") == true, let end = lines[start...].firstIndex(where: { $0 == "\(indentation)}" })
            else { continue }
            found.append((start + 1, end - start + 1))
        }
        return found
    }
}

extension Substring {
    var isComment: Bool {
        drop { $0 == " " }.hasPrefix("//")
    }

    fileprivate var beginsFunction: Bool {
        guard !isComment else { return false }
        let words = split(separator: " ")
        return words.contains("func") || words.contains { $0.hasPrefix("init(") || $0.hasPrefix("init?(") }
    }
}
