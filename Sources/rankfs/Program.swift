import CLinux
import Glibc

/// The program `rankfs`.
@main
struct Program {
    static func main() {
        Secrecy.begin()
        Output.open()
        // The background's is started as /proc/self/exe, and ps(1) would call it `exe`.
        unsafe rankfs_name_process("rankfs")
        exit(Main.run(CommandLine.arguments).rawValue)
    }
}
