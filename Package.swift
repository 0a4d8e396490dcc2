// swift-tools-version: 6.2
import PackageDescription

/// One set of rules for every target; the targets are described in `Sources/rankfs/Documentation.docc/Architecture.md`.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
]

/// Tests talk to C and to files all day; marking each call would hide what is tested.
let testSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
]

func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(
    _ name: String, _ dependencies: [Target.Dependency], excluding excluded: [String] = [], resources: [Resource] = []
) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, exclude: excluded, resources: resources, swiftSettings: testSettings)
}

/// What reads something from outside.
let fuzzed: [Target.Dependency] = [
    "Rankings", "Digests", "HTTP", "Sourcing", "Pixiv", "Booru", "Danbooru", "Moebooru", "ImageCache", "Render",
    "Media", "Thumbnails", "RankFS", "ObjectStore", "Tier", "rankfs",
]

/// Set by `make fuzz`: libFuzzer brings a `main` of its own, so the program is then a module that has none, and there is
/// nothing else but what is fuzzed.
let fuzzes = Context.environment["RANKFS_FUZZ"] != nil

/// The program, whose parts the tests and the fuzzer read.
func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    guard fuzzes else {
        return .executableTarget(name: name, dependencies: dependencies, swiftSettings: settings)
    }
    return .target(name: name, dependencies: dependencies, exclude: ["Program.swift"], swiftSettings: settings)
}

/// A program beside the product: what tests, demonstrations and figures are made with.
func tool(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Sources/Tools/\(name)", resources: resources,
        swiftSettings: settings)
}

