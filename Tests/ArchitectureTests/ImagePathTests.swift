import Testing

/// The path of a picture's bytes: one place that asks, one that reads answers, one that decides what is asked for.
@Suite struct ImagePathTests {
    /// Modules that want something of the image host.
    private static let askers = ["Catalog", "ImageCache", "RankFS"]

    private func files(with words: [String], in modules: [String]) throws -> [String] {
        try modules.flatMap { try Package.swiftFiles(below: "Sources/\($0)") }
            .filter { file in file.lines.contains { line in words.contains { line.contains($0) } } }
            .map { String($0.path.split(separator: "/").last ?? "") }
    }

    @Test func nobodyMakesRequestsButTheDoors() throws {
        #expect(try files(with: ["HTTPRequest("], in: Self.askers) == [])
        let doors = ["ImageHost.swift", "PacedAPI.swift", "ServiceExaminer.swift"]
        #expect(try files(with: ["HTTPRequest("], in: ["Sourcing"]).sorted() == doors)
    }

    /// Besides the parser, a recording copies fields, and a signature names one of its request.
    @Test func oneParserReadsAnswers() throws {
        let fields = [
            "content-length", "content-range", "content-type", "content-encoding", "transfer-encoding", "etag",
            "last-modified", "retry-after",
        ].map { "\"\($0)\"" }
        let modules = try Package.folders(below: "Sources").map(\.name).filter { "Sources/\($0)" != Package.tools }
        let found = try Set(files(with: fields, in: modules))
        #expect(found == ["HTTPAnswer.swift", "AnswerRecording.swift", "TimedSignature.swift"])
    }

    @Test func oneSchedulerDecidesWhatIsAskedFor() throws {
        #expect(try files(with: ["download.begin("], in: ["ImageCache"]) == ["Fetching.swift"])
        #expect(try files(with: ["scheduler.next("], in: ["ImageCache"]) == ["Core.swift"])
    }

    /// The files of the cache in layers: one names what its own layer has and those before it.
    private static let cacheLayers = [
        ["Types"], ["Marks"], ["PictureStore", "OlderFormat"], ["StoredIndex"], ["PictureFormat"], ["PartialFile"],
        ["Download", "Requests"], ["Scheduling"], ["Core", "Fetching", "Reading"], ["ImageCache"], ["Maintenance"],
    ]

    @Test func theFilesOfTheCacheAreLayers() throws {
        let files = try Ruler.tree.get().files.filter { $0.module == "ImageCache" }
        func layer(_ file: Ruler.File) throws -> Int {
            let name = String(file.path.dropFirst("Sources/ImageCache/".count).dropLast(".swift".count))
            return try #require(Self.cacheLayers.firstIndex { $0.contains(name) }, "\(file.path) is in no layer")
        }
        for file in files {
            for other in files where try layer(other) > layer(file) {
                let named = file.words.intersection(other.declared)
                #expect(named.isEmpty, "\(file.path) names \(named.sorted()) of \(other.path)")
            }
        }
    }

    /// The books of the cache's core know nothing of it, so each can be read by itself.
    @Test func onlyTheCoreBringsTheBooksTogether() throws {
        let core = try #require(Self.cacheLayers.firstIndex { $0.contains("Core") })
        for file in try Package.swiftFiles(below: "Sources/ImageCache") {
            let name = String(file.path.split(separator: "/").last?.dropLast(".swift".count) ?? "")
            let code = file.lines.filter { !$0.isComment }
            if !Self.cacheLayers[core].contains(name) {
                #expect(!code.contains { $0.contains("extension Core") }, "\(file.path)")
            }
            guard Self.cacheLayers[..<core].joined().contains(name) else { continue }
            #expect(!code.contains { $0.contains("Core") }, "\(file.path)")
        }
    }
}
