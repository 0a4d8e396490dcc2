import Foundation
import Synchronization
import TestSupport

/// `Tests/Fleet/store.py`: a real object store and a relay before it, one for all tests of a run, since it takes seconds to start.
///
/// Each test has a prefix of its own. The script ends, and the store with it, when this process does.
final class SharedStore: @unchecked Sendable {
    // @unchecked: mount tests run one after the other, each on one thread.
    private let script: OrderedScript
    private let port: Int
    let secret: String
    private let key: String

    /// The one of this run.
    static func running() throws -> SharedStore {
        try one.withLock { one in
            if let one { return one }
            let store = try SharedStore()
            one = store
            return store
        }
    }

    private static let one = Mutex<SharedStore?>(nil)

    private init() throws {
        let named =
            ProcessInfo.processInfo.environment["WEED"]
            ?? OrderedScript.root.appending(path: ".build/store/bin/weed").path
        guard FileManager.default.isExecutableFile(atPath: named) else {
            throw Failure("there is no SeaweedFS at \(named); `make setup-test` installs it, WEED names another one")
        }
        let directory = FileManager.default.temporaryDirectory.appending(path: "rankfs-store-\(UUID().uuidString)").path
        script = try OrderedScript("store.py", ["--weed", named, "--directory", directory])
        guard let port = script.greeting["port"] as? Int, let key = script.greeting["key"] as? String,
            let secret = script.greeting["secret"] as? String
        else { throw Failure("store.py did not start") }
        (self.port, self.key, self.secret) = (port, key, secret)
    }

    /// The options that lead a mount to a part of it.
    func options(_ workplace: Workplace, prefix: String) throws -> [String] {
        let keys = workplace.directory.appending(path: "keys").path
        if !FileManager.default.fileExists(atPath: keys) {
            let text = "[default]\naws_access_key_id = \(key)\naws_secret_access_key = \(secret)\n"
            let made = FileManager.default.createFile(
                atPath: keys, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
            guard made else { throw Failure("cannot write \(keys)") }
        }
        return ["tier=s3://pool/\(prefix)", "tier_url=http://127.0.0.1:\(port)", "tier_keys=\(keys)"]
    }

    /// Breaks requests whose `METHOD PATH` begins so, a regular expression; nil mends all.
    func fail(_ fault: String?, _ match: String = "") throws {
        try script.tell(["fault": fault ?? NSNull(), "match": match])
    }

    func stop() throws { try script.tell(["stop": true]) }

    func start() throws { try script.tell(["start": true]) }

    /// How many requests passed the relay that begin so.
    func count(_ match: String) throws -> Int {
        Int(try script.tell(["count": match])) ?? 0
    }
}

/// A program of `Tests/Fleet` that takes orders as lines of JSON, answers each with a line, and ends with this process.
final class OrderedScript: @unchecked Sendable {
    // @unchecked: mount tests run one after the other, each on one thread.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    private let process = SpawnedProcess()
    private let orders = Pipe()
    private let answers = Pipe()
    private let name: String
    /// Its first line.
    let greeting: [String: Any]

    init(_ name: String, _ arguments: [String] = []) throws {
        self.name = name
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [Self.root.appending(path: "Tests/Fleet/\(name)").path] + arguments
        process.standardInput = orders.fileHandleForReading
        process.standardOutput = answers.fileHandleForWriting
        try process.run()
        let line = Self.line(from: answers.fileHandleForReading)
        greeting = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
    }

    /// Closes its input, with which it ends.
    func end() { try? orders.fileHandleForWriting.close() }

    @discardableResult
    func tell(_ order: [String: Any]) throws -> String {
        let data = try JSONSerialization.data(withJSONObject: order)
        try orders.fileHandleForWriting.write(contentsOf: data + Data("\n".utf8))
        let line = Self.line(from: answers.fileHandleForReading)
        guard !line.isEmpty else { throw Failure("\(name) has ended") }
        return line
    }

    private static func line(from handle: FileHandle) -> String {
        var bytes: [UInt8] = []
        while let byte = try? handle.read(upToCount: 1), let first = byte.first, first != 10 { bytes.append(first) }
        return String(decoding: bytes, as: UTF8.self)
    }
}
