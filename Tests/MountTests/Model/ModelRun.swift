import Foundation
import Glibc
import Synchronization
import TestSupport

/// What one run of the model came to, and what of the world its readers have to know.
///
/// ## Concurrency
/// Shared by every reader and by the one who breaks things; the mutex guards all of it.
final class ModelRun: Sendable {
    struct State {
        /// Odd while there is no mount; what was opened under another number may fail in any way.
        var generation = 0
        /// Files whose answers are spoilt now, or were and have not been right since.
        var spoilt: Set<Int> = []
        /// Those of which answers tell another length, which is another version: who has one open is refused the true one.
        var mislabelled: Set<Int> = []
        /// Whether what is wrong concerns the whole host.
        var isHostSpoilt = false
        var operations = 0
        var errors: [Int32: Int] = [:]
        var differences: [String] = []
        var faults = 0
        var restarts = 0
        var kills = 0
    }

    private let state = Mutex(State())

    var now: State { state.withLock { $0 } }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Whether a file may fail in one of the ways that the network's troubles have.
    private static let excused: Set<Int32> = [EIO, ETIMEDOUT, EHOSTUNREACH, EAGAIN, EACCES]

    /// Takes in what came of an operation.
    ///
    /// - Parameters:
    ///   - verdict: What was seen.
    ///   - files: What may excuse an error if it is spoilt.
    ///   - generation: Of the mount when the operation, or what it works on, began.
    ///   - what: The operation, for the report.
    func note(_ verdict: ModelVerdict, of files: [Int], begun generation: Int, _ what: () -> String) {
        state.withLock { state in
            state.operations += 1
            switch verdict {
            case .right: break
            case .failed(let code):
                state.errors[code, default: 0] += 1
                let isRemounted = state.generation != generation || generation % 2 == 1
                let isSpoilt = state.isHostSpoilt || files.contains { state.spoilt.contains($0) }
                if !isRemounted, !isSpoilt || !Self.excused.contains(code) {
                    state.differences.append("\(what()): \(String(cString: strerror(code)))")
                }
            case .wrong(let text): state.differences.append("\(what()): \(text)")
            }
        }
    }
}

/// One reader with files of its own open, whose operations follow from its seed.
final class ModelReader {
    private struct Handle {
        let file: Int
        let descriptor: Int32
        let generation: Int
    }

    private let run: ModelRun
    private let world: ModelWorld
    private let mount: String
    private var random: Random
    private var handles: [Handle] = []

    /// Files that one reader has open at most.
    private static let mostHandles = 8
    /// Longest single read, in bytes: larger than what the kernel asks for at once.
    private static let longestRead = 300 << 10

    init(_ run: ModelRun, _ world: ModelWorld, mount: String, seed: UInt64) {
        self.run = run
        self.world = world
        self.mount = mount
        random = Random(seed: seed)
    }

    func work(_ operations: Int) {
        for _ in 0..<operations { step() }
    }

    func closeAll() {
        for handle in handles { Glibc.close(handle.descriptor) }
        handles = []
    }

    /// Reads what is still open to its end: a file that was opened in bad times must be right in good ones.
    ///
    /// Those of spoilt files are closed then: they may have been given bytes of a version that only the fault named, and are
    /// refused any other one once that is evicted.
    func checkOpen() -> [String] {
        let state = run.now
        let troubles = handles.filter { $0.generation == state.generation }.compactMap { handle -> String? in
            let file = world.files[handle.file]
            let verdict = file.check(handle.descriptor, offset: 0, count: file.bytes.count)
            if verdict == .failed(EIO), state.mislabelled.contains(handle.file) { return nil }
            return verdict == .right ? nil : "\(file.path), which is open, stays \(verdict)"
        }
        for handle in handles where state.spoilt.contains(handle.file) { closeOne(handle) }
        return troubles
    }

    // MARK: - Operations

    private func step() {
        // A mount that is not there fails everything at once, which shows nothing.
        _ = poll { run.now.generation % 2 == 0 }
        let generation = run.now.generation
        while let old = handles.first(where: { $0.generation != generation }) { closeOne(old) }
        switch random.below(100) {
        case 0..<12: openOne(generation)
        case 12..<62: readSome()
        case 62..<70:
            if let handle = handles.randomElement(using: &random) { closeOne(handle) } else { openOne(generation) }
        case 70..<76: whole(generation)
        case 76..<88: size(generation)
        case 88..<92: list(generation)
        case 92..<96: dropPages()
        case 96..<98: evict(generation)
        default: attribute(generation)
        }
    }

