// swift-tools-version: 6.2
import PackageDescription

/// Tests that end well, fail, never end and end their process, for `Tests/Runner/check`.
let package = Package(
    name: "fixture",
    targets: ["Well", "Hanging", "Crashing", "Blocking"].map { .testTarget(name: $0) })
