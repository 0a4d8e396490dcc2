import Foundation
import TestSupport
import Testing

/// What the fuzzer found once, and what it begins with, read by every ordinary run of the tests.
///
/// `make fuzz` (Tests/FuzzTests/run) looks for more, and leaves what ends the program in `Corpus`.
@Suite struct CorpusTests {
    @Test(arguments: FuzzTarget.all) func whatIsKnownHolds(target: FuzzTarget) throws {
        let inputs = try Corpus.inputs(of: target)
        #expect(inputs.count >= 2, "nothing to begin with")
        for (name, bytes) in inputs {
            do { try target.check(bytes) } catch { Issue.record("\(name): \(error)") }
        }
    }

    /// What a machine without libFuzzer can do, and quick enough for each run.
    @Test(arguments: FuzzTarget.all) func whatIsDamagedHolds(target: FuzzTarget) throws {
        var random = Random(seed: 11)
        let inputs = try Corpus.inputs(of: target).map(\.bytes).filter { $0.count <= target.longest }
        for _ in 0..<200 {
            let bytes = Corpus.damaged(inputs.randomElement(using: &random) ?? [], using: &random)
            do { try target.check(bytes) } catch {
                Issue.record("\(Data(bytes.prefix(target.longest)).base64EncodedString()): \(error)")
            }
        }
    }

    @Test func namesAreUnique() {
        #expect(Set(FuzzTarget.all.map(\.name)).count == FuzzTarget.all.count)
    }
}

/// The inputs that are kept.
private enum Corpus {
    private static let tests = TestPrograms.root.appending(path: "Tests")

    static func inputs(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        try (["FuzzTests/Corpus/\(target.name)"] + target.seeds).flatMap { path in
            let folder = tests.appending(path: path)
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            return try files.sorted { $0.path < $1.path }.map {
                ($0.lastPathComponent, Array(try Data(contentsOf: $0)))
            }
        }
    }

    /// A copy with some bytes changed, doubled, moved or gone.
    static func damaged(_ bytes: [UInt8], using random: inout Random) -> [UInt8] {
        var bytes = bytes
        for _ in 0...Int.random(in: 0..<8, using: &random) {
            let start = Int.random(in: 0...bytes.count, using: &random)
            let end = min(bytes.count, start + Int.random(in: 0..<24, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: bytes.removeSubrange(start..<end)
            case 1:
                bytes.insert(contentsOf: Array(bytes[start..<end]), at: Int.random(in: 0...bytes.count, using: &random))
            case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: start)
            default: if start < bytes.count { bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
            }
        }
        return bytes
    }
}
