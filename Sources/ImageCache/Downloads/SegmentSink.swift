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
    private let cache: ImageCache
    private let key: FileKey
    private let segment: UInt64

    init(_ cache: ImageCache, key: FileKey, segment: UInt64, file: PartialFile) {
        self.cache = cache
        self.key = key
        self.segment = segment
        state = Mutex(State(file: file))
    }

    func head(_ head: HTTPAnswer) -> Bool {
        let now = cache.configuration.monotonicNow()
        let written = cache.run { core in core.answered(head, to: segment, of: key, now: now) }
        state.withLock { ($0.window, $0.frame) = (written.window, written.frame) }
        return written.goesOn
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let file = state.withLock({ $0.file }) else { return false }
        let (own, seams) = state.withLock { unsafe $0.frame?.take(bytes) } ?? (0..<bytes.count, [])
        if !seams.isEmpty {
            let now = cache.configuration.monotonicNow()
            compare(cache.run { core in core.met(seams, of: key, now: now) }, in: file)
        }
        guard !own.isEmpty else { return cache.core.withLock { $0.isWanted(segment, of: key) } }
        return unsafe take(UnsafeRawBufferPointer(rebasing: bytes[own]), to: file)
    }

    /// Holds bytes of seams against those that are there.
    private func compare(_ seams: [Seam], in file: PartialFile) {
        for seam in seams {
            guard let agrees = holds(seam.bytes, at: seam.place, in: file) else { return }
            let now = cache.configuration.monotonicNow()
            cache.run { core in core.compared(seam, agrees: agrees, of: key, now: now) }
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
            let now = cache.configuration.monotonicNow()
            cache.run { core in core.cannotWrite(error, from: segment, of: key, now: now) }
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
                core, now in unsafe core.arrived(bytes, from: segment, of: key, now: now)
            }
        }
        guard let (accepted, room) = cache.core.withLock({ $0.accept(bytes.count, from: segment, of: key) }) else {
            return false
        }
        guard let agrees = unsafe repeats(accepted, bytes, in: file) else { return false }
        guard agrees else {
            let now = cache.configuration.monotonicNow()
            cache.run { core in core.change(key, now: now) { $0.contradicted() } }
            return false
        }
        return unsafe write(accepted.writes, of: bytes, at: accepted.offset, to: file, room: room) { core, now in
            unsafe core.wrote(bytes, accepted, from: segment, of: key, now: now)
        }
    }

    /// Writes parts of what came to the file, then tells.
    private func write(
        _ parts: [Range<Int64>], of bytes: UnsafeRawBufferPointer, at offset: Int64, to file: PartialFile, room: Int64,
        _ tell: (inout Core, ContinuousClock.Instant) -> Core.Written
    ) -> Bool {
        var refusal: FileError?
        do throws(FileError) {
            for range in parts {
                let first = Int(range.lowerBound - offset)
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[first..<(first + range.count)])
                let found = unsafe try file.write(part, at: range.lowerBound, total: room) { cache.giveWay(to: key) }
                refusal = refusal ?? found
            }
        } catch {
            let now = cache.configuration.monotonicNow()
            cache.run { core in core.cannotWrite(error, from: segment, of: key, now: now) }
            return false
        }
        let now = cache.configuration.monotonicNow()
        let written = cache.run { core in
            if let refusal { core.refused(refusal.text) }
            return tell(&core, now)
        }
        state.withLock { $0.window = written.window }
        if let state = written.state {
            file.note(total: state.total, validator: state.validator, present: state.present)
        }
        guard !written.seams.isEmpty else { return written.goesOn }
        compare(written.seams, in: file)
        return written.goesOn && cache.core.withLock { $0.isWanted(segment, of: key) }
    }

    func finish(_ result: Result<Void, HTTPError>) {
        state.withLock { $0.file = nil }
        let now = cache.configuration.monotonicNow()
        cache.run { core in core.finished(segment, of: key, result, now: now) }
    }
}

/// A request from the moment in which it is decided: what is wanted of it before the transport has it is done then.
///
/// ## Concurrency
///
/// Any thread may call. The transport's transfer is called outside the lock.
final class StartedTransfer: Sendable {
    private struct State {
        var transfer: Transfer?
        var priority: TransferPriority
        var isCancelled = false
    }

    private let state: Mutex<State>

    init(_ priority: TransferPriority) {
        state = Mutex(State(priority: priority))
    }

    /// The transport has taken the request, with this priority.
    func follow(_ transfer: Transfer, sentWith priority: TransferPriority) {
        var told = priority
        while true {
            let (wanted, isCancelled) = state.withLock { state in
                state.transfer = transfer
                return (state.priority, state.isCancelled)
            }
            if isCancelled { return transfer.cancel() }
            // It may change again while it is told.
            guard wanted != told else { return }
            told = wanted
            transfer.setPriority(wanted)
        }
    }

    func setPriority(_ priority: TransferPriority) {
        let transfer = state.withLock { state in
            state.priority = priority
            return state.transfer
        }
        transfer?.setPriority(priority)
    }

    func cancel() {
        let transfer = state.withLock { state in
            state.isCancelled = true
            return state.transfer
        }
        transfer?.cancel()
    }
}
