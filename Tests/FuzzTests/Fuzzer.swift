import Glibc

/// The target under test: the callback of libFuzzer takes no context.
nonisolated(unsafe) private var chosen: FuzzTarget?

/// Chooses the target: libFuzzer, which brings `main`, calls this before anything else.
///
/// `rankfs-fuzz list` tells the targets, one a line: name, longest input, seeds. `rankfs-fuzz NAME …` hands everything behind the
/// name to libFuzzer.
@_cdecl("LLVMFuzzerInitialize")
public func initialize(
    _ count: UnsafeMutablePointer<Int32>,
    _ vector: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>
) -> Int32 {
    let name = count.pointee > 1 ? vector.pointee[1].map { String(cString: $0) } : nil
    if name == "list" {
        for target in FuzzTarget.all {
            print(([target.name, String(target.longest)] + target.seeds).joined(separator: " "))
        }
        exit(0)
    }
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        complain("usage: rankfs-fuzz list | rankfs-fuzz NAME [OPTION OF LIBFUZZER]... [FOLDER]...")
        exit(64)
    }
    chosen = target
    // The name is ours; libFuzzer would take it for a folder.
    for index in 1..<Int(count.pointee) { vector.pointee[index] = vector.pointee[index + 1] }
    count.pointee -= 1
    return 0
}

/// Checks one input; what breaks a promise ends the process, which is what libFuzzer looks for.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    do {
        try chosen?.check(Array(UnsafeBufferPointer(start: data, count: size)))
    } catch {
        complain("\nproperty: \(error)")
        abort()
    }
    return 0
}

private func complain(_ text: String) {
    _ = Array("\(text)\n".utf8).withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
}
