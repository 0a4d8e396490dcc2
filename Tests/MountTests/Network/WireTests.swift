import Foundation
import Testing

extension MountSuite {
    /// Semantics: "A read returns the right bytes or an error", where the server breaks HTTP/2 itself.
    ///
    /// `Tests/Wire/h2origin.py` does it, as no front can.
    @Suite struct WireTests {
        /// What h2origin.py does to requests, on HTTP/2 or on both versions.
        private static let kinds = [
            "rst-before", "rst-mid-body", "short", "short-close", "long", "stall", "silent", "goaway-unseen",
            "goaway-drop", "goaway-graceful", "headers", "many-headers", "endless", "bad-frame",
        ].map { kind($0) }

        /// Further breaches, for `make faults` alone.
        private static let further =
            ["continuation-flood", "empty-data-flood", "ping-flood", "settings-flood"].map { kind($0) } + [
                kind("rst-before", ",\"code\":2"), kind("goaway-unseen", ",\"last\":0"),
                kind("slow", ",\"rate\":300000"),
            ]

        /// Breaches of whole connections, with all that is requested on them.
        private static let connections = [
            "silent-new", "no-settings", "no-streams", "zero-window", "few-streams", "no-ping-ack", "silence-old",
            "close-old", "goaway-old",
        ]

        private static func kind(_ name: String, _ fields: String = "") -> FaultKind {
            FaultKind(name + fields, "\"kind\":\"\(name)\"\(fields)")
        }

        @Test(arguments: Sweep.services)
        func everyBreachOfHTTP2GivesTheRightBytesOrAnError(service: Service) async throws {
            try await withOrigin(service, ["--no-chunked"], wire: .plain) { workplace, origin in
                let front = try ScriptedFront(workplace, before: origin)
                let mount = try Mount(workplace, of: origin, options: FaultTests.impatient + [front.mountOptions])
                let orders = Sweep.isLong ? ReadOrder.allCases : [.whole]
                let kinds = Self.kinds + (Sweep.isLong ? Self.further : [])
                // Sizes are not known yet: they are asked over HTTP/2, one stream each.
                let cases = try cases(orders.flatMap { order in kinds.map { ($0, order) } }, mount, origin, workplace)
                try front.tell(cases.map { "{\($0.kind.fields),\"match\":\"\($0.source)\"}" })
                try expectHonest(cases, "", front)
                guard Sweep.isLong else { return #expect(mount.unmount()) }

                let days = service.past(kinds.count)
                try front.tell(zip(kinds, days).map { "{\($0.fields),\"match\":\"\(service.page(1, of: $1.days))\"}" })
                let paths = days.map { mount.day(service.long.mode, $0.name) }
                let counts = try origin.counts(of: days.map(\.days), in: workplace)
                let listed = together(upTo: FaultTests.patience, paths.map { path in { list(path) } })
                for (kind, (listed, count)) in zip(kinds, zip(listed, counts)) {
                    let isHonest = listed.map { $0.errno == 0 ? $0.count == count : $0.errno != ENOENT } ?? false
                    #expect(isHonest, "a listing under \(kind): \(listed.map { "\($0)" } ?? "hangs")")
                }
                for name in Self.connections {
                    let some = Array(cases.shuffled().prefix(3))
                    _ = try workplace.run([Workplace.rankfs, "evict"] + some.map(\.path))
                    try front.tell(
                        (["heal", name] + (name.hasSuffix("-old") ? [] : ["close-old"])).map { "{\"kind\":\"\($0)\"}" })
                    try expectHonest(some, name, front)
                }
                #expect(mount.child.process.isRunning && mount.unmount())
            }
        }

        /// A picture of its own for each kind and order.
        private func cases(
            _ pairs: [(FaultKind, ReadOrder)], _ mount: Mount, _ origin: OriginProcess, _ workplace: Workplace
        ) throws -> [FaultTests.Case] {
            let chosen = try mount.pictures(pairs.count, of: origin)
            let bytes = try origin.fetch(chosen.map(\.entry.picture), in: workplace)
            return zip(pairs, zip(chosen, bytes)).map { pair, picture in
                FaultTests.Case(
                    kind: pair.0, order: pair.1, path: picture.0.path, source: picture.0.entry.picture, bytes: picture.1
                )
            }
        }

        /// Reads pictures as long as they are spoilt, and then until all are right.
        private func expectHonest(_ cases: [FaultTests.Case], _ what: String, _ front: ScriptedFront) throws {
            for (each, outcome) in zip(cases, FaultTests.outcomes(cases)) {
                #expect(outcome.isHonest, "\(what) \(each.kind) \(each.order): \(outcome)")
            }
            try front.tell([#"{"kind":"heal"}"#])
            var latest = FaultTests.outcomes(cases)
            _ = poll(upTo: 60) {
                latest = FaultTests.outcomes(cases)
                return latest.allSatisfy { $0 == .right }
            }
            for (each, outcome) in zip(cases, latest) {
                #expect(outcome == .right, "\(what) \(each.kind) \(each.order) afterwards: \(outcome)")
            }
        }
    }
}
