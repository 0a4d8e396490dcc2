import Foundation
import Synchronization
import TestSupport

/// `Tests/Fleet/store.py`: a real object store and a relay before it, one for all tests of a run, since it takes seconds to start.
///
/// Each test has a prefix of its own. The script ends, and the store with it, when this process does.
final class SharedStore: @unchecked Sendable {
    // @unchecked: mount tests run one after the other, each on one thread.
    private let script: PythonScript
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
            ?? TestPrograms.root.appending(path: ".build/store/bin/weed").path
        guard FileManager.default.isExecutableFile(atPath: named) else {
            throw Failure("there is no SeaweedFS at \(named); `make setup-test` installs it, WEED names another one")
        }
        let directory = FileManager.default.temporaryDirectory.appending(path: "rankfs-store-\(UUID().uuidString)").path
        script = try PythonScript("Fleet/store.py", ["--weed", named, "--directory", directory])
        let greeting = try JSONSerialization.jsonObject(with: script.greeting) as? [String: Any] ?? [:]
        guard let port = greeting["port"] as? Int, let key = greeting["key"] as? String,
            let secret = greeting["secret"] as? String
        else { throw Failure("store.py did not start") }
        (self.port, self.key, self.secret) = (port, key, secret)
    }

    /// The lines of a file with its keys.
    var keys: String { "[default]\naws_access_key_id = \(key)\naws_secret_access_key = \(secret)\n" }

    /// The options that lead a mount to it, but for the keys.
    func options(prefix: String) -> [String] {
        ["tier=s3://pool/\(prefix)", "tier_url=http://127.0.0.1:\(port)"]
    }

    /// Breaks requests whose `METHOD PATH` begins so, a regular expression; nil mends all.
    func fail(_ fault: String?, _ match: String = "") throws {
        try script.tell(["fault": fault ?? NSNull(), "match": match])
    }

    func stop() throws { try script.tell(["stop": true]) }

    func start() throws { try script.tell(["start": true]) }

    /// How many requests passed the relay that begin so.
    func count(_ match: String) throws -> Int {
        try JSONDecoder().decode(Int.self, from: script.tell(["count": match]))
    }
}

/// The part of the store that belongs to one test, and the machines that share it.
final class StorePart {
    let workplace: Workplace
    let origin: OriginProcess
    let prefix = "t\(UUID().uuidString.lowercased())"
    private let store: SharedStore

    init(_ workplace: Workplace, _ origin: OriginProcess) throws {
        (self.workplace, self.origin, store) = (workplace, origin, try SharedStore.running())
    }

    var secret: String { store.secret }

    func options() throws -> [String] {
        let keys = workplace.directory.appending(path: "keys").path
        if !FileManager.default.fileExists(atPath: keys) {
            try store.keys.write(toFile: keys, atomically: true, encoding: .utf8)
            chmod(keys, 0o600)
        }
        return store.options(prefix: prefix) + ["tier_keys=\(keys)"]
    }

    /// A machine: a mount with a cache of its own, and a clock that is ahead by so many seconds.
    func machine(_ name: String, options more: [String] = [], ahead: Int = 0) throws -> Mount {
        let cache = workplace.directory.appending(path: "cache-\(name)").path
        return try Mount(
            workplace, of: origin, options: ["cache_dir=\(cache)"] + options() + more, named: name,
            variables: ahead == 0 ? [:] : workplace.clock("CLOCK_AHEAD", "\(ahead)"))
    }

    func fail(_ fault: String?, _ match: String = "") throws { try store.fail(fault, match) }
    func stop() throws { try store.stop() }
    func start() throws { try store.start() }
    func count(_ match: String) throws -> Int { try store.count(match) }
}

/// Runs a test's body with a service's origin and a part of the store, which is mended afterwards.
func withStore(
    faults: [String] = [], wire: Wire = .tls, service: Service = .pixiv,
    _ body: @escaping @Sendable (Workplace, OriginProcess, StorePart) throws -> Void
) async throws {
    try await withWorkplace { workplace in
        let origin = try OriginProcess(workplace, faults: faults, wire: wire, service: service)
        let store = try StorePart(workplace, origin)
        defer { try? store.fail(nil) }
        try body(workplace, origin, store)
    }
}

extension Workplace {
    /// The variables of a process with a clock of its own, as a variable of `Tests/Fleet/clock.c` describes it.
    func clock(_ name: String, _ value: String) throws -> [String: String] {
        let library = directory.appending(path: "clock.so").path
        if !FileManager.default.fileExists(atPath: library) {
            let source = TestPrograms.root.appending(path: "Tests/Fleet/clock.c").path
            let built = try run("clang", "-shared", "-fPIC", "-O1", "-o", library, source)
            guard built.status == 0 else { throw Failure("clock.c: \(built.errors)") }
        }
        return ["LD_PRELOAD": library, name: value]
    }
}
