internal import HTTP
internal import Synchronization

/// Takes the answer to one request of a download.
///
/// ## Concurrency
///
/// Called on the transport's thread, one call at a time; writes to a local file there.
final class SegmentSink: ResponseSink {
    private struct State {
        /// Nil at the end: whoever keeps the sink must not keep the file open.
        var file: PartialFile?
        /// Where the next bytes of the body go; nil if it is to bring no more.
        var plan: BodyPlan?
        /// Which of them are of seams; nil if none are.
        var frame: BodyFrame?
    }

    private let state: Mutex<State>
    private let core: CoreLock
    private let key: FileKey
    private let segment: UInt64

    init(_ core: CoreLock, key: FileKey, segment: UInt64, file: PartialFile) {
        self.core = core
        self.key = key
        self.segment = segment
        state = Mutex(State(file: file))
    }

    func head(_ head: HTTPAnswer) -> Bool {
        let written = core.run { core in core.answered(head, to: segment, of: key) }
        state.withLock { ($0.plan, $0.frame) = (written.plan, written.frame) }
        return written.goesOn
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        core.received.add(Int64(bytes.count), ordering: .relaxed)
        guard let file = state.withLock({ $0.file }) else { return false }
        let (own, seams) = state.withLock { unsafe $0.frame?.take(bytes) } ?? (0..<bytes.count, [])
        if !seams.isEmpty { compare(core.run { core in core.met(seams, of: key) }, in: file) }
        guard !own.isEmpty else { return core.withLock { $0.isWanted(segment, of: key) } }
        return unsafe take(UnsafeRawBufferPointer(rebasing: bytes[own]), to: file)
    }

    /// Holds bytes of seams against those that are there.
    private func compare(_ seams: [Seam], in file: PartialFile) {
        for seam in seams {
            guard let agrees = holds(seam.bytes, at: seam.place, in: file) else { return }
            core.run { core in core.contradict(key) { $0.compared(seam, agrees: agrees) } }
        }
    }

    /// Whether these bytes are there; nil if there is no descriptor left to look, with which the download has ended.
    private func holds(_ bytes: [UInt8], at place: Int64, in file: PartialFile) -> Bool? {
        do throws(FileError) { return try file.read(at: place, count: bytes.count) == bytes } catch {
            guard error.lackOfDescriptors != nil else { return false }
            core.run { core in core.cannotWrite(error, from: segment, of: key) }
            return nil
        }
    }

    /// Takes the request's own bytes: writes them where nothing is, compares them where something is, then tells.
    private func take(_ bytes: UnsafeRawBufferPointer, to file: PartialFile) -> Bool {
        var taken = 0
        while taken < bytes.count {
            let left = bytes.count - taken
            guard let plan = state.withLock({ $0.plan }), Int64(left) <= plan.room - plan.range.lowerBound else {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[taken...])
                return core.run { core in unsafe core.exceeded(by: rest, from: segment, of: key) }
            }
            let (all, writes, repeats) = plan.parts(Int64(left))
            let came = unsafe UnsafeRawBufferPointer(rebasing: bytes[taken..<taken + all.count])
            for range in repeats {
                let first = Int(range.lowerBound - all.lowerBound)
                guard
                    let agrees = unsafe holds(Array(came[first..<first + range.count]), at: range.lowerBound, in: file)
                else { return false }
                guard agrees else {
                    core.run { core in core.contradict(key) { $0.contradicted() } }
                    return false
                }
            }
            guard unsafe write(writes, of: came, at: all, to: file, room: plan.room) else { return false }
            taken += all.count
        }
        return true
    }

    /// Writes parts of what came to the file, then tells.
    private func write(
        _ parts: [Range<Int64>], of bytes: UnsafeRawBufferPointer, at place: Range<Int64>, to file: PartialFile,
        room: Int64
    ) -> Bool {
        var refusal: FileError?
        do throws(FileError) {
            for range in parts {
                let first = Int(range.lowerBound - place.lowerBound)
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[first..<(first + range.count)])
                let found = unsafe try file.write(part, at: range.lowerBound, total: room) { core.giveWay(to: key) }
                refusal = refusal ?? found
            }
        } catch {
            core.run { core in core.cannotWrite(error, from: segment, of: key) }
            return false
        }
        let written = core.run { core in
            if let refusal { core.refused(refusal.text) }
            return unsafe core.wrote(bytes, place, from: segment, of: key)
        }
        state.withLock { $0.plan = written.plan }
        if let state = written.state {
            file.note(total: state.total, validator: state.validator, present: state.present)
        }
        guard !written.seams.isEmpty else { return written.goesOn }
        compare(written.seams, in: file)
        return written.goesOn && core.withLock { $0.isWanted(segment, of: key) }
    }

    func finish(_ result: Result<Void, HTTPError>) {
        state.withLock { $0.file = nil }
        core.run { core in core.finished(segment, of: key, result) }
    }
}
