import Dispatch
import Glibc
import Synchronization

/// Whether the network is metered now, as the option and NetworkManager say.
///
/// ## Concurrency
///
/// Any thread may ask; that takes a lock for nanoseconds. NetworkManager is listened to on a thread of its own, which sleeps
/// until something changes there.
final class MeteredNetwork: Sendable {
    /// Milliseconds until a bus that is missing or has died is tried again; a laptop's own comes with the boot.
    private static let pause: Int32 = 60_000

    private let rule: MeteredRule
    private let told = Mutex<UInt32?>(nil)
    private let report: @Sendable (_ isMetered: Bool) -> Void
    /// The thread, and the end of a pipe whose closing ends it; nil while nobody listens.
    private let listening = Mutex<(thread: pthread_t, writingEnd: Int32)?>(nil)

    /// Signalled with each answer, and with each failure to get one.
    private let answered = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - rule: What the option says; only `auto` asks NetworkManager.
    ///   - report: Told each change, on any thread.
    init(_ rule: MeteredRule, report: @escaping @Sendable (_ isMetered: Bool) -> Void) {
        self.rule = rule
        self.report = report
    }

    var isMetered: Bool {
        told.withLock { rule.isMetered(told: $0) }
    }

    /// Begins to listen if the option says so; without threads or descriptors to spare the network is not metered.
    func start() {
        guard rule == .auto else { return }
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var thread = pthread_t()
        // Retained for the thread, which releases it when it takes it.
        let context = unsafe Unmanaged.passRetained(Listener(network: self, stop: ends[0])).toOpaque()
        guard unsafe pthread_create(&thread, nil, listenerMain, context) == 0 else {
            // Nobody else has taken it.
            unsafe Unmanaged<Listener>.fromOpaque(context).release()
            for end in ends { Glibc.close(end) }
            return
        }
        let running = (thread: thread, writingEnd: ends[1])
        listening.withLock { $0 = running }
    }

    /// Ends the thread and waits for that: it is never in the middle of something that takes time.
    func close() {
        let running = listening.withLock { listening in
            defer { listening = nil }
            return listening
        }
        guard let running else { return }
        Glibc.close(running.writingEnd)
        pthread_join(running.thread, nil)
    }

    /// What NetworkManager says now; nil if it does not within a second.
    ///
    /// Blocks the calling thread; not for tasks.
    static func ask() -> UInt32? {
        let network = MeteredNetwork(.auto) { _ in }
        network.start()
        defer { network.close() }
        _ = network.answered.wait(timeout: .now() + .seconds(1))
        return network.told.withLock { $0 }
    }

    fileprivate func note(_ number: UInt32?) {
        let (before, after) = told.withLock { told in
            let before = rule.isMetered(told: told)
            told = number
            return (before, rule.isMetered(told: told))
        }
        answered.signal()
        if before != after { report(after) }
    }

    fileprivate func listen(until stop: Int32) {
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

/// What the thread is given.
private final class Listener {
    let network: MeteredNetwork
    let stop: Int32

    init(network: MeteredNetwork, stop: Int32) {
        self.network = network
        self.stop = stop
    }
}

/// Signals are for other threads.
private func listenerMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    // Retained for this thread when it was made.
    let listener = unsafe Unmanaged<Listener>.fromOpaque(context).takeRetainedValue()
    listener.network.listen(until: listener.stop)
    close(listener.stop)
    return nil
}

// MARK: - Metered rule

/// Whether traffic counts as dear: what the option `metered` says.
enum MeteredRule: String, Hashable, Sendable, CaseIterable {
    /// As NetworkManager sees the network.
    case auto
    case yes
    case no

    /// Whether the network is metered.
    ///
    /// - Parameter told: NetworkManager's `Metered`; nil if nobody tells. 1 is yes and 3 a guess at yes, 2 and 4 are the same of
    ///   no, 0 is unknown (NMMetered in NetworkManager's D-Bus interface).
    /// - Returns: True if nothing is to be downloaded that nobody asked for.
    func isMetered(told: UInt32?) -> Bool {
        switch self {
        case .auto: told == 1 || told == 3
        case .yes: true
        case .no: false
        }
    }
}
