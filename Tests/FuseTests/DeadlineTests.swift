import Dispatch
import TestSupport
import Testing

@testable import Fuse

@Suite(.timeLimit(.minutes(1)))
struct DeadlineTests {
    let recorder = Recorder()
    let timer = ManualTimer()

    @Test func workThatNeverEndsIsAnsweredAtTheDeadline() {
        let waiting = WaitingRequests(deadline: .seconds(30), timer: timer.timer)
        let gate = Gate()
        DataReply(waiting: waiting, answer: recorder.record).later { () async throws(Errno) in await gate.pass() }
        #expect(waiting.count == 1)
        timer.advance(by: .seconds(29))
        #expect(recorder.answers.isEmpty)
        timer.advance(by: .seconds(1))
        #expect(recorder.answers == [.failure(.ETIMEDOUT)])
        #expect(waiting.count == 0)
        gate.open()
    }

    @Test func oneTimerServesAllRequests() async {
        let waiting = WaitingRequests(deadline: .seconds(30), timer: timer.timer)
        let gate = Gate()
        let second = Recorder()
        DataReply(waiting: waiting, answer: recorder.record).later { () async throws(Errno) in await gate.pass() }
        timer.advance(by: .seconds(10))
        DataReply(waiting: waiting, answer: second.record).later { () async throws(Errno) in await gate.pass() }
        #expect(timer.count == 1)
        timer.advance(by: .seconds(20))
        #expect(recorder.answers == [.failure(.ETIMEDOUT)])
        #expect(second.answers.isEmpty)
        timer.advance(by: .seconds(10))
        #expect(second.answers == [.failure(.ETIMEDOUT)])
        #expect(timer.count == 0)
        gate.open()
    }

    @Test func anAnsweredRequestNoLongerWaits() async {
        let waiting = WaitingRequests(deadline: .seconds(30), timer: timer.timer)
        let reply = DataReply(waiting: waiting, answer: recorder.record)
        reply.later { () async throws(Errno) in reply.bytes([]) }
        _ = await recorder.first()
        #expect(waiting.count == 0)
        timer.advance(by: .seconds(60))
        #expect(recorder.answers.count == 1)
    }

    /// To drop a name the kernel waits for the lookups in its directory, and lets no other begin until then.
    @Test func aNameIsDroppedOnceNoLookupInItsDirectoryWaits() async {
        let waiting = WaitingRequests(deadline: .seconds(30), timer: timer.timer)
        let lookup = PendingRequest(
            destination: RecordingDestination(record: recorder.record), waiting: waiting, directory: 7)
        lookup.park()
        #expect(waiting.holds(7) && !waiting.holds(8))
        waiting.waitUntilFree(8)
        let free = Gate()
        DispatchQueue.global().async {
            waiting.waitUntilFree(7)
            #expect(!waiting.holds(7))
            free.open()
        }
        lookup.settle(.ENOENT)
        await free.pass()
    }

    @Test func stoppingAnswersWhatWaitsAndWhatComesAfter() {
        let waiting = WaitingRequests(deadline: .seconds(30), timer: timer.timer)
        let gate = Gate()
        let late = Recorder()
        DataReply(waiting: waiting, answer: recorder.record).later { () async throws(Errno) in await gate.pass() }
        waiting.stop()
        #expect(recorder.answers == [.failure(.EINTR)])
        DataReply(waiting: waiting, answer: late.record).later { () async throws(Errno) in await gate.pass() }
        #expect(late.answers == [.failure(.EINTR)])
        gate.open()
    }

    @Test func aFailedReadIsRememberedForAMoment() {
        let waiting = WaitingRequests(deadline: .seconds(30), timer: timer.timer)
        let read = ReadRequest(inode: 1, handle: 0, offset: 0, size: 4096, caller: Caller(user: 0, process: 0))
        waiting.remember(.EINTR, of: read)
        #expect(waiting.rememberedError(for: read) == nil)
        waiting.remember(.ETIMEDOUT, of: read)
        #expect(waiting.rememberedError(for: read) == .ETIMEDOUT && waiting.rememberedError(for: read) == .ETIMEDOUT)
        timer.advance(by: FailedReads.memory)
        #expect(waiting.rememberedError(for: read) == nil)
        waiting.remember(.EIO, of: read)
        #expect(waiting.rememberedError(for: read) == .EIO)
    }
}
