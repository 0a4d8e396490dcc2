import Foundation
import Testing

extension MountSuite {
    /// Semantics: "A read returns the right bytes or an error", where the server breaks HTTP/2 itself.
    ///
    /// What no front can do: `Tests/Wire/h2origin.py` does it. The whole matrix, with seeds, is `make faults`.
    @Suite struct WireTests {
        /// What h2origin.py does to requests, on HTTP/2 or on both versions.
        private static let kinds = [
            "rst-before", "rst-mid-body", "short", "short-close", "long", "stall", "silent", "goaway-unseen",
            "goaway-drop", "goaway-graceful", "headers", "many-headers", "endless", "bad-frame",
        ]

        @Test(arguments: Service.allCases)
        func everyBreachOfHTTP2GivesTheRightBytesOrAnError(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, ["--no-chunked"], wire: .plain, service: service)
                let front = try ScriptedFront(workplace, before: origin)
                let mount = try Mount(workplace, of: origin, options: FaultTests.impatient + [front.mountOptions])
                // Sizes are not known yet: they are asked over HTTP/2, one stream each.
                let pictures = try zip(mount.names(mount.day()), origin.ranking()).filter { !$1.isWithheld }
                let chosen = Array(pictures.prefix(Self.kinds.count))
                let bytes = try origin.fetch(chosen.map(\.1.picture), in: workplace)
                let cases = zip(Self.kinds, zip(chosen, bytes)).map { kind, picture in
                    FaultTests.Case(
                        kind: FaultKind(kind), order: .whole, path: "\(mount.day())/\(picture.0.0)",
                        source: picture.0.1.picture, bytes: picture.1)
                }
                try front.tell(cases.map { #"{"kind":"\#($0.kind)","match":"\#($0.source)"}"# })
                for (each, outcome) in zip(cases, outcomes(cases)) {
                    #expect(outcome.isHonest, "\(each.kind): \(outcome)")
                }
                #expect(mount.child.process.isRunning)

                try front.tell([#"{"kind":"heal"}"#])
                var latest = outcomes(cases)
                _ = poll(upTo: 60) {
                    latest = outcomes(cases)
                    return latest.allSatisfy { $0 == .right }
                }
                for (each, outcome) in zip(cases, latest) {
                    #expect(outcome == .right, "\(each.kind) afterwards: \(outcome)")
                }
                #expect(mount.unmount())
            }
        }

        private func outcomes(_ cases: [FaultTests.Case]) -> [Outcome] {
            together(upTo: FaultTests.patience, cases.map { each in { each.outcome() } }).map { $0 ?? .hung }
        }
    }
}
