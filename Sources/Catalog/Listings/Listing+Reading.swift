import HTTP
import Rankings
internal import Synchronization

extension Listing {
    /// A person opens it: the pages and sizes that programs asked for, and that wait for their turn, go in a person's order.
    package func hurry() {
        state.withLock { $0.open() }?.raise()
    }

    /// Waits until the entry at `index` is there or the end is known, then returns all entries known.
    ///
    /// Asks for one page ahead; a reader that goes on behind the first page gets all remaining pages asked at once.
    package func entries(reaching index: Int) async throws(CatalogError) -> [ListingEntry] {
        let (entries, pages) = state.withLock { state -> ([ListingEntry]?, [Int]) in
            let known = state.table.entries.count
            let pages = state.paging.ask(reaching: index, known: known)
            return (index < known || state.paging.isComplete ? state.table.entries : nil, pages)
        }
        ask(pages)
        if !RequestUrgency.isBackground { hurry() }
        if let entries { return entries }
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                wait(for: index, as: waiter, continuation)
                // Cancelled before it waited: the handler below found nothing to remove.
                if Task.isCancelled { leave(waiter) }
            }
        } onCancel: {
            leave(waiter)
        }.get()
    }

    /// Asks for every page that the window allows, as for a reader behind the first: whoever walks over sizes wants all entries.
    func askAllPages() {
        ask(
            state.withLock { state in
                let known = state.table.entries.count
                return state.paging.ask(reaching: max(known, state.paging.window.perPage), known: known)
            })
    }

    /// The index of a name; asks for further pages while the name may still come (a rank behind the known ones).
    package func find(named name: [UInt8]) async throws(CatalogError) -> Int? {
        guard let number = Self.leadingNumber(of: name) else { return index(named: name) }
        while true {
            let (found, known, last, isComplete) = state.withLock { state in
                (
                    state.table.position(of: name), state.table.entries.count, state.table.entries.last,
                    state.paging.isComplete
                )
            }
            if let found { return found }
            guard !isComplete, pages.mayHold(number, after: last) else { return nil }
            _ = try await entries(reaching: known)
        }
    }

    /// The number that a name of an entry begins with, as in `001-Title.jpg`; nil for other names (`.hidden`, `desktop.ini`).
    static func leadingNumber(of name: [UInt8]) -> Int64? {
        let digits = name.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard !digits.isEmpty, name.dropFirst(digits.count).first == UInt8(ascii: "-") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    // MARK: - Pages

    /// The outcome of a page that was asked for; `.noSuchListing` means that it lies behind the last one.
    func arrived(_ page: Int, _ outcome: Result<PageContent, CatalogError>) {
        let pages = state.withLock { state -> [Int] in
            let first = state.table.entries.count
            let (next, hadEverything) = (state.paging.next, state.paging.hasEverything)
            switch outcome {
            case .success(let content): state.paging.arrive(page, content, last: content.last)
            case .failure(.noSuchListing): state.paging.arrivePastTheEnd(page)
            case .failure(let error): state.paging.fail(page, error)
            }
            let rows = appendWhatCame(&state)
            // An end that is told by a page behind it is to be kept, too: else the listing ends nowhere after the next mount.
            let isNew = state.paging.next != next || state.paging.hasEverything != hadEverything
            state.handovers.append(
                ListingState.Handover(
                    write: isNew ? listingWrite(of: rows, in: state) : nil,
                    entries: Array(state.table.entries[first...]), resumptions: satisfied(&state)))
            return askForRest(&state)
        }
        handOver()
        ask(pages)
    }

    /// Hands on what pages brought, in the order in which they were appended, whichever thread is first.
    ///
    /// The header of an earlier page, written after that of the last one, would leave the stored listing without its end.
    private func handOver() {
        var isOurs = false
        while let handover = state.withLock({ $0.takeHandover(isOurs: isOurs) }) {
            isOurs = true
            // The rows are on their way to the database before anyone sees the entries, so that their records can be asked for.
            if let write = handover.write { owner.appended(write, entries: handover.entries, to: self) }
            for resumption in handover.resumptions { resumption.continuation.resume(returning: resumption.outcome) }
        }
    }

    /// The header as it is to be stored now.
    static func header(_ state: ListingState, pages: any ListingPages) -> ListingHeader {
        ListingHeader(
            isComplete: state.paging.hasEverything, nextPage: state.paging.next, lastPage: state.paging.last,
            entryCount: state.table.rowCount, fetched: state.fetched,
            remaining: pages.remaining(from: state.paging.next))
    }

    /// Appends the pages whose turn it is.
    private func appendWhatCame(_ state: inout ListingState) -> [ListingRow] {
        var rows: [ListingRow] = []
        while let (_, content) = state.paging.takeNext() {
            rows += state.table.append(
                content.pictures(in: owner.view.rendition, of: owner.source), of: key, view: owner.view)
        }
        return rows
    }

    /// The last rows, and what is known of the listing now, as they are to be stored.
    private func listingWrite(of rows: [ListingRow], in state: ListingState) -> ListingWrite {
        ListingWrite(
            key: key, firstPosition: state.table.rowCount - rows.count, rows: rows,
            header: Self.header(state, pages: pages))
    }

    /// The waiters that need wait no longer: their entry is there, the end is known, or the next page failed.
    private func satisfied(_ state: inout ListingState) -> [ListingState.Resumption] {
        let failure = state.paging.takeFailure()
        let (known, isComplete, entries) = (state.table.entries.count, state.paging.isComplete, state.table.entries)
        var resumptions: [ListingState.Resumption] = []
        for (id, waiter) in state.waiters {
            if waiter.index < known || isComplete {
                resumptions.append(.init(continuation: waiter.continuation, outcome: .success(entries)))
            } else if let failure {
                resumptions.append(.init(continuation: waiter.continuation, outcome: .failure(failure)))
            } else {
                continue
            }
            state.waiters[id] = nil
        }
        return resumptions
    }

    /// What those who still wait need beyond the pages under way.
    private func askForRest(_ state: inout ListingState) -> [Int] {
        guard let index = state.waiters.values.map(\.index).max() else { return [] }
        return state.paging.ask(reaching: index, known: state.table.entries.count)
    }

    /// Asks for pages: on a person's behalf if one waits for them, whoever it is whose page led to them.
    private func ask(_ pages: [Int]) {
        guard !pages.isEmpty else { return }
        let urgency = state.withLock { state in
            let isPersons = !RequestUrgency.isBackground || state.waiters.values.contains(where: \.isPerson)
            return isPersons ? nil : state.untilOpened()
        }
        RequestUrgency.$isBackground.withValue(urgency != nil) {
            for page in pages { owner.ask(page: page, of: self, urgency) }
        }
    }

    // MARK: - Waiters

    private func wait(
        for index: Int, as waiter: UInt64,
        _ continuation: CheckedContinuation<Result<[ListingEntry], CatalogError>, Never>
    ) {
        let (entries, pages) = state.withLock { state -> ([ListingEntry]?, [Int]) in
            let known = state.table.entries.count
            // The page may have come, or failed, since the first look.
            if index < known || state.paging.isComplete { return (state.table.entries, []) }
            state.waiters[waiter] = ListingState.Waiter(
                index: index, isPerson: !RequestUrgency.isBackground, continuation: continuation)
            return (nil, state.paging.ask(reaching: index, known: known))
        }
        if let entries { continuation.resume(returning: .success(entries)) }
        ask(pages)
        // A program may have asked for them since.
        if !RequestUrgency.isBackground { hurry() }
    }

    private func leave(_ waiter: UInt64) {
        let removed = state.withLock { $0.waiters.removeValue(forKey: waiter) }
        removed?.continuation.resume(returning: .failure(.cancelled))
    }
}
