import Foundation
import Glibc
import TestSupport
import Testing

extension MountSuite {
    /// Semantics: "A read returns the right bytes or an error", for everything that the origin can do wrong for ever.
    @Suite struct FaultTests {
        /// The options where every answer comes at once: what a busy machine needs for it is no fault.
        static let options = ["prefetch=0", "timeout=60", "connections=32"]
        /// The options where an answer never comes.
        static let impatient = ["prefetch=0", "timeout=6", "connections=32"]
        /// A reader that has no answer after this many seconds hangs; several reads of one reader may each take a timeout.
        static let patience = 90.0

        /// A picture that one reader reads while it is spoilt in one way.
        struct Case: Sendable {
            let kind: FaultKind
            let order: ReadOrder
            let path: String
            let source: String
            let bytes: Data

            func outcome() -> Outcome {
                Outcome(order.read(path, size: bytes.count), expected: bytes[order.part(of: bytes.count)])
            }

            /// Nil if stat fails.
            func size() -> Int64? { (try? status(of: path)).map { Int64($0.st_size) } }
        }

        @Test(arguments: Sweep.all)
        func everyFaultGivesTheRightBytesOrAnError(sweep: Sweep) async throws {
            let (wire, service) = (sweep.wire, sweep.service)
            try await withMount(service, wire: wire, options: Self.options) { workplace, origin, mount in
                let listing = sweep.knowsSizes ? ["ls", "-l"] : ["ls"]
                #expect(try workplace.run(listing + [mount.day(service.long.mode, service.long.day)]).status == 0)
                let told = service.isProven ? FaultKind.digests : []
                var loudKinds = (FaultKind.broken + told + FaultKind.odd).filter {
                    $0.shows(on: wire) && $0.passes(service) && !$0.closesTheHost
                }
                var last = FaultKind.silent + FaultKind.broken.filter(\.closesTheHost)
                if sweep.seed > 1 {
                    var random = Random(seed: sweep.seed)
                    loudKinds = loudKinds.compactMap { $0.varied(using: &random) }
                    last = last.compactMap { $0.varied(using: &random) }
                }
                let cases = try cases(
                    loudKinds + last, orders: sweep.orders, mount, origin.pictures(), origin, workplace)

                // The silent ones hold connections, behind which the others would time out untried, and a host that asks to be
                // left alone is, by all.
                let loud = loudKinds.flatMap(sweep.orders).count
                try expectRightOrErrors(Array(cases[..<loud]), sweep, mount, origin, workplace)
                let second = try Mount(workplace, of: origin, options: Self.impatient)
                try expectRightOrErrors(Array(cases[loud...]), sweep, second, origin, workplace)
                try expectOnlyRightBytesStored(cases, of: origin, workplace)
            }
        }

        /// Reads pictures while they are spoilt and afterwards, and unmounts.
        private func expectRightOrErrors(
            _ cases: [Case], _ sweep: Sweep, _ mount: Mount, _ origin: OriginProcess, _ workplace: Workplace
        ) throws {
            // Where sizes are not known they are spoilt, too.
            try origin.spoil(
                cases.map { $0.kind.rule($0.source, method: sweep.knowsSizes ? "GET" : nil) }, in: workplace)
            for (each, outcome) in zip(cases, Self.outcomes(cases)) {
                report("fault \(each.kind) \(each.order) -> \(outcome)")
                #expect(outcome.isHonest, "\(each.kind) \(each.order): \(outcome)")
                if each.kind.reading != .rightOrFails {
                    #expect(
                        (outcome == .right) == (each.kind.reading == .right), "\(each.kind) \(each.order): \(outcome)")
                }
            }
            #expect(mount.child.process.isRunning)
            if sweep.knowsSizes {
                for each in cases where each.kind.keepsTheSize {
                    #expect(each.size() == Int64(each.bytes.count), "\(each.kind) \(each.order) forgot the size")
                }
            }
            // What the listing told is true whatever comes instead of the bytes, and nobody is asked for it.
            if origin.service.isProven {
                for each in cases { #expect(each.size() == Int64(each.bytes.count), "\(each.kind) \(each.order)") }
                #expect(!origin.pictureRequests.contains { $0.method == "HEAD" })
            }

            // The same mount, the same paths: right as soon as the origin is.
            try origin.spoil([], in: workplace)
            for (each, outcome) in zip(cases, recovered(cases)) {
                let isGone = each.kind.reading == .failsForLong
                // Of a picture of which the size was asked for in vain the bytes were not, which alone is remembered.
                if isGone && !sweep.knowsSizes && outcome == .right { continue }
                #expect(
                    outcome == (isGone ? .failed(ENOENT) : .right), "\(each.kind) \(each.order) afterwards: \(outcome)")
            }
            #expect(mount.unmount())
        }

