import CLinux
import CSystemd
import Glibc

/// A connection to the system bus that follows NetworkManager's property `Metered`.
///
/// After any event (the property changes, NetworkManager comes or goes) the property is queried again: one query is the whole
/// protocol. It never starts NetworkManager.
///
/// ## Concurrency
///
/// Belongs to one thread, which runs it from beginning to end.
// Safe outside: the pointer comes from `sd_bus_open_system` and is released once, in `deinit`.
@safe
final class NetworkManagerBus {
    /// The time limit of a query, in microseconds; NetworkManager answers from memory.
    private static let patience: UInt64 = 10_000_000
    private static let service = "org.freedesktop.NetworkManager"
    private static let path = "/org/freedesktop/NetworkManager"

    private static let matches = [
        "type='signal',sender='\(service)',path='\(path)',interface='org.freedesktop.DBus.Properties',"
            + "member='PropertiesChanged',arg0='\(service)'",
        "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',interface='org.freedesktop.DBus',"
            + "member='NameOwnerChanged',arg0='\(service)'",
    ]

    private var bus: OpaquePointer?
    private let told: (UInt32?) -> Void

    /// Begins to connect; `run` does the rest.
    ///
    /// - Parameter told: Called after each query with the property, or nil if no value is available.
    init?(told: @escaping (UInt32?) -> Void) {
        unsafe bus = nil
        self.told = told
        guard unsafe sd_bus_open_system(&bus) >= 0 else { return nil }
        // Unretained: the bus ends with `self`, and with it every callback.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        for match in Self.matches {
            // A query after the match is installed closes the gap between the first answer and the first signal.
            guard unsafe sd_bus_add_match_async(bus, nil, match, askAgain, askAgain, context) >= 0 else { return nil }
        }
    }

    deinit {
        unsafe sd_bus_close_unref(bus)
    }

    /// Serves the connection until it breaks or `stop` becomes readable.
    ///
    /// - Returns: False if the connection broke.
    func run(until stop: Int32) -> Bool {
        while true {
            let work = unsafe sd_bus_process(bus, nil)
            if work < 0 { return false }
            if work > 0 { continue }
            var deadline: UInt64 = 0
            guard unsafe sd_bus_get_timeout(bus, &deadline) >= 0 else { return false }
            let events = unsafe sd_bus_get_events(bus)
            guard events >= 0 else { return false }
            var waiting = [
                pollfd(fd: unsafe sd_bus_get_fd(bus), events: Int16(truncatingIfNeeded: events), revents: 0),
                pollfd(fd: stop, events: Int16(POLLIN), revents: 0),
            ]
            _ = unsafe poll(&waiting, 2, Self.milliseconds(until: deadline))
            if waiting[1].revents != 0 { return true }
        }
    }

    /// The timeout of poll(2) in milliseconds for a time of the monotonic clock in microseconds; no bound for the greatest number.
    private static func milliseconds(until deadline: UInt64) -> Int32 {
        guard deadline < .max else { return -1 }
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let now = UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
        return deadline <= now ? 0 : Int32(clamping: (deadline - now) / 1000 + 1)
    }

    fileprivate func ask() {
        // Unretained, as above.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let result = unsafe rankfs_bus_ask_property(
            bus, Self.service, Self.path, Self.service, "Metered", Self.patience, takeAnswer, context)
        if result < 0 { told(nil) }
    }

    fileprivate func take(_ answer: OpaquePointer?) {
        var number: UInt32 = 0
        let hasNumber = unsafe rankfs_bus_read_number(answer, &number) > 0
        told(hasNumber ? number : nil)
    }
}

/// Queries the property after a change, or when a match is installed.
private func askAgain(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    // Unretained: the thread that runs the bus holds it.
    unsafe Unmanaged<NetworkManagerBus>.fromOpaque(context).takeUnretainedValue().ask()
    return 0
}

private func takeAnswer(
    _ message: OpaquePointer?, _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sd_bus_error>?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    // Unretained: the thread that runs the bus holds it.
    unsafe Unmanaged<NetworkManagerBus>.fromOpaque(context).takeUnretainedValue().take(message)
    return 0
}
