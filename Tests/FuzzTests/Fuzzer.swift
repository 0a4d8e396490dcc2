import CFuzzer
import Glibc

/// The target under test: the callback of libFuzzer takes no context.
nonisolated(unsafe) private var chosen: FuzzTarget?

/// `rankfs-fuzz`, which `make fuzz` builds: libFuzzer over one of the targets.
///
/// `rankfs-fuzz list` tells the targets, one a line: name, longest input, seeds. `rankfs-fuzz NAME …` hands everything behind the
/// name to libFuzzer.
@main
enum Fuzzer {
    static func main() {
        let words = CommandLine.arguments
        if words.count == 2, words[1] == "list" {
            for target in FuzzTarget.all {
                print(([target.name, String(target.longest)] + target.seeds).joined(separator: " "))
            }
            return
        }
        guard let target = FuzzTarget.all.first(where: { $0.name == words.dropFirst().first }) else {
            complain("usage: rankfs-fuzz list | rankfs-fuzz NAME [OPTION OF LIBFUZZER]... [FOLDER]...")
            exit(64)
        }
        chosen = target
        // The driver keeps the pointers for as long as the process lives.
        let arguments = ([words[0]] + words.dropFirst(2)).map { strdup($0) } + [nil]
        let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: arguments.count)
        list.initialize(from: arguments, count: arguments.count)
        var count = Int32(arguments.count - 1)
        var vector: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = list
        exit(
            LLVMFuzzerRunDriver(&count, &vector) { data, size in
                do {
                    try chosen?.check(Array(UnsafeBufferPointer(start: data, count: size)))
                } catch {
                    Fuzzer.complain("\nproperty: \(error)")
                    abort()
                }
                return 0
            })
    }

    private static func complain(_ text: String) {
        _ = Array("\(text)\n".utf8).withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }
}