        /// Of boards the small renditions, of which no listing tells the size.
        @Test(arguments: Service.reached)
        func noSizeIsALieForLong(wire: Wire, service: Service) async throws {
            try await withOrigin(service, ["--no-chunked"], wire: wire) { workplace, origin in
                let options = Self.impatient + (service.isProven ? ["images=small"] : [])
                let mount = try Mount(workplace, of: origin, options: options)
                let heads = FaultKind.heads.filter { $0.shows(on: wire) }
                let cases = try cases(
                    heads, orders: { _ in [.whole] }, mount, day: mount.day(), origin.unmeasured(), origin, workplace)
                try origin.spoil(cases.map { $0.kind.rule($0.source, method: "HEAD") }, in: workplace)
                let first = Self.outcomes(cases)
                for (each, outcome) in zip(cases, first) {
                    #expect(outcome.isHonest, "\(each.kind): \(outcome)")
                }
                // HEAD still lies, but what a download contradicted once is not believed again.
                let sizes = together(upTo: Self.patience, cases.map { each in { [each.size()] } })
                for (index, each) in cases.enumerated() {
                    let size = sizes[index]
                    report("head \(each.kind) -> \(first[index]), then size \(size?.first??.description ?? "error")")
                    #expect(size == [nil] || size == [Int64(each.bytes.count)], "\(each.kind) shows a wrong size")
                }
                try origin.spoil([], in: workplace)
                for (each, outcome) in zip(cases, recovered(cases)) {
                    #expect(outcome == .right, "\(each.kind) afterwards: \(outcome)")
                    #expect(each.size() == Int64(each.bytes.count), "\(each.kind) afterwards")
                }
            }
        }

        @Test(arguments: Service.reached)
        func aListingIsWholeOrAnError(wire: Wire, service: Service) async throws {
            try await withOrigin(service, wire: wire) { workplace, origin in
                // The first page, or one in the middle: then a reader must not take the beginning for the whole.
                let spoilt =
                    FaultKind.pages(of: service, on: wire).map { ($0, 1) }
                    + FaultKind.middle.map { ($0, service.laterPage) }
                let (silent, loud) = (spoilt.filter { $0.0.isSilent }, spoilt.filter { !$0.0.isSilent })
                // Apart: after a limit the service is left alone for seconds, in which no other listing can heal.
                let limits = FaultKind.limits.map { ($0, 1) }
                var past = service.past(spoilt.count + limits.count)[...]
                for (kinds, options) in [(loud, Self.options), (limits, Self.impatient), (silent, Self.impatient)] {
                    let mount = try Mount(workplace, of: origin, options: options)
                    try spoil(kinds, on: past.prefix(kinds.count), origin, mount, workplace)
                    past = past.dropFirst(kinds.count)
                    #expect(mount.unmount())
                }
            }
        }

