import Foundation
import Glibc
import Synchronization
import Testing

@testable import rankfs

@Suite struct HeartbeatTests {
    /// A service manager's socket, and what it was sent.
    private final class Manager {
        private let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let name = "@rankfs-test-\(UUID().uuidString)"

        init() throws {
            let address = try #require(ServiceManager.address(name))
            let socket = descriptor
            let result = withUnsafePointer(to: address.socket) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(socket, $0, socklen_t(address.length))
                }
            }
            try #require(result == 0)
        }

        deinit { close(descriptor) }

        /// What has arrived: local datagrams are there when the sender goes on.
        func received() -> [String] {
            var messages: [String] = []
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count >= 0 else { return messages }
                messages.append(String(decoding: buffer.prefix(count), as: UTF8.self))
            }
        }
    }

    /// What the mount would say, set by hand.
    private final class Desk: Sendable {
        let status = Mutex(StatusDocument())
        let isAlive = Mutex(true)

        func heartbeat(_ name: String) -> Heartbeat {
            Heartbeat(
                ServiceManager(variables: ["NOTIFY_SOCKET": name]), status: { self.status.withLock { $0 } },
                isAlive: { self.isAlive.withLock { $0 } })
        }
    }

    @Test func statusIsToldWhenItChanges() throws {
        let (manager, desk) = (try Manager(), Desk())
        let heartbeat = desk.heartbeat(manager.name)
        let full = "nothing is stored: make room on the disk"
        heartbeat.tellStatus()
        heartbeat.tellStatus()
        #expect(manager.received() == ["STATUS=idle, 0 of 0 stored; \(full)"])
        desk.status.withLock { $0["cache.is_storing"] = .bool(true) }
        heartbeat.tellStatus()
        #expect(manager.received() == ["STATUS=idle, 0 of 0 stored"])
        heartbeat.stop()
        desk.status.withLock { $0["cache.is_storing"] = .bool(false) }
        heartbeat.tellStatus()
        #expect(manager.received() == [], "the end has its own words")
    }

    @Test func onlyALivingMountSaysSo() throws {
        let (manager, desk) = (try Manager(), Desk())
        let heartbeat = desk.heartbeat(manager.name)
        heartbeat.ping()
        #expect(manager.received() == ["WATCHDOG=1"])
        desk.isAlive.withLock { $0 = false }
        heartbeat.ping()
        #expect(manager.received() == [])
        desk.isAlive.withLock { $0 = true }
        heartbeat.stop()
        heartbeat.ping()
        #expect(manager.received() == [])
    }

    @Test(arguments: [
        (["WATCHDOG_USEC": "30000000"], 15_000_000), (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "42"], 15_000_000),
        (["WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "43"], nil), ([:], nil), (["WATCHDOG_USEC": "0"], nil),
        (["WATCHDOG_USEC": "-7"], nil), (["WATCHDOG_USEC": "soon"], nil),
    ])
    func signsOfLifeComeTwiceInTheTimeOfTheManager(_ variables: [String: String], pause: Int?) {
        #expect(ServiceManager(variables: variables, process: 42).watchdogPause == pause)
    }

    @Test func theJournalIsKnownByItsStream() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        var status = stat()
        try #require(fstat(ends[1], &status) == 0)
        let name = "\(status.st_dev):\(status.st_ino)"
        #expect(Log.isJournal(["JOURNAL_STREAM": name], descriptor: ends[1]))
        #expect(!Log.isJournal(["JOURNAL_STREAM": "\(name)0"], descriptor: ends[1]))
        #expect(!Log.isJournal([:], descriptor: ends[1]))
        #expect(!Log.isJournal(["JOURNAL_STREAM": name], descriptor: -1))
    }
}
