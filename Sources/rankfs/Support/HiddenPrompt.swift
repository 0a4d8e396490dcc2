import CLinux
import Glibc
import Posix

/// Asks for a line on the terminal without showing it.
enum HiddenPrompt {
    /// Signals after which the terminal must be as it was.
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
    /// A terminal hands out lines of 4096 bytes at most (termios(3), canonical mode).
    private static let longestLine = 4096

    /// One line from the standard input, which must be a terminal.
    ///
    /// A signal restores the terminal and has its usual effect then; after Ctrl-Z and `fg` the question comes again. Blocks;
    /// for the main thread before there are others.
    ///
    /// - Returns: The line without its end; nil if the terminal was closed.
    static func ask(_ question: String) throws(LocalFiles.Failure) -> [UInt8]? {
        var terminal = termios()
        guard unsafe tcgetattr(0, &terminal) == 0 else { throw .last() }
        var watched = sigset_t()
        unsafe sigemptyset(&watched)
        for number in signals { unsafe sigaddset(&watched, number) }
        while true {
            var before = sigset_t()
            unsafe sigprocmask(SIG_BLOCK, &watched, &before)
            let descriptor = unsafe signalfd(-1, &watched, Int32(SFD_CLOEXEC))
            guard descriptor >= 0 else { throw .last() }
            hide(terminal)
            LocalFiles.write(Array(question.utf8), to: 2)
            let outcome = read(signals: descriptor)
            unsafe tcsetattr(0, TCSAFLUSH, &terminal)
            close(descriptor)
            if case .signal = outcome { LocalFiles.write([10], to: 2) }
            unsafe sigprocmask(SIG_SETMASK, &before, nil)
            switch outcome {
            case .line(let line): return line
            case .failed(let failure): throw failure
            // Ends or stops this process, unless somebody wanted the signal ignored.
            case .signal(let number): raise(number)
            }
        }
    }

    private enum Outcome {
        case line([UInt8]?)
        case signal(Int32)
        case failed(LocalFiles.Failure)
    }

    /// Line editing stays; the end of the line is shown, so that what comes next begins on a new one.
    private static func hide(_ terminal: termios) {
        var silent = terminal
        silent.c_lflag &= ~tcflag_t(ECHO)
        silent.c_lflag |= tcflag_t(ICANON | ECHONL | ISIG)
        unsafe tcsetattr(0, TCSAFLUSH, &silent)
    }

    private static func read(signals descriptor: Int32) -> Outcome {
        var line = [UInt8](repeating: 0, count: longestLine)
        while true {
            var waiting = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&waiting, nfds_t(waiting.count), -1) > 0 else {
                if errno == EINTR { continue }
                return .failed(.last())
            }
            if waiting[0].revents != 0 {
                var information = signalfd_siginfo()
                let size = MemoryLayout<signalfd_siginfo>.size
                guard unsafe Glibc.read(descriptor, &information, size) == size else { continue }
                return .signal(Int32(information.ssi_signo))
            }
            let count = unsafe Glibc.read(0, &line, line.count)
            if count < 0 {
                if errno == EINTR { continue }
                return .failed(.last())
            }
            return .line(count == 0 ? nil : Array(line[..<count].prefix { $0 != 10 && $0 != 13 }))
        }
    }
}