let package = Package(
    name: "rankfs",
    products: [
        .executable(name: "rankfs", targets: ["rankfs"]),
        .executable(name: "rankfs-render", targets: ["rankfs-render"]),
        .executable(name: "rankfs-origin", targets: ["rankfs-origin"]),
        .executable(name: "rankfs-bench", targets: ["rankfs-bench"]),
    ],
    targets: [
        .systemLibrary(name: "CFuse3", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CXXHash", pkgConfig: "libxxhash", providers: [.apt(["libxxhash-dev"])]),
        .systemLibrary(name: "CExpat", pkgConfig: "expat", providers: [.apt(["libexpat1-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CLinux"),

        library("Rankings", []),
        library("Posix", ["CLinux"]),
        library("Digests", ["CCrypto", "CXXHash"]),
        library("HTTP", ["Posix", "CCurl"]),
        library("ObjectStore", ["Digests", "HTTP", "CExpat"]),
        library("SQLite", ["CSQLite"]),
        library("Sourcing", ["Posix", "Rankings", "Digests", "HTTP"]),
        library("Pixiv", ["Posix", "Rankings", "HTTP", "Sourcing"]),
        library("Booru", ["Rankings", "HTTP", "Sourcing"]),
        library("Danbooru", ["Rankings", "Sourcing", "Booru"]),
        library("Moebooru", ["Rankings", "Sourcing", "Booru"]),
        library("ImageHost", ["Rankings", "HTTP"]),
        library("Catalog", ["Rankings", "HTTP", "ImageHost", "SQLite"]),
        library(
            "ImageCache", ["Posix", "Rankings", "Digests", "HTTP", "ImageHost", "SQLite", "CLinux"]),
        library(
            "Tier",
            ["Posix", "Rankings", "Digests", "HTTP", "ObjectStore", "SQLite", "ImageHost", "Catalog", "ImageCache"]),
        library("Render", ["Posix"]),
        library("Media", ["Render", "CTurboJPEG", "CWebP", "CPNG"]),
        library("Thumbnails", ["Posix", "Rankings", "Digests", "HTTP", "ImageHost", "Render"]),
        library("Fuse", ["Posix", "CFuse3"]),
        .target(
            name: "RankFS",
            dependencies: ["Posix", "Rankings", "Digests", "Fuse", "Catalog", "ImageCache", "Render", "Thumbnails"],
            // Drawn once; the program encodes no pictures.
            resources: [.embedInCode("Resources/nothing-stored.jpg")], swiftSettings: settings),
        .target(
            name: "Origin", dependencies: ["Posix", "Rankings", "Media", "Digests", "CZlib"],
            path: "Sources/Tools/Origin",
            // The kinds of files that it cannot draw, the words of titles and tags, and what never differs in answers.
            resources: [
                .embedInCode("Resources/film.gif"), .embedInCode("Resources/film.mp4"),
                .embedInCode("Resources/film.webm"), .embedInCode("Resources/still.avif"),
                .embedInCode("Resources/words.json"), .embedInCode("Resources/shapes.json"),
                .embedInCode("Resources/landmarks.json"), .embedInCode("Resources/fronts.json"),
            ],
            // It draws hundreds of pictures, which takes ten times as long where nothing is optimised.
            swiftSettings: settings + [.unsafeFlags(["-O"], .when(configuration: .debug))]),
        program(
            "rankfs",
            [
                "Rankings", "Posix", "Digests", "HTTP", "SQLite", "Sourcing", "Pixiv", "Danbooru", "Moebooru",
                "ImageHost",
                "Catalog", "ImageCache", "ObjectStore", "Tier", "Fuse",
                "Render", "Thumbnails", "RankFS", "CSystemd", "CLinux",
            ]),
        .executableTarget(
            name: "rankfs-render", dependencies: ["Media", "Render", "Posix", "CLinux"], swiftSettings: settings),
        tool("rankfs-bench", ["Posix", "CLinux"]),
        // Mounted by FuseTests in a process of its own, and an example of the library.
        tool("fuse-example", ["Fuse"]),
        tool("rankfs-origin", ["Origin", "Rankings"], resources: [.embedInCode("Resources/help.txt")]),

        .target(name: "CThreadSanitizer", path: "Tests/CThreadSanitizer"),
        .target(
            name: "TestSupport", dependencies: ["HTTP", "Rankings", "Pixiv", "Render", "CLinux", "CThreadSanitizer"],
            path: "Tests/TestSupport",
            swiftSettings: settings),
        // The smallest source, registered in tests alone.
        .target(
            name: "SampleSource", dependencies: ["Rankings", "HTTP", "Sourcing"], path: "Tests/SampleSource",
            swiftSettings: settings),
        // It mounted, in a process of its own.
        .executableTarget(
            name: "sample-mount",
            dependencies: [
                "SampleSource", "Sourcing", "RankFS", "Rankings", "Catalog", "ImageCache", "ImageHost", "Fuse", "HTTP",
                "Render",
            ], path: "Tests/SampleMount", swiftSettings: settings),
        tests("ArchitectureTests", []),
        tests("PosixTests", ["Posix"]),
        tests("RankingsTests", ["Rankings", "TestSupport"]),
        tests("HTTPTests", ["HTTP", "TestSupport"]),
        tests("SQLiteTests", ["SQLite", "CSQLite"]),
        tests("PixivTests", ["Pixiv", "Sourcing", "Rankings", "HTTP", "TestSupport"], resources: [.copy("Payloads")]),
        tests(
            "BooruTests", ["Booru", "Danbooru", "Moebooru", "Sourcing", "Rankings", "HTTP", "TestSupport"],
            resources: [.copy("Payloads")]),
        tests("ObjectStoreTests", ["ObjectStore", "HTTP", "TestSupport"]),
        tests(
            "TierTests", ["Tier", "ObjectStore", "HTTP", "Rankings", "Digests", "SQLite", "TestSupport"]),
        tests("ImageHostTests", ["ImageHost", "Rankings", "HTTP", "TestSupport"]),
        tests("CatalogTests", ["Catalog", "Rankings", "HTTP", "ImageHost", "SQLite", "TestSupport"]),
        tests(
            "ImageCacheTests",
            ["ImageCache", "Posix", "Rankings", "Digests", "HTTP", "ImageHost", "CLinux", "TestSupport"],
            excluding: ["Recorded"]),
        tests("RenderTests", ["Render", "Posix", "Media", "rankfs-render", "CLinux", "TestSupport"]),
        tests("MediaTests", ["Media", "Render"]),
        tests(
            "ThumbnailsTests",
            [
                "Thumbnails", "Rankings", "Digests", "HTTP", "ImageHost", "Media", "Render", "rankfs-render",
                "TestSupport",
            ]),
        tests("FuseTests", ["Fuse", "CLinux", "fuse-example", "TestSupport"]),
        tests(
            "RankFSTests",
            [
                "RankFS", "Rankings", "Catalog", "ImageCache", "ImageHost", "Media", "Render", "Fuse", "HTTP",
                "Sourcing",
                "SampleSource", "rankfs-render", "TestSupport",
            ]),
        tests(
            "OriginTests", ["Origin", "Rankings", "Digests", "CZlib", "CTurboJPEG", "CPNG", "TestSupport"],
            excluding: ["Boorus/Payloads"]),
        tests(
            "ProgramTests",
            [
                "rankfs", "Rankings", "Posix", "Render", "SQLite", "Sourcing", "Pixiv", "Fuse", "HTTP", "ImageCache",
                "Origin", "Thumbnails", "TestSupport",
            ]),
        tests("FuzzTests", fuzzed + ["TestSupport"], excluding: ["Corpus", "Fuzzer.swift", "run"]),
        tests("MountTests", ["CLinux", "rankfs", "rankfs-render", "rankfs-origin", "sample-mount", "TestSupport"]),
    ]
)

if fuzzes {
    package.products = [.executable(name: "rankfs-fuzz", targets: ["rankfs-fuzz"])]
    package.targets.removeAll { $0.type == .test }
    // libFuzzer has the entry point.
    package.targets.append(
        .executableTarget(
            name: "rankfs-fuzz", dependencies: fuzzed, path: "Tests/FuzzTests",
            exclude: ["Corpus", "CorpusTests.swift", "run"],
            swiftSettings: testSettings + [.unsafeFlags(["-parse-as-library"])]))
}
