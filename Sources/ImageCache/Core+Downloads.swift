internal import HTTP
internal import Rankings

extension Core {
    /// Begins a download, for a reader or for a directory's walk; requests follow from `pump`.
    ///
    /// - Returns: Why none can be begun.
    mutating func begin(
        _ picture: PictureRequest, walk: UInt64? = nil, now: ContinuousClock.Instant
    ) -> ImageCacheError? {
        let isPreload = walk != nil
        let key = FileKey(picture.id)
        let name = picture.location.url.split(separator: "/").last ?? ""
        guard !configuration.isPlaceholder(name) else {
            return .refused("the service gives a placeholder for this picture")
        }
        guard let format = PictureFormat(fileExtension: picture.location.fileExtension) else {
            return .damaged("pictures of this kind are not known")
        }
        if let size = picture.size, !(1...PictureLimits.largest).contains(size) {
            return .lengthContradicts(told: nil, shown: size)
        }
        var flight = Flight(format: format, total: picture.size, now: now)
        flight.token = makeID()
        flight.isPreload = isPreload
        flight.isShared = openCounts[key] ?? 0 > 1
        let size = picture.size ?? Self.assumedLength
        let file = FlightFile(key, key: picture.id.key, store: store, spare: spare)
        if parked.removeValue(forKey: key) != nil {
            flight.phase = .opening
            effects.append(.reopen(key, file))
        }
        downloads[key] = Download(
            number: flight.token, flight: flight, picture: picture, file: file,
            priority: isPreload ? .preload : .reader, walk: walk)
        reserve(size, for: key)
        return nil
    }

    /// The earlier download's file has been looked at.
    mutating func reopened(
        _ key: FileKey, _ file: FlightFile, _ found: (PartialState, PictureEdges)?, now: ContinuousClock.Instant
    ) {
        // The next download of the picture looks for itself: what this one found is not open there.
        guard let download = downloads[key], download.file === file, download.flight.phase == .opening else { return }
        downloads[key]?.flight.phase = .running
        if let (state, edges) = found {
            let change = downloads[key]?.flight.resume(state, edges: edges)
            apply(change, to: key, now: now)
        }
        pump(now: now)
    }

    // MARK: - What becomes of it

    /// Carries out what a flight decided.
    mutating func apply(
        _ change: FlightChange?, to key: FileKey, now: ContinuousClock.Instant
    ) {
        guard let change else { return }
        for segment in change.cancel {
            if let transfer = downloads[key]?.transfers.removeValue(forKey: segment) {
                effects.append(.cancel(transfer))
            }
        }
        for waiter in change.ready { answer(waiter, now: now) }
        switch change.outcome {
        case nil: break
        case .complete(let length): complete(key, length: length, now: now)
        case .failed(let error, let keepsPartial):
            fail(key, error, keepsPartial: keepsPartial, now: now)
        case .restart: restart(key)
        }
    }

    private mutating func answer(_ id: UInt64, now: ContinuousClock.Instant) {
        guard let waiter = waiters.removeValue(forKey: id), let download = downloads[waiter.key] else { return }
        guard let handle = waiter.handle else {
            return effects.append(.resume(waiter.continuation, .length(download.flight.total ?? 0)))
        }
        guard let total = download.flight.total, let file = download.file.current else {
            return effects.append(.resume(waiter.continuation, .again))
        }
        if let mismatch = handles[handle].flatMap({ Self.mismatch(of: $0, with: download.flight.version) }) {
            return effects.append(.resume(waiter.continuation, .failed(mismatch)))
        }
        let bytes = give(
            file, waiter.range.lowerBound, waiter.range.count, length: total, download.flight, to: handle, now: now)
        effects.append(.resume(waiter.continuation, .bytes(bytes)))
    }

    private mutating func complete(
        _ key: FileKey, length: Int64, now: ContinuousClock.Instant
    ) {
        guard let download = downloads[key] else { return }
        downloads[key]?.transfers = [:]
        settle(key)
        reserve(length + Int64(Footer.size), for: key)
        failures[key] = nil
        preloadsRestUntil = nil
        if download.flight.isPreload, !download.flight.isRead { preloadedCount += 1 }
        for id in download.flight.handles {
            hand(key, to: id)
            guard let handle = handles[id], handle.measure.isReal, let neighbours = handle.neighbours else { continue }
            follow(preload.completed(neighbours.index, in: neighbours.directory), neighbours)
        }
        if download.file.isInMemory || downloads[key]?.reserved == 0 {
            downloads[key] = nil
            effects.append(.unlink(download.file))
            effects.append(.checkDisk)
        } else {
            effects.append(.commit(key, download.file, length: length))
        }
    }

