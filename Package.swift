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
    "Rankings", "System", "HTTP", "Sourcing", "Pixiv", "Boards", "ImageCache", "Render", "Media", "RankFS",
    "Tier", "rankfs",
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
        .systemLibrary(name: "CZstd", pkgConfig: "libzstd", providers: [.apt(["libzstd-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CTurboJPEG", pkgConfig: "libturbojpeg", providers: [.apt(["libturbojpeg0-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CWebP", pkgConfig: "libwebp", providers: [.apt(["libwebp-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CLinux"),

        library("Rankings", []),
        library("System", ["CLinux", "CSQLite", "CCrypto", "CXXHash", "CZstd"]),
        library("HTTP", ["System", "Rankings", "CCurl"]),
        library("Sourcing", ["System", "Rankings", "HTTP"]),
        library("Pixiv", ["System", "Rankings", "HTTP", "Sourcing"]),
        library("Boards", ["System", "Rankings", "HTTP", "Sourcing"]),
        library("Catalog", ["System", "Rankings", "HTTP", "Sourcing"]),
        library(
            "ImageCache", ["System", "Rankings", "HTTP", "Sourcing", "CLinux"]),
        library(
            "Tier", ["System", "Rankings", "HTTP", "Sourcing", "Catalog", "ImageCache", "CExpat"]),
        library("Render", ["System"]),
        library("Media", ["Render", "System", "CTurboJPEG", "CWebP", "CPNG"]),
        library("Fuse", ["System", "CFuse3"]),
        .target(
            name: "RankFS",
            dependencies: ["System", "Rankings", "HTTP", "Sourcing", "Fuse", "Catalog", "ImageCache", "Render"],
            // Drawn once; the program encodes no pictures.
            resources: [.embedInCode("Resources/nothing-stored.jpg")], swiftSettings: settings),
        .target(
            name: "Origin", dependencies: ["System", "Rankings", "Media", "CZlib"],
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
                "Rankings", "System", "HTTP", "Sourcing", "Pixiv", "Boards", "Catalog", "ImageCache", "Tier", "Fuse",
                "Render", "RankFS", "CSystemd", "CLinux",
            ]),
        .executableTarget(
            name: "rankfs-render", dependencies: ["Media", "Render", "System", "CLinux"], swiftSettings: settings),
        tool("rankfs-bench", ["System", "CLinux"]),
        // Mounted by FuseTests in a process of its own, and an example of the library.
        tool("fuse-example", ["Fuse", "System"]),
        tool("rankfs-origin", ["Origin", "Rankings", "System"], resources: [.embedInCode("Resources/help.txt")]),

        .target(name: "CThreadSanitizer", path: "Tests/CThreadSanitizer"),
        .target(
            name: "TestSupport",
            dependencies: ["Fuse", "HTTP", "Rankings", "Pixiv", "Render", "System", "CLinux", "CThreadSanitizer"],
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
                "SampleSource", "Sourcing", "RankFS", "Rankings", "Catalog", "ImageCache", "Fuse", "HTTP", "Render",
            ], path: "Tests/SampleMount", swiftSettings: settings),
        tests("ArchitectureTests", []),
        tests("PosixTests", ["System", "TestSupport"]),
        tests("RankingsTests", ["Rankings", "TestSupport"]),
        tests("HTTPTests", ["HTTP", "Rankings", "TestSupport"]),
        tests("SQLiteTests", ["System", "CSQLite", "TestSupport"]),
        tests("PixivTests", ["Pixiv", "Sourcing", "Rankings", "HTTP", "TestSupport"], resources: [.copy("Payloads")]),
        tests(
            "BooruTests", ["Boards", "Sourcing", "Rankings", "HTTP", "TestSupport"],
            resources: [.copy("Payloads")]),
        tests("ObjectStoreTests", ["Tier", "HTTP", "Rankings", "TestSupport"]),
        tests(
            "TierTests", ["Tier", "HTTP", "Rankings", "Sourcing", "System", "TestSupport"]),
        tests("ImageHostTests", ["Sourcing", "Rankings", "HTTP", "TestSupport"]),
        tests("CatalogTests", ["Catalog", "Rankings", "HTTP", "Sourcing", "System", "TestSupport"]),
        tests(
            "ImageCacheTests",
            ["ImageCache", "System", "Rankings", "HTTP", "Sourcing", "CLinux", "TestSupport"],
            excluding: ["Recorded"]),
        tests("RenderTests", ["Render", "System", "Media", "rankfs-render", "CLinux", "TestSupport"]),
        tests("MediaTests", ["Media", "Render"]),
        tests(
            "ThumbnailsTests",
            [
                "RankFS", "ImageCache", "Rankings", "System", "HTTP", "Sourcing", "Media", "Render", "rankfs-render",
                "TestSupport",
            ]),
        tests("FuseTests", ["Fuse", "System", "CLinux", "fuse-example", "TestSupport"]),
        tests(
            "RankFSTests",
            [
                "RankFS", "Rankings", "Catalog", "ImageCache", "Sourcing", "Media", "Render", "Fuse", "HTTP",
                "rankfs-render", "TestSupport",
            ]),
        tests(
            "OriginTests", ["Origin", "Rankings", "System", "CTurboJPEG"],
            excluding: ["Boorus/Payloads"]),
        tests(
            "ProgramTests",
            [
                "rankfs", "Rankings", "System", "Render", "Sourcing", "Pixiv", "Fuse", "HTTP", "ImageCache",
                "RankFS", "TestSupport",
            ]),
        tests("FuzzTests", fuzzed + ["TestSupport"], excluding: ["Corpus", "Fuzzer.swift", "run"]),
        tests(
            "MountTests", ["CLinux", "rankfs", "rankfs-render", "rankfs-origin", "sample-mount", "TestSupport"],
            excluding: ["Recorded"]),
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
