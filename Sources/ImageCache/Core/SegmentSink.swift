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
        /// Where the next bytes of the body go, if that is one place.
        var window: Core.Window?
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
        state.withLock { ($0.window, $0.frame) = (written.window, written.frame) }
        return written.goesOn
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
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

    /// Whether what came of bytes that are there is the same; nil if the download has ended.
    private func repeats(_ accepted: Acceptance, _ bytes: UnsafeRawBufferPointer, in file: PartialFile) -> Bool? {
        for range in accepted.repeats {
            let first = Int(range.lowerBound - accepted.offset)
            let came = unsafe Array(bytes[first..<first + range.count])
            guard let agrees = holds(came, at: range.lowerBound, in: file) else { return nil }
            if !agrees { return false }
        }
        return true
    }

    /// Whether these bytes are there; nil if there is no descriptor left to look, with which the download has ended.
    private func holds(_ bytes: [UInt8], at place: Int64, in file: PartialFile) -> Bool? {
        do throws(FileError) { return try file.read(at: place, count: bytes.count) == bytes } catch {
            guard error.lackOfDescriptors != nil else { return false }
            core.run { core in core.cannotWrite(error, from: segment, of: key) }
            return nil
        }
    }

    /// Takes the request's own bytes.
    private func take(_ bytes: UnsafeRawBufferPointer, to file: PartialFile) -> Bool {
        let window = state.withLock { $0.window }
        // Nearly always: then nobody need be asked before the bytes are written, only told after.
        if let window, bytes.count <= window.range.count {
            let start = window.range.lowerBound
            return unsafe write([start..<start + Int64(bytes.count)], of: bytes, at: start, to: file, room: window.room)
            {
                core in unsafe core.arrived(bytes, from: segment, of: key)
            }
        }
        guard let (accepted, room) = core.withLock({ $0.accept(bytes.count, from: segment, of: key) }) else {
            return false
        }
        guard let agrees = unsafe repeats(accepted, bytes, in: file) else { return false }
        guard agrees else {
            core.run { core in core.contradict(key) { $0.contradicted() } }
            return false
        }
        return unsafe write(accepted.writes, of: bytes, at: accepted.offset, to: file, room: room) { core in
            unsafe core.wrote(bytes, accepted, from: segment, of: key)
        }
    }

    /// Writes parts of what came to the file, then tells.
    private func write(
        _ parts: [Range<Int64>], of bytes: UnsafeRawBufferPointer, at offset: Int64, to file: PartialFile, room: Int64,
        _ tell: (inout Core) -> Core.Written
    ) -> Bool {
        var refusal: FileError?
        do throws(FileError) {
            for range in parts {
                let first = Int(range.lowerBound - offset)
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
            return tell(&core)
        }
        state.withLock { $0.window = written.window }
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
