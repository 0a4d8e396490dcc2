import Foundation
import Testing

/// With every thread of the pool blocked, the library's own limit does not end a test, nor say that it was reached.
@Suite(.serialized, .timeLimit(.minutes(1))) struct BlockingTests {
    @Test func aFirst() {}

    @Test func blocks() async {
        await withTaskGroup { group in
            for _ in 0..<4 * ProcessInfo.processInfo.activeProcessorCount { group.addTask { Self.block() } }
        }
    }

    @Test func thenAnother() {}

    private static func block() { while true { _ = pause() } }
}
