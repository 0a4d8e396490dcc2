import Dispatch
import Synchronization

/// Keeps the drawn parts of recent pictures, so that ranges and repeated requests do not draw again.
///
/// ## Concurrency
/// Called from any thread. The table is guarded by its lock; drawing runs outside it, at most `atOnce` at a time,
/// because an original takes tens of megabytes while it is drawn.
final class DrawnPictures: Sendable {
    private struct Kept {
        let picture: DrawnPicture
        var used: UInt64
    }

    private struct State {
        var kept: [String: Kept] = [:]
        /// Paths that somebody draws now, with whom to wait for.
        var drawn: [String: DispatchGroup] = [:]
        var cost = 0
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())
    private let drawing = DispatchSemaphore(value: DrawnPictures.atOnce)

    /// Bytes kept; some 400 pictures of 1200 pixels.
    private static let budget = 64 << 20
    /// Drawings at a time: more would not be faster on the small machines that tests run on.
    private static let atOnce = 2

    /// The picture, drawn now if need be; nil only without memory.
    ///
    /// Ranges of one picture that are asked for together are drawn once.
    func drawn(_ picture: Picture) -> DrawnPicture? {
        let own = DispatchGroup()
        own.enter()
        defer { own.leave() }
        while true {
            if let kept = find(picture.path) { return kept }
            guard let other = begin(picture.path, own) else { break }
            other.wait()
        }
        drawing.wait()
        defer {
            drawing.signal()
            state.withLock { _ = $0.drawn.removeValue(forKey: picture.path) }
        }
        guard let drawn = Painter.draw(picture) else { return nil }
        keep(drawn, at: picture.path)
        return drawn
    }

    /// Who draws a path already, if anybody does; else it is the caller who does from now on.
    private func begin(_ path: String, _ group: DispatchGroup) -> DispatchGroup? {
        state.withLock { state in
            if let other = state.drawn[path] { return other }
            state.drawn[path] = group
            return nil
        }
    }

    private func find(_ path: String) -> DrawnPicture? {
        state.withLock { state in
            state.clock += 1
            state.kept[path]?.used = state.clock
            return state.kept[path]?.picture
        }
    }

    private func keep(_ picture: DrawnPicture, at path: String) {
        state.withLock { state in
            state.clock += 1
            if let old = state.kept.updateValue(Kept(picture: picture, used: state.clock), forKey: path) {
                state.cost -= old.picture.cost
            }
            state.cost += picture.cost
            // A few hundred entries: looking through all of them costs less than drawing one.
            while state.cost > Self.budget, state.kept.count > 1,
                let oldest = state.kept.min(by: { $0.value.used < $1.value.used })
            {
                state.cost -= oldest.value.picture.cost
                state.kept[oldest.key] = nil
            }
        }
    }
}
