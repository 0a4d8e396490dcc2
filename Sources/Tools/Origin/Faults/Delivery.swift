import Rankings

/// An answer and how it goes out, when it does not simply go out.
struct Delivery: Sendable {
    var answer: Response
    let request: Request
    /// What a script says of its going wrong.
    var script = JSON.null
    /// Bytes a second, below the configured rate.
    var rate: Int?
    /// Positions in the body where it ends in a closed connection, in a reset, or in silence; at -1 not even the header is sent.
    var cutAt: Int?
    var resetAt: Int?
    var stallAt: Int?
    /// Positions whose bytes are changed.
    var changed: Range<Int>?
    /// Positions whose bytes are zero.
    var blank: Range<Int>?
    /// Noise follows the body without end.
    var isEndless = false
    /// The lengths that the header tells in place of the true one; none leaves the end to the end of the connection.
    var lengths: [Int]?
    /// Headers besides those of the answer.
    var headers: [(String, String)] = []
    /// Whether bytes that are no HTTP stand for the header.
    var isGarbage = false

    /// Whether the header lies, so that nothing can follow on this connection.
    var writesHeader: Bool { lengths != nil || !headers.isEmpty || isGarbage }

    /// The first position at which something happens; bytes before it go out as they are.
    var stop: Int {
        min(cutAt ?? .max, resetAt ?? .max, stallAt ?? .max)
    }

    /// A number of the script's.
    func number(_ name: String) -> Int? { script[name].number.map { Int($0) } }

    /// Changes the bytes of a block from a place on, where the body's byte `offset` stands.
    func spoil(_ block: inout [UInt8], from start: Int, at offset: Int) {
        let here = offset..<offset + block.count - start
        for position in changed?.clamped(to: here) ?? 0..<0 { block[start + position - offset] ^= 0xff }
        for position in blank?.clamped(to: here) ?? 0..<0 { block[start + position - offset] = 0 }
    }
}
