@testable import Fuse
import Rankings
import TestSupport
import Testing

@testable import RankFS

/// `by-date/`: every published day can be clicked to, and looking for one costs nothing.
@Suite(.timeLimit(.minutes(2))) struct DatesTests {
    @Test func aLinkLeadsToItsDay() async throws {
        let bench = try Workbench()
        let link = try await bench.stat("by-date/daily/2024/05/2024-05-01")
        #expect(await bench.readLink(link.inode) == .link("../../../../ranking/daily/2024-05-01"))
        #expect(link.kind == .link && link.size == "../../../../ranking/daily/2024-05-01".utf8.count)
        #expect(link.modified == (try await bench.stat("ranking/daily/2024-05-01").modified))
        // Directories change when a day is added to them, and never again.
        let past = try await bench.stat("by-date/daily/2024/04").modified
        #expect(past == (try await bench.stat("ranking/daily/2024-04-30").modified))
        #expect(try await bench.stat("by-date/daily/2023").modified < past)
        let newest = bench.fileSystem.tree.publication(of: Workbench.newest, in: .daily)
        for path in ["by-date", "by-date/daily", "by-date/daily/2024", "by-date/daily/2024/05"] {
            #expect(try await bench.stat(path).modified == newest, "\(path)")
        }
        #expect(bench.source.asked.isEmpty)
    }

    @Test(arguments: [
        "nonsense", "daily/2006", "daily/2025", "daily/02024", "daily/24", "daily/latest", "daily/2024/5",
        "daily/2024/00",
        "daily/2024/06", "daily/2024/13", "daily/2007/08", "daily/2007/09/2007-09-12", "daily/2024/05/2024-05-03",
        "daily/2024/05/2024-04-01", "daily/2024/05/2024-05-32", "daily/2024/05/01", "daily/2024/05/.hidden",
        "daily_ai/2021", "daily/2024/05/2024-05-01x", "daily/.directory", "daily/+024",
    ])
    func whatIsNoDateIsAbsent(path: String) async throws {
        let bench = try Workbench()
        #expect(await bench.walk("by-date/\(path)").isAbsent)
        #expect(bench.source.asked.isEmpty)
    }

    @Test func modesForMembersAreAsInRanking() async throws {
        let bench = try Workbench(.init(keepsOwners: true))
        #expect(await bench.walk("by-date/daily_r18") == .failure(.EACCES))
        bench.source.set { $0.signIn = .signedIn(UserID(rawValue: 5)) }
        let path = "by-date/daily_r18/2024/05"
        guard case .entry(let month, .zero, _) = await bench.walk(path) else {
            Issue.record("not there")
            return
        }
        #expect(month.permissions == 0o700)
        let link = try await bench.stat("\(path)/2024-05-01").inode
        #expect(await bench.readLink(link) == .link("../../../../ranking/daily_r18/2024-05-01"))
        try await Workbench.$caller.withValue(Caller(user: 1001, process: 1)) { () async throws in
            #expect(try await !bench.names("by-date").contains("daily_r18"))
            #expect(await bench.openDirectory(month.inode) == .failure(.EACCES))
            #expect(await bench.readLink(link) == .failure(.EACCES))
        }
        bench.source.set { $0.signIn = .signedOut }
        #expect(await bench.openDirectory(month.inode) == .failure(.EACCES))
        #expect(try await !bench.names("by-date").contains("daily_r18"))
    }

    @Test func offlineOnlyStoredDaysAreListed() async throws {
        let bench = try Workbench(.init(isOffline: true))
        #expect(try await bench.names("by-date") == [".", ".."])
        bench.source.setRanking(.daily, Workbench.day, Workbench.entries(2))
        _ = try await bench.names("ranking/daily/2024-05-01")
        bench.source.setFailure(.offline)
        #expect(try await bench.names("by-date") == [".", "..", "daily"])
        #expect(try await bench.names("by-date/daily") == [".", "..", "2024"])
        #expect(try await bench.names("by-date/daily/2024") == [".", "..", "05"])
        #expect(try await bench.names("by-date/daily/2024/05") == [".", "..", "2024-05-01"])
        // What is not listed is found by name, as ever.
        #expect(try await bench.stat("by-date/daily/2024/04/2024-04-30").kind == .link)
    }

    // MARK: Who comes that way

    @Test func aWayIsRememberedForAWhileAfterItsLastStep() throws {
        let start = ContinuousClock.now
        let weekly = try #require(RankingMode(rawValue: "weekly"))
        let day = ListingKey.ranking(.daily, Workbench.day)
        var callers = Callers()
        #expect(callers.datedPath(of: day, now: start) == nil)
        callers.wentThroughDates(to: day, now: start)
        #expect(callers.datedPath(of: day, now: start + Callers.wayMemory - .seconds(1)) != nil)
        #expect(callers.datedPath(of: day, now: start + Callers.wayMemory) == nil)
        for other in [ListingKey.ranking(weekly, Workbench.day), .ranking(.daily, Workbench.newest)] {
            #expect(callers.datedPath(of: other, now: start) == nil)
        }
        callers.wentThroughDates(to: day, now: start + .seconds(300))
        #expect(callers.datedPath(of: day, now: start + Callers.wayMemory + .seconds(299)) != nil)
    }

    /// A file manager that shows a month counts the days in it through their links.
    @Test func aDayIsSeenInTheMonthThatIsShown() async throws {
        let bench = try Workbench()
        let (manager, shell) = (
            CallingProgram(process: 10, name: "nautilus"), CallingProgram(process: 20, name: "ls")
        )
        let day = DayDirectory(.daily, Workbench.day)
        let month = "by-date/daily/2024/05"
        let (callers, now) = (bench.fileSystem.tree.callers, ContinuousClock.now)
        func parent(of directory: (any TreeDirectory)? = nil, for program: CallingProgram) -> String? {
            let directory = directory ?? day
            return callers.facts {
                $0.shownParent(directory.path.parent?.text, of: directory.listing?.key, to: program, now: $1)
            }
        }
        _ = await bench.readLink(try await bench.stat("\(month)/2024-05-01").inode)
        #expect(parent(for: shell) == "ranking/daily", "nobody shows the month")
        callers.facts { callers, _ in
            _ = callers.announced(in: month, isListed: true, by: manager, now: now)
            _ = callers.opened(month, below: "by-date/daily/2024", by: manager, isWatched: true, now: now)
        }
        #expect(parent(for: manager) == month)
        let role = callers.facts { callers, _ in
            callers.opened(day.path.text, below: month, by: manager, isWatched: false, now: now)
        }
        #expect(role == .count)
        #expect(parent(of: ModeDirectory(mode: .daily), for: manager) == "ranking")
        let other = DayDirectory(.daily, Workbench.newest)
        #expect(parent(of: other, for: manager) == "ranking/daily", "no link was read")
    }
}
