import CLinux
import Glibc

/// The terminal behind the standard output stream.
enum Terminal {
    /// Columns of a terminal that does not tell.
    static let standardWidth = 80
    /// Lines of a terminal that does not tell.
    static let standardHeight = 24

    /// Its columns now; nil if the stream is no terminal.
    static func width() -> Int? {
        guard isatty(1) == 1 else { return nil }
        var size = winsize()
        guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return standardWidth }
        return Int(size.ws_col)
    }

    /// Its columns and lines now; nil if the stream is no terminal that can be drawn on.
    static func size(_ variables: [String: String]) -> (width: Int, height: Int)? {
        guard let width = width(), variables["TERM", default: "dumb"] != "dumb" else { return nil }
        var size = winsize()
        guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 else { return (width, standardHeight) }
        return (width, Int(size.ws_row))
    }

    /// Whether colours are wanted: see no-color.org.
    static func wantsColours(_ variables: [String: String]) -> Bool {
        variables["NO_COLOR", default: ""].isEmpty && variables["TERM", default: "dumb"] != "dumb"
    }

    /// A moment as `14:02:03` in local time.
    static func clock(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = unsafe tm()
        guard unsafe localtime_r(&time, &parts) != nil else { return "\(seconds)" }
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return unsafe "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }
}