        /// Lists days whose pages are spoilt, each in its own way, and lists them again once they are not.
        private func spoil(
            _ spoilt: [(FaultKind, Int)], on past: ArraySlice<(name: String, days: String)>, _ origin: OriginProcess,
            _ mount: Mount, _ workplace: Workplace
        ) throws {
            let known = try mount.names(mount.day())
            let days = past.map(\.name)
            let rules = zip(spoilt, past).map { $0.0.rule(mount.service.page($0.1, of: $1.days)) }
            try origin.spoil(rules, in: workplace)
            for ((kind, page), listed) in zip(spoilt, lists(mount, days[...])) {
                report("page \(page) \(kind) -> \(listed.map { "\($0)" } ?? "HANG")")
                #expect(listed != nil, "\(kind) on page \(page) hangs")
                #expect(listed?.errno != 0 && listed?.errno != ENOENT, "\(kind) on page \(page)")
            }
            #expect(try mount.names(mount.day()) == known, "a known day stays")
            try origin.spoil([], in: workplace)
            var after = lists(mount, days[...])
            _ = poll(upTo: 60) {
                for index in days.indices where after[index]?.errno != 0 {
                    after[index] = lists(mount, days[index...index])[0]
                }
                return after.allSatisfy { $0?.errno == 0 }
            }
            let counts = try origin.counts(of: past.map(\.days), in: workplace)
            for (index, ((kind, page), listed)) in zip(spoilt, after).enumerated() {
                #expect(listed == Listed(count: counts[index], errno: 0), "\(kind) on page \(page) afterwards")
            }
        }

        private func lists(_ mount: Mount, _ days: ArraySlice<String>) -> [Listed?] {
            let paths = days.map { mount.day(mount.service.long.mode, $0) }
            return together(upTo: Self.patience, paths.map { path in { list(path) } })
        }

        /// Reads until right, as long as every answer is honest.
        private func recovered(_ cases: [Case]) -> [Outcome] {
            var latest = Self.outcomes(cases)
            _ = poll(upTo: 60) {
                let late = cases.indices.filter { cases[$0].kind.reading != .failsForLong && latest[$0] != .right }
                if late.isEmpty || late.contains(where: { !latest[$0].isHonest }) { return true }
                for (index, outcome) in zip(late, Self.outcomes(late.map { cases[$0] })) { latest[index] = outcome }
                return false
            }
            return latest
        }

        /// Without an origin a mount gives what is stored: all that was read, and nothing that is wrong.
        private func expectOnlyRightBytesStored(
            _ cases: [Case], of origin: OriginProcess, _ workplace: Workplace
        ) throws {
            origin.stop()
            let mount = try Mount(workplace, of: origin, options: Self.options)
            let wholes = cases.map {
                Case(kind: $0.kind, order: .whole, path: $0.path, source: $0.source, bytes: $0.bytes)
            }
            for (each, outcome) in zip(cases, Self.outcomes(wholes)) {
                #expect(outcome.isHonest, "\(each.kind) \(each.order) stored: \(outcome)")
                if each.order != .tail, each.kind.reading != .failsForLong {
                    #expect(outcome == .right, "\(each.kind) \(each.order) stored: \(outcome)")
                }
            }
            #expect(mount.unmount())
        }

        // MARK: -

        /// A picture of its own for every kind and order, of a directory whose `pictures` are known by rank.
        private func cases(
            _ kinds: [FaultKind], orders: (FaultKind) -> [ReadOrder], _ mount: Mount, day: String? = nil,
            _ pictures: [String?], _ origin: OriginProcess, _ workplace: Workplace
        ) throws -> [Case] {
            let pairs = kinds.flatMap { kind in orders(kind).map { (kind, $0) } }
            let day = day ?? mount.day(origin.service.long.mode, origin.service.long.day)
            let chosen = try zip(mount.names(day), pictures)
                .compactMap { name, picture in picture.map { (name: name, picture: $0) } }.prefix(pairs.count)
            try #require(chosen.count == pairs.count)
            let bytes = try origin.fetch(chosen.map(\.picture), in: workplace)
            return zip(pairs, zip(chosen, bytes)).map { pair, picture in
                Case(
                    kind: pair.0, order: pair.1, path: "\(day)/\(picture.0.name)", source: picture.0.picture,
                    bytes: picture.1)
            }
        }

        static func outcomes(_ cases: [Case]) -> [Outcome] {
            together(upTo: patience, cases.map { each in { each.outcome() } }).map { $0 ?? .hung }
        }
    }
}
