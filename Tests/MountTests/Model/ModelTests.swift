import Foundation
import Glibc
import TestSupport
import Testing

extension MountSuite {
    /// Semantics: "A read returns the right bytes or an error", and "Crash-safe", whatever is done in whatever order.
    ///
    /// Connections end after a hundred requests, and all with each round. `make model` does 100,000 operations; MODEL_SEED and MODEL_OPERATIONS say which and how many.
    @Suite struct ModelTests {
        /// Readers at once.
        private static let readers = 8
        /// Operations between two changes of what is wrong.
        private static let perRound = 400
        /// Tries last so long after healing, in seconds.
        private static let healing = 30.0
        /// What says nothing costs little time, and what a busy machine needs for an answer is no fault.
        private static let options = ["prefetch=1", "timeout=12", "connections=32", "cache_size=32M", "cache_free=0"]

        @Test(arguments: ModelAmount.wires, Sweep.services)
        func everyOperationIsRightOrExcused(wire: Wire, service: Service) async throws {
            try await withWorkplace { workplace in
                let run = ModelRun()
                let begun = Date()
                let origin = try OriginProcess(workplace, ["--no-chunked"], wire: wire, service: service)
                var mount = try Mount(workplace, of: origin, options: Self.options)
                let world = try ModelWorld(origin, mount, workplace, pictures: 60, works: 5)
                var random = Random(seed: ModelAmount.seed)
                let readers = (0..<Self.readers).map {
                    ModelReader(run, world, mount: mount.path, seed: ModelAmount.seed &* 1000 &+ UInt64($0))
                }
                let rounds = max(1, ModelAmount.operations / Self.perRound)
                for round in 0..<rounds where run.now.differences.isEmpty {
                    let kinds = spoil(world, run, wire, using: &random)
                    try origin.spoil(kinds.map { $1.rule(world.files[$0].source, method: "GET") }, in: workplace)
                    let threads = Self.start(readers)
                    origin.reload()
                    mount = try disturb(mount, workplace, origin, run, using: &random)
                    #expect(poll(upTo: 240) { threads.areDone }, "round \(round) hangs")
                    try origin.spoil([], in: workplace)
                    let names = kinds.map { "\($1) on \(world.files[$0].path)" }
                    for trouble in healed(world, run, readers, mount) {
                        run.change { $0.differences.append("\(trouble), healed from \(names.joined(separator: ", "))") }
                    }
                    run.change {
                        $0.differences = $0.differences.map { $0.hasPrefix("round") ? $0 : "round \(round): \($0)" }
                    }
                }
                report(run.now, wire, seconds: -begun.timeIntervalSinceNow)
                for reader in readers { reader.closeAll() }
                #expect(mount.unmount())
            }
        }

        // MARK: - What goes wrong

        /// What a download can do wrong and be well again at once after; neither 404 nor 410, which are remembered.
        ///
        /// Nor `notrailer`: a part that ends in zeros, of a download that is gone on with after a kill, is inside the picture,
        /// where nothing tells wrong bytes. Nor `modified`: a version that only the fault named, once it is evicted, is another
        /// one than what comes next, and who has it open is refused that.
        private static let kinds = (FaultKind.broken + FaultKind.odd).filter {
            $0.reading != .failsForLong && !["503/1", "503", "endless", "notrailer", "modified"].contains($0.name)
        }

        /// Chooses files whose downloads go wrong.
        private func spoil(
            _ world: ModelWorld, _ run: ModelRun, _ wire: Wire, using random: inout Random
        ) -> [(Int, FaultKind)] {
            let kinds = Self.kinds.filter { $0.shows(on: wire) }
            var chosen: [Int: FaultKind] = [:]
            for _ in 0..<4 + random.below(16) {
                chosen[random.below(world.files.count)] = kinds.randomElement(using: &random)
            }
            // Each read of such a file takes as long as a request may.
            if random.one(in: 3) {
                chosen[random.below(world.files.count)] = FaultKind.silent.randomElement(using: &random)
            }
            // A PNG in place of a PNG whose length nobody knows cannot be told from what it stands for.
            chosen = chosen.filter { $1.name != "placeholder" || !world.files[$0].path.hasSuffix(".png") }
            run.change {
                $0.spoilt = Set(chosen.keys)
                $0.mislabelled = Set(chosen.filter { $0.value.name.hasPrefix("cl") }.keys)
                $0.faults += chosen.count
            }
            return chosen.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }

