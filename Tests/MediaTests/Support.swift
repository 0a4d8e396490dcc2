import Foundation
import Testing

@testable import Media

/// Programs that read what is made here; `make test` installs them.
enum Tool {
    struct Failure: Error {
        let command: String
        let output: String
    }

    /// Runs a short command to its end and answers what it wrote.
    @discardableResult
    static func run(_ name: String, _ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/\(name)")
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(command: name, output: output) }
        return output
    }
}

/// A directory that is gone with its owner.
final class Workplace {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "media-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    func write(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: directory.appending(path: name))
        return path(name)
    }

    func read(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appending(path: name)))
    }
}

/// A made animation: a bright square that moves over a gradient, which is what differs between frames.
struct Film {
    let width: Int
    let height: Int
    let side: Int

    func pixels(_ index: Int) -> Pixels {
        var pixels = Pixels(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                pixels.set(x, y, red: UInt8(x * 200 / width), green: UInt8(y * 200 / height), blue: 60)
            }
        }
        let (left, top) = place(index)
        for y in top..<top + side {
            for x in left..<left + side { pixels.set(x, y, red: 255, green: 250, blue: 220) }
        }
        return pixels
    }

    /// Starts behind the first block of a JPEG (16 pixels), and moves by what no block is a multiple of.
    func place(_ index: Int) -> (left: Int, top: Int) {
        ((24 + index * 13) % (width - side), (18 + index * 5) % (height - side))
    }

    func jpeg(_ index: Int) throws -> [UInt8] {
        try #require(JPEG.encode(pixels(index), quality: 90))
    }
}
