import Foundation
import TestSupport
import Testing

extension MountSuite {
    /// An independent client, Tests/Clients/visitor.py, parses what the origin says and downloads; the mounts show the same.
    @Suite struct ClientTests {
        private static let clients = TestPrograms.root.appending(path: "Tests/Clients").path

        @Test func anIndependentClientAgreesWithTheMount() async throws {
            try await withOrigin { workplace, origin in
                let views = try Self.views(of: origin, in: workplace)
                let caught = try Self.visit(
                    origin, in: workplace,
                    "ranking:daily:\(Mount.day):1", "ranking:daily:\(Mount.day):7", "author:1006", "author:1007",
                    "work:900600001", "search:風景:3", "search:三枚だけの札:1", "animation:900600000")
                let output = try Self.compare(caught, with: views, in: workplace)
                #expect(output.status == 0, "\(output.errors)")
                let counts = try Self.counts(output)
                // Nothing agrees with nothing.
                #expect(counts["ranking entries", default: 0] > 90)
                #expect(counts["users entries"] == 101 + 7)
                // Of 60 slots some are advertisements.
                #expect(counts["search entries", default: 0] > 3 * 58)
                #expect(counts["original pictures", default: 0] >= 12 + 3)
                #expect(counts["regular pictures", default: 0] >= 4)
                #expect(counts["small pictures", default: 0] >= 2)
                #expect(counts["animations"] == 1)
                #expect(counts["frames"] == 60)
                #expect(counts["records"] == 2)
                #expect(counts["disagreements"] == 0)
            }
        }

        /// The comparison itself can fail: one other byte, one work less and one other frame are told each by its name.
        @Test func aDisagreementIsNoticed() async throws {
            try await withOrigin { workplace, origin in
                let views = try Self.views(of: origin, in: workplace)
                let caught = try Self.visit(origin, in: workplace, "author:1007", "animation:900600003")
                let notes = URL(filePath: "\(caught)/catch.jsonl")
                var text = try String(contentsOf: notes, encoding: .utf8)
                text = text.replacingOccurrences(of: "\"見本3\"", with: "\"見本9\"")
                text = text.replacingOccurrences(of: "000001.jpg", with: "000009.jpg")
                try text.write(to: notes, atomically: true, encoding: .utf8)
                let picture = URL(filePath: "\(caught)/original-900600006_p0.jpg")
                var bytes = try Data(contentsOf: picture)
                bytes[bytes.count / 2] ^= 1
                try bytes.write(to: picture)
                let output = try Self.compare(caught, with: views, in: workplace)
                #expect(output.status == 1)
                let sentences = output.errors.split(separator: "\n").map(String.init)
                #expect(sentences.contains { $0.contains("work 900600002: title '見本9', not '見本3'") })
                #expect(sentences.contains { $0.contains("original-900600006_p0.jpg") && $0.contains("other bytes") })
                #expect(sentences.contains { $0.contains("work 900600003: the archive has other names of frames") })
                // The original is shown in two places: among the author's works and as the work itself.
                #expect(try Self.counts(output)["disagreements"] == 4, "\(output.errors)")
            }
        }

        /// Mounts of one origin by rendition.
        private static func views(of origin: OriginProcess, in workplace: Workplace) throws -> [String: Mount] {
            var mounts: [String: Mount] = [:]
            for (view, options) in ["original": ["pages=all"], "regular": [], "small": []] {
                let own = ["images=\(view)", "cache_dir=\(try workplace.folder("cache-\(view)"))"]
                mounts[view] = try Mount(workplace, of: origin, options: own + options, named: view)
            }
            return mounts
        }

        private static func visit(
            _ origin: OriginProcess, in workplace: Workplace, _ what: String...
        ) throws -> String {
            let folder = try workplace.folder("catch")
            let output = try workplace.run(
                ["env", "SSL_CERT_FILE=\(origin.authority)", "python3", "\(clients)/visitor.py", "--api"]
                    + [origin.url, "--images", origin.url, "--catch", folder, "--pictures", "1"] + what, upTo: 120)
            guard output.status == 0 else { throw Failure("visitor.py: \(output.errors)") }
            return folder
        }

        private static func compare(
            _ folder: String, with views: [String: Mount], in workplace: Workplace
        ) throws -> Output {
            let mounts = views.flatMap { ["--\($0.key)", $0.value.path] }
            return try workplace.run(["python3", "\(clients)/compare.py", folder] + mounts, upTo: 240)
        }

        private static func counts(_ output: Output) throws -> [String: Int] {
            let counts = try JSONSerialization.jsonObject(with: Data(output.output.utf8)) as? [String: Int]
            return counts ?? [:]
        }
    }
}
