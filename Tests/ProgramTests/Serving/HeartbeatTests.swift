import Glibc
import Synchronization
import Testing

@testable import rankfs

@Suite struct HeartbeatTests {
    /// A service manager, and what it was sent.
    private final class Manager: Sendable {
        private let messages = Mutex<[String]>([])

        func take(_ message: String) { messages.withLock { $0.append(message) } }

        func received() -> [String] {
            messages.withLock { messages in
                defer { messages = [] }
                return messages
            }
        }
    }

    /// What the mount would say, set by hand.
    private final class Desk: Sendable {
        let status = Mutex(StatusDocument())
        let isAlive = Mutex(true)

        func heartbeat(_ manager: Manager) -> Heartbeat {
            Heartbeat(
                notify: { manager.take($0) }, status: { self.status.withLock { $0 } },
                isAlive: { self.isAlive.withLock { $0 } })
        }
    }

    @Test func statusIsToldWhenItChanges() {
        let (manager, desk) = (Manager(), Desk())
        let heartbeat = desk.heartbeat(manager)
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

    @Test func onlyALivingMountSaysSo() {
        let (manager, desk) = (Manager(), Desk())
        let heartbeat = desk.heartbeat(manager)
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
