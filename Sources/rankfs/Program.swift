import Glibc

/// The program `rankfs`.
@main
struct Program {
    static func main() {
        exit(Main.run(CommandLine.arguments).rawValue)
    }
}
