import Rankings

@testable import HTTP

/// What servers say before a body.
extension FuzzTarget {
    static let answers: [FuzzTarget] = [
        FuzzTarget(name: "headers", longest: 4096, seeds: []) { bytes in
            var input = InputReader(bytes)
            let choice = input.byte()
            var request = HTTPRequest(
                url: "https://i.pximg.net/a.jpg", priority: .reader, transferClass: .bulk, deadline: .now,
                bodyLimit: 1 << 20, purpose: .picture)
            if choice & 1 != 0 { request.method = .head }
            if choice & 2 != 0 { request.range = (first: Int64(choice >> 4), last: choice & 4 != 0 ? 100 : nil) }
            request.acceptsCompression = choice & 8 != 0
            var check = AnswerCheck(request, host: "i.pximg.net")
            do throws(Failure) {
                for line in input.rest.split(separator: 0x0A, omittingEmptySubsequences: false).map({ $0 + [0x0A] }) {
                    guard case .head(let head) = try check.line(line) else { continue }
                    try FuzzTarget.holdHead(head, check)
                }
                _ = try check.body(Int(choice))
                try check.end(transferred: Int64(choice))
            } catch let error {
                if case .broken(let reason) = error, reason.hasPrefix(broken) {
                    throw BrokenProperty(description: reason)
                }
            }
        },
        FuzzTarget(name: "date", longest: 64, seeds: []) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            let headers = ["retry-after", "date", "last-modified"].map { (name: $0, value: text) }
            for count in 1...3 {
                let answer = HTTPAnswer(status: 503, headers: Array(headers.prefix(count)))
                try hold(answer.age ?? 0 == 0, "an answer that is older than itself")
                for now: Int64 in [0, 1_700_000_000, 253_402_300_799] {
                    let wait = answer.pause(now: now) ?? 0
                    try hold((0...HTTPAnswer.longestPause).contains(wait), "a wait of \(wait) s")
                }
            }
        },
    ]

    private static let broken = "property: "

    /// What an accepted head promises; told as an `Failure` so that it passes through a typed `do`.
    private static func holdHead(_ head: HTTPAnswer, _ check: AnswerCheck) throws(Failure) {
        guard (100...999).contains(head.status) else { throw .broken(broken + "a status of \(head.status)") }
        guard check.headSeen else { throw .broken(broken + "a head that was not seen") }
        if head.status == 206, head.part == nil { throw .broken(broken + "a part of nothing") }
        if head.contradiction != nil { throw .broken(broken + "a length that contradicts itself") }
    }
}
