internal import HTTP
internal import Synchronization

/// Takes the answer to one request of a download.
///
/// ## Concurrency
///
/// Called on the transport's thread, one call at a time; writes to a local file there.
final class SegmentSink: ResponseSink {
    private let cache: ImageCache
    private let key: FileKey
    private let segment: UInt64

    init(_ cache: ImageCache, key: FileKey, segment: UInt64) {
        self.cache = cache
        self.key = key
        self.segment = segment
    }

    func head(_ head: HTTPHead) -> Bool {
        let now = cache.configuration.monotonicNow()
        return cache.run { core in
            core.answered(head, to: segment, of: key, now: now)
        }
    }

    func body(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let accepted = cache.core.withLock { $0.accept(bytes.count, from: segment, of: key) }
        guard let accepted else { return false }
        var refusal: FileError?
        do throws(FileError) {
            for range in accepted.acceptance.writes {
                let first = Int(range.lowerBound - accepted.acceptance.offset)
                let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[first..<(first + range.count)])
                let found = unsafe try accepted.file.write(part, at: range.lowerBound, total: accepted.room) {
                    cache.giveWay(to: key)
                }
                refusal = refusal ?? found
            }
        } catch {
            let now = cache.configuration.monotonicNow()
            cache.run { core in
                core.cannotWrite(error, from: segment, of: key, now: now)
            }
            return false
        }
        let now = cache.configuration.monotonicNow()
        let written = cache.run { core in
            if let refusal { core.refused(refusal.text) }
            return unsafe core.wrote(bytes, accepted.acceptance, from: segment, of: key, now: now)
        }
        if let state = written.state {
            accepted.file.note(total: state.total, validator: state.validator, present: state.present)
        }
        return written.goesOn
    }

    func finish(_ result: Result<Void, HTTPError>) {
        let now = cache.configuration.monotonicNow()
        cache.run { core in
            core.finished(segment, of: key, result, now: now)
        }
    }
}
