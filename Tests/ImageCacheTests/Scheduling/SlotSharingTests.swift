import HTTP
import TestSupport
import Testing

@testable import ImageCache

/// Who has the slots, and who gives one up: the scheduler's orders carried out on a model of what is under way.
@Suite struct SlotSharingTests {
    typealias Demand = DownloadScheduler.Demand

    /// What is under way, as the cache and the transport keep it.
    struct Model {
        let scheduler: DownloadScheduler
        var downloads: [UInt64: Demand] = [:]
        /// The numbers of each download's requests.
        var requests: [UInt64: [UInt64]] = [:]
        var wishes = 0
        var nextNumber: UInt64 = 1
        /// Orders that took a slot away, in order.
        var taken: [DownloadScheduler.Order] = []

        init(slots: Int) { scheduler = DownloadScheduler(slots: TransferSlots(all: slots)) }

        var slots: TransferSlots { scheduler.slots }
        var count: Int { requests.values.reduce(0) { $0 + $1.count } }
        var unread: Int {
            requests.reduce(0) { $0 + (downloads[$1.key]?.isRead == false ? $1.value.count : 0) }
        }
        /// Whether somebody waits for a picture of which nothing is under way.
        var isAnybodyLeft: Bool { downloads.values.contains { $0.isAwaited && $0.requests.isEmpty } }

        mutating func add(_ number: UInt64, isRead: Bool = false, isAwaited: Bool = false) {
            downloads[number] = DownloadSchedulerTests.download(
                number, total: 1 << 18, isRead: isRead, isAwaited: isAwaited)
            requests[number] = []
        }

        /// Carries orders out until nothing is left to do.
        mutating func pump() {
            for _ in 0..<1000 {
                for (number, list) in requests {
                    downloads[number]?.requests = list.map { _ in 1 << 18 }
                    downloads[number]?.newest = list.max() ?? 0
                    downloads[number]?.wanted = list.isEmpty ? Piece(gap: 0..<1 << 18) : nil
                }
                guard let order = scheduler.next(Array(downloads.values), wishes: wishes) else {
                    return
                }
                nextNumber += 1
                switch order {
                case .request(let key, _): requests[key.low]?.append(nextNumber)
                case .giveUp(let key, let number): requests[key.low]?.removeAll { $0 == number }
                case .begin:
                    wishes -= 1
                    add(1000 + nextNumber)
                }
                if case .giveUp = order { taken.append(order) }
            }
            Issue.record("it does not end")
        }
    }

    /// Whatever happens in whatever order: it ends, no reader waits while somebody else has a slot, and the slots are kept to.
    @Test(arguments: 0..<60) func boundsHoldForAnyOrderOfEvents(seed: Int) {
        var dice = Random(seed: UInt64(seed))
        var model = Model(slots: Int.random(in: 1...9, using: &dice))
        for number in 1...60 as ClosedRange<UInt64> {
            let chosen = model.downloads.keys.sorted().randomElement(using: &dice)
            switch Int.random(in: 0...4, using: &dice) {
            case 0: model.add(number)
            case 1: model.add(number, isAwaited: true)
            case 2: model.wishes += 2
            case 3:
                guard let chosen else { continue }
                (model.downloads[chosen], model.requests[chosen]) = (nil, nil)
            default:
                guard let chosen else { continue }
                let isAwaited = Bool.random(using: &dice)
                model.downloads[chosen]?.isAwaited = isAwaited
                model.downloads[chosen]?.isRead = isAwaited || Bool.random(using: &dice)
            }
            let (before, unreadBefore) = (model.taken.count, model.unread)
            let mayTake = model.downloads.values.contains(where: \.isAwaited)
            model.pump()
            #expect(!model.isAnybodyLeft)
            #expect(model.taken.count == before || mayTake)
            let isAwaited = model.downloads.values.contains(where: \.isAwaited)
            #expect(model.count <= model.slots.all || !isAwaited || model.unread == 0)
            #expect(model.unread <= max(model.slots.ahead, unreadBefore))
        }
    }
}
