import Rankings
import HTTP
import TestSupport

/// A sink that remembers everything, and waits for the end or for some bytes.
final class Recorder: ResponseSink {
    struct Record: Sendable {
        var head: HTTPAnswer?
        var body: [UInt8] = []
        var result: Result<Void, Failure>?
        var finishes = 0
    }

    private let state = Watched(Record())
    private let accepts: Bool
    private let onFinish: (@Sendable () -> Void)?

    init(accepts: Bool = true, onFinish: (@Sendable () -> Void)? = nil) {
        (self.accepts, self.onFinish) = (accepts, onFinish)
    }

    var record: Record { state.withLock { $0 } }

    func end() async -> Record {
        await state.wait { $0.result != nil }
        return record
    }

    func waitForBody(_ count: Int) async {
        await state.wait { $0.body.count >= count }
    }

    func head(_ head: HTTPAnswer) -> Bool {
        state.withLock { $0.head = head }
        return accepts
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let copy = Array(bytes)
        state.withLock { $0.body += copy }
        return accepts
    }

    func finish(_ result: Result<Void, Failure>) {
        onFinish?()
        state.withLock { record in
            record.result = result
            record.finishes += 1
        }
    }
}

extension Transport {
    /// Starts all at once, then waits for each.
    func records(of requests: [HTTPRequest]) async -> [Recorder.Record] {
        let recorders = requests.map { _ in Recorder() }
        for (request, recorder) in zip(requests, recorders) { _ = start(request, sink: recorder) }
        var records: [Recorder.Record] = []
        for recorder in recorders { records.append(await recorder.end()) }
        return records
    }
}

/// The kind of an outcome, without its sentence.
enum Kind: String, Sendable {
    case success, unreachable, timedOut, broken, invalidAnswer, tooLarge, redirectRefused, untrusted, unsendable,
        limited,
        turnedAway, exhausted, offline, cancelled

    init(_ result: Result<Void, Failure>?) {
        switch result {
        case nil: fatalError("no result")
        case .success: self = .success
        case .failure(let failure):
            guard let kind = Kind(rawValue: failure.kind) else { fatalError("a transfer never fails so: \(failure)") }
            self = kind
        }
    }
}
