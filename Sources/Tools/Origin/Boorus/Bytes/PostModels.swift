import Dispatch
import Synchronization

/// The models of a universe, drawn when they are first needed.
///
/// ## Concurrency
/// Called from any thread. Each model is drawn under a lock of its own, once.
final class PostModels: Sendable {
    private final class Place: Sendable {
        let drawn = Mutex<DrawnModel?>(nil)
    }

    private let seed: UInt64
    private let places: [Place]

    init(seed: UInt64) {
        self.seed = seed
        places = PostModel.all.map { _ in Place() }
    }

    /// A model; nil without memory.
    func drawn(_ number: Int) -> DrawnModel? {
        places[number].drawn.withLock { drawn in
            if drawn == nil { drawn = DrawnModel(PostModel.all[number], seed: seed) }
            return drawn
        }
    }

    /// Draws those that are wanted now on all processors.
    func prepare(_ numbers: Set<Int>) {
        func size(_ number: Int) -> Int { PostModel.all[number].pixels.width * PostModel.all[number].pixels.height }
        // the largest first: nobody waits for one that was left for last
        let wanted = numbers.sorted { (size($0), $0) > (size($1), $1) }
        DispatchQueue.concurrentPerform(iterations: wanted.count) { _ = drawn(wanted[$0]) }
    }
}
