import Rankings
import Testing

@testable import rankfs

@Suite struct MetricsTests {
    private var document: StatusDocument {
        var document = StatusDocument.sample
        document["mount_point"] = .string("/m/a \"b\"\\\nü")
        return document
    }

    /// The rules of the text format, as `promtool check metrics` has them, on every line.
    @Test func theTextKeepsTheRules() throws {
        let text = String(decoding: document.metrics, as: UTF8.self)
        #expect(text.hasSuffix("\n") && !text.contains("\n\n") && !text.contains("\r"))
        var described: [String] = []
        var types: [String: String] = [:]
        var samples: Set<String> = []
        for line in text.split(separator: "\n") {
            if let match = line.wholeMatch(of: /# HELP ([a-z_]+) (\S.*)/) {
                #expect(!described.contains(String(match.1)), "described twice: \(line)")
                described.append(String(match.1))
            } else if let match = line.wholeMatch(of: /# TYPE ([a-z_]+) (gauge|counter)/) {
                #expect(described.last == String(match.1), "HELP goes before TYPE: \(line)")
                types[String(match.1)] = String(match.2)
            } else {
                let match = try #require(
                    line.wholeMatch(
                        of: /(rankfs_[a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)+\})? (-?[0-9]+(?:\.[0-9]+)?)/
                    ),
                    "\(line)")
                #expect(described.last == String(match.1), "samples stand together: \(line)")
                #expect(samples.insert("\(match.1)\(match.2 ?? "")").inserted, "told twice: \(line)")
            }
        }
        #expect(Set(described) == Set(types.keys))
        for (name, type) in types {
            #expect((type == "counter") == name.hasSuffix("_total"), "\(name)")
            #expect(!name.contains("gauge") && !name.contains("counter"), "no types in names: \(name)")
            for unit in ["_ms", "_kb", "_mb", "_sec", "_milliseconds", "_kilobytes"] {
                #expect(!name.contains("\(unit)_") && !name.hasSuffix(unit), "base units in full: \(name)")
            }
        }
    }

    @Test func figuresAreThoseOfTheStatus() {
        let lines = Set(String(decoding: document.metrics, as: UTF8.self).split(separator: "\n").map(String.init))
        for line in [
            #"rankfs_build_info{mount_point="/m/a \"b\"\\\nü",source="pixiv",version="1.2.3"} 1"#,
            "rankfs_start_time_seconds 1000", #"rankfs_messages_total{level="error"} 1"#,
            "rankfs_cache_stored_bytes 5242880", "rankfs_cache_budget_bytes 2147483648", "rankfs_cache_writable 1",
            #"rankfs_downloads{activity="reading"} 1"#, #"rankfs_downloads{activity="preloading"} 1"#,
            "rankfs_queued_preloads 25", "rankfs_api_tokens 39.5",
            #"rankfs_cool_down_seconds{host="api"} 275"#, #"rankfs_cool_down_seconds{host="images"} 0"#,
            #"rankfs_http_requests_total{method="head",purpose="size"} 500"#,
            #"rankfs_http_answers_total{purpose="api",result="limited"} 1"#,
            #"rankfs_http_failures_total{purpose="picture",reason="broken"} 2"#,
            #"rankfs_http_received_bytes_total{purpose="picture"} 1048576"#,
            #"rankfs_original_questions_total{host="images"} 9"#, "rankfs_thumbnails_total 120",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        var document = document
        for name in ["files", "received_bytes"] { document["thumbnails.\(name)"] = .null }
        #expect(!String(decoding: document.metrics, as: UTF8.self).contains("thumbnail"))
    }

    /// Figures of the status that are no metric, with what they are.
    private static let others: Set<String> = [
        // Of the process, and clocks, by which rates are told.
        "pid", "uptime", "monotonic", "sign_in.user",
        // A setting.
        "network.rate",
    ]

    @Test func everyOtherFigureOfTheStatusIsAMetric() {
        var document = document
        document["network.image_host_closed_until"] = .integer(document.number("time") + 60)
        let before = document.metrics
        var missing: Set<String> = []
        for figure in StatusFigure.all where document.has(figure.path) && [.whole, .real].contains(figure.kind) {
            var changed = document
            changed[figure.path] = .real(document.real(figure.path) + 1)
            if changed.metrics == before { missing.insert(figure.path) }
        }
        #expect(missing == Self.others)
    }
}
