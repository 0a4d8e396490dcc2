import Glibc
import Media
import System
import Render

/// The program `rankfs-render`: decodes and encodes data from outside, for `rankfs` at the other end of descriptor 3.
///
/// It starts with nothing but that socket, confines itself, and does one job after the other until the socket is closed.
@main
struct RenderProgram {
    static func main() {
        let channel = Channel(3)
        var kind: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard unsafe getsockopt(channel.descriptor, SOL_SOCKET, SO_TYPE, &kind, &length) == 0 else {
            let text = "rankfs-render is started by rankfs, which tells it what to do.\n"
            _ = unsafe write(STDERR_FILENO, text, text.utf8.count)
            exit(64)
        }
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
