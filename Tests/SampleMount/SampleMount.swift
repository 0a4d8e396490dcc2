import Catalog
import Dispatch
import Fuse
import Glibc
import HTTP
import ImageCache
import Sourcing
import RankFS
import Rankings
import Render
import SampleSource

/// Mounts the sample source, whose service is inside this process: `sample-mount MOUNTPOINT DIRECTORY`.
///
/// What `rankfs` adds to a source's module is here as short as it can be: a catalog and a cache in DIRECTORY, and a session of
/// libfuse. Prints `ready` when mounted and ends at SIGTERM or the unmount.
@main
enum SampleMount {
    static func main() {
        let words = CommandLine.arguments
        guard words.count == 3 else {
            return say("usage: sample-mount MOUNTPOINT DIRECTORY", to: STDERR_FILENO)
        }
        do { try serve(mountPoint: words[1], directory: words[2]) } catch {
            say("\(error)", to: STDERR_FILENO)
            exit(1)
        }
    }

    /// Not in `main`, which belongs to the main actor: the closures here run on other threads.
    private nonisolated static func serve(mountPoint: String, directory: String) throws {
        let now: @Sendable () -> Int64 = { Int64(time(nil)) }
        let plugIn = SamplePlugIn()
        let mode = plugIn.description.rankings[0].mode
        let service = SampleService(newest: plugIn.description.days(of: mode).newest(at: now()))
        let host = ImageHost(service)
        let client = HTTPClient(transport: service)
        let source = plugIn.source(
            SourceMeans(
                send: { request throws(Failure) in try await client.send(request) }, apiURL: nil, imageURL: nil,
                wallClock: now))
        let catalog = try Catalog(
            CatalogConfiguration(
                directory: directory, days: 7, view: ListingView(rendition: plugIn.description.standardRendition),
                timeout: .seconds(10), now: now),
            source: source, host: host, report: { _ in })
        let cache = try ImageCache(
            CacheConfiguration(
                directory: "\(directory)/pictures", budget: 64 << 20, freeFloor: 0, preload: 2, timeout: .seconds(10),
                networkTimeout: .seconds(10), now: now),
            host: host, report: { _ in })
        var configuration = MountConfiguration(user: getuid(), group: getgid(), now: now)
        configuration.status = { _ in Array("{}\n".utf8) }
        configuration.version = "sample\n"
        configuration.report = { say($0, to: STDERR_FILENO) }
        let fileSystem = RankFileSystem(
            configuration, source: source, catalog: catalog, cache: cache, renderer: NoRenderer())
        let session = try Session(
            SessionConfiguration(
                mountPoint: mountPoint, options: ["ro", "fsname=sample", "subtype=sample", "default_permissions"],
                deadline: .seconds(20)),
            fileSystem: fileSystem)
        signal(SIGTERM, SIG_IGN)
        let terminated = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        terminated.setEventHandler { session.stop() }
        terminated.activate()
        say("ready", to: STDOUT_FILENO)
        try session.run()
        terminated.cancel()
    }

    private nonisolated static func say(_ line: String, to descriptor: Int32) {
        let bytes = Array("\(line)\n".utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
    }
}

/// Draws nothing: the sample has no animations.
private struct NoRenderer: Rendering {
    func perform(_ job: RenderJob, with descriptor: Int32?) async throws(MediaError) -> RenderAnswer {
        throw .unavailable("the sample has no renderer")
    }
}
