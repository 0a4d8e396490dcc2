import Glibc
import Media
import System
import Render

/// The program `rankfs-render`: decodes and encodes data from outside, for `rankfs` at the other end of descriptor 3.
///
/// It starts with nothing but that socket and a pipe with which it ends, confines itself, and does one job after the other until the
/// socket is closed.
@main
struct RenderProgram {
    /// F_SETSIG of fcntl(2), which glibc hides without _GNU_SOURCE.
    private static let setSignal: Int32 = 10

    /// Lets this process end with the one that started it, whatever job it has then; false if that one is gone already.
    ///
    /// The kernel kills it as soon as nothing can write to the pipe any more (fcntl(2), O_ASYNC). PR_SET_PDEATHSIG would do so when
    /// the *thread* that started it ends, and threads of a queue end when they are idle (prctl(2)).
    private static func lives(with pipe: Int32) -> Bool {
        guard fcntl(pipe, F_SETOWN, getpid()) == 0, fcntl(pipe, setSignal, SIGKILL) == 0,
            fcntl(pipe, F_SETFL, O_ASYNC | O_NONBLOCK) == 0
        else { return false }
        var byte: UInt8 = 0
        return unsafe read(pipe, &byte, 1) < 0 && errno == EAGAIN
    }

    static func main() {
        let channel = Channel(3)
        var kind: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(channel.descriptor, SOL_SOCKET, SO_TYPE, &kind, &length) == 0 else {
            let text = "rankfs-render is started by rankfs, which tells it what to do.\n"
            _ = unsafe write(STDERR_FILENO, text, text.utf8.count)
            exit(64)
        }
        guard lives(with: Renderer.lifeline) else { return }
        // Libraries query the system at their first use, so each is used once while that is still possible.
        RenderWorker.warmUp()
        let protection = Confinement.begin()
        do throws(SystemError) {
            try channel.send(protection.greeting)
            while true {
                let (message, passed) = try channel.receiveWithDescriptor(upTo: RenderJob.longest)
                defer { if let passed { close(passed) } }
                guard let job = RenderJob(message: message) else { return }
                try channel.send(RenderWorker.perform(job, on: passed).message)
            }
        } catch {
            // The other end is gone, so there is no process to report the error to.
        }
    }
}
