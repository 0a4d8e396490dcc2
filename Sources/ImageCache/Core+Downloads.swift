internal import HTTP
internal import Rankings

extension Core {
    /// Begins a download; requests follow from `pump`.
    ///
    /// - Returns: Why none can be begun.
    mutating func begin(
        _ picture: PictureRequest, isPreload: Bool, now: ContinuousClock.Instant, _ actions: inout [Action]
    ) -> ImageCacheError? {
        let key = FileKey(picture.id)
        // The service names its stand-ins for withheld pictures so.
        let name = picture.location.url.split(separator: "/").last ?? ""
        guard !name.hasPrefix("limit_") else { return .refused("the service gives a placeholder for this picture") }
        guard let format = PictureFormat(fileExtension: picture.location.fileExtension) else {
            return .damaged("pictures of this kind are not known")
        }
        if let size = picture.size, !(1...PictureLimits.largest).contains(size) {
            return .lengthContradicts(told: nil, shown: size)
        }
        var flight = Flight(format: format, total: picture.size, connections: configuration.connections, now: now)
        flight.token = makeID()
        flight.isPreload = isPreload
        flight.isShared = openCounts[key] ?? 0 > 1
        let size = picture.size ?? Self.assumedLength
        let file = FlightFile(key, key: picture.id.key, store: store, spare: spare)
        if parked.removeValue(forKey: key) != nil {
            flight.phase = .opening
            actions.append(.reopen(key, file))
        }
        downloads[key] = Download(
            number: flight.token, flight: flight, picture: picture, file: file, priority: isPreload ? .preload : .reader
        )
        reserve(size, for: key, actions: &actions)
        return nil
    }

    /// The earlier download's file has been looked at.
    mutating func reopened(
        _ key: FileKey, _ file: FlightFile, _ found: (PartialState, PictureEdges)?, now: ContinuousClock.Instant,
        actions: inout [Action]
    ) {
        // The next download of the picture looks for itself: what this one found is not open there.
        guard let download = downloads[key], download.file === file, download.flight.phase == .opening else { return }
        downloads[key]?.flight.phase = .running
        if let (state, edges) = found {
            let change = downloads[key]?.flight.resume(state, edges: edges)
            apply(change, to: key, now: now, actions: &actions)
        }
        pump(now: now, actions: &actions)
    }

    // MARK: - Requests

    /// Starts what should be under way: first for those who wait, then preloads.
    mutating func pump(now: ContinuousClock.Instant, actions: inout [Action]) {
        guard !isClosed else { return }
        plan(where: { $0.isRead }, idle: idleConnections, others: 0, now: now, actions: &actions)
        plan(where: { !$0.isRead }, idle: idleForPreloads, others: queued.count, now: now, actions: &actions)
        startPreloads(now: now, actions: &actions)
    }

    /// Connections that no request uses or waits for.
    private var idleConnections: Int {
        configuration.connections - downloads.values.reduce(0) { $0 + $1.flight.segments.count }
    }

    /// Those of them that preloads may take: some are the readers', but of a single one preloads get what readers leave.
    var idleForPreloads: Int {
        let kept = min(Self.connectionsForReaders, configuration.connections - 1)
        let taken = downloads.values.reduce(0) { $0 + ($1.flight.isRead ? 0 : $1.flight.segments.count) }
        return min(idleConnections, configuration.connections - kept - taken)
    }

    private mutating func plan(
        where matches: (Flight) -> Bool, idle: Int, others: Int, now: ContinuousClock.Instant,
        actions: inout [Action]
    ) {
        var idle = idle
        let keys = downloads.filter { matches($0.value.flight) }
        // Those who wait go first, then the older ones.
        let order = keys.sorted {
            ($0.value.flight.waiters.isEmpty ? 1 : 0, $0.value.number)
                < ($1.value.flight.waiters.isEmpty ? 1 : 0, $1.value.number)
        }
        for (key, _) in order { idle -= plan(key, idle: idle, others: others, now: now, actions: &actions) }
    }

    /// Makes the requests that a download needs now, while `others` wait for their first one; returns how many.
    @discardableResult
    mutating func plan(
        _ key: FileKey, idle: Int, others: Int, now: ContinuousClock.Instant, actions: inout [Action]
    ) -> Int {
        let starts = downloads[key]?.flight.plan(idle: idle, others: others, nextID: &nextID) ?? []
        for start in starts { actions.append(request(start, for: key, now: now)) }
        return starts.count
    }

