import Foundation
import Glibc
import TestSupport
import Testing

@testable import System

/// Programs that are run for what they print.
@Suite(.timeLimit(.minutes(1))) struct ChildProcessTests {
    @Test func theBeginningOfWhatIsPrintedComesWithTheStatus() throws {
        let end = try ChildProcess.run("sh", ["sh", "-c", "echo told; exit 3"], reading: STDOUT_FILENO, upTo: 3)
        #expect(end.status == 3 && end.text == Array("tol".utf8))
    }

    /// One that sends its work to the background keeps nobody waiting, nor does one that prints without an end.
    @Test(arguments: ["exec sleep 60", "exec >&-; exec sleep 60", "exec yes"])
    func aProgramThatGoesOnIsEndedAtTheDeadline(_ words: String) {
        let deadline = ContinuousClock.now + .milliseconds(300)
        #expect(throws: SystemError(code: ETIMEDOUT)) {
            try ChildProcess.run("sh", ["sh", "-c", words], reading: STDOUT_FILENO, by: deadline)
        }
        #expect(ContinuousClock.now - deadline < .seconds(20))
    }

    /// What a program has started in the background ends with it, at the deadline or from another thread.
    @Test(arguments: [true, false]) func childrenOfAProgramEndWithIt(_ isStopped: Bool) async throws {
        let folder = TemporaryFolder()
        let path = "\(folder)/started"
        let stop = ProgramStop()
        let words = "sleep 100 & echo $! >\(path).new; mv \(path).new \(path); exec sleep 60"
        // Not a task: a thread of their pool would wait for the program.
        Thread.detachNewThread {
            _ = try? ChildProcess.run(
                "sh", ["sh", "-c", words], reading: STDOUT_FILENO, by: isStopped ? nil : .now + .seconds(5), stop: stop)
        }
        while access(path, F_OK) != 0 { await Task.yield() }
        if isStopped { stop.stop() }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let child = try #require(Int32(text.filter(\.isNumber)))
        // Another process takes note of its end.
        let end = ContinuousClock.now + .seconds(10)
        var isThere = true
        while isThere, ContinuousClock.now < end {
            let status = try? String(contentsOfFile: "/proc/\(child)/status", encoding: .utf8)
            isThere = status.map { !$0.contains("State:\tZ") } ?? false
            await Task.yield()
        }
        #expect(!isThere)
        if isThere { kill(child, SIGKILL) }
    }

    @Test func noSignalIsBlockedInIt() throws {
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let end = try ChildProcess.run("grep", ["grep", "SigBlk", "/proc/self/status"], reading: STDOUT_FILENO)
        #expect(String(decoding: end.text, as: UTF8.self) == "SigBlk:\t0000000000000000\n")
    }

    @Test(arguments: [true, false]) func aProgramIsEndedFromAnotherThread(_ isBefore: Bool) async throws {
        let stop = ProgramStop()
        if isBefore { stop.stop() }
        let folder = TemporaryFolder()
        let path = "\(folder)/started"
        let words = "echo >\(path); exec sleep 60"
        let running = Task.detached { try ChildProcess.run("sh", ["sh", "-c", words], stop: stop).status }
        if !isBefore {
            while access(path, F_OK) != 0 { await Task.yield() }
            stop.stop()
        }
        #expect(try await running.value == nil)
    }
}
