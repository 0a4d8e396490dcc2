/// Something that reads what comes from outside, with what must hold whatever that is.
///
/// A trap is a finding, and so is a property that does not hold; both are the same for libFuzzer.
struct FuzzTarget: Sendable, CustomStringConvertible {
    let name: String
    /// Bytes of an input: what is longer only takes time.
    let longest: Int
    /// Folders and files below `Tests` to begin with, besides `FuzzTests/Corpus/<name>`.
    let seeds: [String]
    /// Reads an input; throws `BrokenProperty`.
    let check: @Sendable ([UInt8]) throws -> Void

    var description: String { name }

    static let all: [FuzzTarget] = service + boards + words + addresses + answers + media + local + tier
}

/// What does not hold, as a sentence.
struct BrokenProperty: Error, CustomStringConvertible {
    let description: String
}

/// Throws unless a property holds.
func hold(_ condition: @autoclosure () -> Bool, _ property: @autoclosure () -> String) throws {
    guard !condition() else { return }
    throw BrokenProperty(description: property())
}

/// Numbers and pieces taken from the front of an input, so that its bytes decide about everything.
struct InputReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    /// The next byte; 0 behind the end.
    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    /// The next eight bytes as a number of any sign and size.
    mutating func number() -> Int64 {
        (0..<8).reduce(0) { number, _ in number << 8 | Int64(byte()) }
    }
}
