/// The program `rankfs-origin`: the embedded origin by itself, for tests and benchmarks.
@main
struct OriginProgram {
    static func main() {
        print("rankfs-origin")
    }
}
