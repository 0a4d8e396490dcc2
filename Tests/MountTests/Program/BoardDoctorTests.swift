import Foundation
import Testing

extension MountSuite {
    /// `rankfs doctor --service` of boards, by the built program.
    @Suite struct BoardDoctorTests {
        /// What goes wrong at a board, the assumption that it breaks, and what is said of that.
        struct Break: Sendable, CustomTestStringConvertible {
            let service: Service
            let fault: String
            let name: String
            let verdict: String
            var testDescription: String { "\(service) \(fault)" }
        }

        private static let breaks = Service.boards.flatMap { service -> [Break] in
            let isDanbooru = service == .danbooru
            let originals = isDanbooru ? "/original/" : "/image/"
            let record = isDanbooru ? "/posts/" : "tags=id:"
            let last = isDanbooru ? "page=1000" : "page=200"
            return [
                (#"{"action":"json200","suffix":"page=1"}"#, "newest ranking", "changed"),
                (
                    #"{"action":"status","status":503,"retry_after":"60","suffix":"page=1"}"#, "newest ranking",
                    "unknown"
                ),
                (#"{"action":"json200","suffix":"page=2"}"#, "second page", "changed"),
                (#"{"action":"json200","suffix":"\#(last)"}"#, "page behind the last", "changed"),
                (#"{"action":"html200","path":"\#(record)"}"#, "record of a work", "changed"),
                (#"{"action":"rangeignored","path":"\#(originals)"}"#, "parts of a picture by Range", "changed"),
                (#"{"action":"unnamed","path":"\#(originals)"}"#, "validator of a picture", "changed"),
                (#"{"action":"flip","path":"\#(originals)"}"#, "listed MD5 of a picture", "changed"),
                (#"{"action":"chunked","path":"\#(originals)","skip":1}"#, "listed length of a picture", "kept"),
                (#"{"action":"rst0","path":"\#(originals)"}"#, "parts of a picture by Range", "unknown"),
                (#"{"action":"nohead","path":"/sample/"}"#, "picture by HEAD", "changed"),
            ].map { Break(service: service, fault: $0.0, name: $0.1, verdict: $0.2) }
        }

        private static func report(
            _ workplace: Workplace, _ origin: OriginProcess, _ flags: String...
        ) throws -> Output {
            let line = ["\(Workplace.programs)/rankfs", "doctor", origin.service.rawValue, "--service"] + flags
            return try workplace.run(
                ["env", "HOME=\(workplace.directory.path)"] + line
                    + ["-o", "\(origin.mountOptions),cache_dir=\(workplace.directory.path)/cache"])
        }

        @Test(arguments: Service.boards) func aBoardIsAsAssumed(service: Service) async throws {
            try await withWorkplace { workplace in
                let origin = try OriginProcess(workplace, service: service)
                let folder = workplace.directory.appending(path: "answers").path
                let report = try Self.report(workplace, origin, "--record", folder)
                #expect(report.status == 0, "\(report.output)\(report.errors)")
                let answers = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
                let count = origin.requests.count
                // Of a post in no pool, no pool is requested.
                #expect((service == .danbooru ? [10, 12] : [9, 10]).contains(count), "\(origin.requests.map(\.path))")
                #expect(answers == (1...count).map { "\(service.rawValue)-\($0 < 10 ? "0" : "")\($0).json" })
                #expect(report.errors.contains("look at them") && !report.output.contains("look at them"))
                let lines = report.lines.dropFirst()
                #expect(lines.count > 15 && lines.allSatisfy { $0.hasPrefix("kept ") }, "\(report.output)")
                #expect(report.lines.first?.hasSuffix("\(count) requests") == true)
                #expect(!report.output.contains("127.0.0.1") && !report.output.contains(workplace.directory.path))
                let again = try Self.report(workplace, origin, "--json")
                let json = try JSONSerialization.jsonObject(with: Data(again.output.utf8)) as? [String: Any]
                let assumptions = json?["assumptions"] as? [[String: String]] ?? []
                #expect(assumptions.map { $0["assumption"] }.contains("listed MD5 of a picture"))
                #expect(assumptions.count == lines.count && json?["requests"] as? Int == count)
            }
        }

        @Test(arguments: breaks) func whatHasChangedIsFound(_ change: Break) async throws {
            try await withWorkplace { workplace in
                let faults = workplace.directory.appending(path: "faults")
                try "\(change.fault)\n".write(to: faults, atomically: true, encoding: .utf8)
                let origin = try OriginProcess(
                    workplace, ["--faults", faults.path], wire: .plain, service: change.service)
                let report = try Self.report(workplace, origin)
                #expect(report.status == (change.verdict == "kept" ? 0 : 1), "\(report.output)\(report.errors)")
                #expect((1...16).contains(origin.requests.count), "\(origin.requests.map(\.path))")
                let line = report.lines.first { $0.contains(" \(change.name)  ") }
                #expect(line?.hasPrefix(change.verdict) == true, "\(report.output)")
            }
        }
    }
}