        /// What happens to the mount itself while it is read.
        private func disturb(
            _ mount: Mount, _ workplace: Workplace, _ origin: OriginProcess, _ run: ModelRun,
            using random: inout Random
        ) throws -> Mount {
            let begun = run.now.operations
            let share = Self.perRound / 4 + random.below(Self.perRound / 2)
            guard poll(upTo: 180, { run.now.operations - begun >= share }) else { throw Failure("readers hang") }
            let choice = random.below(10)
            if choice < 5 { return mount }
            run.change { $0.generation += 1 }
            if choice < 8 {
                mount.killHard()
                run.change { $0.kills += 1 }
            } else {
                #expect(mount.unmount())
                run.change { $0.restarts += 1 }
            }
            // All that was stored is lost, sizes too.
            if choice == 9 { try FileManager.default.removeItem(atPath: mount.cache) }
            let next = try Mount(workplace, of: origin, options: Self.options)
            run.change { $0.generation += 1 }
            return next
        }

        private static func start(_ readers: [ModelReader]) -> ModelThreads {
            ModelThreads(readers.map { reader in { reader.work(perRound / readers.count) } })
        }

        // MARK: - What must be right again

        /// Reads everything until it is right, in bounded time; tells what is not.
        private func healed(
            _ world: ModelWorld, _ run: ModelRun, _ readers: [ModelReader], _ mount: Mount
        ) -> [String] {
            var left = run.now.spoilt.sorted()
            let path = mount.path
            var verdicts: [ModelVerdict?] = []
            _ = poll(upTo: Self.healing) {
                verdicts = together(
                    upTo: Self.healing, left.map { index in { world.files[index].checkWhole(in: path) } })
                let late = zip(left, verdicts).filter { $1 != .right }
                left = late.map(\.0)
                verdicts = late.map(\.1)
                return left.isEmpty
            }
            var troubles = zip(left, verdicts).map { "\(world.files[$0].path) stays \($1.map { "\($0)" } ?? "silent")" }
            troubles += readers.flatMap { $0.checkOpen() }
            run.change { $0.spoilt = [] }
            return troubles
        }

        private func report(_ state: ModelRun.State, _ wire: Wire, seconds: Double) {
            let errors = state.errors.sorted { $0.key < $1.key }.map { "\(Outcome.failed($0.key)) \($0.value)" }
            print(
                "model: \(wire), seed \(ModelAmount.seed), \(state.operations) operations in \(Int(seconds)) s "
                    + "(\(Int(Double(state.operations) / seconds))/s), \(state.faults) faults, \(state.restarts) restarts, "
                    + "\(state.kills) kills; errors: \(errors.isEmpty ? "none" : errors.joined(separator: ", ")); "
                    + "differences: \(state.differences.count)")
            for difference in state.differences.prefix(20) { Issue.record("\(difference)") }
        }
    }
}

/// The amount of operations and the wires; without variables of the environment those of every run of the tests.
enum ModelAmount {
    /// On each wire.
    static let operations = number("MODEL_OPERATIONS") ?? 1200
    static let wires =
        ProcessInfo.processInfo.environment["MODEL_WIRE"].flatMap(Wire.init).map { [$0] } ?? Wire.allCases
    static let seed = UInt64(number("MODEL_SEED") ?? 1)
    /// Whether it takes longer than a test may.
    static let isLong = operations > 10_000

    static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }
}

/// Threads that work to their end, however long that takes.
private final class ModelThreads: @unchecked Sendable {
    // @unchecked: each work runs on one thread, and what it works on is left alone until `areDone`.
    private let group = DispatchGroup()

    init(_ works: [() -> Void]) {
        for work in works {
            nonisolated(unsafe) let work = work
            group.enter()
            Thread.detachNewThread { [group] in
                work()
                group.leave()
            }
        }
    }

    var areDone: Bool { group.wait(timeout: .now()) == .success }
}