    private func note(_ verdict: ModelVerdict, _ index: Int, _ generation: Int, _ what: String) {
        run.note(verdict, of: [index], begun: generation) { "\(what) \(world.files[index].path)" }
    }

    private func openOne(_ generation: Int) {
        if handles.count >= Self.mostHandles, let old = handles.first { closeOne(old) }
        let index = random.below(world.files.count)
        let flags = random.one(in: 6) ? ModelFile.direct : 0
        let descriptor = open("\(mount)/\(world.files[index].path)", O_RDONLY | O_CLOEXEC | flags)
        note(descriptor < 0 ? .failed(errno) : .right, index, generation, "open")
        guard descriptor >= 0 else { return }
        handles.append(Handle(file: index, descriptor: descriptor, generation: generation))
    }

    private func readSome() {
        guard let handle = handles.randomElement(using: &random) else { return openOne(run.now.generation) }
        let file = world.files[handle.file]
        // A tenth of the places lie behind the end.
        let offset = random.below(file.bytes.count + file.bytes.count / 10)
        let count = 1 + random.below(random.one(in: 3) ? Self.longestRead : 8192)
        let verdict = file.check(handle.descriptor, offset: offset, count: count)
        note(verdict, handle.file, handle.generation, "read \(count) at \(offset) of")
    }

    private func closeOne(_ handle: Handle) {
        handles.removeAll { $0.descriptor == handle.descriptor }
        Glibc.close(handle.descriptor)
        run.note(.right, of: [], begun: handle.generation) { "" }
    }

    private func whole(_ generation: Int) {
        let index = random.below(world.files.count)
        let step = 1 << (14 + random.below(5))
        let flags = random.one(in: 4) ? O_NOFOLLOW : 0
        let verdict = world.files[index].checkWhole(in: mount, flags: flags, step: step)
        note(verdict, index, generation, "copy, \(step) at a time,")
    }

    private func size(_ generation: Int) {
        let index = random.below(world.files.count)
        var verdict = world.files[index].checkSize(in: mount)
        // Where no length is known, that which a download under way announces is shown, and may be a lie of its fault.
        if case .wrong = verdict, run.now.spoilt.contains(index) { verdict = .failed(EIO) }
        note(verdict, index, generation, "stat")
    }

    private func list(_ generation: Int) {
        let directory = world.directories[random.below(world.directories.count)]
        let verdict = Self.check(directory.names, in: "\(mount)/\(directory.path)")
        run.note(verdict, of: [], begun: generation) { "list \(directory.path)" }
    }

    static func check(_ names: [String], in path: String) -> ModelVerdict {
        guard let directory = opendir(path) else { return .failed(errno) }
        defer { closedir(directory) }
        var found: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else { break }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            if name != ".", name != ".." { found.append(name) }
        }
        if errno != 0 { return .failed(errno) }
        return found.sorted() == names ? .right : .wrong("\(found.count) names where \(names.count) are true")
    }

    /// The kernel drops what it holds of a file: the next read asks the mount again.
    private func dropPages() {
        guard let handle = handles.randomElement(using: &random) else { return openOne(run.now.generation) }
        _ = posix_fadvise(handle.descriptor, 0, 0, POSIX_FADV_DONTNEED)
        run.note(.right, of: [], begun: handle.generation) { "" }
    }

    /// What `rankfs evict` does (MountCommand).
    private func evict(_ generation: Int) {
        let index = random.below(world.files.count)
        let descriptor = open("\(mount)/\(world.files[index].path)", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return note(.failed(errno), index, generation, "open") }
        defer { Glibc.close(descriptor) }
        let result = ioctl(descriptor, UInt(0x5203))
        note(result < 0 ? .failed(errno) : .right, index, generation, "evict")
    }

    private func attribute(_ generation: Int) {
        let index = random.below(world.files.count)
        let value = state(of: "\(mount)/\(world.files[index].path)")
        note(value == nil ? .failed(errno) : .right, index, generation, "state of")
    }
}