    /// A whole picture has been moved to its place, or the disk refused.
    mutating func committed(
        _ key: FileKey, _ file: FlightFile, _ error: FileError?, now: ContinuousClock.Instant
    ) {
        guard let download = downloads[key], download.file === file else { return }
        downloads[key] = nil
        if let error {
            effects.append(.unlink(file))
            refused(error.text)
        } else {
            index.insert(
                key, length: download.flight.total ?? 0, version: download.flight.version,
                isUnread: download.flight.isPreload && openCounts[key] == nil && !download.flight.isDemanded,
                now: configuration.now())
        }
        makeRoom(for: 0, isPreload: false)
        pump(now: now)
    }

    mutating func fail(
        _ key: FileKey, _ error: ImageCacheError, keepsPartial: Bool, now: ContinuousClock.Instant
    ) {
        guard let download = downloads.removeValue(forKey: key) else { return }
        settle(key)
        for transfer in download.transfers.values { effects.append(.cancel(transfer)) }
        for (id, waiter) in waiters where waiter.key == key {
            waiters[id] = nil
            effects.append(.resume(waiter.continuation, .failed(error)))
        }
        if error.isOfTheBytes {
            // Who has seen bytes of a version that was not right must not be given another one.
            for id in download.flight.handles {
                guard var handle = handles[id], handle.version != nil else { continue }
                handle.failure = error
                handles[id] = handle
            }
        }
        if keepsPartial { park(key, download) } else { effects.append(.discard(download.file)) }
        if case .gone = error { remember(error, of: key, for: Self.goneFor, now: now) }
        if download.flight.isPreload, !download.flight.isRead {
            effects.append(.report(.preloadFailed(download.picture.id, error)))
            if error != .gone { remember(error, of: key, for: Self.failedPreloadFor, now: now) }
        }
        switch error {
        case .unreachable, .timedOut, .limited:
            preloadsRestUntil = now + Self.preloadsRestFor
            wishes = []
        default: break
        }
        pump(now: now)
    }

    mutating func restart(_ key: FileKey) {
        guard let download = downloads[key] else { return }
        settle(key)
        for transfer in download.transfers.values { effects.append(.cancel(transfer)) }
        effects.append(.discard(download.file))
        downloads[key]?.transfers = [:]
        downloads[key]?.unnoted = 0
        let file = FlightFile(key, key: download.picture.id.key, store: store, spare: spare)
        downloads[key]?.file = file
        let sizes = download.flight.handles.compactMap { handles[$0]?.picture.size }
        let token = makeID()
        downloads[key]?.flight.clear(total: sizes.first ?? download.picture.size, token: token)
    }

    /// Ends a download that nothing wants, unless it is nearly done.
    mutating func release(_ key: FileKey, now: ContinuousClock.Instant) {
        guard let download = downloads[key] else { return }
        let flight = download.flight
        if !flight.isWanted, flight.phase == .running || flight.phase == .opening {
            let isNearlyDone =
                flight.remaining.map { $0 <= FlightLimits.worthFinishing } ?? false && !flight.segments.isEmpty
            if !isNearlyDone || isClosed {
                downloads[key] = nil
                settle(key)
                for transfer in download.transfers.values { effects.append(.cancel(transfer)) }
                park(key, download)
            }
        }
        updatePriority(key)
        pump(now: now)
    }

    private mutating func settle(_ key: FileKey) {
        if let waiting = settlers.removeValue(forKey: key) { effects.append(.settled(waiting)) }
    }

    /// Keeps what came so far for another try.
    private mutating func park(_ key: FileKey, _ download: Download) {
        let flight = download.flight
        guard flight.phase != .opening else {
            parked[key] = download.reserved
            return
        }
        guard flight.validator != nil, flight.received > 0, !download.file.isInMemory else {
            return effects.append(.discard(download.file))
        }
        parked[key] = flight.received
        effects.append(
            .park(download.file, total: flight.total, validator: flight.validator, present: flight.present))
        makeRoom(for: 0, isPreload: false)
    }
}
