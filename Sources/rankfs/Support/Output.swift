import Glibc

/// The two streams of a command; unbuffered, so that nothing is lost whichever way the process ends.
enum Output {
    static func print(_ text: String, terminator: String = "\n") {
        Files.write(Array((text + terminator).utf8), to: 1)
    }

    /// Errors, one line each, with the program's name as is the custom.
    static func complain(_ text: String, as program: String) {
        for line in text.split(separator: "\n") {
            Files.write(Array("\(program): \(line)\n".utf8), to: 2)
        }
    }
}