    private func request(_ start: SegmentStart, for key: FileKey, now: ContinuousClock.Instant) -> Action {
        let location = downloads[key]?.picture.location
        let range = start.asked.map { (first: $0.lowerBound, last: $0.upperBound == .max ? nil : $0.upperBound - 1) }
        return .start(
            key, start,
            HTTPRequest(
                url: location?.url ?? "", headers: location?.headers ?? [], range: range, ifRange: start.ifRange,
                priority: downloads[key]?.priority ?? .preload, transferClass: .bulk,
                deadline: now + FlightLimits.requestDeadline, bodyLimit: PictureLimits.largest))
    }

    /// A request has been handed to the transport.
    ///
    /// - Returns: False if nobody wants it any more.
    mutating func started(_ segment: UInt64, of key: FileKey, _ transfer: any Transfer, actions: inout [Action]) {
        guard downloads[key]?.flight.segments[segment] != nil else { return actions.append(.cancel(transfer)) }
        downloads[key]?.transfers[segment] = transfer
        if let priority = downloads[key]?.priority { actions.append(.setPriority(transfer, priority)) }
    }

    mutating func updatePriority(_ key: FileKey, actions: inout [Action]) {
        guard let download = downloads[key] else { return }
        let priority: TransferPriority = download.flight.isRead ? .reader : .preload
        guard priority != download.priority else { return }
        downloads[key]?.priority = priority
        for transfer in download.transfers.values { actions.append(.setPriority(transfer, priority)) }
    }

    // MARK: - What becomes of it

    /// Carries out what a flight decided.
    mutating func apply(
        _ change: FlightChange?, to key: FileKey, now: ContinuousClock.Instant, actions: inout [Action]
    ) {
        guard let change else { return }
        for segment in change.cancel {
            if let transfer = downloads[key]?.transfers.removeValue(forKey: segment) {
                actions.append(.cancel(transfer))
            }
        }
        for waiter in change.ready { answer(waiter, now: now, actions: &actions) }
        switch change.outcome {
        case nil: break
        case .complete(let length): complete(key, length: length, now: now, actions: &actions)
        case .failed(let error, let keepsPartial):
            fail(key, error, keepsPartial: keepsPartial, now: now, actions: &actions)
        case .restart: restart(key, actions: &actions)
        }
    }

    private mutating func answer(_ id: UInt64, now: ContinuousClock.Instant, actions: inout [Action]) {
        guard let waiter = waiters.removeValue(forKey: id), let download = downloads[waiter.key] else { return }
        guard let handle = waiter.handle else {
            return actions.append(.resume(waiter.continuation, .length(download.flight.total ?? 0)))
        }
        guard let total = download.flight.total, let file = download.file.current else {
            return actions.append(.resume(waiter.continuation, .again))
        }
        if let mismatch = handles[handle].flatMap({ Self.mismatch(of: $0, with: download.flight.version) }) {
            return actions.append(.resume(waiter.continuation, .failed(mismatch)))
        }
        let bytes = give(
            file, waiter.range.lowerBound, waiter.range.count, length: total, download.flight, to: handle, now: now,
            actions: &actions)
        actions.append(.resume(waiter.continuation, .bytes(bytes)))
    }

    private mutating func complete(
        _ key: FileKey, length: Int64, now: ContinuousClock.Instant, actions: inout [Action]
    ) {
        guard let download = downloads[key] else { return }
        downloads[key]?.transfers = [:]
        settle(key, actions: &actions)
        reserve(length + Int64(Footer.size), for: key, actions: &actions)
        failures[key] = nil
        preloadsRestUntil = nil
        if download.flight.isPreload, !download.flight.isRead { preloadedCount += 1 }
        for id in download.flight.handles {
            hand(key, to: id)
            guard let handle = handles[id], handle.hasPassed, let neighbours = handle.neighbours else { continue }
            follow(preload.completed(neighbours.index, in: neighbours.directory), neighbours, actions: &actions)
        }
        if download.file.isInMemory || downloads[key]?.reserved == 0 {
            downloads[key] = nil
            actions.append(.unlink(download.file))
            actions.append(.checkDisk)
        } else {
            actions.append(.commit(key, download.file, length: length))
        }
    }

