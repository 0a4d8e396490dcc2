import Foundation
import Testing

/// One goes on behind its limit whatever happens to its task, with a program that it started; the others do not wait for it.
@Suite(.serialized, .timeLimit(.minutes(1))) struct HangingTests {
    @Test func aFirst() {}

    @Test(arguments: ["this", "that"]) func hangs(case: String) async throws {
        guard `case` == "that" else { return }
        // Its standard output is what this process tells: nothing may wait for its end.
        let program = Process()
        program.executableURL = URL(filePath: "/bin/sh")
        program.arguments = ["-c", "trap '' TERM; while :; do sleep 1; done", "a-test-left-this"]
        try program.run()
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }

    @Test func thenAnother() {}
}
