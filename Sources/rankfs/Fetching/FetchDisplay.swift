import Synchronization

/// The display of a fetch's progress: one line that is rewritten on a terminal, plain lines otherwise.
///
/// ## Concurrency
///
/// Any thread may call; the mutex guards the displayed text and is held while that text is written.
final class FetchDisplay: Sendable {
    private struct Screen {
        var shown = ""
        var isSilent = false
        var tenths = 0
        var coolDown: Int64?
        /// The last progress sequence sent to the terminal beside its text; empty if there is none.
        var progress = ""
    }

    private let colours: Bool
    private let isTerminal: Bool
    private let showsProgress: Bool
    private let screen = Mutex(Screen())

    init(variables: [String: String]) {
        isTerminal = Terminal.width() != nil
        colours = Terminal.wantsColours(variables)
        showsProgress = isTerminal && Terminal.showsProgress(variables)
    }

    /// Seconds between two updates.
    var pause: Double { isTerminal ? 0.1 : 1 }

    /// Prints a permanent line.
    func tell(_ text: String) {
        screen.withLock { screen in
            guard !screen.isSilent else { return }
            Output.print(Self.erasure(screen.shown) + text)
            screen.shown = ""
        }
    }

    /// Shows the progress.
    ///
    /// - Parameters:
    ///   - progress: The current progress.
    ///   - byTenths: Whether plain lines appear at every tenth; unnecessary if listings have lines of their own.
    func update(_ progress: FetchProgress, byTenths: Bool) {
        screen.withLock { screen in
            guard !screen.isSilent else { return }
            guard let width = isTerminal ? Terminal.width() : nil else {
                return Self.updatePlain(progress, byTenths: byTenths, &screen)
            }
            let line = progress.line(width: width, colours: colours, clock: Terminal.clock)
            if line != screen.shown { Output.print(Self.erasure(screen.shown) + line, terminator: "") }
            screen.shown = line
            let told = progress.sequence
            guard showsProgress, told != screen.progress else { return }
            screen.progress = told
            Output.print(told, terminator: "")
        }
    }

    private static func updatePlain(_ progress: FetchProgress, byTenths: Bool, _ screen: inout Screen) {
        if let end = progress.coolDown, end != screen.coolDown {
            Output.print("the service asks to slow down; going on at \(Terminal.clock(end))")
        }
        screen.coolDown = progress.coolDown
        let tenths = Int(progress.fraction * 10)
        guard byTenths, tenths > screen.tenths, tenths < 10 else { return }
        screen.tenths = tenths
        Output.print("\(tenths * 10) %  \(progress.count)")
    }

    /// Removes the line; nothing is shown afterwards.
    func end() {
        screen.withLock { screen in
            if !screen.shown.isEmpty { Output.print(Self.erasure(screen.shown), terminator: "") }
            if !screen.progress.isEmpty { Output.print(Terminal.noProgress, terminator: "") }
            screen.isSilent = true
        }
    }

    /// The sequence that returns to the first column and erases the line; empty if nothing was shown.
    private static func erasure(_ shown: String) -> String {
        shown.isEmpty ? "" : "\r\u{1B}[K"
    }
}
