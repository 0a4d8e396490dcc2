/// The program `rankfs`.
@main
struct Program {
    static func main() {
        print("rankfs")
    }
}
