/// The scripts by which shells complete command lines.
enum Completions {
    /// The whole script, made from the table of options and the synopses of help.
    static func script(for shell: CompletionShell) -> String {
        switch shell {
        case .bash: BashCompletion.script
        case .zsh: ZshCompletion.script
        case .fish: FishCompletion.script
        }
    }
}
