import CLinux
import Glibc
import Rankings
import System

/// The terminal of the standard output stream.
enum Terminal {
    /// Columns of a terminal that does not report its width.
    static let standardWidth = 80
    /// Lines of a terminal that does not report its height.
    static let standardHeight = 24

    /// The present columns; nil if the stream is not a terminal.
    static func width() -> Int? { window()?.width }

    /// The present columns and lines; nil if the stream is not a terminal with a movable cursor.
    static func size(_ variables: [String: String]) -> (width: Int, height: Int)? {
        variables["TERM", default: "dumb"] == "dumb" ? nil : window()
    }

    private static func window() -> (width: Int, height: Int)? {
        guard isatty(1) == 1 else { return nil }
        var size = winsize()
        unsafe _ = ioctl(1, UInt(TIOCGWINSZ), &size)
        return (
            size.ws_col > 0 ? Int(size.ws_col) : standardWidth, size.ws_row > 0 ? Int(size.ws_row) : standardHeight
        )
    }

    /// Whether the user wants colours: see no-color.org.
    static func wantsColours(_ variables: [String: String]) -> Bool {
        variables["NO_COLOR", default: ""].isEmpty && variables["TERM", default: "dumb"] != "dumb"
    }

    /// A moment as `14:02:03` in local time.
    static func clock(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = unsafe tm()
        guard unsafe localtime_r(&time, &parts) != nil else { return "\(seconds)" }
        return unsafe [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Digits.padded(Int($0), to: 2) }
            .joined(separator: ":")
    }

    // MARK: - Hidden prompt

    /// Signals before which the terminal is restored.
    private static let signals = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP]
    /// A terminal hands out lines of 4096 bytes at most (termios(3), canonical mode).
    private static let longestLine = 4096

    /// Prompts for one line on the standard input, which must be a terminal, without showing it.
    ///
    /// A signal restores the terminal and then has its usual effect; after Ctrl-Z and `fg` the prompt is shown again. Blocks;
    /// for the main thread before there are others.
    ///
    /// - Returns: The line without its end; nil if the terminal was closed.
    static func prompt(_ question: String) throws(SystemError) -> [UInt8]? {
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
            // Line editing stays, and the line end is still shown, so that later text begins on a new line.
            var silent = terminal
            silent.c_lflag &= ~tcflag_t(ECHO)
            silent.c_lflag |= tcflag_t(ICANON | ECHONL | ISIG)
            unsafe tcsetattr(0, TCSAFLUSH, &silent)
            Files.write(Array(question.utf8), to: 2)
            let outcome = Result { () throws(SystemError) in try read(signals: descriptor) }
            unsafe tcsetattr(0, TCSAFLUSH, &terminal)
            close(descriptor)
            let signal = try? outcome.get().signal
            if signal != nil { Files.write([10], to: 2) }
            unsafe sigprocmask(SIG_SETMASK, &before, nil)
            guard let signal else { return try outcome.get().line }
            // Ends or stops this process, unless the signal is ignored.
            raise(signal)
        }
    }

    /// Waits for a line, nil if the terminal was closed, or for a signal.
    private static func read(signals descriptor: Int32) throws(SystemError) -> (line: [UInt8]?, signal: Int32?) {
        var line = [UInt8](repeating: 0, count: longestLine)
        while true {
            var waiting = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: 0, events: Int16(POLLIN), revents: 0),
            ]
            guard unsafe poll(&waiting, nfds_t(waiting.count), -1) > 0 else {
                if errno == EINTR { continue }
                throw .last()
            }
            if waiting[0].revents != 0 {
                var information = signalfd_siginfo()
                let size = MemoryLayout<signalfd_siginfo>.size
                guard unsafe Glibc.read(descriptor, &information, size) == size else { continue }
                return (nil, Int32(information.ssi_signo))
            }
            let count = unsafe Glibc.read(0, &line, line.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw .last()
            }
            return (count == 0 ? nil : Array(line[..<count].prefix { $0 != 10 && $0 != 13 }), nil)
        }
    }
}

// MARK: - Colours

/// A colour of text (ECMA-48, "SGR").
enum TerminalColour: Int, Sendable {
    case red = 31
    case green
    case yellow
    /// The bright blue, because the plain one is hard to see on black.
    case blue = 94

    /// The text in this colour.
    func paint(_ text: some StringProtocol) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
}

// MARK: - Progress

extension Terminal {
    /// A bar between brackets, drawn with characters that every terminal has.
    ///
    /// Its colour is its meaning: blue is being read, green is being preloaded.
    ///
    /// - Parameters:
    ///   - fraction: The finished part, 0 to 1; nil if unknown, which is drawn as a bar of waves.
    ///   - columns: Columns of the whole bar, brackets included; at least 3.
    ///   - colour: The colour of the finished part; nil for none.
    /// - Returns: Text of that many columns.
    static func bar(_ fraction: Double?, columns: Int, colour: TerminalColour?) -> String {
        let room = max(1, columns - 2)
        let filled = fraction.map { Int(min(1, max(0, $0)) * Double(room)) } ?? room
        let done = String(repeating: fraction == nil ? "~" : "#", count: filled)
        let rest = String(repeating: "-", count: room - filled)
        return "[\(colour?.paint(done) ?? done)\(rest)]"
    }

    /// The sequence that ends the progress beside the text.
    static let noProgress = "\u{1B}]9;4;0\u{1B}\\"

    /// The progress that a terminal shows beside its text.
    ///
    /// It is the sequence OSC 9;4, introduced by ConEmu (https://conemu.github.io/en/AnsiEscapeCodes.html#ConEmu_specific_OSC).
    ///
    /// - Parameters:
    ///   - part: The finished part, 0 to 1; nil for work of unknown length.
    ///   - isPaused: Whether the work waits, which terminals draw yellow.
    /// - Returns: The escape sequence.
    static func progress(_ part: Double?, isPaused: Bool = false) -> String {
        guard let part else { return "\u{1B}]9;4;3\u{1B}\\" }
        return "\u{1B}]9;4;\(isPaused ? 4 : 1);\(Int(min(1, max(0, part)) * 100))\u{1B}\\"
    }

    /// Whether the terminal draws progress: others take OSC 9 for a message to pop up.
    ///
    /// Windows Terminal, ConEmu, WezTerm, Ghostty and the terminals based on VTE are recognised by these variables.
    static func showsProgress(_ variables: [String: String]) -> Bool {
        let program = variables["TERM_PROGRAM", default: ""]
        return variables["TERM", default: "dumb"] != "dumb"
            && (variables["WT_SESSION"] != nil || variables["VTE_VERSION"] != nil || variables["ConEmuANSI"] == "ON"
                || program == "WezTerm" || program == "ghostty")
    }
}
