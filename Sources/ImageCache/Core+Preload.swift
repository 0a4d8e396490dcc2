internal import HTTP
internal import Rankings

extension Core {
    /// Carries out what the preload policy decided.
    mutating func follow(_ decision: PreloadPolicy.Decision, _ neighbours: Neighbours, actions: inout [Action]) {
        switch decision {
        case .nothing: break
        case .drop: queued.removeAll { $0.directory == neighbours.directory }
        case .plan(let places): actions.append(.planPreloads(neighbours, places))
        }
    }

    /// Queues pictures to download ahead, in order, in place of what was queued for that directory.
    mutating func enqueue(
        _ pictures: [PictureRequest], directory: UInt64, now: ContinuousClock.Instant, actions: inout [Action]
    ) {
        queued.removeAll { $0.directory == directory }
        queued += pictures.map { (directory, $0) }
        pump(now: now, actions: &actions)
    }

    /// Starts queued preloads while there is room for them.
    mutating func startPreloads(now: ContinuousClock.Instant, actions: inout [Action]) {
        guard !queued.isEmpty, isStoring else { return }
        guard configuration.mayPreload() else {
            queued = []
            return
        }
        if let rest = preloadsRestUntil, rest > now { return }
        var running = downloads.values.count {
            $0.flight.isPreload && !$0.flight.isRead && $0.flight.phase != .complete
        }
        var waiting: [(directory: UInt64, picture: PictureRequest)] = []
        let items = queued
        queued = []
        for (place, item) in items.enumerated() {
            let key = FileKey(item.picture.id)
            if index[key] != nil || failure(of: key, now: now) != nil { continue }
            if downloads[key] != nil { continue }
            guard running < min(preload.width(of: item.directory), configuration.connections), idleForPreloads > 0
            else {
                waiting.append(item)
                continue
            }
            let size = item.picture.size ?? Self.assumedLength
            guard makeRoom(for: size, isPreload: true, actions: &actions) else { continue }
            guard begin(item.picture, isPreload: true, now: now, &actions) == nil else { continue }
            running += 1
            plan(key, idle: idleForPreloads, others: items.count - place - 1, now: now, actions: &actions)
        }
        queued = waiting
    }
}
