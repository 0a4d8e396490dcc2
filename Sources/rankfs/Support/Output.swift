import Glibc

/// The standard streams of a command; unbuffered, so that nothing is lost whichever way the process ends.
enum Output {
    /// Opens those of the standard streams that the caller has closed.
    ///
    /// Otherwise the next file to be opened, a database perhaps, would be the standard error stream. First of all.
    static func open() {
        // The lowest free number is taken each time.
        while true {
            let descriptor = unsafe Glibc.open("/dev/null", O_RDWR)
            guard (0...2).contains(descriptor) else {
                if descriptor >= 0 { close(descriptor) }
                return
            }
        }
    }

    static func print(_ text: String, terminator: String = "\n") {
        LocalFiles.write(Array((text + terminator).utf8), to: 1)
    }

    /// Errors, one line each, with the program's name as is the custom.
    static func complain(_ text: String, as program: String) {
        for line in text.split(separator: "\n") {
            LocalFiles.write(Array("\(program): \(line)\n".utf8), to: 2)
        }
    }
}
