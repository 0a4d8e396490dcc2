import Dispatch
import Glibc
import Synchronization
import System

/// The metered state of the network, from the option and NetworkManager.
///
/// ## Concurrency
///
/// Any thread may call; a query takes a lock for nanoseconds. A thread of its own listens to NetworkManager and sleeps until
/// a change there.
final class MeteredNetwork: Sendable {
    /// Milliseconds until a missing or dead bus is tried again; a laptop's own bus comes with the boot.
    private static let pause: Int32 = 60_000

    private let rule: MeteredRule
    private let told = Mutex<UInt32?>(nil)
    private let report: @Sendable (_ isMetered: Bool) -> Void
    /// The listening thread, and the channel that stops it when closed; nil while there is no such thread.
    private let listening = Mutex<(thread: pthread_t, channel: Channel)?>(nil)

    /// Signalled with each answer, and with each failure to get one.
    private let answered = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - rule: The value of the option; only `auto` queries NetworkManager.
    ///   - report: Called with each change, on any thread.
    init(_ rule: MeteredRule, report: @escaping @Sendable (_ isMetered: Bool) -> Void) {
        self.rule = rule
        self.report = report
    }

    var isMetered: Bool {
        told.withLock { rule.isMetered(told: $0) }
    }

    /// Begins to listen if the option says so; without a spare thread or descriptor the network counts as not metered.
    func start() {
        guard rule == .auto else { return }
        guard let (stop, own) = try? Channel.pair() else { return }
        let thread = OwnThread.startJoinable { [self] in
            listen(until: stop.descriptor)
            stop.close()
        }
        guard let thread else {
            stop.close()
            own.close()
            return
        }
        let running = (thread: thread, channel: own)
        listening.withLock { $0 = running }
    }

    /// Ends the thread and waits for its end; the thread never runs a lengthy operation.
    func close() {
        let running = listening.withLock { listening in
            defer { listening = nil }
            return listening
        }
        guard let running else { return }
        running.channel.close()
        pthread_join(running.thread, nil)
    }

    /// The current value of NetworkManager; nil if none arrives within a second.
    ///
    /// Blocks the calling thread; not for tasks.
    static func ask() -> UInt32? {
        let network = MeteredNetwork(.auto) { _ in }
        network.start()
        defer { network.close() }
        _ = network.answered.wait(timeout: .now() + .seconds(1))
        return network.told.withLock { $0 }
    }

    private func note(_ number: UInt32?) {
        let (before, after) = told.withLock { told in
            let before = rule.isMetered(told: told)
            told = number
            return (before, rule.isMetered(told: told))
        }
        answered.signal()
        if before != after { report(after) }
    }

    private func listen(until stop: Int32) {
        while true {
            var isStopped = false
            if let bus = NetworkManagerBus(told: { [self] in note($0) }) { isStopped = bus.run(until: stop) }
            note(nil)
            if isStopped { return }
            var waiting = pollfd(fd: stop, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&waiting, 1, Self.pause) > 0 { return }
        }
    }
}

// MARK: - Metered rule

/// The option `metered`: whether traffic counts as expensive.
enum MeteredRule: String, Hashable, Sendable, CaseIterable {
    /// As NetworkManager reports.
    case auto
    case yes
    case no

    /// Whether the network is metered.
    ///
    /// - Parameter told: NetworkManager's `Metered`; nil without an answer. 1 is yes and 3 a guess at yes, 2 and 4 are no and a
    ///   guess at no, 0 is unknown (NMMetered in NetworkManager's D-Bus interface).
    /// - Returns: True if only data that a user requests may be downloaded.
    func isMetered(told: UInt32?) -> Bool {
        switch self {
        case .auto: told == 1 || told == 3
        case .yes: true
        case .no: false
        }
    }
}
