import TestSupport
import Synchronization
import Testing

@testable import Fuse

@Suite(.timeLimit(.minutes(1)))
struct ReplyTests {
    let recorder = Recorder()

    @Test func anAnswerArrivesAsItWasGiven() {
        DataReply(answer: recorder.record).bytes([1, 2, 3])
        #expect(recorder.answers == [.bytes([1, 2, 3])])
    }

    @Test func answeringTwiceTraps() async {
        await #expect(processExitsWith: .failure) {
            let reply = DataReply { _ in }
            reply.bytes([])
            reply.fail(.EIO)
        }
    }

    @Test func workAnswersLater() async {
        let reply = DataReply(answer: recorder.record)
        let gate = Gate()
        reply.later { () async throws(Errno) in
            await gate.pass()
            reply.bytes([7])
        }
        #expect(recorder.answers.isEmpty)
        gate.open()
        #expect(await recorder.first() == .bytes([7]))
    }

    @Test func whatTheWorkThrowsIsTheAnswer() async {
        DataReply(answer: recorder.record).later { () async throws(Errno) in throw .ENOENT }
        #expect(await recorder.first() == .failure(.ENOENT))
    }

    @Test func workThatEndsWithoutAnAnswerIsEIO() async {
        DataReply(answer: recorder.record).later { () async throws(Errno) in }
        #expect(await recorder.first() == .failure(.EIO))
    }

    @Test func workThatThrowsAfterItsAnswerIsNotHeard() async {
        let ended = Gate()
        do {
            let reply = DataReply(answer: recorder.record)
            reply.later { () async throws(Errno) in
                defer { ended.open() }
                reply.bytes([1])
                throw .EIO
            }
        }
        await ended.pass()
        #expect(recorder.answers == [.bytes([1])])
    }

    @Test func anInterruptAnswersEINTRAndCancels() async {
        let cancelled = Gate()
        let reply = DataReply(answer: recorder.record)
        reply.later { () async throws(Errno) in
            // A stream that never ends, except by cancellation.
            for await _ in AsyncStream<Void>.makeStream().stream {}
            #expect(Task.isCancelled)
            cancelled.open()
            throw .ENOENT
        }
        reply.request.interrupt()
        #expect(await recorder.first() == .failure(.EINTR))
        await cancelled.pass()
        #expect(recorder.answers.count == 1)
    }

    @Test func anEntryThatComesTooLateIsForgotten() {
        let forgotten = Mutex<[UInt64]>([])
        let request = PendingRequest(destination: RecordingDestination(record: recorder.record), waiting: nil)
        let reply = EntryReply(request) { inode in forgotten.withLock { $0.append(inode) } }
        request.overtake(.ETIMEDOUT)
        reply.entry(.example(inode: 42), entryTimeout: .zero, attributesTimeout: .zero)
        #expect(recorder.answers == [.failure(.ETIMEDOUT)])
        #expect(forgotten.withLock { $0 } == [42])
    }

    @Test func aHandleThatComesTooLateIsReleased() {
        let released = Mutex<[UInt64]>([])
        let request = PendingRequest(destination: RecordingDestination(record: recorder.record), waiting: nil)
        let reply = OpenReply(request) { handle in released.withLock { $0.append(handle) } }
        request.overtake(.EINTR)
        reply.opened(handle: 9, keepCache: false, directIO: false, cacheDirectory: false)
        #expect(released.withLock { $0 } == [9])
    }
}
