import Glibc
import Synchronization
import System

/// The standard streams of a command; unbuffered, so that no text is lost however the process ends.
enum Output {
    /// Opens the standard streams that the caller has closed.
    ///
    /// Otherwise the next opened file, such as a database, would become the standard error stream. Must be called first.
    static func open() {
        // Each open takes the lowest free number.
        while true {
            let descriptor = unsafe Glibc.open("/dev/null", O_RDWR)
            guard (0...2).contains(descriptor) else {
                if descriptor >= 0 { close(descriptor) }
                return
            }
        }
    }

    /// The reason why a part of the output is missing.
    private static let failure = Mutex<SystemError?>(nil)

    /// Writes to the standard output stream; `check` tells of a failure.
    static func print(_ text: String, terminator: String = "\n") {
        write(Array((text + terminator).utf8))
    }

    /// Writes bytes to the standard output stream; `check` tells of a failure.
    ///
    /// - Returns: False after a failure, and if the stream has no reader any more.
    @discardableResult
    static func write(_ bytes: [UInt8]) -> Bool {
        guard !Files.write(bytes, to: 1) else { return true }
        let reason = SystemError.last()
        // A reader that has seen enough closes the pipe.
        if reason.code != EPIPE { failure.withLock { $0 = reason } }
        return false
    }

    /// Whether the standard output stream still has a reader (poll(2): a pipe without one is in error).
    static var hasReader: Bool {
        var stream = pollfd(fd: 1, events: 0, revents: 0)
        return unsafe poll(&stream, 1, 0) <= 0 || stream.revents & Int16(POLLERR) == 0
    }

    /// Checks that all of the output is written, so that a script does not take a part for the whole.
    static func check() throws(ProgramError) {
        guard let reason = failure.withLock(\.self) else { return }
        throw .cannotCreate("the output cannot be written: \(reason.text); make room, or write elsewhere.")
    }

    /// Writes errors to the standard error stream, one line each, with the program's name in front as is the custom.
    static func complain(_ text: String, as program: String) {
        for line in text.split(separator: "\n") {
            Files.write(Array("\(program): \(line)\n".utf8), to: 2)
        }
    }
}
