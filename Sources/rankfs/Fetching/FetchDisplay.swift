import Synchronization

/// Where a fetch tells how far it is: one line that is rewritten on a terminal, plain lines otherwise.
///
/// ## Concurrency
///
/// Any thread may call; the mutex guards what is on the screen and is held while that is written.
final class FetchDisplay: Sendable {
    private struct Screen {
        var shown = ""
        var isSilent = false
        var tenths = 0
        var coolDown: Int64?
        /// What the terminal was told of progress beside its text; empty if nothing.
        var progress = ""
    }

    private let colours: Bool
    private let isTerminal: Bool
    private let showsProgress: Bool
    private let screen = Mutex(Screen())

    init(variables: [String: String]) {
        isTerminal = Terminal.width() != nil
        colours = Terminal.wantsColours(variables)
        showsProgress = isTerminal && TerminalProgress.isShown(variables)
    }

    /// Seconds between two updates.
    var pause: Double { isTerminal ? 0.1 : 1 }

    /// A line that stays.
    func tell(_ text: String) {
        screen.withLock { screen in
            guard !screen.isSilent else { return }
            Output.print(Self.erasure(screen.shown) + text)
            screen.shown = ""
        }
    }

    /// Shows how far it is.
    ///
    /// - Parameters:
    ///   - progress: How far it is.
    ///   - byTenths: Whether plain lines come at every tenth; where listings have lines of their own they need not.
    func update(_ progress: FetchProgress, byTenths: Bool) {
        screen.withLock { screen in
            guard !screen.isSilent else { return }
            guard let width = isTerminal ? Terminal.width() : nil else {
                return Self.updatePlain(progress, byTenths: byTenths, &screen)
            }
            let line = progress.line(width: width, colours: colours, clock: Terminal.clock)
            if line != screen.shown { Output.print(Self.erasure(screen.shown) + line, terminator: "") }
            screen.shown = line
            let told = TerminalProgress(progress).sequence
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

    /// Takes the line away; afterwards nothing is shown any more.
    func end() {
        screen.withLock { screen in
            if !screen.shown.isEmpty { Output.print(Self.erasure(screen.shown), terminator: "") }
            if !screen.progress.isEmpty { Output.print(TerminalProgress.none.sequence, terminator: "") }
            screen.isSilent = true
        }
    }

    /// Back to the first column and erased to the end; nothing where nothing was shown.
    private static func erasure(_ shown: String) -> String {
        shown.isEmpty ? "" : "\r\u{1B}[K"
    }
}
