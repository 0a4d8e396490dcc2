import Dispatch
import Synchronization

/// Keeps the drawn parts of recent pictures, so that ranges and repeated requests do not draw again.
///
/// ## Concurrency
/// Called from any thread. The table is guarded by its lock; drawing runs outside it, at most `atOnce` at a time,
/// because an original takes tens of megabytes while it is drawn.
final class PictureStore: Sendable {
    private struct Kept {
        let picture: DrawnPicture
        var used: UInt64
    }

    private struct State {
        var kept: [String: Kept] = [:]
        var cost = 0
        var clock: UInt64 = 0
    }

    private let state = Mutex(State())
    private let drawing = DispatchSemaphore(value: PictureStore.atOnce)

    /// Bytes kept; some 400 pictures of 1200 pixels.
    private static let budget = 64 << 20
    /// Drawings at a time: more would not be faster on the small machines that tests run on.
    private static let atOnce = 2

    /// The picture, drawn now if need be; nil only without memory.
    func drawn(_ picture: Picture) -> DrawnPicture? {
        if let kept = find(picture.path) { return kept }
        drawing.wait()
        defer { drawing.signal() }
        if let kept = find(picture.path) { return kept }
        guard let drawn = Painter.draw(picture) else { return nil }
        keep(drawn, at: picture.path)
        return drawn
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
