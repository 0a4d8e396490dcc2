import Dispatch
import Fuse
import Glibc
import System

/// Mounts the example: `fuse-example MOUNTPOINT FILE [DEADLINE-IN-MILLISECONDS [OPTION…]]`.
///
/// Prints `ready` when mounted and ends at SIGTERM, SIGINT or the unmount. FILE is shown as `big`.
@main
enum Example {
    static func main() {
        let words = CommandLine.arguments
        guard words.count >= 3 else {
            return say("usage: fuse-example MOUNTPOINT FILE [DEADLINE-IN-MILLISECONDS [OPTION…]]")
        }
        let deadline = words.count > 3 ? Int(words[3]) ?? 30_000 : 30_000
        exit(
            serve(mountPoint: words[1], file: words[2], deadline: .milliseconds(deadline), options: words.dropFirst(4)))
    }

    /// A separate function, since `main` belongs to the main actor: the closures here run on other threads.
    private nonisolated static func serve(
        mountPoint: String, file: String, deadline: Duration, options: ArraySlice<String>
    ) -> Int32 {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        let size = lseek(descriptor, 0, SEEK_END)
        guard size >= 0 else {
            say("\(file) cannot be read")
            return 1
        }
        let configuration = SessionConfiguration(
            mountPoint: mountPoint, options: ["fsname=example", "subtype=example", "default_permissions"] + options,
            deadline: deadline)
        do throws(SystemError) {
            let session = try Session(
                configuration, fileSystem: ExampleFileSystem(descriptor: descriptor, size: Int64(size)))
            let signals = [SIGTERM, SIGINT].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { session.stop() }
                // The signal is ignored, not queued, until the source is registered.
                let registered = DispatchSemaphore(value: 0)
                source.setRegistrationHandler { registered.signal() }
                source.activate()
                registered.wait()
                return source
            }
            say("ready", to: STDOUT_FILENO)
            try session.run()
            signals.forEach { $0.cancel() }
            return 0
        } catch {
            say(error.text)
            return 1
        }
    }

    private nonisolated static func say(_ line: String, to descriptor: Int32 = STDERR_FILENO) {
        Files.write(Array("\(line)\n".utf8), to: descriptor)
    }
}
