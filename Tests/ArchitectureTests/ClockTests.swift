import Foundation
import Testing

/// Clocks and chance are passed in, so that a test can hold them.
@Suite struct ClockTests {
    /// Where clocks begin, each with its reason.
    private static let exempt = [
        // The clock of deadlines itself, and as a value that can be replaced.
        "Sources/System/UptimeClock.swift", "Sources/HTTP/HTTPRequest.swift",
        // The thread that curl's sockets are served on: curl measures by the system's clock, and so does what waits for it.
        "Sources/HTTP/CurlLoop.swift", "Sources/HTTP/CurlPool.swift", "Sources/HTTP/CurlExchange.swift",
        "Sources/HTTP/NameResolver.swift",
        // Another process is watched, which lives by the system's clock; `RenderPlan`, which decides, takes the time.
        "Sources/Render/Renderer.swift", "Sources/System/Channel.swift", "Sources/System/ChildProcess.swift",
        // Programs of their own: what they measure is real time.
        "Sources/Tools/rankfs-bench/", "Sources/Tools/rankfs-origin/",
    ]

    private static let patterns = [
        #"(Continuous|Suspending|Uptime)Clock(\(\))?\.now\b"#, #"[:(\-+] ?\.now\b"#, #"\bDate\(\)"#, #"\.random\(in"#,
        #"\bshuffled\("#,
        #"\brandomElement\("#,
    ]

    @Test func clocksAndChanceArePassedIn() throws {
        var exempted: Set<String> = []
        for file in try Package.swiftFiles(below: "Sources") {
            for (number, line) in file.lines.enumerated() where !line.isComment {
                // Timers of Dispatch count from the moment of the call, which is what they are for.
                let text = line.replacingOccurrences(of: "deadline: .now()", with: "")
                    .replacingOccurrences(of: "timeout: .now()", with: "")
                guard Self.patterns.contains(where: { text.range(of: $0, options: .regularExpression) != nil }) else {
                    continue
                }
                if let reason = Self.exempt.first(where: file.path.hasPrefix) {
                    exempted.insert(reason)
                    continue
                }
                // The default of a value that can be replaced.
                let isDefault = ["package var ", "= { Double.random", "= { UptimeClock.now }"]
                    .contains(where: line.contains)
                #expect(isDefault, "\(file.path):\(number + 1) reads a clock or throws dice; take what is passed in")
            }
        }
        #expect(exempted.count >= 6, "\(exempted)")
    }
}