    /// A whole picture has been moved to its place, or the disk refused.
    mutating func committed(
        _ key: FileKey, _ file: FlightFile, _ error: FileError?, now: ContinuousClock.Instant, actions: inout [Action]
    ) {
        guard let download = downloads[key], download.file === file else { return }
        downloads[key] = nil
        if let error {
            actions.append(.unlink(file))
            refused(error.text, actions: &actions)
        } else {
            index.insert(
                key, length: download.flight.total ?? 0, version: download.flight.version,
                isUnread: download.flight.isPreload && openCounts[key] == nil && !download.flight.isDemanded,
                now: configuration.now())
        }
        makeRoom(for: 0, isPreload: false, actions: &actions)
        pump(now: now, actions: &actions)
    }

    mutating func fail(
        _ key: FileKey, _ error: ImageCacheError, keepsPartial: Bool, now: ContinuousClock.Instant,
        actions: inout [Action]
    ) {
        guard let download = downloads.removeValue(forKey: key) else { return }
        settle(key, actions: &actions)
        for transfer in download.transfers.values { actions.append(.cancel(transfer)) }
        for (id, waiter) in waiters where waiter.key == key {
            waiters[id] = nil
            actions.append(.resume(waiter.continuation, .failed(error)))
        }
        if error.isOfTheBytes {
            // Who has seen bytes of a version that was not right must not be given another one.
            for id in download.flight.handles {
                guard var handle = handles[id], handle.version != nil else { continue }
                handle.failure = error
                handles[id] = handle
            }
        }
        if keepsPartial { park(key, download, actions: &actions) } else { actions.append(.discard(download.file)) }
        if case .gone = error { remember(error, of: key, for: Self.goneFor, now: now) }
        if download.flight.isPreload, !download.flight.isRead {
            actions.append(.report(.preloadFailed(download.picture.id, error)))
            if error != .gone { remember(error, of: key, for: Self.failedPreloadFor, now: now) }
        }
        switch error {
        case .unreachable, .timedOut, .limited:
            preloadsRestUntil = now + Self.preloadsRestFor
            queued = []
        default: break
        }
        pump(now: now, actions: &actions)
    }

    mutating func restart(_ key: FileKey, actions: inout [Action]) {
        guard let download = downloads[key] else { return }
        settle(key, actions: &actions)
        for transfer in download.transfers.values { actions.append(.cancel(transfer)) }
        actions.append(.discard(download.file))
        downloads[key]?.transfers = [:]
        downloads[key]?.unnoted = 0
        let file = FlightFile(key, key: download.picture.id.key, store: store, spare: spare)
        downloads[key]?.file = file
        let sizes = download.flight.handles.compactMap { handles[$0]?.picture.size }
        let token = makeID()
        downloads[key]?.flight.clear(total: sizes.first ?? download.picture.size, token: token)
    }

    /// Ends a download that nothing wants, unless it is nearly done.
    mutating func release(_ key: FileKey, now: ContinuousClock.Instant, actions: inout [Action]) {
        guard let download = downloads[key] else { return }
        let flight = download.flight
        if !flight.isWanted, flight.phase == .running || flight.phase == .opening {
            let isNearlyDone =
                flight.remaining.map { $0 <= FlightLimits.worthFinishing } ?? false && !flight.segments.isEmpty
            if !isNearlyDone || isClosed {
                downloads[key] = nil
                settle(key, actions: &actions)
                for transfer in download.transfers.values { actions.append(.cancel(transfer)) }
                park(key, download, actions: &actions)
            }
        }
        updatePriority(key, actions: &actions)
        pump(now: now, actions: &actions)
    }

    private mutating func settle(_ key: FileKey, actions: inout [Action]) {
        if let waiting = settlers.removeValue(forKey: key) { actions.append(.settled(waiting)) }
    }

    /// Keeps what came so far for another try.
    private mutating func park(_ key: FileKey, _ download: Download, actions: inout [Action]) {
        let flight = download.flight
        guard flight.phase != .opening else {
            parked[key] = download.reserved
            return
        }
        guard flight.validator != nil, flight.received > 0, !download.file.isInMemory else {
            return actions.append(.discard(download.file))
        }
        parked[key] = flight.received
        actions.append(
            .park(download.file, total: flight.total, validator: flight.validator, present: flight.present))
        makeRoom(for: 0, isPreload: false, actions: &actions)
    }
}
