import CLinux
import Foundation
import Media
import System
import Synchronization
import TestSupport
import Testing

@testable import Render

/// The supervision of real processes: `rankfs-render` as it is built, and impostors.
@Suite(.timeLimit(.minutes(2))) struct RendererTests {
    private let preview = JPEG.encode(Pixels(width: 300, height: 200, filledWith: 90), quality: 80) ?? []

    private var thumbnails: RenderJob { .thumbnails(preview: preview, edges: [256, 128]) }

    /// An animation whose jobs keep a process busy for long.
    private func film(frames: Int) throws -> (RenderJob, FileHandle) {
        var random = Random(seed: 3)
        var pixels = Pixels(width: 240, height: 240)
        for index in pixels.bytes.indices { pixels.bytes[index] = .random(in: 0...255, using: &random) }
        let noise = try #require(JPEG.encode(pixels, quality: 90))
        let still = try #require(JPEG.encode(Pixels(width: 240, height: 240), quality: 90))
        let names = (0..<frames).map { "\($0).jpg" }
        let archive = StoredArchive.packed(names.enumerated().map { ($1, $0 % 2 == 0 ? noise : still) })
        let folder = TemporaryFolder()
        let path = folder.url.appending(path: "film.zip")
        try Data(archive).write(to: path)
        let job = RenderJob.animation(
            .webP, frames: names.map { .init(file: $0, delay: 40) }, place: 0..<Int64(archive.count), bound: 64 << 20)
        return (job, try FileHandle(forReadingFrom: path))
    }

    private func error(_ renderer: Renderer, _ job: RenderJob, _ descriptor: Int32? = nil) async -> MediaError? {
        do throws(MediaError) {
            _ = try await renderer.perform(job, with: descriptor)
            return nil
        } catch { return error }
    }

    @Test func picturesAreMadeElsewhere() async throws {
        let renderer = TestPrograms.renderer()
        defer { renderer.close() }
        #expect(renderer.processes.isEmpty)
        let files = try await renderer.files(thumbnails)
        #expect(files.count == 2 && files.allSatisfy { $0.starts(with: [0x89, 0x50, 0x4e, 0x47]) })
        #expect(try await renderer.files(thumbnails) == files)
        #expect(renderer.processes.count == 1)
        let job = RenderJob.thumbnails(preview: Array("<html>".utf8), edges: [128])
        #expect(await error(renderer, job) == .picture("it is no JPEG"))
        #expect(renderer.processes.count == 1)
    }

    @Test func animationsAreMadeOfADescriptor() async throws {
        let renderer = TestPrograms.renderer()
        defer { renderer.close() }
        let (job, file) = try film(frames: 3)
        let bytes = try await renderer.files(job, with: file.fileDescriptor).first ?? []
        #expect(bytes.starts(with: Array("RIFF".utf8)) && bytes.count > 10_000)
        // It took much memory, which goes with the process.
        #expect(renderer.processes.isEmpty)
        #expect(await error(renderer, job) == .archive("it cannot be read"))
    }

    /// What /proc tells of a process that is ready (proc(5)).
    @Test(.enabled(if: geteuid() == 0, "only root may look into it")) func itIsShutIn() async throws {
        let renderer = TestPrograms.renderer()
        defer { renderer.close() }
        _ = try await renderer.files(thumbnails)
        let process = try #require(renderer.processes.first)
        let place = "/proc/\(process)"
        let status = try String(contentsOfFile: "\(place)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1\n") && status.contains("CapEff:\t0000000000000000\n"))
        #expect(status.contains("Threads:\t1\n"))
        #expect(try Data(contentsOf: URL(filePath: "\(place)/environ")).isEmpty)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: "\(place)/fd").sorted() == ["0", "1", "2", "3", "4"])
        for stream in 0...2 {
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/fd/\(stream)") == "/dev/null")
        }
        let limits = try String(contentsOfFile: "\(place)/limits", encoding: .utf8)
        for limit in ["core file size", "address space", "cpu time", "processes"] {
            let line = limits.lowercased().split(separator: "\n").first { $0.contains(limit) }
            #expect(line?.contains("unlimited") == false, "\(limits)")
        }
        let protection = try Renderer.look(at: "\(TestPrograms.directory)/rankfs-render")
        #expect(protection.isSuperset(of: [.limits, .privileges]))
        if protection.contains(.calls) { #expect(status.contains("Seccomp:\t2\n")) }
        if protection.contains(.network) {
            let devices = try String(contentsOfFile: "\(place)/net/dev", encoding: .utf8).split(separator: "\n")
            #expect(devices.count == 3 && devices[2].contains("lo:"), "\(devices)")
        }
        if protection.contains(.root) {
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "\(place)/root").contains("fdinfo"))
        }
    }

    @Test func itEndsWithWhoeverStartedIt() async throws {
        let renderer = TestPrograms.renderer()
        _ = try await renderer.files(thumbnails)
        let process = try #require(renderer.processes.first)
        renderer.close()
        #expect(kill(process, 0) != 0 && errno == ESRCH)
        #expect(await error(renderer, thumbnails) == .cancelled)
    }

    /// Others wait until a process that hangs is ended.
    @Test func anAnimationHasTheTimeOfItsFrames() throws {
        let patience = Renderer.Configuration(program: { "" }, atOnce: 2).patience
        #expect(patience(thumbnails) == .seconds(15))
        #expect(try patience(film(frames: 40).0) < .seconds(120))
        #expect(try patience(film(frames: 400).0) == .seconds(600))
    }

    @Test func oneThatHangsIsEnded() async throws {
        var configuration = Renderer.Configuration(
            program: { "\(TestPrograms.directory)/rankfs-render" }, atOnce: 2)
        let patience = Patience()
        configuration.patience = { _ in patience.isShort ? .milliseconds(300) : .seconds(60) }
        let renderer = Renderer(configuration)
        defer { renderer.close() }
        _ = try await renderer.files(thumbnails)
        let process = try #require(renderer.processes.first)
        kill(process, SIGSTOP)
        patience.isShort = true
        // Longer than what a socket holds: the job itself does not get through.
        let long = RenderJob.thumbnails(preview: [UInt8](repeating: 0, count: 1 << 20), edges: [1])
        #expect(await error(renderer, long) == .lost("took too long at it"))
        #expect(kill(process, 0) != 0 && errno == ESRCH)
        patience.isShort = false
        #expect(try await renderer.files(thumbnails).count == 2)
    }

    /// What a process says that has been taken over.
    @Test(arguments: [
        ("s.sendall(struct.pack('<I', 0xffffffff)); time.sleep(60)", "answered nonsense at it"),
        ("s.sendall(struct.pack('<I', 400000) + b'x' * 400000)", "answered nonsense at it"),
        ("s.sendall(struct.pack('<I', 8) + bytes(8))", "answered nonsense"),
        ("s.sendall(struct.pack('<Iqq', 16, 1, 1 << 60))", "answered nonsense"),
        ("s.sendall(struct.pack('<Iqq', 16, 1, -1))", "answered nonsense"),
        ("s.sendall(b'xy')", "ended at it"), ("pass", "ended at it"),
        (
            "s.sendmsg([struct.pack('<Iq', 8, 9)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2, 3]))])",
            "answered nonsense"
        ),
    ])
    func nonsenseIsAnErrorOfThatJob(answer: String, reason: String) async throws {
        let impostor = try ImpostorProgram(answer, greeting: Self.greeting)
        let renderer = Renderer(.init(program: { impostor.path }, atOnce: 2))
        defer { renderer.close() }
        let found = await error(renderer, thumbnails)
        #expect(found == .lost(reason) || found == .lost("ended at it"), "\(String(describing: found))")
        #expect(renderer.processes.isEmpty)
    }

    @Test func whatIsNoRendererIsSaidSo() async throws {
        let renderer = Renderer(.init(program: { "/nowhere/rankfs-render" }, atOnce: 2))
        #expect(await error(renderer, thumbnails) == .unavailable("/nowhere/rankfs-render: No such file or directory"))
        #expect(await error(renderer, thumbnails) == .unavailable("/nowhere/rankfs-render: No such file or directory"))
        let ends = Renderer(.init(program: { "/bin/true" }, atOnce: 2))
        #expect(await error(ends, thumbnails) == .unavailable("/bin/true ended before it was ready"))
        let impostor = try ImpostorProgram("", greeting: [16, 0, 0, 0] + [UInt8](repeating: 7, count: 16))
        let other = Renderer(.init(program: { impostor.path }, atOnce: 2))
        #expect(
            await error(other, thumbnails) == .unavailable("\(impostor.path) answered nonsense before it was ready"))
        for renderer in [renderer, ends, other] { renderer.close() }
    }

    private static let greeting: [UInt8] = {
        let message = Protection.all.greeting
        return [UInt8(message.count), 0, 0, 0] + message
    }()
}

/// How long jobs may take, which a test changes.
private final class Patience: Sendable {
    private let value = Mutex(false)

    var isShort: Bool {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
